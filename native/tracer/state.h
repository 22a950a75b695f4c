/* What all of the tracer knows of the process that it is in, and the lock of it. Includes nothing else of the
 * tracer; everything else may include it. Nothing of the tracer calls malloc or stdio. */
#ifndef WT_STATE_H
#define WT_STATE_H

#include "wavetank_trace.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/single_threaded.h>

#define WT_EXPORT __attribute__((visibility("default")))
#define WT_LIKELY(x) __builtin_expect(!!(x), 1)
#define WT_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define WT_COLD __attribute__((cold, noinline))
#define WT_UNKNOWN (-1)
#define WT_PATH_BYTES 4096

#pragma GCC visibility push(hidden) /* what is declared here is in this library: it is reached directly */

extern bool wt_active;             /* false: every wrapper passes through */
extern bool wt_claimed;            /* this library traces the process, or did until a fault */
extern bool wt_counting;           /* the trace cannot be written any more: operations are counted only */
extern bool wt_stopping;           /* it is being said that it cannot */
extern __thread int wt_inside;     /* > 0: this thread is in the tracer */
extern _Atomic uint64_t wt_missed; /* operations met while wt_inside */
extern bool wt_level_posix, wt_level_mpiio, wt_level_mpi, wt_event_times, wt_standard_streams;
extern char wt_directory[WT_PATH_BYTES];
extern int wt_pid;
extern struct wt_tail *wt_tail;    /* what is not in the part yet; see wavetank_trace.h */
extern struct wt_tail wt_own_tail; /* until there is a part, and where the tail cannot be mapped */
extern uint64_t wt_n_recorded;     /* operations in closed rows */

bool wt_may_trace(void);        /* recording, not inside the tracer, and not in a vfork's child */
bool wt_other_process(void);    /* true in the child of a vfork, which runs in its parent's memory */
void *wt_reserve(size_t bytes); /* zeros; NULL: there is no memory */

/* ---- the lock ----
 * One spin lock guards all that the tracer knows of the process: its tables, and the tail that a reader finds
 * after a kill.
 *
 * Why no pthread mutex: wrappers run where a mutex may not be taken, in signal handlers, before the C library
 * is started and behind fork, and a mutex may call functions that are wrapped. Why one lock: what it guards
 * takes few instructions, and rows are numbered in one order over all threads. Why a spin lock: nothing waits
 * while it is held but for a flush, and who spins in vain yields the processor. The application's own code
 * never runs with it.
 *
 * wt_inside is the other half. It is the thread's own count of how deep it is in the tracer: a wrapper that
 * is reached from inside of the tracer, or by a signal handler that interrupts it, passes through and takes
 * no lock, so that a thread never waits for itself. What such a call did is not in the trace: wt_missed
 * counts the calls on descriptors that are traced.
 *
 * While the C library says that there is one thread, nobody can come in between: the lock is then stored, not
 * exchanged, which needs no locked bus cycle. It is stored all the same: the unlock is the same for both.
 * fork takes the lock, so that the child finds the tables whole, and gives it back in both processes
 * (lifecycle.c). */
extern atomic_bool wt_locked;
WT_COLD void wt_wait_for_lock(void);
extern bool wt_finished;               /* the destructor has run: what comes now is written at once, */
extern void (*wt_write_at_once)(void); /* by this; the lock itself knows nothing of rows */
WT_COLD void wt_unlock_late(void);

static inline void wt_lock(void) {
    wt_inside++;
    if (WT_LIKELY(__libc_single_threaded)) { /* no second thread can come while this one is here */
        atomic_store_explicit(&wt_locked, true, memory_order_relaxed);
    } else if (WT_UNLIKELY(atomic_exchange_explicit(&wt_locked, true, memory_order_acquire))) {
        wt_wait_for_lock();
    }
}

static inline void wt_unlock(void) {
    if (WT_UNLIKELY(wt_finished)) {
        wt_unlock_late();
    }
    atomic_store_explicit(&wt_locked, false, memory_order_release);
    wt_inside--;
}

#pragma GCC visibility pop

#endif
