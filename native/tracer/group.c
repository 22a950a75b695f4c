/* Codes rows as a group: columns of differences from what the reader predicts, bit-packed. The layout is
 * described in wavetank_trace.h; decode.c is the other direction. */
#include "tracer.h"

#include <string.h>

struct key {
    uint32_t op;
    int32_t file, handle, view;
    int64_t next_offset, next_view_offset; /* end of the key's last row */
};

static struct key keys[WT_GROUP_ROWS];
static int64_t columns[WT_N_COLUMNS][WT_GROUP_ROWS];
static int64_t absolute_offsets[WT_GROUP_ROWS];

static uint64_t code_time(uint64_t value, unsigned mantissa) {
    if (mantissa == WT_MANTISSA_EXACT || value < (2u << mantissa)) {
        return value;
    }
    unsigned exponent = 63u - (unsigned)__builtin_clzll(value);
    uint64_t top = (value >> (exponent - mantissa)) & ((1u << mantissa) - 1);
    return ((uint64_t)(exponent - mantissa + 1) << mantissa) | top;
}

static uint64_t decode_time(uint64_t code, unsigned mantissa) {
    if (mantissa == WT_MANTISSA_EXACT || code < (2u << mantissa)) {
        return code;
    }
    unsigned exponent = (unsigned)(code >> mantissa) + mantissa - 1;
    uint64_t value = ((uint64_t)1 << mantissa) | (code & ((1u << mantissa) - 1));
    unsigned shift = exponent - mantissa;
    return (value << shift) + ((uint64_t)1 << (shift - 1)); /* middle of the interval */
}

/* How a column is packed: a few entries that are wider than the rest are patched behind it. */
struct packing {
    int64_t minimum;
    unsigned shift, width, widest;
    size_t bits;
};

static unsigned width_of(uint64_t entry) {
    return entry ? 64u - (unsigned)__builtin_clzll(entry) : 0;
}

static struct packing packing_of(const int64_t *values, unsigned n) {
    struct packing best = {.minimum = values[0]};
    uint64_t bits = 0;
    for (unsigned i = 1; i < n; i++) {
        bits |= (uint64_t)(values[i] ^ values[0]);
    }
    if (bits == 0) { /* most columns are one number */
        return best;
    }
    bits = 0;
    unsigned n_wide[65] = {0};
    for (unsigned i = 1; i < n; i++) {
        best.minimum = values[i] < best.minimum ? values[i] : best.minimum;
    }
    for (unsigned i = 0; i < n; i++) {
        uint64_t entry = (uint64_t)values[i] - (uint64_t)best.minimum;
        bits |= entry;
        n_wide[width_of(entry)]++;
    }
    best.shift = bits ? (unsigned)__builtin_ctzll(bits) : 0;
    best.width = best.widest = bits ? width_of(bits) - best.shift : 0;
    best.bits = (size_t)n * best.width;
    size_t patches = 16; /* bits */
    unsigned n_patches = 0;
    for (unsigned width = best.widest; width-- > 0;) {
        unsigned more = n_wide[width + 1 + best.shift];
        n_patches += more;
        /* A patch: two bytes of place, and its bits by sevens; each step to a narrower width may add a byte.
         */
        patches += more * (16u + 8u) + (width > 0 && (best.widest - width) % 7 == 0 ? n_patches * 8u : 0);
        size_t total = (size_t)n * width + patches;
        if (total < best.bits && width <= 62) {
            best.bits = total;
            best.width = width;
        }
    }
    return best;
}

static uint8_t *put_patches(uint8_t *at, const int64_t *values, unsigned n, const struct packing *packing) {
    unsigned n_patches = 0, before = 0;
    for (unsigned i = 0; i < n; i++) {
        uint64_t entry = ((uint64_t)values[i] - (uint64_t)packing->minimum) >> packing->shift;
        n_patches += entry >> packing->width != 0;
    }
    at = wt_put_varint(at, n_patches);
    for (unsigned i = 0; i < n; i++) {
        uint64_t entry = ((uint64_t)values[i] - (uint64_t)packing->minimum) >> packing->shift;
        if (entry >> packing->width != 0) {
            at = wt_put_varint(at, i - before);
            at = wt_put_varint(at, entry >> packing->width);
            before = i;
        }
    }
    return at;
}

static uint8_t *put_word(uint8_t *at, uint64_t word) { /* the lowest byte first; one store where it can be */
    for (unsigned b = 0; b < 8; b++) {
        at[b] = (uint8_t)(word >> (8 * b));
    }
    return at + 8;
}

