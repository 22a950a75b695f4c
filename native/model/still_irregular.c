/* Whether the operations of a chunk still have no repeating order: an interleaving goes on only with such a
 * chunk. Probes at distances, since a chunk in which something recurs is given back to the passes that look
 * for loops anyway.
 */
#include "substreams.h"

#include <string.h>

enum { AGAIN = 64, STRIDE = 96, HEAD = 32 };

static bool recurs(const uint8_t *at, int64_t most) {
    if (!memcmp(at, at + 1, HEAD - 1)) { /* of one substream: a run is no loop */
        return false;
    }
    uint64_t head, other;
    memcpy(&head, at, sizeof head);
    for (int64_t period = 2; period <= most; period++) {
        memcpy(&other, at + period, sizeof other);
        if (head == other && !memcmp(at, at + period, HEAD)) {
            return true;
        }
    }
    return false;
}

bool wt_holds_loops(const uint8_t *order, int64_t n) {
    for (int64_t at = 0; at + AGAIN + HEAD <= n; at += STRIDE) {
        if (recurs(order + at, AGAIN)) {
            return true;
        }
    }
    return false;
}

/* Of operations of one file: turns enough, nothing that goes on for long, no pattern. */
static bool still_irregular(const uint8_t *of_file, int64_t n, const struct wt_unfinished *g) {
    int64_t turns = 0, block = g->limits.order / 2;
    for (int64_t i = 1; i < n && turns < g->limits.turns; i++) {
        turns += of_file[i] != of_file[i - 1];
    }
    if (turns < g->limits.turns) {
        return false;
    }
    for (int64_t at = 0; at + block <= n; at += block) {
        if (!memcmp(of_file + at, of_file + at + 1, (size_t)block - 1)) {
            return false;
        }
    }
    return !wt_has_pattern(of_file, sizeof *of_file, n, &g->limits);
}

bool wt_files_irregular(const uint8_t *order, int64_t n, const int64_t *counts,
                        const struct wt_unfinished *g) {
    if (!g->n_streams) {
        return true;
    }
    int64_t start[WT_MOST_SUBSTREAMS + 1], next[WT_MOST_SUBSTREAMS + 1];
    uint8_t stream_of[WT_MOST_SUBSTREAMS];
    memset(start, 0, sizeof start);
    /* What lies in no such file goes to the last place, which is not looked at. */
    for (int64_t k = 0; k < g->n_substreams; k++) {
        stream_of[k] = (uint8_t)(g->stream[k] < 0 ? g->n_streams : g->stream[k]);
        start[stream_of[k]] += counts[k];
    }
    int64_t sum = 0;
    for (int64_t s = 0; s <= g->n_streams; s++) {
        int64_t of_stream = start[s];
        start[s] = next[s] = sum;
        sum += of_stream;
    }
    for (int64_t i = 0; i < n; i++) {
        g->scratch[next[stream_of[order[i]]]++] = order[i];
    }
    for (int64_t s = 0; s < g->n_streams; s++) {
        if (next[s] > start[s] && !still_irregular(g->scratch + start[s], next[s] - start[s], g)) {
            return false;
        }
    }
    return true;
}
