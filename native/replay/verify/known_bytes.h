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

/* What this rank knows of the bytes of one file.
 *
 * Why ranges and not what each block says of itself (offset, rank and generation in it, as fio's verify has
 * them): such blocks are those of a benchmark. Here a read may begin anywhere in what several
 * writes left, and a byte that nobody wrote must be told from one that was.
 *
 * Why three sets: a byte that certainly holds the pattern is wrong if it does not. Of one that another rank
 * writes at a moment that nothing orders either is right. What was written here since ranks met last is kept
 * apart, to be told to the next ones.
 *
 * Why ranks tell each other during the run, and no plan says it beforehand: that would have to follow loops,
 * messages and file pointers of all ranks at once. The replay does so anyway, and what the plan orders is
 * where ranks meet.
 *
 * Why cutters are counted: a rank that is still to empty or replace the file makes all knowledge uncertain,
 * until it is known to have made all such calls of the plan.
 *
 * Why growing: calls that are repeated with others between them would each be a range. As a band that
 * grows they are one, so that memory grows with what is irregular. */
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
