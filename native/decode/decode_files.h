/* The reader's decoder of META payloads: records of files to columns, places of all others. Called by
 * src/wavetank/trace/part_files.py through ctypes. Input may be anything. */
#ifndef WT_DECODE_FILES_H
#define WT_DECODE_FILES_H

#include "wavetank_trace.h"

#include <stddef.h>
#include <stdint.h>

#define WT_MOST_FILES (1 << 26) /* numbers of a part's files; higher ones are damage */

enum wt_file_flag { WT_FILE_IDENTITY = 1, WT_FILE_MADE = 2, WT_FILE_DIRECTORY = 4 };

struct wt_file_sizes {
    int64_t entries; /* files, at most */
    int64_t texts;   /* names and targets of links */
    int64_t bytes;   /* of texts, each with a zero behind it */
    int64_t highest; /* number of a file */
    int64_t others;  /* records that say nothing of files */
};

/* An entry for each file in the order of their first records. -1: not known, or there is none. */
struct wt_file_columns {
    int64_t *number;
    int64_t *path; /* index of the text */
    int64_t *link; /* text that the name leads to */
    int64_t *size_before;
    int64_t *mount;
    uint64_t *device;
    uint64_t *inode;
    int64_t *born; /* 0: not known */
    int64_t *generation;
    uint8_t *flags;    /* enum wt_file_flag */
    int64_t *text_end; /* behind the zero of each text */
    uint8_t *texts;
};

struct wt_other_record {
    int64_t kind, begin, end; /* its fields in the payload */
};

/* Sizes of what a payload holds, and how many bytes of it make sense. */
int64_t wt_count_files(const uint8_t *payload, size_t length, struct wt_file_sizes *sizes);
/* Where the records lie that are not of files, as many as were counted. */
void wt_other_records(const uint8_t *payload, size_t length, const struct wt_file_sizes *sizes,
                      struct wt_other_record *others);
/* Fills the columns from all of a payload that makes sense, and says how many entries and texts there are. 0,
 * or WT_TOO_MANY where there is no memory. */
int64_t wt_decode_files(const uint8_t *payload, size_t length, struct wt_file_sizes *sizes,
                        const struct wt_file_columns *columns);

/* ---- texts.c: columns of texts, each at `start` with `length` bytes ---- */

struct wt_texts {
    const uint8_t *bytes;
    const int64_t *start, *length;
    int64_t n;
};

/* For each text the first one that it is equal to, of those of its kind; with `digits` any run of digits
 * equals any other. 0, or WT_TOO_MANY where there is no memory. */
int64_t wt_first_alike(const struct wt_texts *texts, const int64_t *kind, int64_t digits, int64_t *first);
/* For each number the place of the first one that is equal. 0, or WT_TOO_MANY where there is no memory. */
int64_t wt_first_equal(const uint64_t *numbers, int64_t n, int64_t *first);
/* Which runs of digits differ between texts that are alike: one byte a run of the first text, 1 for those. */
void wt_varying_numbers(const struct wt_texts *texts, uint8_t *varies);

#endif
