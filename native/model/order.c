/* Orders: numbers of one to eight bytes, one for each operation, looked at once. They stay as narrow as they
 * come, mostly one byte, since an irregular order has a number for each operation up to the model. Passes are
 * compiled for each of the usual widths, so that their loops do not ask for it. */
#define _GNU_SOURCE /* memmem */
#include "model.h"

#include <string.h>

#define ALWAYS_INLINE static inline __attribute__((always_inline))

ALWAYS_INLINE uint32_t number_at(const void *order, int64_t i, int width) {
    return width == 1   ? ((const uint8_t *)order)[i]
           : width == 2 ? ((const uint16_t *)order)[i]
           : width == 4 ? ((const uint32_t *)order)[i]
                        : (uint32_t)((const uint64_t *)order)[i];
}

ALWAYS_INLINE void put_number(void *order, int64_t i, int width, uint32_t number) {
    if (width == 1) {
        ((uint8_t *)order)[i] = (uint8_t)number;
    } else if (width == 2) {
        ((uint16_t *)order)[i] = (uint16_t)number;
    } else {
        ((uint32_t *)order)[i] = number;
    }
}

/* Calls `pass` with its widths as constants, so that each is compiled on its own. */
#define OF_WIDTHS(pass, in, out, ...)                                                                        \
    switch ((in)*16 + (out)) {                                                                               \
    case 0x11:                                                                                               \
        return pass(1, 1, __VA_ARGS__);                                                                      \
    case 0x12:                                                                                               \
        return pass(1, 2, __VA_ARGS__);                                                                      \
    case 0x14:                                                                                               \
        return pass(1, 4, __VA_ARGS__);                                                                      \
    default:                                                                                                 \
        return pass((in), (out), __VA_ARGS__);                                                               \
    }

/* --- steps --- */

/* A number for `count` operations of one symbol, a new one if there is none; or WT_NO_ROOM. */
static int64_t number_of(struct wt_steps *s, uint32_t symbol, int64_t count) {
    uint64_t mask = (uint64_t)s->n_slots - 1;
    uint64_t key = ((uint64_t)symbol << 32) |
                   (uint64_t)count; /* counts are below 2^32: so are rows of an interleaving */
    uint64_t slot = (key * 0x9E3779B97F4A7C15u >> 24) & mask;
    while (s->slots[slot] && s->slots[slot] != key) {
        slot = (slot + 1) & mask;
    }
    if (!s->slots[slot]) {
        if (s->n_different >= s->n_slots / 2) {
            return WT_NO_ROOM;
        }
        s->slots[slot] = key;
        s->number[slot] = (int32_t)(s->base + s->n_different);
        s->symbol[s->n_different] = symbol;
        s->times[s->n_different++] = count;
    }
    if (count < WT_FEW) {
        s->few[count * s->n_symbols + symbol] = s->number[slot] + 1;
    }
    return s->number[slot];
}

static int64_t most_of(int width) {
    return width == 4 ? INT32_MAX : (INT64_C(1) << (8 * width)) - 1;
}

/* Where every number has a symbol: a step is written at each operation and counts where the symbol changes,
 * so that there is nothing to foretell. */
ALWAYS_INLINE int64_t join_all(int in, int out, const void *order, int64_t n, struct wt_steps *s) {
    const uint32_t *restrict symbol_of = s->symbol_of;
    const int64_t n_symbols = s->n_symbols, most = most_of(out);
    int64_t made = 0, begin = 0;
    uint32_t before = symbol_of[number_at(order, 0, in)];
    for (int64_t i = 1; i <= n; i++) {
        uint32_t next = i < n ? symbol_of[number_at(order, i, in)] : 0;
        bool ends = next != before;
        int64_t count = i - begin;
        int64_t number = s->few[(count < WT_FEW ? count : 0) * n_symbols + before] - 1;
        if (ends && number < 0) {
            number = number_of(s, before, count);
            if (number < 0) {
                return WT_NO_ROOM;
            }
            if (number > most) {
                return WT_TOO_NARROW;
            }
        }
        put_number(s->steps, made, out, (uint32_t)number);
        made += ends;
        begin = ends ? i : begin;
        before = next;
    }
    return made;
}

