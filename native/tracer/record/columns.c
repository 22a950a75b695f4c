/* Codes rows as a group: columns of differences from what the reader predicts, bit-packed. Most columns are
 * one number then, and take no bits. The layout is described in wavetank_trace.h; decode.c is the other
 * direction. */
#include "record/record.h"

#include <string.h>

struct key {
    uint32_t op;
    int32_t file, handle, view;
    int64_t next_offset, next_view_offset; /* end of the key's last row */
};

/* The part of a key that rows have too, in the same order. */
#define KEY_BYTES (4 * sizeof(uint32_t))
_Static_assert(offsetof(struct key, view) == 3 * sizeof(uint32_t), "op, file, handle, view");
_Static_assert(offsetof(struct wt_row, view) == offsetof(struct wt_row, op) + 3 * sizeof(uint32_t),
               "the same");

bool wt_exact_times;

static struct key keys[WT_GROUP_ROWS];
/* A row is stored into all columns at once. One cache line between them: at a power of two from each other
 * their entries would all have the same few places in the cache. */
static int64_t columns[WT_N_COLUMNS][WT_GROUP_ROWS + 64 / sizeof(int64_t)];
static int64_t absolute_offsets[WT_GROUP_ROWS];

/* A time's code, and in *decoded what a reader makes of it: the middle of its interval. */
static inline uint64_t code_time(uint64_t value, unsigned mantissa, uint64_t *decoded) {
    *decoded = value;
    if (mantissa == WT_MANTISSA_EXACT || value < (2u << mantissa)) {
        return value;
    }
    unsigned below = 62u - (unsigned)__builtin_clzll(value) - mantissa; /* bits behind the first that goes */
    uint64_t kept = value >> below;
    *decoded = (kept | 1) << below;
    return ((uint64_t)(below + 1) << mantissa) + (kept >> 1);
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

#define MANY 256 /* values, of which a sample tells how wide they are: every seventh */

static bool all_equal(const int64_t *values, unsigned n) {
    return memcmp(values, values + 1, (n - 1) * sizeof *values) == 0;
}

/* What all entries of every `step`-th value have in common. */
static struct packing range_of(const int64_t *values, unsigned n, unsigned step) {
    struct packing packing = {.minimum = values[0]};
    uint64_t differ = 0; /* bits in which any two values differ: none below the shift of all entries */
    int64_t maximum = values[0];
#pragma GCC unroll 4
    for (unsigned i = 0; i < n; i += step) {
        differ |= (uint64_t)(values[i] ^ values[0]);
        packing.minimum = values[i] < packing.minimum ? values[i] : packing.minimum;
        maximum = values[i] > maximum ? values[i] : maximum;
    }
    packing.shift = differ ? (unsigned)__builtin_ctzll(differ) : 0;
    packing.widest = width_of((uint64_t)maximum - (uint64_t)packing.minimum);
    packing.widest -= differ ? packing.shift : 0;
    packing.width = packing.widest;
    return packing;
}

/* Chooses the width with which every `step`-th value takes least. */
static void choose_width(struct packing *packing, const int64_t *values, unsigned n, unsigned step) {
    unsigned n_wide[65] = {0}; /* values by the width of their entries, without shift */
    unsigned looked_at = (n + step - 1) / step;
    for (unsigned i = 0; i < n; i += step) {
        n_wide[width_of((uint64_t)values[i] - (uint64_t)packing->minimum)]++;
    }
    packing->bits = (size_t)looked_at * packing->width;
    size_t patches = 16; /* bits */
    unsigned n_patches = 0;
    for (unsigned width = packing->widest; width-- > 0;) {
        unsigned more = n_wide[width + 1 + packing->shift];
        n_patches += more;
        /* A patch: two bytes of place, and its bits by sevens; each step to a narrower width may add a byte.
         */
        patches += more * (16u + 8u) + (width > 0 && (packing->widest - width) % 7 == 0 ? n_patches * 8u : 0);
        size_t total = (size_t)looked_at * width + patches;
        if (total < packing->bits && width <= 62) {
            packing->bits = total;
            packing->width = width;
        }
    }
}

static unsigned sample_step(unsigned n) {
    return n < MANY ? 1 : 7;
}

static struct packing packing_of(const int64_t *values, unsigned n) {
    if (all_equal(values, n)) { /* most columns are one number */
        return (struct packing){.minimum = values[0]};
    }
    struct packing packing = range_of(values, n, 1);
    choose_width(&packing, values, n, sample_step(n));
    return packing;
}

/* About how much values take. */
static size_t sampled_bits(const int64_t *values, unsigned n) {
    struct packing packing = range_of(values, n, sample_step(n));
    choose_width(&packing, values, n, sample_step(n));
    return packing.bits;
}

static uint8_t *put_patches(uint8_t *at, const int64_t *values, const struct packing *packing,
                            const uint16_t *places, unsigned n_patches) {
    at = wt_put_varint(at, n_patches);
    for (unsigned p = 0, before = 0; p < n_patches; p++) {
        uint64_t entry =
            ((uint64_t)values[places[p]] - (uint64_t)packing->minimum) >> packing->shift >> packing->width;
        at = wt_put_varint(at, places[p] - before);
        at = wt_put_varint(at, entry);
        before = places[p];
    }
    return at;
}

/* The entries' lowest bits, in sequence. places: of the entries that have more, unless it is NULL.
 */
static inline __attribute__((always_inline)) uint8_t *put_bits(uint8_t *at, const int64_t *values, unsigned n,
                                                               const struct packing *packing,
                                                               uint16_t *places, unsigned *n_patches) {
    const unsigned width = packing->width, shift = packing->shift;
    const uint64_t minimum = (uint64_t)packing->minimum, mask = ((uint64_t)1 << (width & 63)) - 1;
    uint64_t pending = 0;
    unsigned n_pending = 0; /* bits, below 64 */
    unsigned n_places = 0;
    for (unsigned i = 0; i < n; i++) {
        uint64_t entry = ((uint64_t)values[i] - minimum) >> shift;
        if (places != NULL) {
            places[n_places] = (uint16_t)i;
            n_places += entry > mask;
            entry &= mask;
        }
        pending |= entry << n_pending;
        n_pending += width;
        if (n_pending >= 64) {
            at = wt_put_word(at, pending);
            n_pending -= 64;
            pending = n_pending > 0 ? entry >> (width - n_pending) : 0;
        }
    }
    for (; n_pending > 0; n_pending = n_pending > 8 ? n_pending - 8 : 0) {
        *at++ = (uint8_t)pending;
        pending >>= 8;
    }
    *n_patches = n_places;
    return at;
}

static uint8_t *put_head(uint8_t *at, const struct packing *packing, unsigned flags) {
    *at++ = (uint8_t)(packing->width + flags);
    *at++ = (uint8_t)packing->shift;
    return wt_put_varint(at, wt_zigzag(packing->minimum));
}

static uint8_t *put_column(uint8_t *at, const int64_t *values, unsigned n, const struct packing *packing,
                           unsigned flags) {
    static uint16_t places[WT_GROUP_ROWS];
    struct packing plain = *packing;
    unsigned n_patches;
    if (packing->width < packing->widest) {
        uint8_t *end = put_head(at, packing, flags + WT_COLUMN_PATCHED);
        end = put_bits(end, values, n, packing, places, &n_patches);
        end = put_patches(end, values, packing, places, n_patches);
        if ((size_t)(end - at) <= (size_t)n * packing->widest / 8) {
            return end;
        }
        plain.width = plain.widest; /* the sample was of other values than the rest */
    }
    at = put_head(at, &plain, flags);
    return plain.width > 0 ? put_bits(at, values, n, &plain, NULL, &n_patches) : at;
}

/* Columns that are 0 throughout where every row is one operation outside of file views. */
#define OF_SEVERAL                                                                                           \
    (1u << WT_COL_COUNT | 1u << WT_COL_DISP | 1u << WT_COL_VIEW_OFFSET | 1u << WT_COL_VIEW_DISP |            \
     1u << WT_COL_TICK_STEP | 1u << WT_COL_SUBTICK_STEP | 1u << WT_COL_BUSY)

static uint8_t *put_columns(uint8_t *at, unsigned n, bool single) {
    static const struct packing zeros = {0};
    for (unsigned c = 0; c < WT_N_COLUMNS; c++) {
        if (single && (OF_SEVERAL >> c & 1)) {
            at = put_column(at, columns[c], n, &zeros, 0);
            continue;
        }
        bool absolute = c == WT_COL_OFFSET && !all_equal(columns[c], n) &&
                        sampled_bits(absolute_offsets, n) < sampled_bits(columns[c], n);
        const int64_t *values = absolute ? absolute_offsets : columns[c];
        struct packing packing = packing_of(values, n);
        at = put_column(at, values, n, &packing, absolute ? WT_COLUMN_ABSOLUTE : 0);
    }
    return at;
}

static unsigned key_index(const struct wt_row *row, unsigned *n_keys) {
    static unsigned last;
    if (last >= *n_keys) {
        last = 0;
    }
    for (unsigned i = 0, k = last; i < *n_keys; i++) { /* few keys a group, and mostly the next one round */
        k = k + 1 < *n_keys ? k + 1 : 0;
        if (__builtin_memcmp(&keys[k], &row->op, KEY_BYTES) == 0) {
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

static bool is_single(const struct wt_row *row) {
    return ((row->count ^ 1) | row->tick_step) == 0 && row->view < 0;
}

/* What single rows have in columns that are left out where all rows are. */
static inline void place_zeros(unsigned first, unsigned end) {
    for (unsigned i = first; i < end; i++) {
        columns[WT_COL_COUNT][i] = columns[WT_COL_DISP][i] = columns[WT_COL_BUSY][i] = 0;
        columns[WT_COL_VIEW_OFFSET][i] = columns[WT_COL_VIEW_DISP][i] = 0;
        columns[WT_COL_TICK_STEP][i] = columns[WT_COL_SUBTICK_STEP][i] = 0;
    }
}

/* What a reader knows after the rows so far. */
struct reader {
    uint64_t clock, tick, subtick;
};

static void place_single(const struct wt_row *row, unsigned i, struct key *key, struct reader *reader) {
    columns[WT_COL_SHORT][i] = row->size - row->moved;
    key->next_offset = row->offset + row->size;
    key->next_view_offset = row->view_offset + row->size;
    reader->tick = row->tick;
    reader->subtick = row->subtick;
}

static void place_of_several(const struct wt_row *row, unsigned i, struct key *key, struct reader *reader) {
    bool many = row->count > 1, viewed = row->view >= 0;
    int64_t steps = (int64_t)row->count - 1;
    columns[WT_COL_COUNT][i] = steps;
    columns[WT_COL_SHORT][i] = (int64_t)row->count * row->size - row->moved;
    columns[WT_COL_DISP][i] = many ? row->disp - row->size : 0;
    columns[WT_COL_VIEW_OFFSET][i] = viewed ? row->view_offset - key->next_view_offset : 0;
    columns[WT_COL_VIEW_DISP][i] = viewed && many ? row->view_disp - row->size : 0;
    columns[WT_COL_TICK_STEP][i] = (int64_t)row->tick_step;
    columns[WT_COL_SUBTICK_STEP][i] = many ? (int64_t)(row->subtick_step - (row->tick_step == 0)) : 0;
    columns[WT_COL_BUSY][i] = 0;
    key->next_offset = row->offset + steps * row->disp + row->size;
    key->next_view_offset = row->view_offset + steps * row->view_disp + row->size;
    reader->tick = row->tick + (uint64_t)steps * row->tick_step;
    reader->subtick = row->subtick + (uint64_t)steps * row->subtick_step;
}

/* alone: the row is a single one; single: all rows so far are. */
static void place_columns(const struct wt_row *row, unsigned i, struct key *key, struct reader *reader,
                          bool alone, bool single) {
    uint64_t expected = row->tick == reader->tick ? reader->subtick + 1 : 0;
    columns[WT_COL_SIZE][i] = row->size;
    columns[WT_COL_OFFSET][i] = row->offset - key->next_offset;
    absolute_offsets[i] = row->offset;
    columns[WT_COL_TICK][i] = (int64_t)(row->tick - reader->tick);
    columns[WT_COL_SUBTICK][i] = (int64_t)(row->subtick - expected);
    columns[WT_COL_ARG][i] = row->arg;
    columns[WT_COL_ERROR][i] = row->error;
    if (alone) {
        place_single(row, i, key, reader);
        if (!single) {
            place_zeros(i, i + 1);
        }
    } else {
        place_of_several(row, i, key, reader);
    }
}

static void place_times(const struct wt_row *row, unsigned i, struct reader *reader, unsigned mantissa,
                        const struct wt_rate *rate) {
    uint64_t start = wt_ns_at(rate, row->start), end = wt_ns_at(rate, row->end), clock = reader->clock;
    bool early = start < clock; /* threads, and calls inside calls: rows are in the order of their ends */
    uint64_t distance, duration;
    uint64_t gap = code_time(early ? clock - start : start - clock, mantissa, &distance);
    start = early ? clock - distance : clock + distance;
    columns[WT_COL_GAP][i] = (int64_t)(gap << 1 | early);
    columns[WT_COL_ELAPSED][i] = (int64_t)code_time(end > start ? end - start : 0, mantissa, &duration);
    reader->clock = start + duration;
    if (row->count > 1) {
        uint64_t busy = wt_ns_at(rate, row->start + row->busy) - wt_ns_at(rate, row->start);
        columns[WT_COL_BUSY][i] = (int64_t)code_time(busy, mantissa, &duration);
    }
}

static uint8_t *put_keys(uint8_t *at, unsigned n_keys) {
    for (unsigned k = 0; k < n_keys; k++) {
        at = wt_put_varint(at, keys[k].op);
        at = wt_put_varint(at, (uint64_t)(keys[k].file + 1));
        at = wt_put_varint(at, (uint64_t)(keys[k].handle + 1));
        at = wt_put_varint(at, (uint64_t)(keys[k].view + 1));
    }
    return at;
}

size_t wt_group_encode(const struct wt_row *rows, const struct wt_nest *nests, unsigned n, uint64_t base_seq,
                       uint8_t *out) {
    /* Few rows: full precision costs nothing. Many: 1.6 % of each time. */
    const unsigned mantissa = wt_event_times || wt_exact_times ? WT_MANTISSA_EXACT : n < 64 ? 12 : 5;
    const struct wt_rate rate = wt_clock_rate();
    const uint64_t base_ns = wt_ns_at(&rate, rows[0].start);
    struct reader reader = {base_ns, rows[0].tick, rows[0].subtick - 1};
    unsigned n_keys = 0;
    bool single = true, folded = false;
    for (unsigned i = 0; i < n; i++) {
        const struct wt_row *row = &rows[i];
        const bool alone = is_single(row);
        if (single && !alone) {
            single = false;
            place_zeros(0, i);
        }
        unsigned k = key_index(row, &n_keys);
        columns[WT_COL_KEY][i] = k;
        place_columns(row, i, &keys[k], &reader, alone, single);
        place_times(row, i, &reader, mantissa, &rate);
        folded |= row->count > 1 || row->depth > 0;
        if (row->depth > 0) {
            reader.clock += wt_loops_span(row, &nests[i]);
        }
    }
    uint8_t *at = out;
    *at++ = 'G';
    *at++ = (uint8_t)mantissa;
    at = wt_put_varint(at, n);
    at = wt_put_varint(at, n_keys);
    at = put_keys(at, n_keys);
    at = wt_put_varint(at, base_seq);
    at = wt_put_varint(at, rows[0].tick);
    at = wt_put_varint(at, rows[0].subtick);
    at = wt_put_varint(at, base_ns);
    at = put_columns(at, n, single);
    if (!wt_event_times && folded) {
        at = wt_times_encode(rows, nests, n, wt_loops_encode(rows, nests, n, at));
    }
    return (size_t)(at - out);
}
