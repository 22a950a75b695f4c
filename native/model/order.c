/* Orders in their normal form: an array of (symbol, count), with loops where they pay.
 *
 * Symbols are pushed onto a stack one by one, as the tracer does with rows (fold_loops.c). Equal neighbours
 * are one entry. When the entry on top is complete, the entries above a loop may be one more repetition of
 * it; or what lies on top may be the last repetition of a new loop, the shortest first. A loop is made when
 * it saves PAYS entries: fewer come by chance where there is no order. What is left then of a sequence or a
 * body, if it is SHORT, is folded again, and any loop pays there: it is for people to read. So the result is
 * a function of the sequence alone, and a sequence without repetitions costs a few comparisons an entry. A
 * loop's body is kept once: equal loops have equal numbers, at all levels and over all ranks. */
#include "columns.h"

#include <stdbool.h>
#include <string.h>

enum { PAYS = 8, SHORT = 256, NEAR = 16, OPEN = 16 };

struct entry {
    i64 id; /* symbol; from n_symbols on a body */
    i64 times;
    i64 extra; /* operations that a contracted loop left out before or in it, see layout.c */
};
struct body {
    i64 start, n, weight, next; /* entries; operations of one repetition; next of equal hash, + 1 */
};
struct orders { /* sequences of (symbol, count), one for each rank */
    i64 n_symbols, n_sequences;
    const i64 *first; /* of each sequence, and the end */
    const int32_t *symbol;
    const i64 *count, *extra; /* extra NULL: nothing is left out */
};
struct folded {
    i64 n_entries, n_bodies, n_kept, status; /* status: 0, or one of the two below */
    struct entry *entries, *kept;            /* of sequences; of bodies */
    struct body *bodies;
};
enum { NO_MEMORY = 1, NO_LOOP = 2 }; /* NO_LOOP: what was left out fits no loop */

static _Thread_local struct {
    i64 pays, n_symbols, n_bodies, room, n_kept, kept_room, n, stack_room, n_roots, roots_room;
    struct body *bodies;
    struct entry *kept; /* entries of all bodies */
    struct entry *stack, *roots;
    i64 *loops, n_loops, loops_room; /* places of loops on the stack */
    i64 *buckets, *seen;             /* first body by hash; where three entries were on top, + 1 */
    i64 n_buckets, seen_mask;
    jmp_buf failed;
} o;

static void *made(i64 n, size_t size) {
    void *at = calloc((size_t)n, size);
    if (at == NULL) {
        longjmp(o.failed, NO_MEMORY);
    }
    return at;
}
static inline uint64_t mix(uint64_t h, uint64_t v) {
    h = (h ^ v) * 0x9e3779b97f4a7c15u;
    return h ^ h >> 29;
}
static inline bool same(const struct entry *a, const struct entry *b) {
    return a->id == b->id && a->times == b->times;
}
static bool equal(const struct entry *a, const struct entry *b, i64 n) { /* from the last one back */
    while (n-- > 0) {
        if (!same(a + n, b + n)) {
            return false;
        }
    }
    return true;
}
static i64 weight(const struct entry *e, i64 n) {
    i64 sum = 0;
    for (i64 i = 0; i < n; i++) {
        sum += e[i].times * (e[i].id < o.n_symbols ? 1 : o.bodies[e[i].id - o.n_symbols].weight);
    }
    return sum;
}

static i64 intern(const struct entry *e, i64 n) {
    uint64_t h = (uint64_t)n;
    for (i64 i = 0; i < n; i++) {
        h = mix(mix(h, (uint64_t)e[i].id), (uint64_t)e[i].times);
    }
    i64 *bucket = &o.buckets[(i64)(h >> 40) & (o.n_buckets - 1)];
    for (i64 b = *bucket - 1; b >= 0; b = o.bodies[b].next - 1) {
        if (o.bodies[b].n == n && equal(&o.kept[o.bodies[b].start], e, n)) {
            return o.n_symbols + b;
        }
    }
    o.bodies = grown(o.bodies, o.n_bodies, &o.room, sizeof *o.bodies, o.failed);
    o.kept = grown(o.kept, o.n_kept + n - 1, &o.kept_room, sizeof *o.kept, o.failed);
    memcpy(&o.kept[o.n_kept], e, (size_t)n * sizeof *e);
    o.bodies[o.n_bodies] = (struct body){o.n_kept, n, weight(e, n), *bucket};
    o.n_kept += n;
    *bucket = ++o.n_bodies;
    return o.n_symbols + o.n_bodies - 1;
}

static void keep(i64 n) { /* of the stack */
    o.n = n;
    while (o.n_loops > 0 && o.loops[o.n_loops - 1] >= n) {
        o.n_loops--;
    }
}

/* The entries on top are one more repetition of a loop right below them. */
static bool extend(void) {
    for (i64 k = o.n_loops - 1; k >= 0 && k >= o.n_loops - OPEN; k--) {
        i64 pos = o.loops[k];
        struct entry *loop = &o.stack[pos];
        const struct body *body = &o.bodies[loop->id - o.n_symbols];
        if (body->n != o.n - 1 - pos || !equal(loop + 1, &o.kept[body->start], body->n)) {
            continue;
        }
        i64 extra = 0;
        for (i64 i = 1; i <= body->n; i++) {
            extra += loop[i].extra;
        }
        if (extra % body->weight != 0) {
            return false;
        }
        loop->times += 1 + extra / body->weight;
        keep(pos + 1);
        return true;
    }
    return false;
}

