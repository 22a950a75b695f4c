/* Folds loops of several operations: rows that repeat at regular distances become the body of a loop.
 *
 * Works on the rows that are not coded yet, whenever enough have come together, so that recording an
 * operation costs nothing more. Rows go onto a stack one by one. After each, the rows on top may be one more
 * repetition of a loop below them, or the third repetition of what comes before: they are taken off, and the
 * loop has one more. A loop's rows are rows as well, so that loops lie in loops. Lossless: every field of
 * every repetition follows from the first one and the steps, else it is none.
 *
 * Why a stack: what folds always ends at the top, so that a row that comes is compared with what is right
 * below it, and a repetition that was found leaves nothing behind. A suffix array finds longer repetitions,
 * but of a sequence that is known whole and of symbols that are equal. Here two offsets a step apart are the
 * repetition, and no symbol tells that. A grammar (Sequitur) needs equal symbols as well.
 *
 * Why three repetitions: any two rows of one size are at some distance, so that two prove no step. Writes at
 * random places would become loops of two, which say nothing.
 *
 * Why two ways to look: a body of up to WT_NEAR rows is looked for at every row, all lengths at once by
 * vectors over two words of each row, a hash and the lowest bits of the offset. A longer body, up to FAR
 * rows, is tried at one length only: that at which the same three rows were seen before. What passes is
 * compared in full: a hash that collides costs time and never makes a wrong loop.
 *
 * Why at most WT_NEST loops around a row: every row of the tail has room for the steps of as many.
 *
 * Source: the regular section descriptors of ScalaTrace (Noeth et al., J. Parallel Distrib. Comput. 69,
 * 2009), here with steps of offsets and clocks. */
#include "record/record.h"

#include <string.h>

#define FAR (WT_GROUP_ROWS / 4)    /* longer ones where three rows in a row come again, up to this many */
#define RECENT (WT_GROUP_ROWS * 2) /* where three rows in a row were seen last, direct mapped */

static struct {
    struct wt_row *rows;
    struct wt_nest *nests;
    struct wt_row *out; /* other memory, for what is folded */
    struct wt_nest *out_nests;
    unsigned n;
    uint32_t keys[WT_GROUP_ROWS]; /* hash of what must be the same in every repetition */
    uint32_t ends[WT_GROUP_ROWS]; /* lowest bits of offsets, which must be at equal steps */
    struct {
        uint16_t first, rows;
    } loops[WT_GROUP_ROWS]; /* that are in no other */
    unsigned n_loops;
    uint16_t recent[RECENT]; /* place + 1 */
} stack;

static uint64_t mix(uint64_t hash, uint64_t value) {
    hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 29;
}

static uint32_t key_of(const struct wt_row *row, const struct wt_nest *nest) {
    uint64_t hash = mix(row->op + row->count * 31u, (uint64_t)row->size + (uint64_t)row->disp * 0x632be5abu);
    for (unsigned d = 0; d < row->depth; d++) {
        hash = mix(hash, nest->around[d].n * 1024u + nest->around[d].at);
    }
    return (uint32_t)(hash >> 32);
}

static bool same_loops(const struct wt_nest *a, const struct wt_nest *b, unsigned depth) {
    for (unsigned d = 0; d < depth; d++) {
        const struct wt_around *x = &a->around[d], *y = &b->around[d];
        if (x->n != y->n || x->rows != y->rows || x->at != y->at || x->offset != y->offset ||
            x->view_offset != y->view_offset || x->arg != y->arg || x->tick != y->tick ||
            x->subtick != y->subtick || x->handle != y->handle || x->file != y->file) {
            return false;
        }
    }
    return true;
}

/* Whether two rows differ in nothing but what a step may change. Clocks inside a row that asks for no bytes
 * are means, and free. */
static inline bool same_row(const struct wt_row *a, const struct wt_row *b) {
    return a->op == b->op && a->size == b->size && a->count == b->count && a->moved == b->moved &&
           a->disp == b->disp && a->view == b->view && a->view_disp == b->view_disp && a->error == b->error &&
           a->paused == b->paused &&
           (a->size == 0 || (a->tick_step == b->tick_step && a->subtick_step == b->subtick_step));
}

