/* The survey of rows that are as those some rows before them, but for their places or sizes. Such are
 * operations of one kind, and loops. Whole columns are compared in wide registers and what is known is
 * copied, which costs less than to decide about each row anew. */
#include "survey.h"

#include <string.h>

WT_INLINE uint32_t differs32(const int32_t *column, int64_t low, int64_t high, int64_t period) {
    uint32_t found = 0;
    for (int64_t i = low; i < high; i++) {
        found |= (uint32_t)(column[i] ^ column[i - period]);
    }
    return found;
}

WT_INLINE uint64_t differs64(const int64_t *column, int64_t low, int64_t high, int64_t period) {
    uint64_t found = 0;
    for (int64_t i = low; i < high; i++) {
        found |= (uint64_t)(column[i] ^ column[i - period]);
    }
    return found;
}

/* Whether a column grows by as much over each `period` rows. */
WT_INLINE uint64_t bends(const int64_t *column, int64_t low, int64_t high, int64_t period) {
    uint64_t step = (uint64_t)column[low] - (uint64_t)column[low - period], found = 0;
    for (int64_t i = low; i < high; i++) {
        found |= ((uint64_t)column[i] - (uint64_t)column[i - period]) ^ step;
    }
    return found;
}

/* Whether rows [low, high) have what those `period` rows before them have, but for places and sizes. */
WT_WIDE static bool same_kinds(const struct wt_table *t, int64_t low, int64_t high, int64_t period) {
    uint8_t op = 0;
    for (int64_t i = low; i < high; i++) {
        op |= t->op[i] ^ t->op[i - period];
    }
    if (op) {
        return false;
    }
    uint32_t narrow = differs32(t->file, low, high, period);
    narrow |= differs32(t->handle, low, high, period);
    if (narrow) {
        return false;
    }
    narrow = differs32(t->view, low, high, period);
    narrow |= differs32(t->error, low, high, period);
    narrow |= differs32(t->rank, low, high, period);
    narrow |= differs32(t->given, low, high, period);
    return !narrow;
}

/* Whether what joins and parts rows [low, high) is as `period` rows before them. */
WT_WIDE static bool same_ties(const struct wt_table *t, int64_t low, int64_t high, int64_t period) {
    if (bends(t->tick, low, high, period)) {
        return false;
    }
    uint64_t some = 0;
    for (int64_t i = low - period; i < high; i++) {
        some |= ((uint64_t)t->count[i] ^ 1) | (uint64_t)t->loop[i];
    }
    if (some) {
        return false;
    }
    for (int64_t i = low - period; i < high; i++) {
        some |= (uint64_t)(t->moved[i] ^ t->size[i]);
    }
    int64_t known = 0; /* an offset, or not */
    for (int64_t i = low; i < high; i++) {
        known |= t->offset[i] ^ t->offset[i - period];
    }
    return !some && known >= 0;
}

WT_WIDE static bool same_sizes(const int64_t *size, int64_t low, int64_t high, int64_t period) {
    return !differs64(size, low, high, period);
}

/* Whether rows move something where those before them do. */
WT_WIDE static bool same_moves(const int64_t *size, int64_t low, int64_t high, int64_t period) {
    int64_t found = 0;
    for (int64_t i = low; i < high; i++) {
        found |= (size[i] - 1) ^ (size[i - period] - 1);
    }
    return found >= 0;
}

WT_WIDE static bool no_pause(const struct wt_table *t, int64_t low, int64_t high, int64_t gap_ns) {
    bool some = false;
    for (int64_t i = low; i + 1 < high; i++) {
        some |= t->start_ns[i + 1] - t->end_ns[i] >= gap_ns;
    }
    return !some;
}

static bool none_apart(const uint8_t *apart, int64_t low, int64_t high) {
    return !memchr(apart + low, 1, (size_t)(high - low));
}

WT_WIDE static bool straight(const struct wt_table *t, int64_t low, int64_t high) {
    if (bends(t->offset, low, high, 1) | bends(t->subtick, low, high, 1)) {
        return false;
    }
    return t->view[low] < 0 || t->view_offset == t->offset || !bends(t->view_offset, low, high, 1);
}

WT_WIDE static void signatures(const uint32_t *restrict code, const int64_t *restrict size,
                               uint64_t *restrict signature, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        signature[i] = wt_signature(code[i], size[i]);
    }
}

/* Entries before `low`, again and again. */
static void repeat(void *column, size_t width, int64_t low, int64_t n, int64_t period) {
    char *to = (char *)column + width * (size_t)low;
    size_t left = width * (size_t)n, known = width * (size_t)period;
    while (left) {
        size_t some = left < known ? left : known;
        memcpy(to, to - known, some);
        to += some;
        left -= some;
        if (some == known && known < 2048) {
            known *= 2;
        }
    }
}

WT_INLINE void mark_bends(const int64_t *column, int64_t n, uint8_t *marks) {
    for (int64_t i = 0; i < n; i++) {
        marks[i] |= ((uint64_t)column[i + 1] - (uint64_t)column[i]) !=
                    ((uint64_t)column[i] - (uint64_t)column[i - 1]);
    }
}

