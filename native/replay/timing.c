/* Histograms of latencies, and pauses. A pause ends at a time, not after one: what a sleep took too long is
 * taken off the next, so that the sum stays the application's. */
#include "timing.h"

#include "failure.h"

#include <errno.h>
#include <sched.h>
#include <stdbool.h>

uint64_t *wt_latency_new_block(struct latencies *l, int block) {
    l->block[block] = wt_must_alloc(LATENCY_SUB * sizeof(uint64_t));
    return l->block[block];
}

/* Shorter pauses are spun, as the application computed in them; a sleep takes some 60 us longer than asked.
 */
static const int64_t SPIN_BELOW_NS = 100000;

enum { LINE_WORDS = 64 / sizeof(uint64_t), PIECE_LINES = 64 };

/* What pauses compute on: lines of a processor's cache, one after another, round and round. */
static struct {
    bool busy;                /* false: pauses sleep */
    volatile uint64_t *words; /* NULL: on nothing */
    size_t n_lines, next;
} computed;

void wt_pauses_compute(int64_t bytes) {
    computed.busy = true;
    computed.n_lines = ((size_t)bytes + 63) / 64;
    if (computed.n_lines == 0) {
        return;
    }
    computed.words = wt_must_alloc(computed.n_lines * 64);
    for (size_t i = 0; i < computed.n_lines; i++) { /* its pages are there before the first pause */
        computed.words[i * LINE_WORDS] = i;
    }
}

static void compute_until(int64_t deadline) {
    do {
        for (int i = 0; i < PIECE_LINES; i++) {
            computed.words[computed.next * LINE_WORDS]++;
            computed.next = computed.next + 1 == computed.n_lines ? 0 : computed.next + 1;
        }
    } while (wt_now_ns() < deadline);
}

/* An application uses what it has read: without it the next read's buffer has left the caches, and a read of
 * 8 KiB took 6 % longer (measured). */
static void use_what_was_read(struct pacer *p) {
    volatile const char *bytes = p->read;
    for (int i = 0; i < PIECE_LINES / 4 && p->read_bytes > 0; i++) {
        (void)bytes[p->used];
        p->used += 64;
        if (p->used >= p->read_bytes) {
            p->used = 0;
        }
    }
}

void wt_pause_for(struct pacer *p, int64_t ns) {
    p->wanted_ns += ns;
    p->owed_ns += ns;
    if (p->owed_ns > 0) {
        int64_t start = wt_now_ns(), deadline = start + p->owed_ns, end = start;
        if (computed.words) {
            compute_until(deadline);
        } else if (!computed.busy && p->owed_ns >= SPIN_BELOW_NS) {
            struct timespec until = {.tv_sec = deadline / 1000000000, .tv_nsec = deadline % 1000000000};
            while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR) {
                ;
            }
        }
        while ((end = wt_now_ns()) < deadline) {
            if (computed.busy && !computed.words) {
                use_what_was_read(p);
                sched_yield(); /* other ranks' pauses end while this one lasts */
            }
        }
        p->slept_ns += end - start;
        p->owed_ns -= end - start;
    }
    int64_t off = p->owed_ns < 0 ? -p->owed_ns : p->owed_ns;
    if (off > p->worst_ns) {
        p->worst_ns = off;
    }
}
