/* The longest runs of each member of each piece, from left to right: a form that does not depend on how rows
 * were folded.
 *
 * Of a contracted loop (layout: wavetank.model.events.loop_layout) the repetitions that are left out are gone
 * through as if they lay there; where all of the one before them is in one run that goes on behind them, they
 * are in it as well. */
#include "columns.h"

#include <stdbool.h>
#include <string.h>

enum { BEFORE = 1, BEHIND = 2, UNKNOWN = -1 };

struct accesses { /* operations [low, low + n) of rows `index`, in the order of members; low NULL: whole rows
                   */
    i64 n_members;
    const i64 *first; /* of each member the first of these, and the end */
    const i64 *index, *low, *n;
    struct column count, size, moved, offset, disp;
    struct around around;
    struct column edge; /* BEFORE: in the last repetition before those that are left out, BEHIND: in the first
                           one behind */
};
struct run { /* `count` operations of `size` bytes, `disp` apart */
    i64 count, size, moved, offset, disp;
};
static _Thread_local struct {
    const struct accesses *in;
    struct run *runs;
    i64 n, room;
    i64 begin; /* first run of the member */
    i64 last;  /* offset of the operation before */
    jmp_buf failed;
} out;

static struct run row_at(i64 k) {
    const struct accesses *a = out.in;
    i64 i = a->index[k], count = get(&a->count, i), size = get(&a->size, i), moved = get(&a->moved, i);
    i64 low = a->low ? a->low[k] : 0, n = a->low ? a->n[k] : count, offset = get(&a->offset, i);
    if (n < count) {
        moved = n * size + (low + n == count ? moved - count * size : 0);
    }
    if (offset == UNKNOWN) {
        return (struct run){n, size, moved, UNKNOWN, 0};
    }
    i64 disp = get(&a->disp, i);
    return (struct run){n, size, moved, offset + low * disp, n > 1 ? disp : 0};
}

/* Whether an operation `step` bytes behind the last one belongs to its run. */
static bool goes_on(const struct run *row, i64 step) {
    if (out.n == out.begin) {
        return false;
    }
    const struct run *run = &out.runs[out.n - 1];
    return run->moved == run->count * run->size && run->size == row->size &&
           (run->count == 1 || step == run->disp);
}

static void take(const struct run *row) {
    for (i64 done = 0; done < row->count;) { /* the next operation of the row, or all that are left */
        i64 left = row->count - done, taken = left, step = done ? row->disp : row->offset - out.last;
        if (!goes_on(row, step)) {
            out.runs = grown(out.runs, out.n, &out.room, sizeof *out.runs, out.failed);
            out.runs[out.n++] = (struct run){left, row->size, row->moved - done * row->size,
                                             row->offset + done * row->disp, left > 1 ? row->disp : 0};
        } else {
            struct run *run = &out.runs[out.n - 1];
            if (run->count == 1) {
                run->disp = step;
            }
            taken = row->disp == run->disp || left == 1 ? left : 1;
            run->count += taken;
            run->moved += taken == left ? row->moved - done * row->size : taken * row->size;
        }
        done += taken;
    }
    out.last = row->offset + (row->count - 1) * row->disp;
}

/* The `times` repetitions that lie behind rows [from, to), which are one; `next` is the row behind them. */
static void take_left_out(i64 from, i64 to, i64 times, bool in_one_run, const struct run *next) {
    const struct accesses *a = out.in;
    i64 step = get(&a->around.step, a->index[from]);
    bool together = in_one_run && times > 0;
    i64 n = 0;
    for (i64 k = from; k < to; k++) {
        together &= get(&a->around.step, a->index[k]) == step;
        n += row_at(k).count;
    }
    if (together && goes_on(next, next->offset - times * step - out.last)) {
        out.runs[out.n - 1].count += times * n;
        out.runs[out.n - 1].moved += times * n * next->size;
        out.last += times * step;
        return;
    }
    for (i64 t = 1; t <= times; t++) {
        for (i64 k = from; k < to; k++) {
            struct run row = row_at(k);
            if (row.offset != UNKNOWN) {
                row.offset += t * get(&a->around.step, a->index[k]);
            }
            take(&row);
        }
    }
}

static void member(i64 i, i64 z) {
    const struct accesses *a = out.in;
    i64 loop = -1, from = i; /* the loop whose last repetition before those left out began at `from` */
    i64 run = -1;            /* the run that goes on there */
    out.begin = out.n;
    out.last = UNKNOWN;
    for (i64 k = i; k < z; k++) {
        struct run row = row_at(k);
        i64 edge = get(&a->edge, a->index[k]), of = edge ? get(&a->around.loop, a->index[k]) : -1;
        if (edge == BEFORE && of != loop) {
            loop = of;
            from = k;
            run = goes_on(&row, row.offset - out.last) ? out.n - 1 : -1;
        } else if (edge == BEHIND && of == loop) {
            take_left_out(from, k, get(&a->around.left, a->index[k]), run == out.n - 1, &row);
            loop = -1;
        }
        take(&row);
    }
}

/* The runs of all members; *n of them, -1 without memory; first_run[m] the first one of each and the end. To
 * be freed by wt_free. */
WT_EXPORT struct run *wt_runs(const struct accesses *a, i64 *first_run, i64 *n) {
    memset(&out, 0, sizeof out);
    out.in = a;
    if (setjmp(out.failed)) {
        free(out.runs);
        *n = -1;
        return NULL;
    }
    for (i64 m = 0; m < a->n_members; m++) {
        first_run[m] = out.n;
        member(a->first[m], a->first[m + 1]);
    }
    first_run[a->n_members] = *n = out.n;
    return out.runs;
}
