/* Operations of several kinds that take turns: numbered, judged whether an order repeats itself, put
 * substream by substream. In turn they are neither runs nor loops; within a substream they fold as if nothing
 * lay between. Whether they are interleaved is decided by their order alone, not by where they go or how they
 * were folded. */
#include "substreams.h"

#include <string.h>

int64_t wt_number_pairs(const struct wt_table *t, const struct wt_kinds *kinds, const uint32_t *code,
                        const uint32_t *owner, int64_t n_owners, int64_t *pending,
                        const struct wt_regions *regions, uint32_t *known, int64_t n_codes, uint32_t *ids,
                        int64_t *pair) {
    int64_t n_pairs = 0, at = 0;
    for (int64_t region = 0; region < regions->n; region++) {
        int64_t low = regions->low[region], high = regions->high[region], before = n_pairs;
        int64_t base = at - low;
        bool seeks = false;
        for (int64_t i = low; i < high; i++) {
            uint32_t c = code[i];
            uint32_t id = known[c];
            if (!id) {
                pair[n_pairs++] = (region * n_codes + c) * 2;
                id = known[c] = (uint32_t)n_pairs;
                seeks |= kinds->seeks[t->op[i]] != 0;
            }
            ids[base + i] = id - 1;
        }
        at += high - low;
        if (seeks) {
            for (int64_t o = 0; o < n_owners; o++) {
                pending[o] = -1;
            }
            for (int64_t i = low; i <= high; i++) {
                int64_t stray = -1;
                if (i < high) {
                    uint32_t o = owner[code[i]];
                    bool seek = kinds->seeks[t->op[i]] != 0;
                    if (pending[o] >= 0 && (seek || t->offset[i] != t->offset[pending[o]])) {
                        stray = pending[o];
                    }
                    pending[o] = seek ? i : -1;
                }
                if (stray >= 0) {
                    uint32_t c = code[stray];
                    if (!known[n_codes + c]) {
                        pair[n_pairs++] = (region * n_codes + c) * 2 + 1;
                        known[n_codes + c] = (uint32_t)n_pairs;
                    }
                    ids[base + stray] = known[n_codes + c] - 1;
                }
            }
            for (int64_t o = 0; o < n_owners; o++) {
                if (pending[o] < 0) { /* what leads out of the region stays where it leads */
                    continue;
                }
                uint32_t c = code[pending[o]];
                if (!known[n_codes + c]) {
                    pair[n_pairs++] = (region * n_codes + c) * 2 + 1;
                    known[n_codes + c] = (uint32_t)n_pairs;
                }
                ids[base + pending[o]] = known[n_codes + c] - 1;
            }
        }
        for (int64_t p = before; p < n_pairs; p++) {
            known[(pair[p] / 2) % n_codes + (pair[p] % 2) * n_codes] = 0;
        }
    }
    return n_pairs;
}

/* --- orders that repeat themselves --- */

static bool is_irregular(const uint32_t *code, int64_t n, const struct wt_limits *limits) {
    int64_t turns = 0, begin = 0;
    for (int64_t i = 1; i < n; i++) {
        if (code[i] == code[i - 1]) {
            continue;
        }
        if (i - begin >= limits->order) {
            return false;
        }
        begin = i;
        turns++;
    }
    if (turns < limits->turns || n - begin >= limits->order) {
        return false;
    }
    return !wt_has_pattern(code, sizeof *code, n, limits);
}

void wt_irregular(const uint32_t *ids, int64_t n, const uint32_t *stream_of, int64_t n_streams,
                  int64_t *start, uint32_t *scratch, const struct wt_limits *limits, uint8_t *irregular) {
    memset(start, 0, (size_t)(n_streams + 1) * sizeof *start);
    for (int64_t i = 0; i < n; i++) {
        start[stream_of[ids[i]] + 1]++;
    }
    for (int64_t s = 0; s < n_streams; s++) {
        start[s + 1] += start[s];
    }
    for (int64_t i = 0; i < n; i++) {
        scratch[start[stream_of[ids[i]]]++] = ids[i];
    }
    for (int64_t s = n_streams; s > 0; s--) {
        start[s] = start[s - 1];
    }
    start[0] = 0;
    for (int64_t s = 0; s < n_streams; s++) {
        irregular[s] = is_irregular(scratch + start[s], start[s + 1] - start[s], limits);
    }
}

/* --- substream by substream --- */

static void mark_parts(const struct wt_substreams *s, int64_t begin, int64_t end) {
    const int64_t *restrict offset = s->offset, *restrict size = s->size;
    uint8_t *restrict marks = s->marks;
    const int64_t regular = s->regular;
    const double low = s->low, high = s->high;
    int64_t run = begin, alike = begin, done = begin; /* where what goes on began; behind the last run */
    for (int64_t i = begin; i < end; i++) {
        bool last = i + 1 == end;
        bool linked = !last && !(marks[i] & WT_SHORT);
        if (!last && !linked) {
            marks[i + 1] |= WT_CUT;
        }
        bool equal = linked && size[i] == size[i + 1];
        /* a run goes on over i + 1 if the step to it is that before it */
        bool goes_on = equal && (i == run || offset[i + 1] - offset[i] == offset[i] - offset[i - 1]);
        if (!goes_on) {
            int64_t first = run < done ? done : run;
            if (i + 1 - run >= regular && i + 1 - first > 1) {
                marks[first] |= WT_CUT | WT_RUN;
                if (!last) {
                    marks[i + 1] |= WT_CUT;
                }
                done = i + 1;
            }
            run = equal ? i : i + 1;
        }
        if (!linked || !(equal || wt_similar(size[i], size[i + 1], low, high))) {
            if (i + 1 - alike >= regular) {
                marks[alike] |= WT_CUT;
                if (!last) {
                    marks[i + 1] |= WT_CUT;
                }
            }
            alike = i + 1;
        }
    }
    if (begin < end) {
        marks[begin] |= WT_CUT;
    }
}

