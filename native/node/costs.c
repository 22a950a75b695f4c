/* What a system call and a timer's interrupt cost where this runs: a guest's kernel pays more than this
 * machine's.
 *
 * Prints "SYSTEM_CALL_NS INTERRUPT_NS". Each is the least of several rounds' means or medians: other work
 * only adds.
 */
#include "node.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 5, CALLS = 4000, WAITS = 51, NS_PER_S = 1000000000, WAIT_NS = 200000 };

static long long now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (long long)now.tv_sec * NS_PER_S + now.tv_nsec;
}

/* Mean over many calls of getppid, which does nothing else. */
static long long system_call_ns(void) {
    long long began = now_ns();
    for (int i = 0; i < CALLS; i++) {
        syscall(SYS_getppid);
    }
    return (now_ns() - began) / CALLS;
}

static int ascending(const void *a, const void *b) {
    long long first = *(const long long *)a;
    long long second = *(const long long *)b;
    return (first > second) - (first < second);
}

/* Median of how much later than its timer a process runs again: the interrupt, and the change to the process.
 */
static long long interrupt_ns(void) {
    long long late[WAITS];
    for (int i = 0; i < WAITS; i++) {
        long long due = now_ns() + WAIT_NS;
        struct timespec until = {.tv_sec = due / NS_PER_S, .tv_nsec = due % NS_PER_S};
        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR) {
        }
        late[i] = now_ns() - due;
    }
    qsort(late, WAITS, sizeof late[0], ascending);
    return late[WAITS / 2];
}

static long long least(long long (*measure)(void)) {
    long long found = measure();
    for (int i = 1; i < ROUNDS; i++) {
        long long again = measure();
        found = again < found ? again : found;
    }
    return found;
}

int wt_print_costs(void) {
    prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL); /* else the kernel may run it 50 us later */
    printf("%lld %lld\n", least(system_call_ns), least(interrupt_ns));
    return EXIT_SUCCESS;
}
