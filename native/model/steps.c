/* Lists of any length, looked at once, and turns that they take. Operations that take turns lie apart as
 * substreams, and the order alone tells which one follows which. So they are counted where they lie: to lay
 * them in turn again would copy all of them. */
#include "model.h"

static uint32_t number_at(const void *order, int64_t i, int width) {
    return width == 1 ? ((const uint8_t *)order)[i] : ((const uint32_t *)order)[i];
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
        if (list < 0) {
            continue;
        }
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