static int64_t make_rows(const struct wt_table *t, struct wt_substreams *s, int64_t begin, int64_t end,
                         bool singles, int64_t n) {
    for (int64_t a = begin; a < end;) {
        int64_t b = a + 1;
        while (b < end && !(s->marks[b] & WT_CUT)) {
            b++;
        }
        bool is_run = (s->marks[a] & WT_RUN) && b - a > 1;
        if (b - a > 1 && (singles || (!is_run && b - a < s->listed))) {
            for (int64_t i = a; i < b; i++, n++) {
                s->first[n] = i;
                s->length[n] = 1;
                s->moved[n] = t->moved[s->at[i]];
                s->busy[n] = t->busy_ns[s->at[i]];
                s->kind[n] = 0;
                s->head[n] = s->second[n] = s->last[n] = s->at[i];
            }
            a = b;
            continue;
        }
        int64_t moved = 0, busy = 0;
        bool one_size = true;
        for (int64_t i = a; i < b; i++) {
            moved += s->size[i];
            busy += t->busy_ns[s->at[i]];
            one_size &= s->size[i] == s->size[a];
        }
        s->first[n] = a;
        s->length[n] = b - a;
        s->moved[n] = moved - s->size[b - 1] + t->moved[s->at[b - 1]];
        s->busy[n] = busy;
        s->head[n] = s->at[a];
        s->second[n] = s->at[b - a > 1 ? a + 1 : a];
        s->last[n] = s->at[b - 1];
        s->kind[n] = (uint8_t)(b - a == 1 ? 0 : is_run ? 1 : one_size ? 2 : 3);
        n++;
        a = b;
    }
    return n;
}

int64_t wt_rows_of_substream(const struct wt_table *t, struct wt_substreams *s, int64_t k, int64_t n) {
    mark_parts(s, s->starts[k], s->starts[k + 1]);
    return make_rows(t, s, s->starts[k], s->starts[k + 1], s->singles[k], n);
}

int64_t wt_lay_substreams(const struct wt_table *t, const struct wt_regions *regions,
                          struct wt_substreams *s) {
    memset(s->starts, 0, (size_t)(s->n_substreams + 1) * sizeof *s->starts);
    int64_t n = 0;
    for (int64_t r = 0; r < regions->n; r++) {
        for (int64_t i = regions->low[r]; i < regions->high[r]; i++, n++) {
            uint32_t substream = s->substream_of[s->ids[n]];
            s->substream[n] = substream;
            s->starts[substream + 1]++;
        }
    }
    for (int64_t k = 0; k < s->n_substreams; k++) {
        s->starts[k + 1] += s->starts[k];
    }
    n = 0;
    const int64_t *restrict from_offset = t->offset, *restrict from_size = t->size,
                            *restrict from_moved = t->moved;
    int64_t *restrict starts = s->starts, *restrict offset = s->offset, *restrict size = s->size;
    const uint32_t *restrict substreams = s->substream;
    uint32_t *restrict at = s->at;
    uint8_t *restrict marks = s->marks;
    for (int64_t r = 0; r < regions->n; r++) {
        for (int64_t i = regions->low[r]; i < regions->high[r]; i++, n++) {
            int64_t place = starts[substreams[n]]++;
            at[place] = (uint32_t)i;
            offset[place] = from_offset[i];
            size[place] = from_size[i];
            marks[place] = from_moved[i] == from_size[i] ? 0 : WT_SHORT;
        }
    }
    for (int64_t k = s->n_substreams; k > 0; k--) {
        s->starts[k] = s->starts[k - 1];
    }
    s->starts[0] = 0;
    int64_t rows = 0;
    for (int64_t k = 0; k < s->n_substreams; k++) {
        rows = wt_rows_of_substream(t, s, k, rows);
    }
    return rows;
}

void wt_scatter(const int64_t *const *from, const int64_t *length, int64_t n, int64_t *const *to) {
    for (int64_t k = 0; k < n; k++) {
        memcpy(to[k], from[k], (size_t)length[k] * sizeof **to);
    }
}

void wt_gather(const int64_t *const *from, const int64_t *length, int64_t n, int64_t *to) {
    for (int64_t k = 0; k < n; k++) {
        memcpy(to, from[k], (size_t)length[k] * sizeof *to);
        to += length[k];
    }
}

void wt_sums(const int64_t *const *from, const int64_t *length, int64_t n, int64_t *sums) {
    for (int64_t k = 0; k < n; k++) {
        int64_t sum = 0;
        for (int64_t i = 0; i < length[k]; i++) {
            sum += from[k][i];
        }
        sums[k] = sum;
    }
}
