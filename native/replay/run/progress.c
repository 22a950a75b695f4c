/* Adds bytes to bins of time. The number of bins is fixed, so that a long run needs no more memory than a
 * short one. */
#include "run/progress.h"

#include <inttypes.h>
#include <string.h>

static const int64_t FIRST_BIN_NS = 1000000;

void wt_progress_clear(struct progress *p) {
    memset(p, 0, sizeof *p);
    p->bin_ns = FIRST_BIN_NS;
}

static void merge_pairs(struct progress *p) {
    for (int i = 0; i < PROGRESS_BINS / 2; i++) {
        p->bytes[i] = p->bytes[2 * i] + p->bytes[2 * i + 1];
        p->io_ns[i] = p->io_ns[2 * i] + p->io_ns[2 * i + 1];
    }
    memset(p->bytes + PROGRESS_BINS / 2, 0, sizeof p->bytes / 2);
    memset(p->io_ns + PROGRESS_BINS / 2, 0, sizeof p->io_ns / 2);
    p->bin_ns *= 2;
}

void wt_progress_add(struct progress *p, int64_t from_ns, int64_t to_ns, int64_t bytes) {
    if (from_ns < 0) {
        from_ns = 0;
    }
    if (to_ns < from_ns) {
        to_ns = from_ns;
    }
    while (to_ns >= p->bin_ns * PROGRESS_BINS) {
        merge_pairs(p);
    }
    int64_t bin = from_ns / p->bin_ns, at = from_ns, given = 0;
    const double per_ns = to_ns > from_ns ? (double)bytes / (double)(to_ns - from_ns) : 0;
    for (int64_t end; (end = (bin + 1) * p->bin_ns) < to_ns; bin++) {
        int64_t until_here = (int64_t)(per_ns * (double)(end - from_ns));
        p->bytes[bin] += until_here - given;
        p->io_ns[bin] += end - at;
        given = until_here;
        at = end;
    }
    p->bytes[bin] += bytes - given; /* what is left: the sum is exact */
    p->io_ns[bin] += to_ns - at;
}

void wt_progress_add_loop(struct progress *p, int64_t from_ns, int64_t to_ns) {
    if (p->n_loops < PROGRESS_LOOPS) {
        p->loops[p->n_loops][0] = from_ns;
        p->loops[p->n_loops][1] = to_ns;
    }
    p->n_loops++;
}

void wt_progress_print(const struct progress *p, FILE *out) {
    fprintf(out, ",\"n_loops\":%" PRId64 ",\"loops\":[", p->n_loops);
    for (int64_t i = 0; i < p->n_loops && i < PROGRESS_LOOPS; i++) {
        fprintf(out, "%s[%" PRId64 ",%" PRId64 "]", i ? "," : "", p->loops[i][0], p->loops[i][1]);
    }
    int n = PROGRESS_BINS;
    while (n > 0 && p->bytes[n - 1] == 0 && p->io_ns[n - 1] == 0) {
        n--;
    }
    fprintf(out, "],\"bin_ns\":%" PRId64 ",\"bins\":[", p->bin_ns);
    for (int i = 0; i < n; i++) {
        fprintf(out, "%s[%" PRId64 ",%" PRId64 "]", i ? "," : "", p->bytes[i], p->io_ns[i]);
    }
    fputs("]", out);
}
