/* Cuts each stream (a rank's data operations on a file) into pieces that repeat one pattern, by the method's
 * rules (section 2), from left to right. Rows come in stream order; a row is a run of `count` operations of
 * one call. One pass over rows, and one over single operations where stretches of few operations follow each
 * other.
 *
 * Where a contracted loop (layout.c) leaves repetitions out, two operations are compared as if they lay at
 * their places without. */
#include "columns.h"

#include <stdbool.h>
#include <string.h>

enum { UNKNOWN = -1 }; /* offset */

struct limits { /* wavetank.model.document.thresholds, in the same order */
    i64 run_operations, similar_operations, pieces, pattern_operations, nested_operations, long_operations;
    double low, high; /* window of similar values; 0: equality */
};
struct rows { /* of a trace; those that are cut are `index`, in stream order */
    i64 n;
    const i64 *index;
    const uint8_t *cut; /* 1: a boundary lies before the row; 2: here begins one call of an irregular order */
    struct column op, slot, count, size, offset, disp, gap; /* gap: operations left out before the row */
    struct around around;
    struct limits limits;
};
struct piece {
    i64 low, high, period, irregular, row; /* operations [low, high); row of the first */
};
struct stretch { /* of one call and similar sizes */
    i64 low, high, row, symbol, size;
};
struct list {
    void *at;
    i64 n, room;
};
static _Thread_local struct {
    const struct rows *in;
    struct limits limits;
    i64 *first;        /* operations before each row */
    int32_t *symbol;   /* of each row: call and handle */
    uint32_t *changes; /* of the symbol, up to each row */
    uint32_t *jumps;   /* of dissimilar sizes, likewise */
    i64 *bounds;
    struct list pieces, stretches, patterns, ops;
    jmp_buf failed; /* without memory */
} cut;

static void *more(struct list *list, size_t size) {
    list->at = grown(list->at, list->n, &list->room, size, cut.failed);
    return (char *)list->at + (size_t)list->n++ * size;
}
#define PIECE(i) ((struct piece *)cut.pieces.at)[i]
#define STRETCH(i) ((struct stretch *)cut.stretches.at)[i]

static void add_piece(i64 low, i64 high, i64 period, i64 row) {
    *(struct piece *)more(&cut.pieces, sizeof(struct piece)) = (struct piece){low, high, period, 0, row};
}

static inline bool similar(i64 a, i64 b) {
    return a == b || (cut.limits.low > 0 && a > 0 && b > 0 && (double)b >= cut.limits.low * (double)a &&
                      (double)b <= cut.limits.high * (double)a);
}

/* ---- places of operations ---- */

static i64 row_of(i64 op, i64 from) { /* ascending: `from` is at or before it */
    while (cut.first[from + 1] <= op) {
        from++;
    }
    return from;
}

struct place { /* of an operation; row -1 of a trace: not known */
    i64 offset, symbol, size, row;
};
static inline i64 size_of(i64 row) {
    return get(&cut.in->size, cut.in->index[row]);
}
static inline struct place at(i64 row, i64 within) {
    const struct rows *r = cut.in;
    i64 i = r->index[row], offset = get(&r->offset, i), d = within * get(&r->disp, i);
    if (offset == UNKNOWN) {
        return (struct place){0, cut.symbol[row], get(&r->size, i), -1};
    }
    return (struct place){offset + d, cut.symbol[row], get(&r->size, i), i};
}
static inline i64 distance(const struct place *a, const struct place *b) {
    return b->offset - a->offset - (a->row < 0 || b->row < 0 ? 0 : left_out(&cut.in->around, a->row, b->row));
}

/* ---- one operation: parts by displacement ---- */

struct bounds {
    i64 low, high, position, n, *at;
};
/* A regular part [begin, end) of at least `least`; what it leaves on both sides are parts too. */
static bool bound(struct bounds *b, i64 begin, i64 end, i64 least) {
    i64 first = begin > b->position ? begin : b->position;
    if (end - first < least) {
        return true;
    }
    if (first != b->low && first != b->high && (b->n == 0 || b->at[b->n - 1] != first)) {
        b->at[b->n++] = first;
    }
    if (end != b->low && end != b->high && b->n <= cut.limits.pieces &&
        (b->n == 0 || b->at[b->n - 1] != end)) {
        b->at[b->n++] = end;
    }
    b->position = end;
    return b->n <= cut.limits.pieces;
}

