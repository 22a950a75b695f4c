/* Codes the loops and the times of a group's rows, behind its columns. They are none of these, so that a
 * group without loops takes no bytes for them. The layout is described in wavetank_trace.h; decode_loops.c is
 * the other direction. */
#include "record/record.h"

static uint8_t *put_signed(uint8_t *at, int64_t value) {
    return wt_put_varint(at, wt_zigzag(value));
}

/* Clock units after a moment, as ns. */
static int64_t ns_after(uint64_t moment, int64_t units) {
    return (int64_t)(wt_clock_ns(moment + (uint64_t)units) - wt_clock_ns(moment));
}

uint64_t wt_loops_span(const struct wt_row *row, const struct wt_nest *nest) {
    unsigned depth = row->depth;
    if (depth == 0 || nest->around[depth - 1].at + 1 < nest->around[depth - 1].rows) {
        return 0;
    }
    uint64_t span = 0;
    for (unsigned d = 0; d < depth; d++) {
        span += (uint64_t)ns_after(row->end, nest->around[d].end);
    }
    return span;
}

static uint8_t *put_loop(uint8_t *at, const struct wt_row *rows, const struct wt_nest *nests,
                         unsigned level) {
    const struct wt_around *loop = &nests->around[rows->depth - 1 - level];
    at = wt_put_varint(at, loop->rows);
    at = wt_put_varint(at, loop->n);
    for (unsigned i = 0; i < loop->rows; i++) {
        const struct wt_around *steps = &nests[i].around[rows[i].depth - 1 - level];
        at = put_signed(at, steps->offset);
        at = put_signed(at, steps->view_offset);
        at = put_signed(at, steps->arg);
        at = put_signed(at, steps->tick);
        at = put_signed(at, steps->subtick);
        at = put_signed(at, steps->handle);
        at = put_signed(at, steps->file);
        at = put_signed(at, ns_after(rows[i].start, steps->start));
        at = put_signed(at, ns_after(rows[i].end, steps->end));
    }
    return at;
}

/* Whether a loop begins at a row, `level` loops inside of the outermost. */
static bool begins(const struct wt_row *row, const struct wt_nest *nest, unsigned level) {
    return level < row->depth && nest->around[row->depth - 1 - level].at == 0;
}

uint8_t *wt_loops_encode(const struct wt_row *rows, const struct wt_nest *nests, unsigned n, uint8_t *at) {
    unsigned n_loops = 0, before = 0;
    for (unsigned i = 0; i < n; i++) {
        for (unsigned level = 0; level < rows[i].depth; level++) {
            n_loops += begins(&rows[i], &nests[i], level);
        }
    }
    if (n_loops == 0) {
        return at;
    }
    *at++ = 'L';
    at = wt_put_varint(at, n_loops);
    for (unsigned i = 0; i < n; i++) {
        for (unsigned level = 0; level < rows[i].depth; level++) {
            if (begins(&rows[i], &nests[i], level)) {
                at = wt_put_varint(at, i - before);
                at = put_loop(at, &rows[i], &nests[i], level);
                before = i;
            }
        }
    }
    return at;
}

static uint8_t *put_times(uint8_t *at, const struct wt_row *row, const struct wt_nest *nest) {
    unsigned first = 0, last = WT_TIMES_BUCKETS - 1;
    if (row->depth > 0) {
        at = wt_put_varint(at, (uint64_t)ns_after(row->start, (int64_t)row->busy));
    }
    while (first < last && nest->times[first] == 0) {
        first++;
    }
    while (last > first && nest->times[last] == 0) {
        last--;
    }
    *at++ = (uint8_t)first;
    *at++ = (uint8_t)(last + 1 - first);
    for (unsigned b = first; b <= last; b++) {
        at = wt_put_varint(at, nest->times[b]);
    }
    return at;
}

uint8_t *wt_times_encode(const struct wt_row *rows, const struct wt_nest *nests, unsigned n, uint8_t *at) {
    uint8_t *const head = at;
    at += 4; /* the magic, and a varint of always three bytes */
    for (unsigned i = 0; i < n; i++) {
        if (rows[i].count > 1 || rows[i].depth > 0) {
            at = put_times(at, &rows[i], &nests[i]);
        }
    }
    size_t length = (size_t)(at - head) - 4;
    if (length == 0) {
        return head;
    }
    head[0] = 'T';
    head[1] = (uint8_t)(length | 0x80);
    head[2] = (uint8_t)(length >> 7 | 0x80);
    head[3] = (uint8_t)(length >> 14);
    return at;
}