/* Passes rows [low, high), of which flags are known; a row lies before and behind them. */
WT_WIDE static void pass_runs(const struct wt_table *t, int64_t low, int64_t high, struct wt_run *run,
                              struct wt_survey *out) {
    enum { BENT = 1, LOOSE = 2 };
    uint8_t marks[WT_STEADY_ROWS];
    int64_t n = high - low, first = run->first;
    const uint8_t *flags = out->flags + low;
    int32_t in_view = 0;
    for (int64_t i = 0; i < n; i++) {
        in_view |= ~t->view[low + i];
    }
    for (int64_t i = 0; i < n; i++) {
        marks[i] = 0;
    }
    if (in_view < 0 && t->view_offset != t->offset) {
        mark_bends(t->view_offset + low, n, marks);
        for (int64_t i = 0; i < n; i++) {
            marks[i] = t->view[low + i] < 0 ? 0 : marks[i];
        }
    }
    mark_bends(t->offset + low, n, marks);
    mark_bends(t->tick + low, n, marks);
    mark_bends(t->subtick + low, n, marks);
    for (int64_t i = 0; i < n; i++) {
        marks[i] = flags[i] & WT_LINKED ? marks[i] : LOOSE;
    }
    for (int64_t i = 0; i < n; i++) {
        if (!marks[i]) {
            first = first < 0 ? low + i : first;
            continue;
        }
        if (first >= 0 && low + i - first >= run->least) {
            wt_close_run(out, first, low + i);
        }
        first = marks[i] == LOOSE ? -1 : low + i;
    }
    run->first = first;
}

/* Whether a run may lie within rows that repeat those of flags [0, period). */
static bool may_run(const uint8_t *flags, int64_t period, int64_t least) {
    int64_t linked = 0;
    for (int64_t i = 0; i < 2 * period; i++) {
        linked = flags[i % period] & WT_LINKED ? linked + 1 : 0;
        if (linked >= least) {
            return true;
        }
    }
    return false;
}

static void find_runs(const struct wt_table *t, int64_t low, int64_t high, int64_t period, bool one_size,
                      struct wt_run *run, struct wt_survey *out) {
    const uint8_t *flags = out->flags;
    if (one_size && period == 1 && (flags[low] & WT_LINKED)) {
        if (!straight(t, low, high + 1)) {
            pass_runs(t, low, high, run, out);
        } else if (run->first < 0) {
            run->first = low;
        }
        return;
    }
    if (!one_size || may_run(flags + low, period < high - low ? period : high - low, run->least)) {
        pass_runs(t, low, high, run, out);
        return;
    }
    int64_t first = low, last = high; /* rows that are not linked */
    while (first < high && (flags[first] & WT_LINKED)) {
        first++;
    }
    while (last > first && (flags[last - 1] & WT_LINKED)) {
        last--;
    }
    pass_runs(t, low, first < high ? first + 1 : high, run, out);
    if (last > first + 1) {
        run->first = -1;
        pass_runs(t, last, high, run, out);
    }
}

int64_t wt_code_period(const uint32_t *code, int64_t low) {
    enum { COMPARED = 2 * WT_MOST_PERIOD };
    if (low < COMPARED + WT_MOST_PERIOD) {
        return 0;
    }
    const uint32_t *last = code + low - COMPARED;
    for (int64_t period = 1; period <= WT_MOST_PERIOD; period++) {
        if (!memcmp(last, last - period, COMPARED * sizeof *last)) {
            return period;
        }
    }
    return 0;
}

static void count(const struct wt_kinds *kinds, const uint8_t *op, const uint8_t *flags, int64_t n,
                  int64_t period, struct wt_survey *out) {
    for (int64_t i = 0; i < period && i < n; i++) {
        int64_t times = (n - i + period - 1) / period;
        out->n_barriers += flags[i] & WT_JOINABLE ? 0 : times;
        out->n_talks += flags[i] & WT_TALKS ? times : 0;
        out->n_linked += flags[i] & WT_LINKED ? times : 0;
        out->n_separating += kinds->separating[op[i]] ? times : 0;
    }
}

/* Operations of one code and size are linked. How many are. */
WT_WIDE static int64_t link_sizes(const uint32_t *restrict code, const int64_t *restrict size,
                                  uint8_t *restrict flags, int64_t n) {
    int64_t linked = 0;
    for (int64_t i = 0; i < n; i++) {
        bool is = (flags[i] & WT_JOINABLE) && code[i] == code[i + 1] && size[i] == size[i + 1];
        flags[i] = (uint8_t)((flags[i] & ~WT_LINKED) | (is ? WT_LINKED : 0));
        linked += is;
    }
    return linked;
}

bool wt_survey_steady(const struct wt_table *t, const struct wt_kinds *kinds,
                      const struct wt_separating *separating, int64_t low, int64_t high, int64_t period,
                      struct wt_run *run, struct wt_survey *out) {
    int64_t all = high + 1;      /* with the row behind them */
    int64_t from = low - period; /* what lies before them may tell more of what ties them */
    if (!same_kinds(t, from, all, period) || !same_ties(t, from, all, period)) {
        return false;
    }
    if (separating->apart && !none_apart(separating->apart, low - period, high)) {
        return false;
    }
    if (separating->has_gap && !no_pause(t, low - period, all, separating->gap_ns)) {
        return false;
    }
    bool one_size = same_sizes(t->size, low, all, period);
    if (!one_size && !same_moves(t->size, low, all, period)) {
        return false;
    }
    int64_t n = high - low, linked = out->n_linked;
    uint8_t *flags = out->flags + low;
    repeat(out->flags, sizeof *out->flags, low, n, period);
    repeat(out->code, sizeof *out->code, low, n + 1, period);
    count(kinds, t->op + low, flags, n, period, out);
    if (one_size) {
        repeat(out->signature, sizeof *out->signature, low, n, period);
    } else {
        signatures(out->code + low, t->size + low, out->signature + low, n);
        out->n_linked = linked + link_sizes(out->code + low, t->size + low, flags, n);
    }
    find_runs(t, low, high, period, one_size, run, out);
    return true;
}
