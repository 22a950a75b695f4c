/* The time, and which clock it is of. Times are ns of CLOCK_MONOTONIC (int64_t: 292 years), of which there is
 * one for each boot of a machine and time namespace. */
#ifndef WAVETANK_REPLAY_CLOCK_H
#define WAVETANK_REPLAY_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

static inline int64_t wt_now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t); /* 23 ns through the vDSO (measured) */
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

enum { CLOCK_NAME = 96 };

/* Processes with equal names read the same clock. False, and an empty name, where that is not known.
 * src/wavetank/kernel/execution/session.py makes the same name. */
bool wt_clock_name(char name[CLOCK_NAME]);

#endif
