/* Columns of any length, looked at once. */
#include "model.h"

static uint32_t number_at(const void *order, int64_t i, int width) {
    return width == 1 ? ((const uint8_t *)order)[i] : ((const uint32_t *)order)[i];
}

int64_t wt_join_steps(const void *order, int64_t n, int width, const uint32_t *symbol_of, int32_t *steps,
                      uint64_t *slots, int32_t *number, int64_t n_slots, int64_t *symbol, int64_t *times,
                      int64_t *n_different) {
    int64_t made = 0, different = 0;
    uint64_t mask = (uint64_t)n_slots - 1;
    for (int64_t i = 0; i < n;) {
        uint32_t what = symbol_of[number_at(order, i, width)];
        int64_t count = 0;
        if (!what) {
            i++;
            continue;
        }
        for (; i < n; i++) {
            uint32_t next = symbol_of[number_at(order, i, width)];
            if (next && next != what)
                break;
            count += next != 0;
        }
        uint64_t key = ((uint64_t)what << 32) |
                       (uint64_t)count; /* counts are below 2^32: so are rows of a chunk's weave */
        uint64_t slot = (key * 0x9E3779B97F4A7C15u >> 24) & mask;
        while (slots[slot] && slots[slot] != key)
            slot = (slot + 1) & mask;
        if (!slots[slot]) {
            if (different >= n_slots / 2)
                return -1;
            slots[slot] = key;
            number[slot] = (int32_t)different;
            symbol[different] = what;
            times[different++] = count;
        }
        steps[made++] = number[slot];
    }
    *n_different = different;
    return made;
}

void wt_sequential(const int64_t *offset, const int64_t *sizes, int64_t size, int64_t n, int64_t *counts) {
    int64_t behind = 0, right = 0;
    if (sizes) {
        for (int64_t i = 1; i < n; i++) {
            int64_t gap = offset[i] - offset[i - 1] - sizes[i - 1];
            behind += gap >= 0;
            right += gap == 0;
        }
    } else {
        for (int64_t i = 1; i < n; i++) {
            int64_t gap = offset[i] - offset[i - 1] - size;
            behind += gap >= 0;
            right += gap == 0;
        }
    }
    counts[0] += behind;
    counts[1] += right;
}

void wt_sequential_turns(const void *order, int64_t n, int width, struct wt_turns *turns) {
    for (int64_t i = 0; i < n; i++) {
        int32_t list = turns->list_of[number_at(order, i, width)];
        if (list < 0)
            continue;
        int64_t place = turns->next[list]++;
        int64_t offset = turns->offset[list][place];
        int64_t *end = &turns->ends[turns->direction[list]];
        turns->counts[2 * list] += offset >= *end;
        turns->counts[2 * list + 1] += offset == *end;
        *end = offset + (turns->sizes[list] ? turns->sizes[list][place] : turns->size[list]);
    }
}

int64_t wt_highest(const int64_t *offset, const int64_t *sizes, int64_t size, int64_t n) {
    int64_t most = 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t end = offset[i] + (sizes ? sizes[i] : size);
        most = end > most ? end : most;
    }
    return most;
}