static void add_stretch(i64 low, i64 high, i64 row) {
    *(struct stretch *)more(&cut.stretches, sizeof(struct stretch)) =
        (struct stretch){low, high, row, cut.symbol[row], size_of(row)};
}

static void part(i64 a, i64 z) { /* rows [a, z) of one call and similar sizes */
    if (z - a == 1) {
        add_stretch(cut.first[a], cut.first[z], a);
        return;
    }
    struct bounds b = {.low = cut.first[a], .high = cut.first[z], .position = cut.first[a], .at = cut.bounds};
    i64 begin = b.low, step = 0;
    bool open = false, equal = true, ok = true;
    for (i64 row = a; row < z && ok; row++) {
        for (int inner = 1; inner >= 0 && ok;
             inner--) { /* steps inside the row, then the one to the next row */
            i64 value, op;
            i64 last = cut.first[row + 1] - cut.first[row] - 1;
            if (inner) {
                if (last == 0) {
                    continue;
                }
                struct place x = at(row, 0), y = at(row, 1);
                value = y.offset - x.offset;
                op = cut.first[row];
            } else {
                if (row + 1 == z) {
                    continue;
                }
                struct place x = at(row, last), y = at(row + 1, 0);
                value = distance(&x, &y);
                op = cut.first[row + 1] - 1;
            }
            if (open && value == step) {
                continue;
            }
            if (open && similar(step, value)) {
                equal = false;
            } else if (open) {
                ok = bound(&b, begin, op + 1,
                           equal ? cut.limits.run_operations : cut.limits.similar_operations);
                begin = op;
                equal = true;
            }
            step = value;
            open = true;
        }
    }
    if (ok && open) {
        ok = bound(&b, begin, b.high, equal ? cut.limits.run_operations : cut.limits.similar_operations);
    }
    if (!ok) {
        b.n = 0;
    }
    i64 low = b.low, row = a;
    for (i64 i = 0; i <= b.n; i++) {
        i64 high = i < b.n ? b.at[i] : b.high;
        row = row_of(low, row);
        add_stretch(low, high, row);
        low = high;
    }
}

/* ---- several operations ---- */

/* Pieces of a pattern where the displacement of a member changes. Operations are in `ops` from `from` on. */
static void members(const struct place *ops, i64 low, i64 high, i64 period, i64 row) {
    i64 n = (high - low) / period, done = low;
    struct bounds b = {.low = 0, .high = n, .at = cut.bounds};
    bool ok = n >= 3;
    i64 begin = 0;
    for (i64 k = 2; k < n && ok; k++) {
        bool same = true;
        for (i64 m = 0; m < period && same; m++) {
            const struct place *x = &ops[(k - 2) * period + m], *y = x + period, *z = y + period;
            same = similar(distance(x, y), distance(y, z));
        }
        if (!same) {
            ok = bound(&b, begin, k, cut.limits.run_operations);
            begin = k - 1;
        }
    }
    if (ok) {
        ok = bound(&b, begin, n, cut.limits.run_operations);
    }
    if (!ok) {
        b.n = 0;
    }
    for (i64 i = 0; i <= b.n; i++) {
        i64 stop = i < b.n ? low + b.at[i] * period : high;
        row = row_of(done, row);
        add_piece(done, stop, period, row);
        done = stop;
    }
}

static struct place *lay_out(i64 low, i64 high, i64 row) {
    cut.ops.n = 0;
    for (i64 op = low; op < high; row++) {
        for (; op < cut.first[row + 1] && op < high; op++) {
            *(struct place *)more(&cut.ops, sizeof(struct place)) = at(row, op - cut.first[row]);
        }
    }
    return cut.ops.at;
}

static inline i64 match(const struct place *ops, i64 n, i64 from, i64 period, bool sized) {
    i64 i = from;
    while (i + period < n && ops[i].symbol == ops[i + period].symbol &&
           (!sized || similar(ops[i].size, ops[i + period].size))) {
        i++;
    }
    return i - from;
}

