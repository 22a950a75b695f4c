/* How much a rank moved when: bytes and time in operations, by bins of time since the run's start.
 * Where the bins do not reach, pairs of them are merged and each becomes twice as wide. */
#ifndef WAVETANK_REPLAY_PROGRESS_H
#define WAVETANK_REPLAY_PROGRESS_H

#include <stdint.h>
#include <stdio.h>

enum { PROGRESS_BINS = 2048, PROGRESS_LOOPS = 1000 };

struct progress {
    int64_t bin_ns; /* width of a bin: 1 ms times a power of two */
    int64_t bytes[PROGRESS_BINS], io_ns[PROGRESS_BINS];
    int64_t loops[PROGRESS_LOOPS][2]; /* of whole repetitions of the plan: start and end, ns */
    int64_t n_loops;                  /* all of them; the first PROGRESS_LOOPS are in loops */
};

void wt_progress_clear(struct progress *p);

/* An operation from..to (ns since the run's start): its bytes are spread evenly over its time. */
void wt_progress_add(struct progress *p, int64_t from_ns, int64_t to_ns, int64_t bytes);

void wt_progress_add_loop(struct progress *p, int64_t from_ns, int64_t to_ns);

/* As keys of a JSON object, each after a comma. */
void wt_progress_print(const struct progress *p, FILE *out);

#endif
