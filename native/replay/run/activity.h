/* When this rank is at I/O calls, and when it is not: it waits for other ranks, pauses, or verifies.
 *
 * A stretch of calls without such a wait is one span, with the replay's own work between the calls in it.
 * What kind of call a span's time went to is added up. Memory is bounded: when the list is full, neighbours
 * that lie together within less than a length become one span, which then knows how much of it was I/O, but
 * not when; the length doubles until half of the list is free. */
#ifndef WAVETANK_REPLAY_ACTIVITY_H
#define WAVETANK_REPLAY_ACTIVITY_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Calls that move data; that move none (open, close, seek, stat, rename ...); that bring data to storage. */
enum io_kind { IO_DATA, IO_METADATA, IO_FLUSH, IO_KINDS };

/* What calls that move no data ask a metadata server for: their number a second is told. */
#define REPLAY_RATES(X)                                                                                      \
    X(CREATE, "create")                                                                                      \
    X(OPEN, "open")                                                                                          \
    X(CLOSE, "close")                                                                                        \
    X(OPENDIR, "opendir")                                                                                    \
    X(CLOSEDIR, "closedir")                                                                                  \
    X(READDIR, "readdir")                                                                                    \
    X(STAT, "stat")                                                                                          \
    X(ACCESS, "access")                                                                                      \
    X(UNLINK, "unlink")                                                                                      \
    X(MKDIR, "mkdir")                                                                                        \
    X(RMDIR, "rmdir")                                                                                        \
    X(MKNOD, "mknod")                                                                                        \
    X(RENAME, "rename")                                                                                      \
    X(LINK, "link")                                                                                          \
    X(SYMLINK, "symlink")                                                                                    \
    X(READLINK, "readlink")                                                                                  \
    X(ATTRIBUTES, "attributes")                                                                              \
    X(RESIZE, "resize")

enum io_rate {
#define X(id, name) RATE_##id,
    REPLAY_RATES(X)
#undef X
        RATES,
    RATE_NONE = -1
};

enum { ACTIVITY_SPANS = 1024 };

struct activity_span {
    int64_t from_ns, to_ns, kind_ns[IO_KINDS], rate_ns[RATES]; /* rate_ns: parts of the metadata */
};

struct activity {
    struct activity_span spans[ACTIVITY_SPANS]; /* in order */
    int32_t n;
    bool joined;          /* nothing but I/O since the last span's end */
    int64_t data_from_ns; /* since when a step of data calls is under way; -1: none is */
    int64_t shortest_ns;  /* neighbours within less are one span; 0: none are */
    int64_t sum_ns[IO_KINDS];
    int64_t n_calls[RATES];
};

void wt_activity_clear(struct activity *a);

/* A step of data calls; what lies between its begin and its end and is told by no other function is data. */
void wt_activity_data_begins(struct activity *a, int64_t at_ns);
void wt_activity_data_ends(struct activity *a, int64_t at_ns);

/* Calls of one kind. */
void wt_activity_calls(struct activity *a, enum io_kind kind, int64_t from_ns, int64_t to_ns);

/* A call that moves no data, which counts to a rate. */
void wt_activity_call(struct activity *a, enum io_kind kind, enum io_rate rate, int64_t from_ns,
                      int64_t to_ns);

/* The rank is at no I/O call. */
void wt_activity_waits(struct activity *a, int64_t from_ns, int64_t to_ns);

/* As the key "io" of a JSON object, after a comma: sums of each kind, the length of spans that were merged,
 * and the spans: [ns since the last one's end (first: since start_ns), length, data, metadata, flush, and for
 * each rate that has a part in its metadata: its number, ns]. "rates" names those that were counted, by their
 * numbers, with their calls. */
void wt_activity_print(const struct activity *a, int64_t start_ns, FILE *out);

#endif
