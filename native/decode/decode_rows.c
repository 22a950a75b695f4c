/* Stored folds to the columns of the fold table, loops in the form that decode_forms.c finds for them. Of a
 * loop its first repetition and its spans are stored. The times of the others are shares of the spans, by
 * which what is nested in time stays nested. */
#include "decode.h"

#include <string.h>

/* part / whole of a span, by which what is nested in time stays nested. */
static uint64_t share(uint64_t span, uint64_t part, uint64_t whole) {
    return (uint64_t)((__int128)(int64_t)span * part / whole);
}

/* A row as it is at a place: offsets, clocks and times of these repetitions. */
static struct wt_row row_there(const struct wt_folds *folds, unsigned i, const struct wt_place *place) {
    struct wt_row row = folds->rows[i];
    uint64_t all = 1, number = 0;
    for (unsigned k = 0; k < place->depth; k++) {
        const struct wt_around *loop = wt_loop_at(folds, i, k);
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

static bool put(struct wt_output *out, const struct wt_row *row, uint64_t seq, int64_t loop,
                int32_t handle_step) {
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
    columns->handle_step[at] = handle_step;
    return true;
}

static bool put_times(const struct wt_folds *folds, unsigned i, const struct wt_place *place,
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

/* Repetitions of a loop that are rows with a loop number. */
struct kept {
    unsigned level;
    uint64_t first, n;
};

/* Equal part of the busy time of row i for one operation of the body of a loop, in all of its repetitions. */
static uint64_t busy_of_member(const struct wt_folds *folds, unsigned i, const struct wt_place *place,
                               uint64_t operation, unsigned level) {
    uint64_t all = 1, number = 0;
    for (unsigned k = 0; k < place->depth; k++) {
        uint64_t n = k == level ? 1 : wt_loop_at(folds, i, k)->n;
        number = number * n + (k == level ? 0 : place->repetition[k]);
        all *= n;
    }
    number = number * folds->rows[i].count + operation;
    all *= folds->rows[i].count;
    return share(folds->rows[i].busy, number + 1, all) - share(folds->rows[i].busy, number, all);
}

/* An operation of the body of a loop, in the repetitions that are kept together; of one, a row of its own. */
static bool put_member(const struct wt_folds *folds, const struct wt_member *member,
                       const struct wt_place *around, const struct kept *kept, uint64_t seq,
                       struct wt_output *out) {
    unsigned i = member->row;
    const struct wt_around *loop = wt_loop_at(folds, i, kept->level);
    struct wt_place place = member->place;
    memcpy(place.repetition, around->repetition, kept->level * sizeof *place.repetition);
    struct wt_place first_place = place, last_place = place;
    first_place.repetition[kept->level] = kept->first;
    last_place.repetition[kept->level] = kept->first + kept->n - 1;
    if (member->operation == 0 && !put_times(folds, i, &first_place, out)) {
        return false;
    }
    struct wt_row row = row_there(folds, i, &first_place), last = row_there(folds, i, &last_place);
    row.end = last.start + share(last.end - last.start, member->operation + 1, row.count);
    row.start += share(folds->rows[i].end - folds->rows[i].start, member->operation, row.count);
    row.busy = busy_of_member(folds, i, &place, member->operation, kept->level);
    if (kept->n < loop->n) { /* the others are rows of their own; a long one may have been among them */
        row.busy = share(row.busy, kept->first + kept->n, loop->n) - share(row.busy, kept->first, loop->n);
        if (row.end >= row.start && row.busy > row.end - row.start) {
            row.busy = row.end - row.start;
        }
    }
    bool single = kept->n == 1;
    row.offset = (int64_t)((uint64_t)row.offset + member->operation * (uint64_t)row.disp);
    row.view_offset = (int64_t)((uint64_t)row.view_offset + member->operation * (uint64_t)row.view_disp);
    row.tick += member->operation * row.tick_step;
    row.subtick += member->operation * row.subtick_step;
    row.count = kept->n;
    row.moved = (int64_t)(kept->n * (uint64_t)row.size);
    row.disp = single ? 0 : loop->offset;
    row.view_disp = single ? 0 : loop->view_offset;
    row.tick_step = single ? 0 : (uint64_t)loop->tick;
    row.subtick_step = single ? 0 : (uint64_t)loop->subtick;
    return put(out, &row, seq, single ? 0 : out->n_loops, single ? 0 : loop->handle);
}

static bool put_members(const struct wt_folds *folds, unsigned low, unsigned high,
                        const struct wt_place *around, const struct kept *kept, uint64_t *seq,
                        struct wt_output *out) {
    for (unsigned i = low; i < high; i++) {
        if (!put_member(folds, &wt_members[i], around, kept, (*seq)++, out)) {
            return false;
        }
    }
    return true;
}

/* A loop as members, and where its body begins elsewhere than recorded the parts of a repetition around them.
 */
static bool put_loop(const struct wt_folds *folds, unsigned low, const struct wt_form *form,
                     const struct wt_place *around, uint64_t *seq, struct wt_output *out) {
    unsigned level = around->depth - 1, n = form->members, begin = form->begin;
    const struct wt_around *loop = wt_loop_at(folds, low, level);
    struct wt_place place = {.depth = level + 1};
    wt_lay_out(folds, low, low + loop->rows, &place, 0);
    uint64_t kept = loop->n - (begin > 0);
    struct kept first = {level, 0, 1}, front = {level, 0, kept}, back = {level, 1, kept},
                last = {level, loop->n - 1, 1};
    if (!put_members(folds, 0, begin, around, &first, seq, out)) {
        return false;
    }
    uint64_t start = *seq;
    out->n_loops++;
    if (!put_members(folds, begin, n, around, &front, seq, out) ||
        !put_members(folds, 0, begin, around, &back, seq, out)) {
        return false;
    }
    *seq = start + n * kept;
    return begin == 0 || put_members(folds, begin, n, around, &last, seq, out);
}

static bool put_range(const struct wt_folds *folds, unsigned low, unsigned high, struct wt_place *place,
                      uint64_t *seq, struct wt_output *out) {
    while (low < high) {
        const struct wt_around *loop = wt_loop_at(folds, low, place->depth);
        if (loop == NULL) {
            struct wt_row row = row_there(folds, low, place);
            if (!put_times(folds, low, place, out) || !put(out, &row, *seq, 0, 0)) {
                return false;
            }
            *seq += row.count;
            low++;
            continue;
        }
        unsigned level = place->depth++;
        struct wt_form form = wt_form_of(folds, low, level);
        for (uint64_t n = 0; form.members == 0 && n < loop->n; n++) {
            place->repetition[level] = n;
            if (!put_range(folds, low, low + loop->rows, place, seq, out)) {
                return false;
            }
        }
        if (form.members > 0 && !put_loop(folds, low, &form, place, seq, out)) {
            return false;
        }
        place->depth--;
        low += loop->rows;
    }
    return true;
}

bool wt_put_folds(const struct wt_folds *folds, struct wt_output *out) {
    struct wt_place place = {.depth = 0};
    uint64_t seq = folds->seq;
    return put_range(folds, 0, folds->n, &place, &seq, out);
}
