/* The clock of the tracer. Times are in clock units until they are written (time-stamp counter, or ns). */
#ifndef WT_CLOCK_H
#define WT_CLOCK_H

#include "state.h"

#pragma GCC visibility push(hidden) /* what is declared here is in this library: it is reached directly */

extern bool wt_clock_is_tsc;
void wt_clock_start(void);
uint64_t wt_clock_slow(void);
uint64_t wt_clock_ns(uint64_t units); /* ns since tracer start; exact at anchors, linear between */
void wt_clock_anchor(void);           /* called before a group is coded */
extern uint64_t wt_ns_of_units;       /* ns in a clock unit, times 2^32: for rough times */
extern int64_t wt_pause_units,
    wt_pause_seen_units; /* WT_PAUSE_NS, WT_PAUSE_SEEN_NS in clock units, roughly */
extern uint64_t wt_start_utc_ns, wt_start_mono_ns;

/* How clock units become ns, until the next anchor. */
struct wt_rate {
    uint64_t units; /* at ns since tracer start */
    int64_t ns;
    double ns_of_a_unit;
};
struct wt_rate wt_clock_rate(void);

static inline uint64_t wt_ns_at(const struct wt_rate *rate, uint64_t units) {
    double ns = (double)(int64_t)(units - rate->units) * rate->ns_of_a_unit;
    int64_t since_start = rate->ns + (int64_t)ns;
    return since_start > 0 ? (uint64_t)since_start : 0;
}

static inline uint64_t wt_now(void) {
#if defined(__x86_64__)
    if (WT_LIKELY(wt_clock_is_tsc)) {
        return __builtin_ia32_rdtsc();
    }
#endif
    return wt_clock_slow();
}

static inline unsigned wt_bucket(uint64_t units) { /* of times: the logarithm of ns */
    uint64_t ns = (uint64_t)(((unsigned __int128)units * wt_ns_of_units) >> 32);
    unsigned b = 63u - (unsigned)__builtin_clzll(ns | 1);
    return b < WT_TIMES_BUCKETS ? b : WT_TIMES_BUCKETS - 1;
}

#pragma GCC visibility pop

#endif