/* From left to right the pattern that covers most, the shortest of those. False: more than `most`. */
static bool search(i64 low, i64 high, i64 row, bool sized, i64 most) {
    const struct place *ops = lay_out(low, high, row);
    i64 n = high - low, n_pieces = cut.pieces.n, found = 0;
    for (i64 i = 0; i < n; found++) {
        if (found == most) {
            cut.pieces.n = n_pieces;
            return false;
        }
        i64 best = 1 + match(ops, n, i, 1, sized), period = 1;
        if (best < cut.limits.run_operations) {
            for (i64 p = 2; p <= cut.limits.pattern_operations && i + 2 * p <= n; p++) {
                i64 length = match(ops, n, i, p, sized), covered = p * (length / p + 1);
                if (length >= p && covered > best) {
                    best = covered, period = p;
                }
            }
        }
        row = row_of(low + i, row);
        members(ops + i, low + i, low + i + best, period, row);
        i += best;
    }
    return true;
}

static inline i64 length(i64 s) {
    return STRETCH(s).high - STRETCH(s).low;
}
static inline bool alike(i64 a, i64 b) { /* stretches of one call and similar size */
    return STRETCH(a).symbol == STRETCH(b).symbol && similar(STRETCH(a).size, STRETCH(b).size);
}

/* Operations that a stretch beside a pattern has in common with its place in the pattern. */
static i64 lent(i64 outer, i64 like, i64 end) {
    if (outer < 0 || outer >= end) {
        return 0;
    }
    if (!(outer < like ? alike(outer, like) : alike(like, outer))) {
        return 0;
    }
    return length(outer) >= length(like) ? length(like) : 0;
}

/* The best pattern with runs in it at stretch s: its stretches; *matched: all that match it. */
static i64 nested_at(i64 s, i64 end, i64 *matched) {
    i64 best = 0, most = 0, operations = length(s);
    bool run = operations >= cut.limits.run_operations, unlike = false;
    for (i64 p = 2; p <= cut.limits.pattern_operations && s + 2 * p <= end; p++) {
        operations += length(s + p - 1);
        run |= length(s + p - 1) >= cut.limits.run_operations;
        if (!unlike) {
            unlike = !alike(s + p - 2, s + p - 1);
        }
        if (operations > cut.limits.nested_operations) {
            break;
        }
        if (!run || !unlike || length(s) != length(s + p)) {
            continue;
        }
        i64 i = s;
        while (i + p < end && length(i) == length(i + p) && alike(i, i + p)) {
            i++;
        }
        i64 times = (i - s) / p + 1;
        if (times > 1 && operations <= times * p && times * p > most) {
            most = times * p, best = p, *matched = i - s + p;
        }
    }
    return best;
}

/* What patterns with runs leave of the stretches from `start` on; patterns are kept apart. */
static void nested(i64 start) {
    i64 end = cut.stretches.n, runs = 0, left = start;
    for (i64 s = start; s < end; s++) {
        runs += length(s) >= cut.limits.run_operations;
    }
    cut.patterns.n = 0;
    for (i64 s = start; s < end;) {
        i64 matched = 0, period = runs < 2 ? 0 : nested_at(s, end, &matched);
        if (period == 0) {
            STRETCH(left++) = STRETCH(s++);
            continue;
        }
        i64 stop = s + matched, low = STRETCH(s).low, high = STRETCH(stop - 1).high, row = STRETCH(s).row;
        i64 members = STRETCH(s + period - 1).high - low, borrowed = 0;
        high += lent(stop, stop - period, end);
        if (left > start && STRETCH(left - 1).high == low) {
            STRETCH(s - 1) = STRETCH(left - 1); /* it has the place before */
            borrowed = lent(s - 1, s - 1 + period, end);
            if ((high - low + borrowed) / members > (high - low) / members) {
                low -= borrowed;
                STRETCH(left - 1).high = low;
                if (STRETCH(left - 1).low == low) {
                    left--;
                }
                row = row_of(low, STRETCH(s - 1).row);
            }
        }
        high -= (high - low) % members;
        *(struct piece *)more(&cut.patterns, sizeof(struct piece)) =
            (struct piece){low, high, members, 0, row};
        while (s < end && STRETCH(s).high <= high) {
            s++;
        }
        if (s < end && STRETCH(s).low < high) { /* of the last one a part is left */
            STRETCH(s).low = high;
            STRETCH(s).row = row_of(high, STRETCH(s).row);
            STRETCH(s).size = size_of(STRETCH(s).row);
        }
    }
    cut.stretches.n = left;
}