/* What lies between two repetitions of a row; spans are left out. */
static struct wt_around step_of(const struct wt_row *a, const struct wt_row *b) {
    return (struct wt_around){.offset = (int64_t)((uint64_t)b->offset - (uint64_t)a->offset),
                              .view_offset = (int64_t)((uint64_t)b->view_offset - (uint64_t)a->view_offset),
                              .arg = (int64_t)((uint64_t)b->arg - (uint64_t)a->arg),
                              .tick = (int64_t)(b->tick - a->tick),
                              .subtick = (int64_t)(b->subtick - a->subtick),
                              .handle = b->handle - a->handle,
                              .file = b->file - a->file};
}

static bool equal_steps(const struct wt_around *a, const struct wt_around *b) {
    return a->offset == b->offset && a->view_offset == b->view_offset && a->arg == b->arg &&
           a->tick == b->tick && a->subtick == b->subtick && a->handle == b->handle && a->file == b->file;
}

/* Whether `row` is repetition `n` of the body row `of`, whose outermost loop is `around`. */
static bool follows(const struct wt_row *of, const struct wt_around *around, const struct wt_row *row) {
    uint64_t n = around->n;
    return (uint64_t)row->offset == (uint64_t)of->offset + n * (uint64_t)around->offset &&
           (uint64_t)row->view_offset == (uint64_t)of->view_offset + n * (uint64_t)around->view_offset &&
           row->tick == of->tick + n * (uint64_t)around->tick &&
           row->subtick == of->subtick + n * (uint64_t)around->subtick &&
           (uint64_t)row->arg == (uint64_t)of->arg + n * (uint64_t)around->arg &&
           (uint32_t)row->handle == (uint32_t)of->handle + (uint32_t)n * (uint32_t)around->handle &&
           (uint32_t)row->file == (uint32_t)of->file + (uint32_t)n * (uint32_t)around->file;
}

/* Of all repetitions. */
static uint64_t operations(const struct wt_row *row, const struct wt_nest *nest) {
    uint64_t n = row->count;
    for (unsigned d = 0; d < row->depth; d++) {
        n *= nest->around[d].n;
    }
    return n;
}

static void add_times(const struct wt_row *row, struct wt_nest *to, const struct wt_row *more,
                      const struct wt_nest *from) {
    if (row->count == 1 && row->depth == 0) { /* a single operation has its time in busy */
        memset(to->times, 0, sizeof to->times);
        to->times[wt_bucket(row->busy)] = 1;
    }
    if (more->count == 1 && more->depth == 0) {
        to->times[wt_bucket(more->busy)]++;
        return;
    }
    for (unsigned b = 0; b < WT_TIMES_BUCKETS; b++) {
        to->times[b] += from->times[b];
    }
}

/* The spans of the outermost loop, so that the ends of all loops around the row add up to its true last ones.
 */
static void span(const struct wt_row *row, struct wt_nest *nest, const struct wt_row *last,
                 const struct wt_nest *last_nest) {
    struct wt_around *outermost = &nest->around[row->depth - 1];
    uint64_t start = last->start - row->start, end = last->end - row->end;
    for (unsigned d = 0; d + 1 < row->depth; d++) {
        start += (uint64_t)(last_nest->around[d].start - nest->around[d].start);
        end += (uint64_t)(last_nest->around[d].end - nest->around[d].end);
    }
    outermost->start = (int64_t)start;
    outermost->end = (int64_t)end;
}

static void copy_row(unsigned to, const struct wt_row *row, const struct wt_nest *nest) {
    stack.rows[to] = *row;
    memcpy(stack.nests[to].around, nest->around, row->depth * sizeof *nest->around);
    if (row->count > 1 || row->depth > 0) {
        memcpy(stack.nests[to].times, nest->times, sizeof nest->times);
    }
}

/* Until the first loop is found the stack is the source itself: nothing is copied where nothing folds. */
static void copy_rows(void) {
    const struct wt_row *rows = stack.rows;
    const struct wt_nest *nests = stack.nests;
    stack.rows = stack.out;
    stack.nests = stack.out_nests;
    for (unsigned i = 0; i < stack.n; i++) {
        copy_row(i, &rows[i], &nests[i]);
    }
}

static inline void own_rows(void) {
    if (stack.rows != stack.out) {
        copy_rows();
    }
}

static void pop(unsigned n_rows) {
    stack.n -= n_rows;
    while (stack.n_loops > 0 && stack.loops[stack.n_loops - 1].first >= stack.n) {
        stack.n_loops--;
    }
}

