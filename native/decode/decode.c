/* Reads a group of rows: bit-packed columns of differences to values. The other direction of columns.c.
 * Predicts as the tracer does, and checks every length before it is used: a part may be damaged anywhere. */
#include "decode.h"

#include <string.h>

struct key {
    uint64_t op, file, handle, view; /* the last three + 1 */
    uint64_t next_offset, next_view_offset;
};

struct group {
    unsigned mantissa, n_rows, n_keys;
    uint64_t base_seq, base_tick, base_subtick, base_ns;
    struct key keys[WT_GROUP_ROWS];
    int64_t columns[WT_N_COLUMNS][WT_GROUP_ROWS];
    bool absolute;
};

static bool read_header(struct wt_input *in, struct group *group) {
    if (wt_get_byte(in) != 'G') {
        return false;
    }
    group->mantissa = wt_get_byte(in);
    uint64_t n_rows = wt_get_varint(in), n_keys = wt_get_varint(in);
    if (in->bad || n_rows == 0 || n_rows > WT_GROUP_ROWS || n_keys == 0 || n_keys > n_rows ||
        (group->mantissa > 40 && group->mantissa != WT_MANTISSA_EXACT)) {
        return false;
    }
    group->n_rows = (unsigned)n_rows;
    group->n_keys = (unsigned)n_keys;
    for (unsigned k = 0; k < n_keys; k++) {
        struct key *key = &group->keys[k];
        key->op = wt_get_varint(in);
        key->file = wt_get_varint(in);
        key->handle = wt_get_varint(in);
        key->view = wt_get_varint(in);
        key->next_offset = key->next_view_offset = 0;
        if (key->op > UINT8_MAX || key->file > INT32_MAX || key->handle > INT32_MAX ||
            key->view > INT32_MAX) {
            return false;
        }
    }
    group->base_seq = wt_get_varint(in);
    group->base_tick = wt_get_varint(in);
    group->base_subtick = wt_get_varint(in);
    group->base_ns = wt_get_varint(in);
    return !in->bad;
}

static uint64_t bits_at(const uint8_t *bytes, uint64_t first_bit, unsigned width, const uint8_t *end) {
    const uint8_t *at = bytes + first_bit / 8;
    unsigned skip = (unsigned)(first_bit % 8);
    uint64_t low = 0;
    if (end - at >= 9) { /* the usual case: nine bytes hold any entry */
        memcpy(&low, at, 8);
        uint64_t value = low >> skip;
        if (skip + width > 64) {
            value |= (uint64_t)at[8] << (64 - skip);
        }
        return width == 64 ? value : value & (((uint64_t)1 << width) - 1);
    }
    uint64_t value = 0;
    for (unsigned bit = 0; bit < width; bit++) {
        unsigned place = skip + bit;
        value |= (uint64_t)((at[place / 8] >> (place % 8)) & 1) << bit;
    }
    return value;
}

static bool read_patches(struct wt_input *in, int64_t *values, unsigned n_rows, unsigned shift) {
    uint64_t n = wt_get_varint(in), place = 0;
    if (in->bad || n > n_rows || shift > 63) {
        return false;
    }
    for (uint64_t i = 0; i < n; i++) {
        uint64_t gap = wt_get_varint(in), bits = wt_get_varint(in);
        if (in->bad || gap >= n_rows - place) {
            return false;
        }
        place += gap;
        values[place] = (int64_t)((uint64_t)values[place] + (bits << shift));
    }
    return true;
}

static bool read_column(struct wt_input *in, struct group *group, unsigned column) {
    uint8_t head = wt_get_byte(in), shift = wt_get_byte(in);
    uint64_t minimum = (uint64_t)wt_get_signed(in);
    unsigned width = head & 0x7f;
    bool patched = width >= WT_COLUMN_PATCHED;
    width -= patched ? WT_COLUMN_PATCHED : 0;
    if (in->bad || width > 64 || shift > 63) {
        return false;
    }
    if (column == WT_COL_OFFSET) {
        group->absolute = (head & WT_COLUMN_ABSOLUTE) != 0;
    }
    size_t n_bytes = ((size_t)group->n_rows * width + 7) / 8;
    if ((size_t)(in->end - in->at) < n_bytes) {
        return false;
    }
    int64_t *out = group->columns[column];
    const uint8_t *end = in->at + n_bytes;
    for (unsigned i = 0; i < group->n_rows; i++) {
        uint64_t entry = width ? bits_at(in->at, (uint64_t)i * width, width, end) : 0;
        out[i] = (int64_t)(minimum + (entry << shift));
    }
    in->at = end;
    return !patched || read_patches(in, out, group->n_rows, width + shift);
}

static bool read_group(struct wt_input *in, struct group *group) {
    if (!read_header(in, group)) {
        return false;
    }
    for (unsigned c = 0; c < WT_N_COLUMNS; c++) {
        if (!read_column(in, group, c)) {
            return false;
        }
    }
    for (unsigned i = 0; i < group->n_rows; i++) {
        if ((uint64_t)group->columns[WT_COL_KEY][i] >= group->n_keys || group->columns[WT_COL_COUNT][i] < 0) {
            return false;
        }
    }
    return true;
}

static uint64_t decode_time(uint64_t code, unsigned mantissa) {
    if (mantissa == WT_MANTISSA_EXACT || code < ((uint64_t)2 << mantissa)) {
        return code;
    }
    uint64_t exponent = (code >> mantissa) + mantissa - 1;
    if (exponent > 63) {
        return 0;
    }
    unsigned shift = (unsigned)exponent - mantissa;
    uint64_t value = ((uint64_t)1 << mantissa) | (code & (((uint64_t)1 << mantissa) - 1));
    return (value << shift) + ((uint64_t)1 << (shift - 1));
}

