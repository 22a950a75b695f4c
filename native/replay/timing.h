/* Latency histograms and pauses. Times are ns. */
#ifndef WAVETANK_REPLAY_TIMING_H
#define WAVETANK_REPLAY_TIMING_H

#include "clock.h"

#include <stdint.h>
#include <stdlib.h>

/* Latencies in buckets of logarithmic width: 32 to each power of two, so a bucket is at most 1/32 wide of
 * its value. Below 32 ns a bucket is 1 ns. Blocks of 32 counters are made when first needed: a phase of one
 * operation costs one block. */
enum { LATENCY_SUB_BITS = 5, LATENCY_SUB = 1 << LATENCY_SUB_BITS, LATENCY_BLOCKS = 64 - LATENCY_SUB_BITS };

struct latencies {
    uint64_t *block[LATENCY_BLOCKS];
    int64_t max_ns;
};

uint64_t *wt_latency_new_block(struct latencies *l, int block);

static inline void wt_latency_add(struct latencies *l, int64_t ns) {
    uint64_t v = ns < 0 ? 0 : (uint64_t)ns;
    int block = 0;
    uint64_t sub = v;
    if (v >= LATENCY_SUB) {
        int shift = 63 - __builtin_clzll(v) - LATENCY_SUB_BITS;
        block = shift + 1;
        sub = (v >> shift) - LATENCY_SUB;
    }
    uint64_t *counters = l->block[block];
    if (!counters) {
        counters = wt_latency_new_block(l, block);
    }
    counters[sub]++;
    if (ns > l->max_ns) {
        l->max_ns = ns;
    }
}

/* Pauses that do not drift: what one sleep took too long is taken off the next ones. */
struct pacer {
    int64_t owed_ns;   /* asked for and not yet slept; negative: slept too long */
    int64_t wanted_ns; /* sum asked for */
    int64_t slept_ns;  /* sum really spent */
    int64_t worst_ns;  /* largest |slept - wanted| after any pause: the drift */
};

void wt_pause_for(struct pacer *p, int64_t ns);

#endif