static bool create(i64 p) { /* a loop of the p entries on top, if it pays */
    i64 times = 1 + (o.pays + p - 1) / p, n = times * p;
    if (n > o.n) {
        return false;
    }
    struct entry *low = &o.stack[o.n - n];
    if (!equal(low, low + p, n - p)) {
        return false;
    }
    i64 extra = 0; /* is of a loop around this one: its own gap comes later */
    for (i64 i = 0; i < n; i++) {
        extra += low[i].extra;
    }
    low[0] = (struct entry){intern(low, p), times, extra};
    keep(o.n - n);
    o.loops = grown(o.loops, o.n_loops, &o.loops_room, sizeof *o.loops, o.failed);
    o.loops[o.n_loops++] = o.n++;
    return true;
}

static bool find(void) {
    const struct entry *top = &o.stack[o.n - 1];
    for (i64 p = 2; p <= NEAR && p < o.n; p++) {
        if (same(top, top - p) && create(p)) {
            return true;
        }
    }
    if (o.n < 3) {
        return false;
    }
    uint64_t h = 0;
    for (i64 i = 0; i < 3; i++) {
        h = mix(mix(h, (uint64_t)top[-i].id), (uint64_t)top[-i].times);
    }
    i64 *place = &o.seen[(i64)(h >> 24) & o.seen_mask], before = *place - 1;
    *place = o.n;
    i64 p = o.n - 1 - before;
    return before >= 0 && p > NEAR && create(p);
}

/* Symbol that a loop goes on with. */
static i64 first_symbol(i64 id) {
    while (id >= o.n_symbols) {
        id = o.kept[o.bodies[id - o.n_symbols].start].id;
    }
    return id;
}

static void settle(i64 next) {
    while (o.n > 1 && !(o.stack[o.n - 1].id >= o.n_symbols && first_symbol(o.stack[o.n - 1].id) == next)) {
        if (!extend() && !find()) {
            break;
        }
    }
}

static void begin(i64 n, i64 pays) {
    i64 size = 64;
    while (size < n && size < 1 << 15) {
        size *= 2;
    }
    free(o.seen);
    o.seen = NULL;
    o.seen = made(size, sizeof(i64));
    o.seen_mask = size - 1;
    o.n = o.n_loops = 0;
    o.pays = pays;
}

static void push(struct entry e) {
    struct entry *top = o.n ? &o.stack[o.n - 1] : NULL;
    if (top && top->id == e.id) {
        top->times += e.times;
        top->extra += e.extra;
        return;
    }
    if (top) {
        settle(first_symbol(e.id));
    }
    o.stack = grown(o.stack, o.n, &o.stack_room, sizeof *o.stack, o.failed);
    o.stack[o.n++] = e;
}

/* The entries in the room for them, folded again if they are few; how many there are. */
static i64 again(struct entry *entries, i64 n) {
    struct entry few[SHORT];
    if (n > SHORT) {
        return n;
    }
    memcpy(few, entries, (size_t)n * sizeof *few);
    begin(n, 1);
    for (i64 i = 0; i < n; i++) {
        push((struct entry){few[i].id, few[i].times, 0});
    }
    if (o.n) {
        settle(-1);
    }
    return o.n;
}

static void all(const struct orders *in, i64 *root) {
    i64 n = in->first[in->n_sequences];
    o.n_symbols = in->n_symbols;
    o.n_buckets = 1 << 8;
    while (o.n_buckets < n / 8 && o.n_buckets < 1 << 20) {
        o.n_buckets *= 2;
    }
    o.buckets = made(o.n_buckets, sizeof(i64));
    for (i64 s = 0; s < in->n_sequences; s++) {
        i64 a = in->first[s], z = in->first[s + 1];
        begin(z - a, PAYS);
        for (i64 i = a; i < z; i++) {
            push((struct entry){in->symbol[i], in->count[i], in->extra ? in->extra[i] : 0});
        }
        if (o.n) {
            settle(-1);
        }
        for (i64 i = 0; i < o.n; i++) {
            if (o.stack[i].extra) {
                longjmp(o.failed, NO_LOOP);
            }
        }
        again(o.stack, o.n);
        root[s] = o.n_roots;
        for (i64 i = 0; i < o.n; i++) {
            o.roots = grown(o.roots, o.n_roots, &o.roots_room, sizeof *o.roots, o.failed);
            o.roots[o.n_roots++] = o.stack[i];
        }
    }
    root[in->n_sequences] = o.n_roots;
    for (i64 b = 0; b < o.n_bodies; b++) { /* also those that are made here, in which nothing more is found */
        i64 left = again(o.kept + o.bodies[b].start, o.bodies[b].n);
        if (left == o.bodies[b].n) {
            continue;
        }
        memcpy(o.kept + o.bodies[b].start, o.stack, (size_t)left * sizeof *o.stack);
        o.bodies[b].n = left;
    }
}

/* Folds all sequences. root[s]: where in the entries sequence s begins, and the end. What `found` has is to
 * be freed by wt_free. */
WT_EXPORT void wt_fold_orders(const struct orders *in, i64 *root, struct folded *found) {
    memset(&o, 0, sizeof o);
    int status = setjmp(o.failed);
    if (status == 0) {
        all(in, root);
    }
    free(o.stack);
    free(o.loops);
    free(o.buckets);
    free(o.seen);
    if (status) {
        free(o.roots);
        free(o.kept);
        free(o.bodies);
        *found = (struct folded){.status = status};
    } else {
        *found = (struct folded){o.n_roots, o.n_bodies, o.n_kept, 0, o.roots, o.kept, o.bodies};
    }
}
