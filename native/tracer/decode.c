/* See decode.h. The other direction of group.c. */
#include "decode.h"

#include "wavetank_trace.h"

#include <stdbool.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

struct input {
    const uint8_t *at, *end;
    bool bad;
};

static uint64_t varint(struct input *in) {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        if (in->at >= in->end) {
            break;
        }
        uint8_t byte = *in->at++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            return value;
        }
    }
    in->bad = true;
    return 0;
}

static uint8_t byte_of(struct input *in) {
    if (in->at >= in->end) {
        in->bad = true;
        return 0;
    }
    return *in->at++;
}

static int64_t unzigzag(uint64_t value) {
    return (int64_t)((value >> 1) ^ (0 - (value & 1)));
}

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

static bool read_header(struct input *in, struct group *group) {
    if (byte_of(in) != 'G') {
        return false;
    }
    group->mantissa = byte_of(in);
    uint64_t n_rows = varint(in), n_keys = varint(in);
    if (in->bad || n_rows == 0 || n_rows > WT_GROUP_ROWS || n_keys == 0 || n_keys > n_rows ||
        (group->mantissa > 40 && group->mantissa != WT_MANTISSA_EXACT)) {
        return false;
    }
    group->n_rows = (unsigned)n_rows;
    group->n_keys = (unsigned)n_keys;
    for (unsigned k = 0; k < n_keys; k++) {
        struct key *key = &group->keys[k];
        key->op = varint(in);
        key->file = varint(in);
        key->handle = varint(in);
        key->view = varint(in);
        key->next_offset = key->next_view_offset = 0;
        if (key->op > UINT8_MAX || key->file > INT32_MAX || key->handle > INT32_MAX ||
            key->view > INT32_MAX) {
            return false;
        }
    }
    group->base_seq = varint(in);
    group->base_tick = varint(in);
    group->base_subtick = varint(in);
    group->base_ns = varint(in);
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

static bool read_column(struct input *in, struct group *group, unsigned column) {
    uint8_t head = byte_of(in), shift = byte_of(in);
    uint64_t minimum = (uint64_t)unzigzag(varint(in));
    unsigned width = head & 0x7f;
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
    return true;
}

static bool read_group(struct input *in, struct group *group) {
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
    uint64_t seq, tick, subtick, ns;
};

static void place_row(struct group *group, unsigned i, struct clocks *now, const struct wt_columns *out,
                      int64_t at) {
#define COLUMN(name) ((uint64_t)group->columns[WT_COL_##name][i])
    struct key *key = &group->keys[COLUMN(KEY)];
    uint64_t steps = COLUMN(COUNT), size = COLUMN(SIZE);
    bool many = steps > 0, viewed = key->view > 0;
    out->seq[at] = (int64_t)now->seq;
    out->op[at] = (uint8_t)key->op;
    out->file[at] = (int32_t)key->file - 1;
    out->handle[at] = (int32_t)key->handle - 1;
    out->view[at] = (int32_t)key->view - 1;
    out->count[at] = (int64_t)(steps + 1);
    out->size[at] = (int64_t)size;
    out->moved[at] = (int64_t)((steps + 1) * size - COLUMN(SHORT));
    uint64_t offset = COLUMN(OFFSET) + (group->absolute ? 0 : key->next_offset);
    uint64_t disp = many ? COLUMN(DISP) + size : 0;
    uint64_t view_offset = viewed ? COLUMN(VIEW_OFFSET) + key->next_view_offset : offset;
    uint64_t view_disp = !viewed ? disp : many ? COLUMN(VIEW_DISP) + size : 0;
    key->next_offset = offset + steps * disp + size;
    key->next_view_offset = view_offset + steps * view_disp + size;
    out->offset[at] = (int64_t)offset;
    out->disp[at] = (int64_t)disp;
    out->view_offset[at] = (int64_t)view_offset;
    out->view_disp[at] = (int64_t)view_disp;

    uint64_t tick = now->tick + COLUMN(TICK), tick_step = COLUMN(TICK_STEP);
    uint64_t expected = i == 0 ? now->subtick : tick == now->tick ? now->subtick + 1 : 0;
    uint64_t subtick = expected + COLUMN(SUBTICK);
    uint64_t subtick_step = many ? COLUMN(SUBTICK_STEP) + (tick_step == 0) : 0;
    out->tick[at] = (int64_t)tick;
    out->subtick[at] = (int64_t)subtick;
    out->tick_step[at] = (int64_t)tick_step;
    out->subtick_step[at] = (int64_t)subtick_step;
    now->tick = tick + steps * tick_step;
    now->subtick = subtick + steps * subtick_step;
    now->seq += steps + 1;

    uint64_t distance = decode_time(COLUMN(GAP) >> 1, group->mantissa);
    uint64_t start = COLUMN(GAP) & 1 ? now->ns - distance : now->ns + distance;
    uint64_t elapsed = decode_time(COLUMN(ELAPSED), group->mantissa);
    now->ns = start + elapsed;
    out->start_ns[at] = (int64_t)start;
    out->end_ns[at] = (int64_t)now->ns;
    out->busy_ns[at] = (int64_t)(many ? decode_time(COLUMN(BUSY), group->mantissa) : elapsed);
    out->arg[at] = (int64_t)COLUMN(ARG);
    out->error[at] = (int32_t)COLUMN(ERROR);
#undef COLUMN
}

EXPORT int64_t wt_count_rows(const uint8_t *payload, size_t length) {
    static _Thread_local struct group group;
    struct input in = {payload, payload + length, false};
    int64_t n = 0;
    while (in.at < in.end) {
        if (!read_header(&in, &group)) {
            return -1;
        }
        for (unsigned c = 0; c < WT_N_COLUMNS; c++) {
            unsigned width = byte_of(&in) & 0x7f;
            byte_of(&in);
            varint(&in);
            size_t n_bytes = ((size_t)group.n_rows * width + 7) / 8;
            if (in.bad || (size_t)(in.end - in.at) < n_bytes) {
                return -1;
            }
            in.at += n_bytes;
        }
        n += group.n_rows;
    }
    return n;
}

EXPORT int64_t wt_decode_rows(const uint8_t *payload, size_t length, const struct wt_columns *columns,
                              int64_t room) {
    static _Thread_local struct group group;
    struct input in = {payload, payload + length, false};
    int64_t n = 0;
    while (in.at < in.end) {
        if (!read_group(&in, &group) || n + group.n_rows > room) {
            return -1;
        }
        struct clocks now = {group.base_seq, group.base_tick, group.base_subtick, group.base_ns};
        for (unsigned i = 0; i < group.n_rows; i++) {
            place_row(&group, i, &now, columns, n++);
        }
    }
    return n;
}
