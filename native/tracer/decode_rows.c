/* Stored folds to the columns of the fold table. A loop whose operations differ from repetition to repetition
 * in nothing but place and time becomes rows with a loop number, one for each operation of its body; any
 * other loop is taken apart. See FoldTable in src/wavetank/trace/schema.py. */
#include "decode.h"

#include <string.h>

/* Where the rows being put lie: the repetition of each loop around them, from the outermost. */
struct place {
    uint64_t repetition[WT_NEST];
    unsigned depth;
};

static const struct wt_around *loop_at(const struct wt_folds *folds, unsigned row, unsigned level) {
    unsigned depth = folds->rows[row].depth;
    return level < depth ? &folds->nests[row].around[depth - 1 - level] : NULL;
}

/* Operations of one pass over rows [low, high); at most WT_MOST_MEMBERS + 1. */
static uint64_t members(const struct wt_folds *folds, unsigned low, unsigned high, unsigned level) {
    uint64_t n = 0;
    while (low < high && n <= WT_MOST_MEMBERS) {
        const struct wt_around *loop = loop_at(folds, low, level);
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

/* Whether rows of a loop can be members: nothing but offsets and clocks has steps, and no operation is short.
 */
static bool are_plain(const struct wt_folds *folds, unsigned low, unsigned high, unsigned level) {
    for (unsigned i = low; i < high; i++) {
        const struct wt_row *row = &folds->rows[i];
        if ((uint64_t)row->moved != row->count * (uint64_t)row->size) {
            return false;
        }
        for (unsigned k = level; k < folds->rows[i].depth; k++) {
            const struct wt_around *loop = loop_at(folds, i, k);
            if (loop->handle != 0 || loop->file != 0 || loop->arg != 0) {
                return false;
            }
        }
    }
    return true;
}

static uint64_t rows_of(const struct wt_folds *folds, unsigned low, unsigned high, unsigned level);

/* Whether a long pause lies in every repetition of a loop, or between them: rows of a loop would hide it. */
static bool rests(const struct wt_folds *folds, unsigned low, unsigned level) {
    const struct wt_around *loop = loop_at(folds, low, level);
    const struct wt_row *rows = &folds->rows[low];
    unsigned last = loop->rows - 1;
    for (unsigned i = 1; i <= last; i++) {
        if ((int64_t)(rows[i].start - rows[i - 1].end) > WT_PAUSE_NS) {
            return true;
        }
    }
    uint64_t used = rows[last].end - rows[0].start;
    for (unsigned k = level + 1; k < rows[last].depth; k++) {
        used += (uint64_t)loop_at(folds, low + last, k)->end;
    }
    uint64_t period = (uint64_t)(loop->start / (int64_t)(loop->n - 1));
    return (int64_t)(period - used) > WT_PAUSE_NS;
}

/* Members of a loop; 0: it must be taken apart, or that gives fewer rows. */
static uint64_t members_of_loop(const struct wt_folds *folds, unsigned low, unsigned level, uint64_t *apart) {
    const struct wt_around *loop = loop_at(folds, low, level);
    uint64_t n = members(folds, low, low + loop->rows, level + 1);
    uint64_t body = rows_of(folds, low, low + loop->rows, level + 1);
    *apart = body > WT_MOST_ROWS || body * loop->n > WT_MOST_ROWS ? WT_MOST_ROWS + 1 : body * loop->n;
    return n <= folds->members && !rests(folds, low, level) && n <= WT_MOST_MEMBERS && n < *apart &&
                   are_plain(folds, low, low + loop->rows, level)
               ? n
               : 0;
}

static uint64_t rows_of(const struct wt_folds *folds, unsigned low, unsigned high, unsigned level) {
    uint64_t n = 0;
    while (low < high && n <= WT_MOST_ROWS) {
        const struct wt_around *loop = loop_at(folds, low, level);
        if (loop == NULL) {
            n++;
            low++;
            continue;
        }
        uint64_t apart, inside = members_of_loop(folds, low, level, &apart);
        n += inside ? inside : apart;
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

/* part / whole of a span, by which what is nested in time stays nested. */
static uint64_t share(uint64_t span, uint64_t part, uint64_t whole) {
    return (uint64_t)((__int128)(int64_t)span * part / whole);
}

/* A row as it is at a place: offsets, clocks and times of these repetitions. */
static struct wt_row row_there(const struct wt_folds *folds, unsigned i, const struct place *place) {
    struct wt_row row = folds->rows[i];
    uint64_t all = 1, number = 0;
    for (unsigned k = 0; k < place->depth; k++) {
        const struct wt_around *loop = loop_at(folds, i, k);
        uint64_t n = place->repetition[k];
        row.offset = (int64_t)((uint64_t)row.offset + n * (uint64_t)loop->offset);
        row.view_offset = (int64_t)((uint64_t)row.view_offset + n * (uint64_t)loop->view_offset);
        row.arg = (int64_t)((uint64_t)row.arg + n * (uint64_t)loop->arg);
        row.tick += n * (uint64_t)loop->tick;
        row.subtick += n * (uint64_t)loop->subtick;
        row.handle = (int32_t)((uint32_t)row.handle + (uint32_t)n * (uint32_t)loop->handle);
        row.file = (int32_t)((uint32_t)row.file + (uint32_t)n * (uint32_t)loop->file);
        row.start += share((uint64_t)loop->start, n, loop->n - 1);
        row.end += share((uint64_t)loop->end, n, loop->n - 1);
        number = number * loop->n + n;
        all *= loop->n;
    }
    if (all > 1) {
        row.busy = share(row.busy, number + 1, all) - share(row.busy, number, all);
    }
    return row;
}

static bool put(struct wt_output *out, const struct wt_row *row, uint64_t seq, int64_t loop) {
    if (out->at.rows >= out->room.rows) {
        return false;
    }
    /* Where the first repetition of nested loops was slow, shares of the loops' spans may add up to a
     * negative one. */
    bool turned = (int64_t)row->end < (int64_t)row->start;
    const struct wt_columns *columns = out->columns;
    int64_t at = out->at.rows++;
    columns->seq[at] = (int64_t)seq;
    columns->op[at] = (uint8_t)row->op;
    columns->file[at] = row->file;
    columns->handle[at] = row->handle;
    columns->count[at] = (int64_t)row->count;
    columns->size[at] = row->size;
    columns->moved[at] = row->moved;
    columns->offset[at] = row->offset;
    columns->disp[at] = row->disp;
    columns->view[at] = row->view;
    columns->view_offset[at] = row->view_offset;
    columns->view_disp[at] = row->view_disp;
    columns->tick[at] = (int64_t)row->tick;
    columns->subtick[at] = (int64_t)row->subtick;
    columns->tick_step[at] = (int64_t)row->tick_step;
    columns->subtick_step[at] = (int64_t)row->subtick_step;
    columns->start_ns[at] = (int64_t)row->start;
    columns->end_ns[at] = (int64_t)(turned ? row->start + row->busy : row->end);
    columns->busy_ns[at] = (int64_t)row->busy;
    columns->arg[at] = row->arg;
    columns->error[at] = row->error;
    columns->loop[at] = loop;
    return true;
}

static bool put_times(const struct wt_folds *folds, unsigned i, const struct place *place,
                      struct wt_output *out) {
    for (unsigned k = 0; k < place->depth; k++) {
        if (place->repetition[k] > 0) {
            return true; /* put before */
        }
    }
    if (folds->rows[i].count <= 1 && folds->rows[i].depth == 0) {
        return true;
    }
    if (out->at.times >= out->room.times) {
        return false;
    }
    int64_t at = out->at.times++;
    out->times->row[at] = out->at.rows;
    for (unsigned b = 0; b < WT_TIMES_BUCKETS; b++) {
        out->times->counts[at * WT_TIMES_BUCKETS + b] = folds->nests[i].times[b];
    }
    return true;
}

/* Equal part of the busy time of row i for one operation of the body of the loop at `level`. */
static uint64_t busy_of_member(const struct wt_folds *folds, unsigned i, const struct place *place,
                               uint64_t operation, unsigned level) {
    uint64_t all = 1, number = 0;
    for (unsigned k = 0; k < place->depth; k++) {
        uint64_t n = k == level ? 1 : loop_at(folds, i, k)->n;
        number = number * n + (k == level ? 0 : place->repetition[k]);
        all *= n;
    }
    number = number * folds->rows[i].count + operation;
    all *= folds->rows[i].count;
    return share(folds->rows[i].busy, number + 1, all) - share(folds->rows[i].busy, number, all);
}

/* An operation of the body of the loop at `level`, in all of its repetitions. */
static bool put_member(const struct wt_folds *folds, unsigned i, const struct place *place,
                       uint64_t operation, unsigned level, uint64_t seq, struct wt_output *out) {
    const struct wt_around *loop = loop_at(folds, i, level);
    struct place last_place = *place;
    last_place.repetition[level] = loop->n - 1;
    struct wt_row row = row_there(folds, i, place), last = row_there(folds, i, &last_place);
    row.end = last.start + share(last.end - last.start, operation + 1, row.count);
    row.start += share(folds->rows[i].end - folds->rows[i].start, operation, row.count);
    row.busy = busy_of_member(folds, i, place, operation, level);
    row.offset = (int64_t)((uint64_t)row.offset + operation * (uint64_t)row.disp);
    row.view_offset = (int64_t)((uint64_t)row.view_offset + operation * (uint64_t)row.view_disp);
    row.tick += operation * row.tick_step;
    row.subtick += operation * row.subtick_step;
    row.count = loop->n;
    row.moved = (int64_t)(loop->n * (uint64_t)row.size);
    row.disp = loop->offset;
    row.view_disp = loop->view_offset;
    row.tick_step = (uint64_t)loop->tick;
    row.subtick_step = (uint64_t)loop->subtick;
    return put(out, &row, seq, out->n_loops);
}

static bool put_members(const struct wt_folds *folds, unsigned low, unsigned high, struct place *place,
                        unsigned level, uint64_t *seq, struct wt_output *out) {
    while (low < high) {
        const struct wt_around *loop = loop_at(folds, low, place->depth);
        if (loop == NULL) {
            if (!put_times(folds, low, place, out)) {
                return false;
            }
            for (uint64_t operation = 0; operation < folds->rows[low].count; operation++) {
                if (!put_member(folds, low, place, operation, level, (*seq)++, out)) {
                    return false;
                }
            }
            low++;
            continue;
        }
        unsigned own = place->depth++;
        for (uint64_t n = 0; n < loop->n; n++) {
            place->repetition[own] = n;
            if (!put_members(folds, low, low + loop->rows, place, level, seq, out)) {
                return false;
            }
        }
        place->depth--;
        low += loop->rows;
    }
    return true;
}

static bool put_range(const struct wt_folds *folds, unsigned low, unsigned high, struct place *place,
                      uint64_t *seq, struct wt_output *out) {
    while (low < high) {
        const struct wt_around *loop = loop_at(folds, low, place->depth);
        if (loop == NULL) {
            struct wt_row row = row_there(folds, low, place);
            if (!put_times(folds, low, place, out) || !put(out, &row, *seq, 0)) {
                return false;
            }
            *seq += row.count;
            low++;
            continue;
        }
        unsigned level = place->depth++;
        uint64_t apart, n_members = members_of_loop(folds, low, level, &apart);
        bool whole = n_members > 0;
        uint64_t first = *seq;
        out->n_loops += whole;
        for (uint64_t n = 0; n < (whole ? 1 : loop->n); n++) {
            place->repetition[level] = n;
            if (!(whole ? put_members(folds, low, low + loop->rows, place, level, seq, out)
                        : put_range(folds, low, low + loop->rows, place, seq, out))) {
                return false;
            }
        }
        if (whole) {
            *seq = first + n_members * loop->n;
        }
        place->depth--;
        low += loop->rows;
    }
    return true;
}

bool wt_put_folds(const struct wt_folds *folds, struct wt_output *out) {
    struct place place = {.depth = 0};
    uint64_t seq = folds->seq;
    return put_range(folds, 0, folds->n, &place, &seq, out);
}