/* ---- what has no regularity ---- */

static i64 last_row(i64 i) {
    return row_of(PIECE(i).high - 1, PIECE(i).row);
}

static bool exactly_regular(i64 i) {
    struct piece *p = &PIECE(i);
    const struct place *ops = lay_out(p->low, p->high, p->row);
    for (i64 k = p->period; k < p->high - p->low; k++) {
        const struct place *y = &ops[k], *x = y - p->period;
        if (x->size != y->size || (k >= 2 * p->period && distance(x, y) != distance(x - p->period, x))) {
            return false;
        }
    }
    return true;
}

/* Scraps are pieces of one call that are irregular. How many a piece counts for: one of dissimilar sizes and
 * many operations, in which only the order of calls was looked at, is as many as are joined. */
static i64 scraps(i64 i) {
    struct piece *p = &PIECE(i);
    i64 last = last_row(i), n = p->high - p->low;
    if (cut.changes[p->row] != cut.changes[last]) {
        return 0;
    }
    if (p->period == 1 && cut.jumps[p->row] != cut.jumps[last]) {
        return n < cut.limits.similar_operations ? 1 : cut.limits.run_operations;
    }
    return n < cut.limits.similar_operations &&
           (n / p->period < cut.limits.run_operations || !exactly_regular(i));
}

static void join_scraps(i64 start) {
    i64 kept = start, end = cut.pieces.n;
    for (i64 i = start; i < end;) {
        i64 z = i, n = 0, one = 0;
        while (z < end && cut.symbol[PIECE(z).row] == cut.symbol[PIECE(i).row] && (one = scraps(z)) > 0) {
            n += one, z++;
        }
        if (n >= cut.limits.run_operations) {
            struct piece whole = {PIECE(i).low, PIECE(z - 1).high, z - i > 1 ? 1 : PIECE(i).period, 0,
                                  PIECE(i).row};
            PIECE(kept++) = whole;
            i = z;
        } else {
            for (i64 stop = z > i ? z : i + 1; i < stop; i++) {
                PIECE(kept++) = PIECE(i);
            }
        }
    }
    cut.pieces.n = kept;
}

/* Whether a piece repeats the calls of the piece before it, at other places or with other sizes. */
static bool goes_on(i64 i) {
    struct piece *p = &PIECE(i), *before = p - 1;
    if (p->period == 1 || p->period != before->period) {
        return false;
    }
    i64 x = before->row, y = p->row;
    for (i64 k = 0; k < p->period; k++) {
        x = row_of(before->low + k, x);
        y = row_of(p->low + k, y);
        if (cut.symbol[x] != cut.symbol[y]) {
            return false;
        }
    }
    return true;
}

/* Between long pieces the call may change more than cut.limits.pieces times: no order at all. Changes inside
 * of cut.limits.pieces operations or more that repeat their calls are an order of its own, and do not count.
 */
static void find_irregular(i64 start) {
    const struct column *gap = &cut.in->gap;
    i64 turns = 0, from = start, before = -1; /* changes at the last row of the piece before */
    for (i64 i = start, next; i <= cut.pieces.n; i = next) {
        i64 n = cut.limits.long_operations;
        next = i + 1;
        if (i < cut.pieces.n) {
            while (next < cut.pieces.n && goes_on(next)) {
                next++;
            }
            i64 last = last_row(next - 1), row = PIECE(i).row, first = cut.changes[row];
            n = PIECE(next - 1).high - PIECE(i).low;
            for (i64 k = row + 1; k <= last && gap->stride; k++) {
                n += get(gap, cut.in->index[k]);
            }
            turns += (i > from && first != before) + (n < cut.limits.pieces ? cut.changes[last] - first : 0);
            before = cut.changes[last];
        }
        if (n < cut.limits.long_operations) {
            continue;
        }
        if (turns > cut.limits.pieces) {
            for (i64 k = from; k < i; k++) {
                PIECE(k).irregular = 1;
            }
        }
        turns = 0;
        from = next;
    }
}

