/* State of the traced process that all of the tracer reads: one for a process, so that it can be told in one
 * place what a fork or a fault leaves. Has no wrapper and calls nothing of the tracer. */
#define _GNU_SOURCE
#include "state.h"

#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

bool wt_active, wt_claimed, wt_counting, wt_stopping;
__thread int wt_inside __attribute__((tls_model("initial-exec")));
_Atomic uint64_t wt_missed;
bool wt_level_posix = true, wt_level_mpiio = true, wt_level_mpi = true, wt_event_times, wt_standard_streams;
char wt_directory[WT_PATH_BYTES];
int wt_pid;
struct wt_tail wt_own_tail;
struct wt_tail *wt_tail = &wt_own_tail;
uint64_t wt_n_recorded;

atomic_bool wt_locked;
bool wt_finished;
void (*wt_write_at_once)(void);

WT_COLD void wt_wait_for_lock(void) {
    for (unsigned spins = 0; atomic_exchange_explicit(&wt_locked, true, memory_order_acquire); spins++) {
        if (spins > 100) {
            sched_yield();
        }
    }
}

WT_COLD void wt_unlock_late(void) {
    wt_write_at_once();
}

bool wt_other_process(void) {
    return (int)syscall(SYS_getpid) != wt_pid;
}

bool wt_may_trace(void) {
    return wt_active && wt_level_posix && !wt_inside && !wt_other_process();
}

/* Pages are only backed when touched: a table for a million descriptors costs nothing until they are used. */
void *wt_reserve(size_t bytes) {
    void *memory = (void *)syscall(SYS_mmap, NULL, bytes, PROT_READ | PROT_WRITE,
                                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}