ALWAYS_INLINE int64_t join_some(int in, int out, const void *order, int64_t n, struct wt_steps *s) {
    int64_t made = 0, most = most_of(out);
    for (int64_t i = 0; i < n;) {
        uint32_t what = s->symbol_of[number_at(order, i, in)];
        int64_t count = 0;
        if (!what) {
            i++;
            continue;
        }
        for (; i < n; i++) {
            uint32_t next = s->symbol_of[number_at(order, i, in)];
            if (next && next != what) {
                break;
            }
            count += next != 0;
        }
        int64_t number = number_of(s, what, count);
        if (number < 0) {
            return WT_NO_ROOM;
        }
        if (number > most) {
            return WT_TOO_NARROW;
        }
        put_number(s->steps, made++, out, (uint32_t)number);
    }
    return made;
}

int64_t wt_join_steps(const void *order, int64_t n, int width, bool all, struct wt_steps *steps) {
    steps->n_different = 0;
    if (!n) {
        return 0;
    }
    if (!all) {
        OF_WIDTHS(join_some, width, steps->width, order, n, steps)
    }
    OF_WIDTHS(join_all, width, steps->width, order, n, steps)
}

/* --- substreams of several symbols --- */

ALWAYS_INLINE int64_t lay_symbols(int in, int out, const void *order, int64_t n, const uint32_t *symbol,
                                  const int64_t *length, int64_t *run, int64_t *left, void *to) {
    for (int64_t i = 0; i < n; i++) {
        uint32_t substream = number_at(order, i, in);
        while (left[substream] == 0) {
            left[substream] = length[++run[substream]];
        }
        left[substream]--;
        put_number(to, i, out, symbol[run[substream]]);
    }
    return n;
}

int64_t wt_lay_symbols(const void *order, int64_t n, int width, const uint32_t *symbol, const int64_t *length,
                       int64_t *run, int64_t *left, void *to, int to_width){
    OF_WIDTHS(lay_symbols, width, to_width, order, n, symbol, length, run, left, to)}

/* --- numbers --- */

int64_t wt_find(const void *numbers, int64_t low, int64_t high, int width, int64_t at, int64_t n) {
    const char *text = numbers, *head = text + at * width, *end = text + high * width;
    for (const char *from = text + low * width; from < end;) {
        const char *found = memmem(from, (size_t)(end - from), head, (size_t)(n * width));
        if (!found) {
            return -1;
        }
        if ((found - text) % width == 0) {
            return (found - text) / width;
        }
        from = found + 1;
    }
    return -1;
}

ALWAYS_INLINE int64_t translate(int in, int out, const void *numbers, int64_t n, const uint32_t *to,
                                void *result) {
    for (int64_t i = 0; i < n; i++) {
        put_number(result, i, out, to[number_at(numbers, i, in)]);
    }
    return n;
}

int64_t wt_translate(const void *numbers, int64_t n, int width, const uint32_t *to, void *result,
                     int result_width) {
    OF_WIDTHS(translate, width, result_width, numbers, n, to, result)
}

enum { TALLIES = 4 }; /* neighbours are often the same: one sum would wait for the one before it */

void wt_tally(const void *numbers, int64_t n, int width, int64_t *counts, int64_t n_counts) {
    if (width != 1) {
        for (int64_t i = 0; i < n; i++) {
            counts[number_at(numbers, i, width)]++;
        }
        return;
    }
    uint32_t part[TALLIES][256];
    const uint8_t *bytes = numbers;
    for (int64_t low = 0; low < n; low += INT64_C(1) << 30) {
        int64_t high = n - low < INT64_C(1) << 30 ? n : low + (INT64_C(1) << 30), i = low;
        memset(part, 0, sizeof part);
        for (; i + TALLIES <= high; i += TALLIES) {
            for (int k = 0; k < TALLIES; k++) {
                part[k][bytes[i + k]]++;
            }
        }
        for (; i < high; i++) {
            part[0][bytes[i]]++;
        }
        for (int64_t number = 0; number < 256 && number < n_counts; number++) {
            for (int k = 0; k < TALLIES; k++) {
                counts[number] += part[k][number];
            }
        }
    }
}

int64_t wt_first_come(const void *numbers, int64_t n, int width, uint8_t *seen, int64_t n_different,
                      int64_t *different) {
    int64_t found = 0;
    for (int64_t i = 0; i < n && found < n_different; i++) {
        uint32_t number = number_at(numbers, i, width);
        if (!seen[number]) {
            seen[number] = 1;
            different[found++] = number;
        }
    }
    return found;
}
