/* wavetank-replay: performs a kernel's plan in a directory and prints what it measured.
 * Rank 0 alone reads the plan and writes the result (standard output); the ranks share nothing but the
 * directory. */
#include "failure.h"
#include "ranks/ranks.h"
#include "ranks/watchdog.h"
#include "run/perform.h"
#include "run/report.h"
#include "run/session.h"
#include "verify/extent_check.h"
#include "verify/verify_state.h"

#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

static const char USAGE[] =
    "usage: wavetank-replay --plan FILE --root DIRECTORY [options]\n"
    "  --pauses drop|keep|FACTOR   pauses between operations: left out (default), as "
    "recorded, or times FACTOR\n"
    "  --flush none|phase|end      have written data on storage: as the application does (default); at the "
    "end of\n"
    "                              each phase, within its time, and of the run; at the end of the run alone\n"
    "  --longest-pause SECONDS     longer pauses are shortened to this\n"
    "  --verify                    check every byte that is read\n"
    "  --direct                    open files with O_DIRECT\n"
    "  --null                      perform nothing: the program's own cost\n"
    "  --watch=SECONDS             say how a rank died, or where it is when it makes no "
    "progress for so long\n"
    "  --session                   perform it whenever standard input says so\n";

static _Noreturn void usage(const char *what, const char *value) {
    if (wt_rank_number() == 0) {
        fprintf(stderr, "wavetank-replay: %s %s\n%s", what, value, USAGE);
    }
    wt_status->state = RANK_ENDED;
    wt_ranks_end();
    exit(2);
}

static void set_pauses(struct settings *s, const char *value) {
    char *end;
    s->pauses = PAUSES_KEEP;
    s->pause_factor = 1;
    if (strcmp(value, "drop") == 0) {
        s->pauses = PAUSES_DROP;
    } else if (strcmp(value, "keep") != 0) {
        s->pause_factor = strtod(value, &end);
        if (*end || end == value || !(s->pause_factor >= 0 && s->pause_factor < 1e9)) {
            usage("--pauses cannot be", value);
        }
    }
}

static void set_flush(struct settings *s, const char *value) {
    if (strcmp(value, "none") == 0) {
        s->flush = FLUSH_NONE;
    } else if (strcmp(value, "phase") == 0) {
        s->flush = FLUSH_PHASE;
    } else if (strcmp(value, "end") == 0) {
        s->flush = FLUSH_END;
    } else {
        usage("--flush cannot be", value);
    }
}

static void set_longest_pause(struct settings *s, const char *value) {
    char *end;
    double seconds = strtod(value, &end);
    if (*end || end == value || !(seconds >= 0 && seconds < 1e9)) {
        usage("--longest-pause cannot be", value);
    }
    s->longest_pause_ns = seconds * 1e9;
}

static struct settings parse_arguments(int argc, char **argv) {
    static const struct option OPTIONS[] = {
        {"plan", required_argument, NULL, 'p'},
        {"root", required_argument, NULL, 'r'},
        {"pauses", required_argument, NULL, 'w'},
        {"flush", required_argument, NULL, 'f'},
        {"verify", no_argument, NULL, 'v'},
        {"direct", no_argument, NULL, 'd'},
        {"null", no_argument, NULL, 'n'},
        {"session", no_argument, NULL, 's'},
        {"watch", required_argument, NULL, 'a'},
        {"longest-pause", required_argument, NULL, 'l'},
        {NULL, 0, NULL, 0},
    };
    struct settings s = {.pause_factor = 1, .longest_pause_ns = INFINITY};
    for (int c; (c = getopt_long(argc, argv, "", OPTIONS, NULL)) != -1;) {
        switch (c) {
        case 'p':
            s.plan = optarg;
            break;
        case 'r':
            s.root = optarg;
            break;
        case 'w':
            set_pauses(&s, optarg);
            break;
        case 'f':
            set_flush(&s, optarg);
            break;
        case 'v':
            s.verify = true;
            break;
        case 'd':
            s.direct = true;
            break;
        case 'n':
            s.null = true;
            break;
        case 's':
            s.session = true;
            break;
        case 'l':
            set_longest_pause(&s, optarg);
            break;
        case 'a': /* wt_watchdog_start has read it */
            break;
        default:
            usage("unknown option", "");
        }
    }
    if (!s.plan || !s.root || optind < argc) {
        usage("needs", "--plan and --root");
    }
    return s;
}

int main(int argc, char **argv) {
    wt_watchdog_start(argc, argv);
    wt_ranks_start(&argc, &argv);
    wt_status->rank = wt_rank_number();
    wt_fail_ends(wt_ranks_abort);
    struct settings settings = parse_arguments(argc, argv);
    if (wt_rank_number() == 0 && !settings.session) { /* MPI_Init is through: all ranks are there */
        puts(STARTED_MARK);
        fflush(stdout);
    }
    prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL); /* the default of 50 us is added to every sleep */
    char *text = wt_plan_share(wt_rank_number() == 0 ? wt_plan_read_text(settings.plan) : NULL);
    struct plan *plan = wt_plan_parse(text, settings.root, wt_rank_number());
    if (plan->n_ranks != wt_rank_count()) {
        wt_fail(NULL, "the kernel has %d ranks, %d were started", plan->n_ranks, wt_rank_count());
    }
    wt_ranks_make_communicators(plan);
    static struct replay replay;
    wt_replay_prepare(&replay, &settings, plan);
    if (settings.verify && !settings.null) {
        wt_verify_start(plan, settings.session);
    }
    if (settings.session) {
        wt_session_run(&replay, &settings);
    } else {
        wt_replay_perform(&replay, wt_ranks_common_start());
        wt_replay_wait_for_all();
        if (!settings.null) {
            wt_extent_check(replay.open_files, replay.n_open_files);
        }
        wt_report(&replay);
    }
    wt_replay_end(&replay);
    wt_status->state = RANK_ENDED;
    wt_ranks_end();
    return 0;
}
