/* Histograms of latencies, and pauses. A pause ends at a time, not after one: what a sleep took too long is
 * taken off the next, so that the sum stays the application's. */
#include "timing.h"

#include "failure.h"

#include <errno.h>

uint64_t *wt_latency_new_block(struct latencies *l, int block) {
    l->block[block] = wt_must_alloc(LATENCY_SUB * sizeof(uint64_t));
    return l->block[block];
}

/* Shorter pauses are spun, as the application computed in them; a sleep takes some 60 us longer than asked.
 */
static const int64_t SPIN_BELOW_NS = 100000;

void wt_pause_for(struct pacer *p, int64_t ns) {
    p->wanted_ns += ns;
    p->owed_ns += ns;
    if (p->owed_ns > 0) {
        int64_t start = wt_now_ns(), deadline = start + p->owed_ns, end = start;
        if (p->owed_ns >= SPIN_BELOW_NS) {
            struct timespec until = {.tv_sec = deadline / 1000000000, .tv_nsec = deadline % 1000000000};
            while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR) {
                ;
            }
        }
        while ((end = wt_now_ns()) < deadline) {
            ;
        }
        p->slept_ns += end - start;
        p->owed_ns -= end - start;
    }
    int64_t off = p->owed_ns < 0 ? -p->owed_ns : p->owed_ns;
    if (off > p->worst_ns) {
        p->worst_ns = off;
    }
}
