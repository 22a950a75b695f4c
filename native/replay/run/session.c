/* Several runs of one plan by ranks that stay, each at a time that is told. To start a job takes seconds, and
 * never the same: runs of several jobs could not begin together so. */
#define _GNU_SOURCE
#include "run/session.h"

#include "clock.h"
#include "failure.h"
#include "ranks/ranks.h"
#include "run/report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* The protocol: lines of rank 0's standard input and output.
 *
 *     run START_NS FOR_NS LOOPS PAUSES
 *         Performs the plan from START_NS on, again and again.
 *         It ends when FOR_NS are over (-1: no limit) or LOOPS are done (0: no limit).
 *         The plan's pauses are multiplied by PAUSES.
 *     clock
 *         Answers with the time, to measure how clocks differ.
 *
 * Times are ns of rank 0's CLOCK_MONOTONIC. Each run is answered by its report; the end of the input ends the
 * session.
 *
 * Why lines on standard streams: a launcher forwards them to rank 0 wherever that runs, through ssh and Slurm
 * too. A socket would need an address and a port that are open between hosts of a cluster. Why rank 0 alone
 * reads: launchers give standard input to it only. It shares each order by a collective call, in which the
 * others wait asleep.
 *
 * Why a start time and no "go": orders reach the jobs of a study one after another, and each job's ranks some
 * time later still. A moment in the future is met by all of them, if their clocks are compared first. Why
 * ranks stay between runs: starting a job takes seconds and differs from time to time, and its own I/O would
 * fall into the others' runs. */
struct order {
    int64_t goes_on; /* 0: the input has ended */
    int64_t start_ns, for_ns, loops;
    double pauses;
};

static struct order read_order(void) {
    char line[256];
    while (fgets(line, sizeof line, stdin)) {
        struct order o = {.goes_on = 1};
        if (strcmp(line, "clock\n") == 0) {
            printf("wavetank-replay-clock %" PRId64 "\n", wt_now_ns());
            fflush(stdout);
        } else if (sscanf(line, "run %" SCNd64 " %" SCNd64 " %" SCNd64 " %lf", &o.start_ns, &o.for_ns,
                          &o.loops, &o.pauses) == 4 &&
                   (o.for_ns >= 0 || o.loops > 0) && o.pauses >= 0) {
            return o;
        } else {
            line[strcspn(line, "\n")] = '\0';
            wt_fail(NULL, "not an order: %s", line);
        }
    }
    return (struct order){.goes_on = 0};
}

/* Whether what a rank does waits for no other rank: then each stops on its own, in the middle of the plan. */
static bool is_independent(const struct plan *plan) {
    for (int32_t i = 0; i < plan->n_steps; i++) {
        const struct plan_step *step = &plan->steps[i];
        if (step->kind == STEP_SYNC || step->kind == STEP_SIGNAL || step->kind == STEP_AWAIT) {
            return false;
        }
        if ((step->kind == STEP_FILE || step->kind == STEP_EMPTY) &&
            wt_calls[step->call].layer == LAYER_MPIIO) {
            return false;
        }
    }
    return true;
}

static void sleep_until(int64_t ns) {
    struct timespec until = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR) {
        ;
    }
}

void wt_session_run(struct replay *r, struct settings *settings) {
    const int64_t to_rank_0 = wt_ranks_offset_to_first();
    r->progress = wt_must_alloc(sizeof *r->progress);
    /* Each rank holds its own steps: independent is what all of them are. */
    r->independent = !wt_ranks_agree(!is_independent(r->plan));
    if (wt_rank_number() == 0) {
        char clock[CLOCK_NAME];
        wt_clock_name(clock);
        printf("wavetank-replay-ready %s\n", clock);
        fflush(stdout);
    }
    for (;;) {
        struct order order = {.goes_on = 0};
        wt_status_enter(RANK_PAUSES, "wait for an order", "", -1, -1);
        if (wt_rank_number() == 0) {
            order = read_order();
        }
        wt_ranks_share(&order, sizeof order);
        if (!order.goes_on) {
            break;
        }
        settings->pauses = PAUSES_KEEP;
        settings->pause_factor = order.pauses;
        wt_replay_renew(r);
        int64_t start = order.start_ns - to_rank_0;
        sleep_until(start);
        wt_replay_loop(r, start, order.for_ns, order.loops);
        wt_replay_wait_for_all();
        wt_report(r);
    }
}