/* Clocks run through the rows of a group. */
struct clocks {
    uint64_t tick, subtick, ns;
};

static void place_row(struct group *group, unsigned i, struct clocks *now, struct wt_row *out) {
#define COLUMN(name) ((uint64_t)group->columns[WT_COL_##name][i])
    struct key *key = &group->keys[COLUMN(KEY)];
    uint64_t steps = COLUMN(COUNT), size = COLUMN(SIZE);
    bool many = steps > 0, viewed = key->view > 0;
    out->op = (uint32_t)key->op;
    out->file = (int32_t)key->file - 1;
    out->handle = (int32_t)key->handle - 1;
    out->view = (int32_t)key->view - 1;
    out->count = steps + 1;
    out->size = (int64_t)size;
    out->moved = (int64_t)((steps + 1) * size - COLUMN(SHORT));
    uint64_t offset = COLUMN(OFFSET) + (group->absolute ? 0 : key->next_offset);
    uint64_t disp = many ? COLUMN(DISP) + size : 0;
    uint64_t view_offset = viewed ? COLUMN(VIEW_OFFSET) + key->next_view_offset : offset;
    uint64_t view_disp = !viewed ? disp : many ? COLUMN(VIEW_DISP) + size : 0;
    key->next_offset = offset + steps * disp + size;
    key->next_view_offset = view_offset + steps * view_disp + size;
    out->offset = (int64_t)offset;
    out->disp = (int64_t)disp;
    out->view_offset = (int64_t)view_offset;
    out->view_disp = (int64_t)view_disp;

    uint64_t tick = now->tick + COLUMN(TICK), tick_step = COLUMN(TICK_STEP);
    uint64_t expected = i == 0 ? now->subtick : tick == now->tick ? now->subtick + 1 : 0;
    uint64_t subtick = expected + COLUMN(SUBTICK);
    uint64_t subtick_step = many ? COLUMN(SUBTICK_STEP) + (tick_step == 0) : 0;
    out->tick = tick;
    out->subtick = subtick;
    out->tick_step = tick_step;
    out->subtick_step = subtick_step;
    now->tick = tick + steps * tick_step;
    now->subtick = subtick + steps * subtick_step;

    uint64_t distance = decode_time(COLUMN(GAP) >> 1, group->mantissa);
    out->start = COLUMN(GAP) & 1 ? now->ns - distance : now->ns + distance;
    uint64_t elapsed = decode_time(COLUMN(ELAPSED), group->mantissa);
    now->ns = out->end = out->start + elapsed;
    out->busy = many ? decode_time(COLUMN(BUSY), group->mantissa) : elapsed;
    out->arg = (int64_t)COLUMN(ARG);
    out->error = (int32_t)COLUMN(ERROR);
#undef COLUMN
}

/* The clock goes on at the end of an outermost loop. */
static uint64_t span_behind(const struct wt_nest *nest, unsigned depth) {
    uint64_t span = 0;
    if (depth > 0 && nest->around[depth - 1].at + 1 == nest->around[depth - 1].rows) {
        for (unsigned d = 0; d < depth; d++) {
            span += (uint64_t)nest->around[d].end;
        }
    }
    return span;
}

/* A group with what follows it. */
static bool read_folds(struct wt_input *in, struct wt_folds *folds) {
    static _Thread_local struct group group;
    if (!read_group(in, &group)) {
        return false;
    }
    folds->n = group.n_rows;
    folds->seq = group.base_seq;
    for (unsigned i = 0; i < group.n_rows; i++) {
        folds->rows[i].depth = 0;
    }
    if (in->at < in->end && *in->at == 'L') {
        in->at++;
        if (!wt_read_loops(in, folds)) {
            return false;
        }
    }
    struct clocks now = {group.base_tick, group.base_subtick, group.base_ns};
    for (unsigned i = 0; i < group.n_rows; i++) {
        place_row(&group, i, &now, &folds->rows[i]);
        now.ns += span_behind(&folds->nests[i], folds->rows[i].depth);
        if (folds->rows[i].count > 1 || folds->rows[i].depth > 0) {
            memset(folds->nests[i].times, 0, sizeof folds->nests[i].times);
        }
    }
    if (in->at < in->end && *in->at == 'T') {
        in->at++;
        return wt_read_times(in, folds);
    }
    return true;
}

static _Thread_local struct wt_folds all_folds;

WT_EXPORT int64_t wt_count_rows(const uint8_t *payload, size_t length, unsigned members,
                                struct wt_sizes *sizes) {
    all_folds.members = members;
    struct wt_input in = {payload, payload + length, false};
    *sizes = (struct wt_sizes){0};
    while (in.at < in.end) {
        if (!read_folds(&in, &all_folds)) {
            return WT_DAMAGED;
        }
        wt_add_sizes(&all_folds, sizes);
    }
    return sizes->rows > WT_MOST_ROWS ? WT_TOO_MANY : 0;
}

WT_EXPORT int64_t wt_decode_rows(const uint8_t *payload, size_t length, unsigned members,
                                 const struct wt_columns *columns, const struct wt_times_columns *times,
                                 const struct wt_sizes *room) {
    struct wt_input in = {payload, payload + length, false};
    all_folds.members = members;
    struct wt_output out = {.columns = columns, .times = times, .room = *room};
    while (in.at < in.end) {
        if (!read_folds(&in, &all_folds) || !wt_put_folds(&all_folds, &out)) {
            return WT_DAMAGED;
        }
    }
    return 0;
}
