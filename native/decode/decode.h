/* The reader's decoder: ROWS payloads and tails to columns. Called by src/wavetank/trace/decoder.py through
 * ctypes. Input may be anything: every length is checked, and no arithmetic overflows. */
#ifndef WT_DECODE_H
#define WT_DECODE_H

#include "wavetank_trace.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WT_EXPORT __attribute__((visibility("default")))
#define WT_DAMAGED (-1)
#define WT_TOO_MANY (-2)       /* rows, when loops are taken apart */
#define WT_MOST_ROWS (1 << 24) /* of a part: 3 GB of columns */
#define WT_MOST_MEMBERS 4096   /* operations in the body of a loop that is not taken apart */

/* Columns of the fold table, in the order of FoldTable in src/wavetank/trace/schema.py, without the rank. */
struct wt_columns {
    int64_t *seq;
    uint8_t *op;
    int32_t *file;
    int32_t *handle;
    int64_t *count;
    int64_t *size;
    int64_t *moved;
    int64_t *offset;
    int64_t *disp;
    int32_t *view;
    int64_t *view_offset;
    int64_t *view_disp;
    int64_t *tick;
    int64_t *subtick;
    int64_t *tick_step;
    int64_t *subtick_step;
    int64_t *start_ns;
    int64_t *end_ns;
    int64_t *busy_ns;
    int64_t *arg;
    int32_t *error;
    int64_t *loop;
    int32_t *handle_step;
};

/* Columns of the durations: of each fold of several operations, how many took how long. */
struct wt_times_columns {
    int64_t *row;    /* the fold's first row in the columns above */
    int64_t *counts; /* WT_TIMES_BUCKETS of each */
};

struct wt_sizes {
    int64_t rows;  /* loops taken apart where a table of rows cannot hold them */
    int64_t folds; /* as stored */
    int64_t times;
};

/* Loops with bodies of up to `members` operations (WT_MOST_MEMBERS at most) are kept as such; with 0 every
 * loop is taken apart. Sizes of what a payload holds; 0, WT_DAMAGED or WT_TOO_MANY. */
int64_t wt_count_rows(const uint8_t *payload, size_t length, unsigned members, struct wt_sizes *sizes);
/* Fills at most `room` of everything; 0, or WT_DAMAGED. */
int64_t wt_decode_rows(const uint8_t *payload, size_t length, unsigned members,
                       const struct wt_columns *columns, const struct wt_times_columns *times,
                       const struct wt_sizes *room);
/* The same of a tail's rows, with their places; of a whole file. */
int64_t wt_count_tail(const uint8_t *content, size_t length, unsigned members, struct wt_sizes *sizes);
int64_t wt_decode_tail(const uint8_t *content, size_t length, unsigned members,
                       const struct wt_columns *columns, const struct wt_times_columns *times,
                       const struct wt_sizes *room);

/* ---- between the decoder's own files ---- */

struct wt_input {
    const uint8_t *at, *end;
    bool bad;
};
static inline uint64_t wt_get_varint(struct wt_input *in) {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        if (in->at >= in->end) {
            break;
        }
        uint8_t byte = *in->at++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            return value;
        }
    }
    in->bad = true;
    return 0;
}

static inline uint8_t wt_get_byte(struct wt_input *in) {
    if (in->at >= in->end) {
        in->bad = true;
        return 0;
    }
    return *in->at++;
}

static inline int64_t wt_get_signed(struct wt_input *in) {
    uint64_t value = wt_get_varint(in);
    return (int64_t)((value >> 1) ^ (0 - (value & 1)));
}

/* Folds as they are stored: a group's, or a tail's. Times are ns. Of loops, rows hold the first repetition,
 * and busy of all. */
struct wt_folds {
    unsigned n, members; /* rows; operations in the body of a loop that is not taken apart */
    uint64_t seq;        /* of the first row */
    struct wt_row rows[WT_GROUP_ROWS + 1];
    struct wt_nest nests[WT_GROUP_ROWS + 1];
};
bool wt_read_loops(struct wt_input *in, struct wt_folds *folds); /* what follows an 'L' */
bool wt_read_times(struct wt_input *in, struct wt_folds *folds); /* what follows a 'T' */
bool wt_loops_fit(const struct wt_folds *folds); /* side by side or inside of each other, and complete */

/* Where rows being put lie: the repetition of each loop around them, from the outermost. */
struct wt_place {
    uint64_t repetition[WT_NEST];
    unsigned depth;
};

/* One operation of a loop's body. */
struct wt_member {
    unsigned row;
    uint64_t operation;    /* of the row */
    struct wt_place place; /* within the loops inside */
};

/* How a loop becomes rows. */
struct wt_form {
    unsigned members; /* 0: it is taken apart */
    unsigned begin;   /* member at which repetitions begin; those before it and behind stand alone once */
    uint64_t rows;    /* of all that it becomes */
};

static inline const struct wt_around *wt_loop_at(const struct wt_folds *folds, unsigned row, unsigned level) {
    unsigned depth = folds->rows[row].depth;
    return level < depth ? &folds->nests[row].around[depth - 1 - level] : NULL;
}

extern _Thread_local struct wt_member wt_members[WT_MOST_MEMBERS]; /* of the loop laid out last */
struct wt_form wt_form_of(const struct wt_folds *folds, unsigned low, unsigned level);
unsigned wt_lay_out(const struct wt_folds *folds, unsigned low, unsigned high, struct wt_place *place,
                    unsigned n);

/* Where rows go. */
struct wt_output {
    const struct wt_columns *columns;
    const struct wt_times_columns *times;
    struct wt_sizes at, room;
    int64_t n_loops;
};
void wt_add_sizes(const struct wt_folds *folds,
                  struct wt_sizes *sizes); /* never past WT_MOST_ROWS + 1 rows */
bool wt_put_folds(const struct wt_folds *folds, struct wt_output *out);

#endif
