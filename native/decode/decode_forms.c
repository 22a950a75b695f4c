/* What a stored loop becomes in the fold table: rows with a loop number, one for each operation of its body,
 * or single rows. It stays a loop where operations differ from repetition to repetition in nothing but place,
 * time, and handles that each repetition opens and closes; else it is taken apart. Rows with a loop number
 * stand for any number of repetitions, so that a model's work does not grow with these. See FoldTable in
 * src/wavetank/trace/schema.py. */
#include "decode.h"

#include <stdlib.h>

_Thread_local struct wt_member wt_members[WT_MOST_MEMBERS];

#define FEW_MEMBERS 64
#define REPETITIONS 80     /* loop_samples.py of the model */
#define MOST_BEGINNINGS 32 /* of a loop's body that are tried */

/* Operations of one pass over rows [low, high); at most WT_MOST_MEMBERS + 1. */
static uint64_t members(const struct wt_folds *folds, unsigned low, unsigned high, unsigned level) {
    uint64_t n = 0;
    while (low < high && n <= WT_MOST_MEMBERS) {
        const struct wt_around *loop = wt_loop_at(folds, low, level);
        uint64_t more =
            loop == NULL ? folds->rows[low].count : members(folds, low, low + loop->rows, level + 1);
        if (more > WT_MOST_MEMBERS || (loop != NULL && loop->n > WT_MOST_MEMBERS)) {
            return WT_MOST_MEMBERS + 1;
        }
        n += loop == NULL ? more : more * loop->n;
        low += loop == NULL ? 1 : loop->rows;
    }
    return n < WT_MOST_MEMBERS + 1 ? n : WT_MOST_MEMBERS + 1;
}

/* Whether rows of a loop can be members: nothing but offsets, clocks and handles has steps, and no operation
 * is short. What steps in the loops inside of it is known of each member. */
static bool are_plain(const struct wt_folds *folds, unsigned low, unsigned high, unsigned level) {
    for (unsigned i = low; i < high; i++) {
        const struct wt_row *row = &folds->rows[i];
        const struct wt_around *loop = wt_loop_at(folds, i, level);
        if ((uint64_t)row->moved != row->count * (uint64_t)row->size || loop->file != 0 || loop->arg != 0) {
            return false;
        }
    }
    return true;
}

static uint64_t rows_of(const struct wt_folds *folds, unsigned low, unsigned high, unsigned level);

/* Whether a long pause lies in every repetition of a loop, or between them: rows of a loop would hide it. */
static bool rests(const struct wt_folds *folds, unsigned low, unsigned level) {
    const struct wt_around *loop = wt_loop_at(folds, low, level);
    const struct wt_row *rows = &folds->rows[low];
    unsigned last = loop->rows - 1;
    for (unsigned i = 1; i <= last; i++) {
        if ((int64_t)(rows[i].start - rows[i - 1].end) > WT_PAUSE_NS) {
            return true;
        }
    }
    uint64_t used = rows[last].end - rows[0].start;
    for (unsigned k = level + 1; k < rows[last].depth; k++) {
        used += (uint64_t)wt_loop_at(folds, low + last, k)->end;
    }
    uint64_t period = (uint64_t)(loop->start / (int64_t)(loop->n - 1));
    return (int64_t)(period - used) > WT_PAUSE_NS;
}

/* The operations of rows [low, high) in order, from the n-th member on; how many there are then. */
unsigned wt_lay_out(const struct wt_folds *folds, unsigned low, unsigned high, struct wt_place *place,
                    unsigned n) {
    while (low < high) {
        const struct wt_around *loop = wt_loop_at(folds, low, place->depth);
        if (loop == NULL) {
            for (uint64_t operation = 0; operation < folds->rows[low].count; operation++) {
                wt_members[n++] = (struct wt_member){low, operation, *place};
            }
            low++;
            continue;
        }
        unsigned own = place->depth++;
        for (place->repetition[own] = 0; place->repetition[own] < loop->n; place->repetition[own]++) {
            n = wt_lay_out(folds, low, low + loop->rows, place, n);
        }
        place->depth--;
        low += loop->rows;
    }
    return n;
}

/* A member's handle, which moves on from repetition to repetition. */
struct moving_handle {
    int64_t handle, step;
    unsigned at; /* place in the repetition */
    uint32_t op;
};

static int by_handle(const void *a, const void *b) {
    const struct moving_handle *x = a, *y = b;
    return x->handle != y->handle ? (x->handle > y->handle) - (x->handle < y->handle)
                                  : (x->at > y->at) - (x->at < y->at);
}

