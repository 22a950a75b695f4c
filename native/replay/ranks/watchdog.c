/* The process beside a rank: the parent, which forks the rank and waits for it, since only a parent is told
 * by which signal its child ended. Reads the rank's status in shared memory. */
#define _GNU_SOURCE
#include "ranks/watchdog.h"

#include "failure.h"
#include "rank_status.h"
#include "timing.h"

#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static const long LOOK_NS = 250000000;    /* how often a rank's progress is looked at */
static const long FORWARD_NS = 500000000; /* for a launcher to forward a line before it ends all ranks */

/* The rank's number as the launcher gave it, for a rank that dies before MPI has told it. */
static int rank_by_launcher(void) {
    static const char *const NAMES[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"};
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
        const char *value = getenv(NAMES[i]);
        if (value) {
            return atoi(value);
        }
    }
    return 0;
}

static void print_place(void) {
    const struct rank_status *w = wt_status;
    printf("{\"rank\": %d, \"call\": ", w->rank < 0 ? rank_by_launcher() : w->rank);
    wt_print_json_string(w->call);
    printf(", \"file\": ");
    wt_print_json_string(w->file);
    static const char *const STATES[] = {"starts", "works", "waits", "pauses", "tells", "ended"};
    printf(", \"offset\": %" PRId64 ", \"size\": %" PRId64 ", \"step\": %" PRId64 ", \"steps\": %" PRId64
           ", \"state\": \"%s\"",
           w->offset, w->size, w->step, w->steps, STATES[w->state]);
}

/* The rank has ended, by a signal or an exit; its own failures it has told itself. */
static _Noreturn void tell_end(int status) {
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : 1;
    if (wt_status->state == RANK_ENDED && WIFEXITED(status)) {
        exit(code);
    }
    printf("\n" FAILURE_MARK);
    print_place();
    printf(", \"at_ns\": %" PRId64 ", \"died\": ", wt_now_ns());
    if (WIFSIGNALED(status)) {
        printf("\"signal %d, %s\"}\n", WTERMSIG(status), strsignal(WTERMSIG(status)));
    } else {
        printf("\"it exited with status %d\"}\n", code);
    }
    fflush(stdout);
    nanosleep(&(struct timespec){.tv_nsec = FORWARD_NS}, NULL);
    exit(code ? code : 1);
}

static void tell_waiting(double seconds) {
    printf("\n" WAITING_MARK);
    print_place();
    printf(", \"seconds\": %.1f}\n", seconds);
    fflush(stdout);
}

static void tell_moving(void) {
    printf("\n" MOVING_MARK "{\"rank\": %d}\n", wt_status->rank);
    fflush(stdout);
}

/* Another thread of control wrote it: read it anew. */
static int64_t done_so_far(void) {
    return *(volatile int64_t *)&wt_status->done;
}

static _Noreturn void watch(pid_t child, int64_t patience_ns, const sigset_t *of_child) {
    int64_t done = done_so_far(), since = wt_now_ns();
    bool told = false;
    for (int status;;) {
        sigtimedwait(of_child, NULL, &(struct timespec){.tv_nsec = LOOK_NS});
        if (waitpid(child, &status, WNOHANG) == child) {
            tell_end(status);
        }
        int64_t now = wt_now_ns();
        bool quiet = wt_status->state == RANK_TELLS || wt_status->state == RANK_ENDED;
        if (done_so_far() != done || quiet) {
            if (told && !quiet) {
                tell_moving();
            }
            done = done_so_far();
            since = now;
            told = false;
        } else if (!told && now - since >= patience_ns) {
            tell_waiting((double)(now - since) * 1e-9);
            told = true;
        }
    }
}

static double asked_patience(int argc, char **argv) {
    static const char option[] = "--watch=";
    for (int i = 1; i < argc; i++) {
        if (strncmp(argv[i], option, strlen(option)) == 0) {
            return atof(argv[i] + strlen(option));
        }
    }
    return 0;
}

/* Name this process for what it is: a search for the ranks does not find it. */
static void rename_process(int argc, char **argv) {
    static const char name[] = "wavetank-watch";
    char *end = argv[argc - 1] + strlen(argv[argc - 1]);
    size_t length = (size_t)(end - argv[0]);
    prctl(PR_SET_NAME, (unsigned long)name, 0UL, 0UL, 0UL);
    if (length >= sizeof name) {
        memset(argv[0], 0, length);
        memcpy(argv[0], name, sizeof name);
    }
}

void wt_watchdog_start(int argc, char **argv) {
    double patience_s = asked_patience(argc, argv);
    if (!(patience_s > 0) || getenv("WAVETANK_TRACE_DIR")) {
        return;
    }
    struct rank_status *shared =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) {
        return;
    }
    *shared = *wt_status;
    signal(SIGCHLD, SIG_DFL); /* ignored, it would leave no status to be told */
    sigset_t of_child, before;
    sigemptyset(&of_child);
    sigaddset(&of_child, SIGCHLD);
    sigprocmask(SIG_BLOCK, &of_child, &before);
    const pid_t parent = getpid(), child = fork();
    if (child != 0) {
        if (child < 0) { /* no room for another process: the rank goes on alone */
            sigprocmask(SIG_SETMASK, &before, NULL);
            return;
        }
        wt_status = shared;
        rename_process(argc, argv);
        watch(child, (int64_t)(patience_s * 1e9), &of_child);
    }
    wt_status = shared;
    prctl(PR_SET_PDEATHSIG, (unsigned long)SIGKILL, 0UL, 0UL, 0UL);
    if (getppid() != parent) { /* it died before that call */
        _exit(1);
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
}