/* Whether rows are one more repetition of a loop. */
static bool repeats_loop(unsigned loop, const struct wt_row *rows, const struct wt_nest *nests) {
    unsigned first = stack.loops[loop].first, n = stack.loops[loop].rows;
    for (unsigned i = 0; i < n; i++) {
        const struct wt_row *body = &stack.rows[first + i], *row = &rows[i];
        const struct wt_nest *nest = &stack.nests[first + i];
        const struct wt_around *around = &nest->around[body->depth - 1];
        if (row->depth + 1 != body->depth || !follows(body, around, row) || !same_row(body, row) ||
            !same_loops(nest, &nests[i], row->depth) ||
            operations(body, nest) + operations(row, &nests[i]) > UINT32_MAX) {
            return false;
        }
    }
    return true;
}

/* They are. The rows are not on the stack, or will be taken off; keys are left as they are. */
static void add_repetition(unsigned loop, const struct wt_row *rows, const struct wt_nest *nests) {
    unsigned first = stack.loops[loop].first, n = stack.loops[loop].rows;
    for (unsigned i = 0; i < n; i++) {
        struct wt_row *body = &stack.rows[first + i];
        struct wt_nest *nest = &stack.nests[first + i];
        add_times(body, nest, &rows[i], &nests[i]);
        body->busy += rows[i].busy;
        nest->around[body->depth - 1].n++;
    }
}

/* Rows are the last repetition of a loop: its spans end there. */
static void end_with(unsigned loop, const struct wt_row *rows, const struct wt_nest *nests) {
    unsigned first = stack.loops[loop].first, n = stack.loops[loop].rows;
    for (unsigned i = 0; i < n; i++) {
        span(&stack.rows[first + i], &stack.nests[first + i], &rows[i], &nests[i]);
        stack.keys[first + i] = key_of(&stack.rows[first + i], &stack.nests[first + i]);
    }
}

/* The rows on top are one more repetition of a loop that ends right below them. */
static bool extend(unsigned loop) {
    unsigned top = stack.loops[loop].first + stack.loops[loop].rows;
    if (!repeats_loop(loop, &stack.rows[top], &stack.nests[top])) {
        return false;
    }
    own_rows();
    add_repetition(loop, &stack.rows[top], &stack.nests[top]);
    end_with(loop, &stack.rows[top], &stack.nests[top]);
    pop(stack.loops[loop].rows);
    stack.n_loops = loop + 1;
    return true;
}

static inline bool ends_with_loop(void) {
    return stack.n_loops > 0 &&
           stack.loops[stack.n_loops - 1].first + stack.loops[stack.n_loops - 1].rows == stack.n;
}

/* As many of `n` rows as are whole repetitions of the loop on top, which takes them from where they are. */
static unsigned take_repetitions(const struct wt_row *rows, const struct wt_nest *nests, unsigned n) {
    unsigned loop = stack.n_loops - 1, body = stack.loops[loop].rows, taken = 0;
    while (taken + body <= n && repeats_loop(loop, rows + taken, nests + taken)) {
        own_rows();
        add_repetition(loop, rows + taken, nests + taken);
        taken += body;
    }
    if (taken > 0) {
        end_with(loop, rows + taken - body, nests + taken - body);
    }
    return taken;
}

static bool begins_loop(unsigned i) {
    unsigned depth = stack.rows[i].depth;
    return depth == 0 || stack.nests[i].around[depth - 1].at == 0;
}

static bool ends_loop(unsigned i) {
    unsigned depth = stack.rows[i].depth;
    if (depth == 0) {
        return true;
    }
    const struct wt_around *around = &stack.nests[i].around[depth - 1];
    return around->at + 1 == around->rows;
}

/* Whether the last n rows are the third repetition of a body, at equal steps. */
static bool repeats(unsigned n) {
    if (stack.n < WT_REPETITIONS * n || !begins_loop(stack.n - n) || !ends_loop(stack.n - 1)) {
        return false;
    }
    for (unsigned i = 1; i <= n; i++) {
        unsigned z = stack.n - i, y = z - n, x = y - n;
        if (stack.keys[z] != stack.keys[y] || stack.keys[y] != stack.keys[x]) {
            return false;
        }
        struct wt_around first = step_of(&stack.rows[x], &stack.rows[y]),
                         second = step_of(&stack.rows[y], &stack.rows[z]);
        unsigned depth = stack.rows[z].depth;
        if (!equal_steps(&first, &second) || !same_row(&stack.rows[x], &stack.rows[y]) ||
            !same_row(&stack.rows[y], &stack.rows[z]) || depth == WT_NEST || stack.rows[y].depth != depth ||
            stack.rows[x].depth != depth || !same_loops(&stack.nests[x], &stack.nests[y], depth) ||
            !same_loops(&stack.nests[y], &stack.nests[z], depth) ||
            operations(&stack.rows[z], &stack.nests[z]) > UINT32_MAX / WT_REPETITIONS) {
            return false;
        }
    }
    return true;
}

