/* Writes what a rank measured. Each rank makes its own line, and rank 0 prints them in order, since launchers
 * may mix the outputs of ranks. */
#define _GNU_SOURCE
#include "run/report.h"

#include "failure.h"
#include "ranks/ranks.h"
#include "run/flush.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* [ph_id, bytes, operations, io_ns, first_ns, last_ns, max_ns, [[bucket, count], ...]]
 * bucket: see timing.h; block*32 + counter. Times are ns since the replay's common start. */
static void print_phase(FILE *out, struct replay *r, const struct phase_state *p) {
    fprintf(out, "[%" PRId32 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",[",
            p->phase->id, p->bytes, p->operations, p->io_ns, p->first_ns - r->start_ns,
            p->last_ns - r->start_ns, p->latencies.max_ns);
    const char *comma = "";
    for (int block = 0; block < LATENCY_BLOCKS; block++) {
        const uint64_t *counters = p->latencies.block[block];
        for (int i = 0; counters && i < LATENCY_SUB; i++) {
            if (!counters[i]) {
                continue;
            }
            fprintf(out, "%s[%d,%" PRIu64 "]", comma, block * LATENCY_SUB + i, counters[i]);
            comma = ",";
        }
    }
    fprintf(out, "]]");
}

/* CLOCK_REALTIME minus CLOCK_MONOTONIC. */
static int64_t to_realtime_ns(void) {
    struct timespec real;
    clock_gettime(CLOCK_REALTIME, &real);
    return (int64_t)real.tv_sec * 1000000000 + real.tv_nsec - wt_now_ns();
}

void wt_report(struct replay *r) {
    wt_status->state = RANK_TELLS;
    char *text = NULL, host[256] = "";
    size_t length = 0;
    gethostname(host, sizeof host - 1);
    FILE *out = open_memstream(&text, &length);
    if (!out) {
        wt_fail(NULL, "out of memory");
    }
    fprintf(out,
            "{\"rank\":%d,\"host\":\"%s\",\"mpi\":\"%s\",\"elapsed_ns\":%" PRId64 ",\"metadata_ns\":%" PRId64
            ",\"metadata_operations\":%" PRId64 ",\"sync_ns\":%" PRId64 ",\"syncs\":%" PRId64
            ",\"pause_wanted_ns\":%" PRId64 ",\"pause_ns\":%" PRId64 ",\"drift_ns\":%" PRId64
            ",\"extra_seeks\":%" PRId64 ",\"long_reads\":%" PRId64 ",\"waited_opens\":%" PRId64
            ",\"opens_again\":%" PRId64 ",\"waited_reads\":%" PRId64 ",\"other_results\":%" PRId64
            ",\"compared\":[%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 "],\"final_flush_ns\":%" PRId64
            ",\"not_on_disk\":%" PRId64 ",\"started\":[%" PRId64 ",%" PRId64 "]",
            wt_rank_number(), host, wt_rank_library(), r->end_ns - r->start_ns, r->metadata_ns,
            r->metadata_operations, r->sync_ns, r->syncs, r->pacer.wanted_ns, r->pacer.slept_ns,
            r->pacer.worst_ns, r->extra_seeks, r->long_reads, r->waited_opens, r->opens_again,
            r->waited_reads, r->other_results, r->compared.pattern, r->compared.zeros, r->compared.either,
            r->compared.unchecked, r->final_flush_ns, r->settings->null ? 0 : wt_flush_left(r), r->start_ns,
            r->start_ns + to_realtime_ns());
    wt_activity_print(&r->activity, r->start_ns, out);
    fputs(",\"phases\":[", out);
    const char *comma = "";
    for (int32_t i = 0; i < r->plan->n_phases; i++) {
        if (!r->phases[i].members) {
            continue;
        }
        fprintf(out, "%s", comma);
        print_phase(out, r, &r->phases[i]);
        comma = ",";
    }
    fputs("]", out);
    if (r->progress) {
        fprintf(out, ",\"begun_ns\":%" PRId64, r->begun_ns - r->start_ns);
        wt_progress_print(r->progress, out);
    }
    fputs("}\n", out);
    if (fclose(out) != 0) {
        wt_fail(NULL, "out of memory");
    }
    if (wt_rank_number() == 0) {
        fputs(RESULT_BEGIN, stdout);
    }
    wt_ranks_print_in_order(text, length);
    if (wt_rank_number() == 0) {
        fputs(RESULT_END, stdout);
    }
    fflush(stdout);
    free(text);
}