/* ---- all streams ---- */

static void chain(i64 a, i64 z) { /* rows without a boundary between them */
    i64 start = cut.pieces.n;
    cut.stretches.n = 0;
    for (i64 row = a; row < z;) {
        i64 stop = row + 1;
        while (stop < z && cut.symbol[stop] == cut.symbol[row] && cut.jumps[stop] == cut.jumps[row]) {
            stop++;
        }
        part(row, stop);
        row = stop;
    }
    nested(0);
    i64 pattern = 0;
    for (i64 s = 0; s <= cut.stretches.n; s++) {
        for (; pattern < cut.patterns.n; pattern++) {
            struct piece *p = &((struct piece *)cut.patterns.at)[pattern];
            if (s < cut.stretches.n && p->low > STRETCH(s).low) {
                break;
            }
            members(lay_out(p->low, p->high, p->row), p->low, p->high, p->period, p->row);
        }
        if (s == cut.stretches.n) {
            break;
        }
        i64 last = s;
        while (last + 1 < cut.stretches.n && length(last) < cut.limits.run_operations &&
               length(last + 1) < cut.limits.run_operations && STRETCH(last).high == STRETCH(last + 1).low) {
            last++;
        }
        struct stretch *x = &STRETCH(s);
        if (last == s) {
            add_piece(x->low, x->high, 1, x->row);
        } else if (!search(x->low, STRETCH(last).high, x->row, true, cut.limits.pieces)) {
            search(x->low, STRETCH(last).high, x->row, false, INT64_MAX); /* the order of the calls alone */
        }
        s = last;
    }
    join_scraps(start);
    if (cut.changes[z - 1] != cut.changes[a]) {
        find_irregular(start);
    } else if (cut.in->cut[a] == 2 &&
               cut.pieces.n - start > cut.limits.pieces) { /* neither has one of its calls */
        PIECE(start) = (struct piece){cut.first[a], cut.first[z], 1, 0, a};
        cut.pieces.n = start + 1;
    }
}

static void *room(i64 n, size_t size) {
    void *at = malloc(((size_t)n + 2) * size);
    if (at == NULL) {
        longjmp(cut.failed, 1);
    }
    return at;
}

static void all(i64 n) {
    const struct rows *in = cut.in;
    cut.first = room(n, sizeof(i64));
    cut.symbol = room(n, sizeof(int32_t));
    cut.changes = room(n, sizeof(uint32_t));
    cut.jumps = room(n, sizeof(uint32_t));
    cut.bounds = room(cut.limits.pieces, sizeof(i64));
    cut.first[0] = 0;
    for (i64 i = 0, before = 0; i < n; i++) {
        i64 row = in->index[i], size = get(&in->size, row);
        cut.first[i + 1] = cut.first[i] + get(&in->count, row);
        cut.symbol[i] = (int32_t)(get(&in->slot, row) << 8 | get(&in->op, row));
        cut.changes[i] = i ? cut.changes[i - 1] + (cut.symbol[i] != cut.symbol[i - 1]) : 0;
        cut.jumps[i] = i ? cut.jumps[i - 1] + !similar(before, size) : 0;
        before = size;
    }
    for (i64 a = 0, z; a < n; a = z) {
        for (z = a + 1; z < n && !in->cut[z]; z++) {
        }
        chain(a, z);
    }
}

/* The pieces, in order; their number in *n_pieces, -1 without memory. To be freed by wt_free. */
WT_EXPORT struct piece *wt_cuts(const struct rows *in, i64 *n_pieces) {
    memset(&cut, 0, sizeof cut);
    cut.in = in;
    cut.limits = in->limits;
    *n_pieces = -1;
    if (setjmp(cut.failed) == 0) {
        all(in->n);
        *n_pieces = cut.pieces.n;
    }
    free(cut.first);
    free(cut.symbol);
    free(cut.changes);
    free(cut.jumps);
    free(cut.bounds);
    free(cut.stretches.at);
    free(cut.patterns.at);
    free(cut.ops.at);
    if (*n_pieces < 0) {
        free(cut.pieces.at);
        return NULL;
    }
    return cut.pieces.at;
}

WT_EXPORT void wt_free(void *at) {
    free(at);
}
