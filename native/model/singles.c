/* Joins single operations of one call at equal distance, as logs have them that fold nothing: RUN operations
 * or more become one row.
 *
 * Operations of two classes may alternate, as the MPI library's POSIX calls with the MPI-IO calls that they
 * are made in: each class has runs of its own. Nothing is joined that is told apart later: other ranks, short
 * transfers, communication that separates phases. */
#include "columns.h"

#include <stdbool.h>
#include <string.h>

enum { RUN = 4, CLASSES = 2, ALIKE = 8, STEPS = 4 };

struct singles {
    i64 n;
    const uint8_t *class;           /* of each row; NULL: one for all */
    const uint8_t *separating;      /* by call: whether communication separates its operations */
    const uint8_t *is_tick;         /* by call: whether it is a tick itself */
    struct column op, alike[ALIKE]; /* equal in a run, the rank and the size among them */
    struct column count, loop, size, moved, start;
    struct column at[STEPS]; /* of equal distance in a run; the first is the tick */
    struct column busy;
};
struct joined { /* `count` operations, the first and the last of which are rows */
    i64 first, last, count, busy;
};
struct run {
    i64 n, row[RUN - 1], last, busy, step[STEPS];
};
static _Thread_local struct {
    struct joined *rows;
    i64 n, room;
    jmp_buf failed;
} out;

static void add(i64 first, i64 last, i64 count, i64 busy) {
    out.rows = grown(out.rows, out.n, &out.room, sizeof *out.rows, out.failed);
    out.rows[out.n++] = (struct joined){first, last, count, busy};
}

static void close_run(const struct singles *in, struct run *run) {
    if (run->n >= RUN) {
        add(run->row[0], run->last, run->n, run->busy);
    } else {
        for (i64 i = 0; i < run->n; i++) {
            add(run->row[i], run->row[i], get(&in->count, run->row[i]), get(&in->busy, run->row[i]));
        }
    }
    run->n = 0;
}

static bool whole(const struct singles *in, i64 i) {
    i64 size = get(&in->size, i);
    return get(&in->count, i) == 1 && get(&in->loop, i) == 0 && size > 0 && get(&in->moved, i) == size;
}

static bool goes_on(const struct singles *in, const struct run *run, i64 i, i64 *step) {
    i64 before = run->last, op = get(&in->op, i);
    if (op != get(&in->op, before) || (get(&in->start, i) < 0) != (get(&in->start, before) < 0)) {
        return false;
    }
    for (int c = 0; c < ALIKE; c++) {
        if (in->alike[c].stride && get(&in->alike[c], i) != get(&in->alike[c], before)) {
            return false;
        }
    }
    for (int c = 0; c < STEPS; c++) {
        step[c] = get(&in->at[c], i) - get(&in->at[c], before);
        if (run->n > 1 && step[c] != run->step[c]) {
            return false;
        }
    }
    return !(in->separating[op] && step[0] > in->is_tick[op]) && whole(in, i) &&
           (run->n > 1 || whole(in, before));
}

/* The rows that are left, in no order; *n of them, -1 without memory. To be freed by wt_free. */
WT_EXPORT struct joined *wt_join_singles(const struct singles *in, i64 *n) {
    struct run runs[CLASSES];
    memset(runs, 0, sizeof runs);
    memset(&out, 0, sizeof out);
    if (setjmp(out.failed)) {
        free(out.rows);
        *n = -1;
        return NULL;
    }
    for (i64 i = 0; i < in->n; i++) {
        struct run *run = &runs[in->class ? in->class[i] : 0];
        i64 step[STEPS];
        if (run->n == 0 || !goes_on(in, run, i, step)) {
            close_run(in, run);
            run->busy = 0;
        } else if (run->n == 1) {
            memcpy(run->step, step, sizeof step);
        }
        if (run->n < RUN - 1) {
            run->row[run->n] = i;
        }
        run->busy += get(&in->busy, i);
        run->last = i;
        run->n++;
    }
    for (int c = 0; c < CLASSES; c++) {
        close_run(in, &runs[c]);
    }
    *n = out.n;
    return out.rows;
}
