/* Reads the rows of a tail (struct wt_tail): what a killed process had not coded yet. A kill leaves no time
 * to code them. So they lie there as the tracer works on them, and their times are still in units of its
 * clock. */
#include "decode.h"

#include <string.h>

struct anchors {
    uint64_t units, ns;
    double rate;
};

static uint64_t ns_of(const struct anchors *anchors, uint64_t units) {
    double ns = (double)anchors->ns + (double)(int64_t)(units - anchors->units) * anchors->rate;
    return ns > 0 && ns < 9e18 ? (uint64_t)ns : 0;
}

static int64_t ns_span(const struct anchors *anchors, uint64_t from, uint64_t units) {
    return (int64_t)(ns_of(anchors, from + units) - ns_of(anchors, from));
}

static bool plausible(const struct wt_row *row) {
    return row->count >= 1 && row->count <= INT64_MAX && row->op >= 1 && row->op <= UINT8_MAX &&
           row->depth <= WT_NEST;
}

static void to_ns(struct wt_row *row, struct wt_nest *nest, const struct anchors *anchors) {
    for (unsigned d = 0; d < row->depth; d++) {
        nest->around[d].start = ns_span(anchors, row->start, (uint64_t)nest->around[d].start);
        nest->around[d].end = ns_span(anchors, row->end, (uint64_t)nest->around[d].end);
    }
    row->busy = (uint64_t)ns_span(anchors, row->start, row->busy);
    row->start = ns_of(anchors, row->start);
    row->end = ns_of(anchors, row->end);
    if (row->size == 0 && row->count > 1) { /* as closing the row does */
        row->tick_step = (row->tick_last - row->tick) / (row->count - 1);
    }
}

static bool read_tail(const uint8_t *content, size_t length, struct wt_folds *folds) {
    const struct wt_tail *head = (const struct wt_tail *)(const void *)content;
    if (length < sizeof *head || (uintptr_t)content % _Alignof(struct wt_tail) != 0) {
        return false;
    }
    if (memcmp(head->magic, WT_TAIL_MAGIC, sizeof head->magic) != 0 || head->version != WT_VERSION ||
        head->rows_at != offsetof(struct wt_tail, rows) ||
        head->nests_at != offsetof(struct wt_tail, nests) || head->half > 1 || head->has_open > 1 ||
        head->n_rows > WT_GROUP_ROWS) {
        return false;
    }
    struct anchors anchors = {head->older_units, head->older_ns, 1.0};
    if (head->newer_units > head->older_units) {
        anchors.rate = (double)(int64_t)(head->newer_ns - head->older_ns) /
                       (double)(head->newer_units - head->older_units);
    }
    folds->n = head->n_rows + head->has_open;
    folds->seq = head->seq_of_first;
    memcpy(folds->rows, head->rows[head->half], folds->n * sizeof *folds->rows);
    memcpy(folds->nests, head->nests[head->half], folds->n * sizeof *folds->nests);
    for (unsigned i = 0; i < folds->n; i++) {
        if (!plausible(&folds->rows[i])) {
            return false;
        }
        to_ns(&folds->rows[i], &folds->nests[i], &anchors);
    }
    return wt_loops_fit(folds);
}

static _Thread_local struct wt_folds tail_folds;

WT_EXPORT int64_t wt_count_tail(const uint8_t *content, size_t length, unsigned members,
                                struct wt_sizes *sizes) {
    tail_folds.members = members;
    *sizes = (struct wt_sizes){0};
    if (!read_tail(content, length, &tail_folds)) {
        return WT_DAMAGED;
    }
    wt_add_sizes(&tail_folds, sizes);
    return sizes->rows > WT_MOST_ROWS ? WT_TOO_MANY : 0;
}

WT_EXPORT int64_t wt_decode_tail(const uint8_t *content, size_t length, unsigned members,
                                 const struct wt_columns *columns, const struct wt_times_columns *times,
                                 const struct wt_sizes *room) {
    tail_folds.members = members;
    struct wt_output out = {.columns = columns, .times = times, .room = *room};
    return read_tail(content, length, &tail_folds) && wt_put_folds(&tail_folds, &out) ? 0 : WT_DAMAGED;
}