/* The entries' lowest bits, one behind the other. */
static uint8_t *put_bits(uint8_t *at, const int64_t *values, unsigned n, const struct packing *packing,
                         uint64_t mask) {
    const unsigned width = packing->width, shift = packing->shift;
    const uint64_t minimum = (uint64_t)packing->minimum;
    uint64_t pending = 0;
    unsigned n_pending = 0; /* bits, below 64 */
    for (unsigned i = 0; i < n && width > 0; i++) {
        uint64_t entry = ((uint64_t)values[i] - minimum) >> shift & mask;
        pending |= entry << n_pending;
        n_pending += width;
        if (n_pending >= 64) {
            at = put_word(at, pending);
            n_pending -= 64;
            pending = n_pending > 0 ? entry >> (width - n_pending) : 0;
        }
    }
    for (; n_pending > 0; n_pending = n_pending > 8 ? n_pending - 8 : 0) {
        *at++ = (uint8_t)pending;
        pending >>= 8;
    }
    return at;
}

static uint8_t *put_column(uint8_t *at, const int64_t *values, unsigned n, const struct packing *packing,
                           unsigned flags) {
    bool patched = packing->width < packing->widest;
    uint64_t mask = patched ? ((uint64_t)1 << packing->width) - 1 : UINT64_MAX;
    *at++ = (uint8_t)((packing->width + (patched ? WT_COLUMN_PATCHED : 0)) | flags);
    *at++ = (uint8_t)packing->shift;
    at = wt_put_varint(at, wt_zigzag(packing->minimum));
    at = put_bits(at, values, n, packing, mask);
    return patched ? put_patches(at, values, n, packing) : at;
}

/* Columns that are 0 throughout where every row is one operation outside of file views. */
#define OF_SEVERAL                                                                                           \
    (1u << WT_COL_COUNT | 1u << WT_COL_DISP | 1u << WT_COL_VIEW_OFFSET | 1u << WT_COL_VIEW_DISP |            \
     1u << WT_COL_TICK_STEP | 1u << WT_COL_SUBTICK_STEP | 1u << WT_COL_BUSY)

static bool all_single(const struct wt_row *rows, unsigned n) {
    for (unsigned i = 0; i < n; i++) {
        if (rows[i].count != 1 || rows[i].view >= 0 || rows[i].tick_step != 0) {
            return false;
        }
    }
    return true;
}

static uint8_t *put_columns(uint8_t *at, unsigned n, bool single) {
    static const struct packing zeros = {0};
    for (unsigned c = 0; c < WT_N_COLUMNS; c++) {
        if (single && (OF_SEVERAL >> c & 1)) {
            at = put_column(at, columns[c], n, &zeros, 0);
            continue;
        }
        struct packing packing = packing_of(columns[c], n);
        if (c == WT_COL_OFFSET) {
            struct packing absolute = packing_of(absolute_offsets, n);
            if (absolute.bits < packing.bits) {
                at = put_column(at, absolute_offsets, n, &absolute, WT_COLUMN_ABSOLUTE);
                continue;
            }
        }
        at = put_column(at, columns[c], n, &packing, 0);
    }
    return at;
}

static unsigned key_index(const struct wt_row *row, unsigned *n_keys) {
    static unsigned last;
    if (last >= *n_keys) {
        last = 0;
    }
    for (unsigned i = 0; i < *n_keys; i++) { /* few keys a group, and mostly the next one round */
        unsigned k = last + i + 1 < *n_keys ? last + i + 1 : last + i + 1 - *n_keys;
        if (keys[k].op == row->op && keys[k].handle == row->handle && keys[k].file == row->file &&
            keys[k].view == row->view) {
            last = k;
            return k;
        }
    }
    struct key *key = &keys[*n_keys];
    key->op = row->op;
    key->file = row->file;
    key->handle = row->handle;
    key->view = row->view;
    key->next_offset = key->next_view_offset = 0;
    last = *n_keys;
    return (*n_keys)++;
}