/* Whether repetitions that begin at a member open, use and close all handles that move on. */
static bool owns_handles(const struct wt_folds *folds, unsigned level, unsigned n, unsigned begin) {
    static _Thread_local struct moving_handle found[WT_MOST_MEMBERS];
    unsigned n_found = 0;
    for (unsigned i = 0; i < n; i++) {
        const struct wt_member *member = &wt_members[i];
        int64_t step = wt_loop_at(folds, member->row, level)->handle;
        if (step == 0) {
            continue;
        }
        int64_t handle = folds->rows[member->row].handle + (i < begin ? step : 0);
        for (unsigned k = level + 1; k < member->place.depth; k++) {
            handle += (int64_t)member->place.repetition[k] * wt_loop_at(folds, member->row, k)->handle;
        }
        unsigned at = i < begin ? i + n - begin : i - begin;
        found[n_found++] = (struct moving_handle){handle, step, at, folds->rows[member->row].op};
    }
    qsort(found, n_found, sizeof *found, by_handle);
    for (unsigned i = 0; i < n_found; i++) {
        bool first = i == 0 || found[i].handle != found[i - 1].handle;
        bool last = i + 1 == n_found || found[i].handle != found[i + 1].handle;
        if ((first && found[i].op != WT_OP_OPEN) || (last && found[i].op != WT_OP_CLOSE) ||
            (!first && found[i].step != found[i - 1].step)) {
            return false;
        }
    }
    return true;
}

/* The member at which repetitions begin that own their handles; n if none is found. A loop is recorded from
 * where it was found: behind a close, its body may begin with one. */
static unsigned beginning(const struct wt_folds *folds, unsigned level, unsigned n) {
    for (unsigned i = 0, tried = 0; i < n && tried < MOST_BEGINNINGS; i++) {
        if (i == 0 || folds->rows[wt_members[i].row].op == WT_OP_OPEN) {
            tried++;
            if (owns_handles(folds, level, n, i)) {
                return i;
            }
        }
    }
    return n;
}

/* Whether each file of a body has at most one row that moves data, and that in no loop: then the model's
 * rules, which look at up to FEW_MEMBERS operations together, find the same in any number of them. */
static bool is_simple(const struct wt_folds *folds, unsigned low, unsigned high, unsigned level) {
    for (unsigned i = low; i < high; i++) {
        for (unsigned k = low; folds->rows[i].size > 0 && k <= i; k++) {
            if (folds->rows[i].depth > level + 1 ||
                (k < i && folds->rows[k].size > 0 && folds->rows[k].file == folds->rows[i].file)) {
                return false;
            }
        }
    }
    return true;
}

/* Of many members the model looks at some repetitions one by one: fewer rows may be dearer. */
struct wt_form wt_form_of(const struct wt_folds *folds, unsigned low, unsigned level) {
    const struct wt_around *loop = wt_loop_at(folds, low, level);
    unsigned high = low + loop->rows;
    uint64_t n = members(folds, low, high, level + 1), body = rows_of(folds, low, high, level + 1);
    bool many = body > WT_MOST_ROWS || body * loop->n > WT_MOST_ROWS;
    struct wt_form apart = {0, 0, many ? WT_MOST_ROWS + 1 : body * loop->n};
    if (n > folds->members || n > WT_MOST_MEMBERS || (n > FEW_MEMBERS ? n * REPETITIONS : n) >= apart.rows ||
        (n > FEW_MEMBERS && !is_simple(folds, low, high, level)) || rests(folds, low, level) ||
        !are_plain(folds, low, high, level)) {
        return apart;
    }
    struct wt_place place = {.depth = level + 1};
    wt_lay_out(folds, low, high, &place, 0);
    unsigned begin = beginning(folds, level, (unsigned)n);
    uint64_t rows = begin == 0 ? n : 2 * n;
    return begin == n || (begin > 0 && loop->n < 3) || rows >= apart.rows
               ? apart
               : (struct wt_form){(unsigned)n, begin, rows};
}

static uint64_t rows_of(const struct wt_folds *folds, unsigned low, unsigned high, unsigned level) {
    uint64_t n = 0;
    while (low < high && n <= WT_MOST_ROWS) {
        const struct wt_around *loop = wt_loop_at(folds, low, level);
        if (loop == NULL) {
            n++;
            low++;
            continue;
        }
        n += wt_form_of(folds, low, level).rows;
        low += loop->rows;
    }
    return n < WT_MOST_ROWS + 1 ? n : WT_MOST_ROWS + 1;
}

void wt_add_sizes(const struct wt_folds *folds, struct wt_sizes *sizes) {
    sizes->rows += (int64_t)rows_of(folds, 0, folds->n, 0);
    if (sizes->rows > WT_MOST_ROWS) {
        sizes->rows = WT_MOST_ROWS + 1;
    }
    sizes->folds += folds->n;
    for (unsigned i = 0; i < folds->n; i++) {
        sizes->times += folds->rows[i].count > 1 || folds->rows[i].depth > 0;
    }
}