/* The last 3 n rows become a loop of n rows. */
static void make_loop(unsigned n) {
    unsigned first = stack.n - WT_REPETITIONS * n;
    own_rows();
    for (unsigned i = 0; i < n; i++) {
        struct wt_row *x = &stack.rows[first + i], *y = x + n, *z = y + n;
        struct wt_nest *nest = &stack.nests[first + i], *second = nest + n, *third = second + n;
        add_times(x, nest, y, second);
        nest->around[x->depth] = step_of(x, y);
        struct wt_around *around = &nest->around[x->depth];
        around->n = WT_REPETITIONS;
        around->rows = n;
        around->at = i;
        x->depth++; /* from here times hold all */
        add_times(x, nest, z, third);
        x->busy += y->busy + z->busy;
        span(x, nest, z, third);
        stack.keys[first + i] = key_of(x, nest);
    }
    pop((WT_REPETITIONS - 1) * n);
    while (stack.n_loops > 0 && stack.loops[stack.n_loops - 1].first >= first) {
        stack.n_loops--; /* they are inside of the new one */
    }
    stack.loops[stack.n_loops].first = (uint16_t)first;
    stack.loops[stack.n_loops++].rows = (uint16_t)n;
}

static bool extend_any(void) {
    for (unsigned k = 0; k < WT_NEST && k < stack.n_loops; k++) {
        unsigned loop = stack.n_loops - 1 - k;
        if (stack.n - stack.loops[loop].first == 2u * stack.loops[loop].rows && extend(loop)) {
            return true;
        }
    }
    return false;
}

static bool find_loop(unsigned far) {
    for (uint32_t bodies = wt_near_bodies(stack.keys, stack.ends, stack.n); bodies != 0;
         bodies &= bodies - 1) {
        unsigned n = (unsigned)__builtin_ctz(bodies) + 1;
        if (repeats(n)) {
            make_loop(n);
            return true;
        }
    }
    if (far > WT_NEAR && wt_may_repeat(stack.keys, stack.ends, stack.n, far) && repeats(far)) {
        make_loop(far);
        return true;
    }
    return false;
}

/* How far below the top the last three rows were seen before; 0: not, or too far. */
static unsigned seen_before(void) {
    if (stack.n < 3) {
        return 0;
    }
    unsigned top = stack.n - 1;
    uint64_t hash = mix(stack.keys[top] + stack.keys[top - 1] * 31u, stack.keys[top - 2] * 961u);
    uint16_t *place = &stack.recent[(hash >> 32) % RECENT];
    unsigned before = *place;
    *place = (uint16_t)(top + 1);
    return before > 0 && before <= top && top + 1 - before <= FAR ? top + 1 - before : 0;
}

static inline void settle(void) {
    while (extend_any() || find_loop(seen_before())) {
    }
}

unsigned wt_fold_loops(struct wt_row *rows, struct wt_nest *nests, unsigned n, struct wt_row *out,
                       struct wt_nest *out_nests) {
    stack.rows = rows;
    stack.nests = nests;
    stack.out = out;
    stack.out_nests = out_nests;
    stack.n = stack.n_loops = 0;
    memset(stack.recent, 0, sizeof stack.recent);
    for (unsigned i = 0; i < n;) {
        unsigned taken = ends_with_loop() ? take_repetitions(&rows[i], &nests[i], n - i) : 0;
        if (taken > 0) {
            i += taken;
            settle();
            continue;
        }
        unsigned body = rows[i].depth ? nests[i].around[rows[i].depth - 1].rows : 1;
        if (rows[i].depth > 0) { /* a loop that was found before */
            stack.loops[stack.n_loops].first = (uint16_t)stack.n;
            stack.loops[stack.n_loops++].rows = (uint16_t)body;
        }
        for (unsigned end = i + body; i < end; i++) {
            if (stack.rows == out) {
                copy_row(stack.n, &rows[i], &nests[i]);
            }
            stack.ends[stack.n] = (uint32_t)rows[i].offset;
            stack.keys[stack.n++] = key_of(&rows[i], &nests[i]);
        }
        settle();
    }
    return stack.n;
}