static void place_columns(const struct wt_row *row, unsigned i, struct key *key, bool single) {
    int64_t steps = (int64_t)row->count - 1;
    columns[WT_COL_SIZE][i] = row->size;
    columns[WT_COL_SHORT][i] = (int64_t)row->count * row->size - row->moved;
    columns[WT_COL_OFFSET][i] = row->offset - key->next_offset;
    absolute_offsets[i] = row->offset;
    columns[WT_COL_ARG][i] = row->arg;
    columns[WT_COL_ERROR][i] = row->error;
    if (!single) {
        bool many = row->count > 1, viewed = row->view >= 0;
        columns[WT_COL_COUNT][i] = steps;
        columns[WT_COL_DISP][i] = many ? row->disp - row->size : 0;
        columns[WT_COL_VIEW_OFFSET][i] = viewed ? row->view_offset - key->next_view_offset : 0;
        columns[WT_COL_VIEW_DISP][i] = viewed && many ? row->view_disp - row->size : 0;
        columns[WT_COL_TICK_STEP][i] = (int64_t)row->tick_step;
        columns[WT_COL_SUBTICK_STEP][i] = many ? (int64_t)(row->subtick_step - (row->tick_step == 0)) : 0;
        columns[WT_COL_BUSY][i] = 0;
    }
    key->next_offset = row->offset + steps * row->disp + row->size;
    key->next_view_offset = row->view_offset + steps * row->view_disp + row->size;
}

size_t wt_group_encode(const struct wt_row *rows, const struct wt_nest *nests, unsigned n, uint64_t base_seq,
                       uint8_t *out) {
    /* Few rows: full precision costs nothing. Many: 1.6 % of each time. */
    unsigned mantissa = wt_event_times || wt_exact_times ? WT_MANTISSA_EXACT : n < 64 ? 12 : 5;
    unsigned n_keys = 0;
    const bool single = all_single(rows, n);
    uint64_t base_ns = wt_clock_ns(rows[0].start), clock = base_ns;
    uint64_t tick = rows[0].tick, subtick = rows[0].subtick;
    for (unsigned i = 0; i < n; i++) {
        const struct wt_row *row = &rows[i];
        unsigned k = key_index(row, &n_keys);
        columns[WT_COL_KEY][i] = k;
        place_columns(row, i, &keys[k], single);
        uint64_t expected = i == 0 ? subtick : row->tick == tick ? subtick + 1 : 0;
        columns[WT_COL_TICK][i] = (int64_t)(row->tick - tick);
        columns[WT_COL_SUBTICK][i] = (int64_t)(row->subtick - expected);
        tick = row->tick + (row->count - 1) * row->tick_step; /* what the reader knows */
        subtick = row->subtick + (row->count - 1) * row->subtick_step;
        uint64_t start = wt_clock_ns(row->start), end = wt_clock_ns(row->end);
        bool early = start < clock; /* threads, and calls inside calls: rows are in the order of their ends */
        uint64_t gap = code_time(early ? clock - start : start - clock, mantissa);
        uint64_t distance = decode_time(gap, mantissa);
        start = early ? clock - distance : clock + distance;
        gap = gap << 1 | early;
        uint64_t elapsed = code_time(end > start ? end - start : 0, mantissa);
        clock = start + decode_time(elapsed, mantissa);
        columns[WT_COL_GAP][i] = (int64_t)gap;
        columns[WT_COL_ELAPSED][i] = (int64_t)elapsed;
        if (row->count > 1) {
            uint64_t busy = wt_clock_ns(row->start + row->busy) - wt_clock_ns(row->start);
            columns[WT_COL_BUSY][i] = (int64_t)code_time(busy, mantissa);
        }
        if (row->depth > 0) {
            clock += wt_loops_span(row, &nests[i]);
        }
    }
    uint8_t *at = out;
    *at++ = 'G';
    *at++ = (uint8_t)mantissa;
    at = wt_put_varint(at, n);
    at = wt_put_varint(at, n_keys);
    for (unsigned k = 0; k < n_keys; k++) {
        at = wt_put_varint(at, keys[k].op);
        at = wt_put_varint(at, (uint64_t)(keys[k].file + 1));
        at = wt_put_varint(at, (uint64_t)(keys[k].handle + 1));
        at = wt_put_varint(at, (uint64_t)(keys[k].view + 1));
    }
    at = wt_put_varint(at, base_seq);
    at = wt_put_varint(at, rows[0].tick);
    at = wt_put_varint(at, rows[0].subtick);
    at = wt_put_varint(at, base_ns);
    at = put_columns(at, n, single);
    if (!wt_event_times) {
        at = wt_times_encode(rows, nests, n, wt_loops_encode(rows, nests, n, at));
    }
    return (size_t)(at - out);
}
