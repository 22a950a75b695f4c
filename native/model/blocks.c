/* Blocks of a chunk: how far a loop goes and where its repetitions are regular; what irregular stretches
 * hold. Each is looked at once, and only bounds and sums leave: each pass of numpy would make a new array as
 * long as the block. What was found is judged in Python. */
#include "substreams.h"
#include "survey.h"

#include <string.h>

enum { COMPARED = 1024, LANES = 64 };

int64_t wt_matched(const uint64_t *signature, int64_t position, int64_t high, int64_t period) {
    int64_t stop = high - period, at = position;
    while (at < stop) {
        int64_t n = stop - at < COMPARED ? stop - at : COMPARED;
        if (memcmp(signature + at, signature + at + period, (size_t)n * sizeof *signature) != 0) {
            while (signature[at] == signature[at + period]) {
                at++;
            }
            break;
        }
        at += n;
    }
    return at - position;
}

WT_WIDE static bool equal_members(const uint32_t *restrict code, const int64_t *restrict size, int64_t low,
                                  int64_t high, int64_t period) {
    uint32_t codes = 0;
    uint64_t sizes = 0;
    for (int64_t i = low; i + period < high; i++) {
        codes |= code[i] ^ code[i + period];
    }
    for (int64_t i = low; i + period < high; i++) {
        sizes |= (uint64_t)(size[i] ^ size[i + period]);
    }
    return !(codes | sizes);
}

WT_INLINE uint64_t bend(const int64_t *column, int64_t i, int64_t period) {
    return ((uint64_t)column[i + 2 * period] - (uint64_t)column[i + period]) ^
           ((uint64_t)column[i + period] - (uint64_t)column[i]);
}

/* Says of each row whether it bends; whether any does. */
WT_WIDE static bool find_bends(const int64_t *column, int64_t low, int64_t n, int64_t period, uint8_t *bent) {
    uint64_t found = 0;
    for (int64_t i = 0; i < n; i++) {
        found |= bend(column, low + i, period);
    }
    if (!found) {
        return false;
    }
    for (int64_t i = 0; i < n; i++) {
        bent[i] = bend(column, low + i, period) != 0;
    }
    return true;
}

/* Marks where a member's step to its next operation differs from that after it; whether any does. */
static bool mark_bends(const int64_t *column, struct wt_loop *loop) {
    int64_t period = loop->period, turns = (loop->high - loop->low) / period - 2;
    int64_t at_once = period < COMPARED ? COMPARED / period : 1; /* turns */
    bool any = false;
    for (int64_t turn = 0; turn < turns; turn += at_once) {
        int64_t n = turns - turn < at_once ? turns - turn : at_once;
        uint8_t bent[COMPARED];
        if (!find_bends(column, loop->low + turn * period, n * period, period, bent)) {
            continue;
        }
        any = true;
        for (int64_t i = 0; i < n; i++) {
            uint8_t some = 0;
            for (int64_t member = 0; member < period; member++) {
                some |= bent[i * period + member];
                loop->irregular[member] |= bent[i * period + member];
            }
            loop->bent[turn + i] |= some;
        }
    }
    return any;
}

bool wt_loop(const struct wt_table *t, const uint32_t *code, struct wt_loop *loop) {
    int64_t period = loop->period, turns = (loop->high - loop->low) / period;
    loop->n_parts = 0;
    if (!equal_members(code, t->size, loop->low, loop->high, period)) {
        return false;
    }
    memset(loop->bent, 0, (size_t)turns);
    memset(loop->irregular, 0, (size_t)period);
    bool any = mark_bends(t->offset, loop);
    if (loop->in_view) {
        any |= mark_bends(t->view_offset, loop);
    }
    if (!any) {
        loop->first[0] = 0;
        loop->stop[loop->n_parts++] = turns;
        return true;
    }
    for (int64_t begin = 0; begin + 1 < turns;) { /* steps begin to end are equal */
        int64_t end = begin;
        while (end + 2 < turns && !loop->bent[end]) {
            end++;
        }
        int64_t stop = end + 2;
        if (stop - begin >= loop->shortest) {
            /* A repetition between two parts belongs to the first of them. */
            bool shared = loop->n_parts && loop->stop[loop->n_parts - 1] == begin + 1;
            if (stop - begin - shared >= loop->shortest) {
                loop->first[loop->n_parts] = begin + shared;
                loop->stop[loop->n_parts++] = stop;
            }
        }
        begin = end + 1;
    }
    return true;
}

WT_INLINE void member_sums(const int64_t *column, int64_t low, int64_t high, int64_t period, int64_t *sums) {
    uint64_t several[2 * LANES] = {0}; /* repetitions at once */
    int64_t width = period < LANES ? LANES / period * period : period;
    for (int64_t member = 0; member < period; member++) {
        sums[member] = 0;
    }
    if (width < 2 * LANES) {
        for (; low + width <= high; low += width) {
            for (int64_t i = 0; i < width; i++) {
                several[i] += (uint64_t)column[low + i];
            }
        }
    }
    for (int64_t i = 0; i < width && i < 2 * LANES; i++) {
        sums[i % period] = (int64_t)((uint64_t)sums[i % period] + several[i]);
    }
    for (; low + period <= high; low += period) {
        for (int64_t member = 0; member < period; member++) {
            sums[member] = (int64_t)((uint64_t)sums[member] + (uint64_t)column[low + member]);
        }
    }
}

WT_WIDE void wt_part_sums(const int64_t *column, const int64_t *bounds, int64_t n_parts, int64_t period,
                          int64_t *sums) {
    for (int64_t part = 0; part < n_parts; part++) {
        member_sums(column, bounds[2 * part], bounds[2 * part + 1], period, sums + part * period);
    }
}

WT_WIDE void wt_stretch(const struct wt_table *t, int64_t low, int64_t high, struct wt_stretch *out) {
    const int64_t *restrict size = t->size, *restrict offset = t->offset, *restrict busy = t->busy_ns;
    int64_t unknown = 0;
    uint64_t differs = 0, asked = 0, took = 0;
    bool empty = false;
    for (int64_t i = low; i < high; i++) {
        unknown |= offset[i];
        differs |= (uint64_t)(size[i] ^ size[low]);
        empty |= size[i] == 0;
        asked += (uint64_t)size[i];
        took += (uint64_t)busy[i];
    }
    *out = (struct wt_stretch){(int64_t)asked, (int64_t)took, unknown < 0, empty, differs != 0};
}

static int64_t put(int64_t *bounds, int64_t n, int64_t bound) {
    if (n && bounds[n - 1] == bound) {
        return n;
    }
    bounds[n] = bound;
    return n + 1;
}

int64_t wt_parts_by_size(const int64_t *size, int64_t n, bool exact, double low, double high, int64_t regular,
                         int64_t *bounds) {
    int64_t made = put(bounds, 0, 0), first = 0; /* of the operations that are alike */
    for (int64_t i = 0; i < n; i++) {
        bool alike =
            i + 1 < n && (exact ? size[i] == size[i + 1] : wt_similar(size[i], size[i + 1], low, high));
        if (!alike & (i > first) & (i + 1 - first >= regular)) {
            made = put(bounds, made, first);
            made = put(bounds, made, i + 1);
        }
        first = alike ? first : i + 1;
    }
    return put(bounds, made, n);
}
