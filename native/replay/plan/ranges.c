/* Sets of byte ranges. Sorted pieces lie in levels of growing size that are merged when one is full: adding
 * costs the logarithm of their number, also in random order. */
#include "plan/ranges.h"

#include "failure.h"

#include <stdlib.h>
#include <string.h>

enum { FEWEST_OF_A_BAND = 5 }; /* fewer ranges are kept one by one */

static int by_start(const void *a, const void *b) {
    int64_t first = ((const struct piece *)a)->start, second = ((const struct piece *)b)->start;
    return (first > second) - (first < second);
}

/* Join sorted pieces that touch; the number that is left. */
static int64_t joined(struct piece *pieces, int64_t n) {
    int64_t kept = 0;
    for (int64_t i = 0; i < n; i++) {
        if (kept > 0 && pieces[i].start <= pieces[kept - 1].end) {
            if (pieces[i].end > pieces[kept - 1].end) {
                pieces[kept - 1].end = pieces[i].end;
            }
        } else {
            pieces[kept++] = pieces[i];
        }
    }
    return kept;
}

static struct level merged(struct level a, struct level b) {
    struct level both = {wt_must_alloc((size_t)(a.n + b.n) * sizeof(struct piece)), 0};
    for (int64_t i = 0, k = 0; i < a.n || k < b.n;) {
        both.pieces[both.n++] =
            k >= b.n || (i < a.n && a.pieces[i].start <= b.pieces[k].start) ? a.pieces[i++] : b.pieces[k++];
    }
    both.n = joined(both.pieces, both.n);
    free(a.pieces);
    free(b.pieces);
    return both;
}

/* Sort the recent pieces into the levels: each of them is merged into the next one when it is full. */
static void settle(struct ranges *r) {
    struct level carried = {wt_must_alloc(sizeof r->recent), r->n_recent};
    memcpy(carried.pieces, r->recent, (size_t)r->n_recent * sizeof(struct piece));
    qsort(carried.pieces, (size_t)carried.n, sizeof(struct piece), by_start);
    carried.n = joined(carried.pieces, carried.n);
    r->n_recent = 0;
    for (int k = 0; k < RANGES_LEVELS; k++) {
        struct level *level = &r->levels[k];
        if (level->pieces) {
            r->n_pieces -= level->n;
            carried = merged(carried, *level);
            *level = (struct level){0};
        }
        if (carried.n <= (int64_t)RANGES_RECENT << k || k + 1 == RANGES_LEVELS) {
            *level = carried;
            break;
        }
    }
    r->n_pieces += carried.n;
    if (r->n_pieces > RANGES_MOST_PIECES) {
        r->lost = true;
    }
}

static void add_piece(struct ranges *r, int64_t start, int64_t end) {
    for (int32_t i = r->n_recent - 1; i >= 0; i--) { /* most go on where the last one ended */
        struct piece *p = &r->recent[i];
        if (start <= p->end && end >= p->start) {
            p->start = start < p->start ? start : p->start;
            p->end = end > p->end ? end : p->end;
            return;
        }
    }
    if (r->n_recent == RANGES_RECENT) {
        settle(r);
    }
    r->recent[r->n_recent++] = (struct piece){start, end};
}

static void add_one_by_one(struct ranges *r, struct band band) {
    for (int64_t i = 0; i < band.count; i++) {
        add_piece(r, band.start + i * band.stride, band.start + i * band.stride + band.length);
    }
}

/* Whether every range of a band is within one of another. */
static bool is_within(struct band inner, struct band outer) {
    int64_t distance = inner.start - outer.start;
    return inner.stride == outer.stride && distance >= 0 &&
           distance % outer.stride + inner.length <= outer.length &&
           distance / outer.stride + inner.count <= outer.count;
}

static bool goes_on(struct band first, struct band then) {
    return first.stride == then.stride && first.length == then.length &&
           then.start == first.start + first.count * first.stride;
}

static bool touches(struct band first, struct band then) {
    return first.stride == then.stride && first.count == then.count &&
           then.start == first.start + first.length && first.length + then.length <= first.stride;
}

static void add_band(struct ranges *r, struct band band) {
    for (int32_t i = 0; i < r->n_bands; i++) {
        struct band *other = &r->bands[i];
        if (is_within(band, *other)) {
            return;
        }
        if (goes_on(*other, band)) {
            other->count += band.count;
            return;
        }
        if (touches(*other, band) || touches(band, *other)) {
            struct band wider = *other;
            wider.start = band.start < wider.start ? band.start : wider.start;
            wider.length += band.length;
            *other = r->bands[--r->n_bands];
            wt_ranges_add(r, wider);
            return;
        }
    }
    if (r->n_bands == RANGES_MOST_BANDS) {
        r->lost = true;
        return;
    }
    r->bands = wt_must_grow(r->bands, (size_t)(r->n_bands + 1) * sizeof *r->bands);
    r->bands[r->n_bands++] = band;
}

