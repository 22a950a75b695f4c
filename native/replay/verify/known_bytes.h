/* What is known of the bytes of each file. verify_exchange.c (what ranks tell each other) and verify_state.c
 * (this rank's own calls, comparing) work on it. */
#ifndef WAVETANK_REPLAY_KNOWN_BYTES_H
#define WAVETANK_REPLAY_KNOWN_BYTES_H

#include "backends/raw_syscalls.h"
#include "verify/verify_state.h"
#include "verify/write_log.h"

enum { N_GROWING = 8 };

/* Another rank that empties, cuts or replaces a file. Until all that it will do is known to be done, nothing
 * is known for certain. */
struct cutter {
    int32_t rank;
    int64_t total, done;
};

struct knowledge {
    struct ranges holds;  /* certainly the pattern */
    struct ranges others; /* another rank may write it at any moment, or it was there before */
    struct ranges fresh;  /* written here, and told to nobody */
    struct growing {      /* of repeated operations with others between them */
        const void *key;
        struct band band;
    } growing[N_GROWING];
    int32_t next_growing;
    struct cutter *cutters;
    int32_t n_cutters;
    int64_t own_cuts;
    int32_t n_writers, latest_writer, n_appenders;
    bool anywhere;           /* shared pointers: where each write went is not known */
    bool loses_name, renews; /* by this rank: another file may have its name next time; by another one */
    int32_t epoch;
    bool has_inode;
    struct raw_facts inode;
};

extern struct all_known {
    bool is_on;
    const struct plan *plan;
    struct knowledge **files; /* NULL: nothing beside what was prepared */
    bool *shared;             /* by file: of use to other ranks */
    struct notes log;         /* what others are to be told */
} wt_verify;

struct knowledge *wt_verify_file(int32_t file);

/* Whether another rank may still empty, cut or replace it. */
bool wt_verify_is_pending(const struct knowledge *k);

/* This rank has written a band of a file. */
void wt_verify_keep(int32_t file, struct band band);

/* Put what grows into the sets. */
void wt_verify_settle(int32_t file);

static inline struct band wt_one_piece(int64_t start, int64_t end) {
    return (struct band){start, end - start, 0, 1};
}

#endif