void wt_ranges_add(struct ranges *r, struct band band) {
    if (band.length <= 0 || band.count <= 0 || r->lost) {
        return;
    }
    if (band.stride < 0) { /* from the last one on */
        band.start += (band.count - 1) * band.stride;
        band.stride = -band.stride;
    }
    if (band.count == 1 || band.stride <= band.length) {
        add_piece(r, band.start, band.start + (band.count - 1) * band.stride + band.length);
    } else if (band.count < FEWEST_OF_A_BAND) {
        add_one_by_one(r, band);
    } else {
        add_band(r, band);
    }
}

/* What one sorted level knows of a byte: *end of the range that holds it, or *next range's start. */
static void look_in_level(const struct level *level, int64_t at, int64_t *end, int64_t *next) {
    int64_t low = 0, high = level->n; /* the first piece that starts behind at */
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (level->pieces[middle].start <= at) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low > 0 && level->pieces[low - 1].end > at && level->pieces[low - 1].end > *end) {
        *end = level->pieces[low - 1].end;
    }
    if (low < level->n && level->pieces[low].start < *next) {
        *next = level->pieces[low].start;
    }
}

static void look_in_band(const struct band *band, int64_t at, int64_t *end, int64_t *next) {
    int64_t k = at < band->start ? -1 : band->count == 1 ? 0 : (at - band->start) / band->stride;
    if (k >= band->count) {
        return;
    }
    int64_t start = band->start + k * band->stride;
    if (k >= 0 && at < start + band->length && start + band->length > *end) {
        *end = start + band->length;
    }
    if (k + 1 < band->count && start + band->stride < *next) {
        *next = start + band->stride;
    }
}

bool wt_band_holds(struct band band, int64_t at, int64_t *until) {
    int64_t end = -1, next = INT64_MAX;
    look_in_band(&band, at, &end, &next);
    *until = end > at ? end : next;
    return end > at;
}

bool wt_ranges_hold_all(const struct ranges *r, struct band band) {
    const int64_t end = band.start + (band.count - 1) * band.stride + band.length;
    for (int32_t i = 0; i < r->n_bands; i++) {
        if (band.count > 1 && is_within(band, r->bands[i])) {
            return true;
        }
    }
    for (int64_t at = band.start, until; at < end; at = until) {
        if (!wt_ranges_hold(r, at, &until)) {
            return false;
        }
    }
    return true;
}

bool wt_ranges_hold(const struct ranges *r, int64_t at, int64_t *until) {
    int64_t end = -1, next = INT64_MAX;
    for (int32_t i = 0; i < r->n_recent; i++) {
        const struct piece *p = &r->recent[i];
        if (p->start <= at && p->end > at && p->end > end) {
            end = p->end;
        } else if (p->start > at && p->start < next) {
            next = p->start;
        }
    }
    for (int k = 0; k < RANGES_LEVELS; k++) {
        look_in_level(&r->levels[k], at, &end, &next);
    }
    for (int32_t i = 0; i < r->n_bands; i++) {
        look_in_band(&r->bands[i], at, &end, &next);
    }
    *until = end > at ? end : next;
    return end > at;
}

static int64_t cut_pieces(struct piece *pieces, int64_t n, int64_t size) {
    int64_t kept = 0;
    for (int64_t i = 0; i < n; i++) {
        if (pieces[i].start < size) {
            pieces[kept] = pieces[i];
            if (pieces[kept].end > size) {
                pieces[kept].end = size;
            }
            kept++;
        }
    }
    return kept;
}

void wt_ranges_cut(struct ranges *r, int64_t size) {
    r->n_recent = (int32_t)cut_pieces(r->recent, r->n_recent, size);
    for (int k = 0; k < RANGES_LEVELS; k++) {
        struct level *level = &r->levels[k];
        r->n_pieces -= level->n;
        level->n = cut_pieces(level->pieces, level->n, size);
        r->n_pieces += level->n;
    }
    for (int32_t i = 0; i < r->n_bands;) {
        struct band *band = &r->bands[i], was = *band;
        if (was.start + (was.count - 1) * was.stride + was.length <= size) {
            i++;
            continue;
        }
        int64_t whole = size - was.length < was.start ? 0 : (size - was.length - was.start) / was.stride + 1;
        int64_t rest = was.start + whole * was.stride;
        *band = r->bands[--r->n_bands];
        wt_ranges_add(r, (struct band){was.start, was.length, was.stride, whole});
        if (rest < size) {
            add_piece(r, rest, size);
        }
        i = whole > 0 ? 0 : i; /* the array has changed */
    }
}

void wt_ranges_clear(struct ranges *r) {
    for (int k = 0; k < RANGES_LEVELS; k++) {
        free(r->levels[k].pieces);
    }
    free(r->bands);
    *r = (struct ranges){0};
}

void wt_ranges_each(const struct ranges *r, void (*tell)(void *to, struct band band), void *to) {
    for (int32_t i = 0; i < r->n_recent; i++) {
        tell(to, (struct band){r->recent[i].start, r->recent[i].end - r->recent[i].start, 0, 1});
    }
    for (int k = 0; k < RANGES_LEVELS; k++) {
        for (int64_t i = 0; i < r->levels[k].n; i++) {
            const struct piece *p = &r->levels[k].pieces[i];
            tell(to, (struct band){p->start, p->end - p->start, 0, 1});
        }
    }
    for (int32_t i = 0; i < r->n_bands; i++) {
        tell(to, r->bands[i]);
    }
}
