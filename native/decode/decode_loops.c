/* Reads the loops and times of a group. The other direction of loop_codes.c. Whether loops lie side by side
 * or inside of each other is checked here, once, for tails too. All that follows goes by it without looking.
 */
#include "decode.h"

#include <string.h>

static bool read_steps(struct wt_input *in, uint16_t *depth, struct wt_nest *nest, uint64_t n, uint32_t rows,
                       uint32_t at) {
    if (*depth == WT_NEST) {
        return false;
    }
    memmove(nest->around + 1, nest->around, *depth * sizeof *nest->around); /* innermost first */
    struct wt_around *around = nest->around;
    (*depth)++;
    around->n = n;
    around->rows = rows;
    around->at = at;
    around->offset = wt_get_signed(in);
    around->view_offset = wt_get_signed(in);
    around->arg = wt_get_signed(in);
    around->tick = wt_get_signed(in);
    around->subtick = wt_get_signed(in);
    around->handle = (int32_t)wt_get_signed(in);
    around->file = (int32_t)wt_get_signed(in);
    around->start = wt_get_signed(in);
    around->end = wt_get_signed(in);
    return !in->bad;
}

bool wt_read_loops(struct wt_input *in, struct wt_folds *folds) {
    uint64_t n_loops = wt_get_varint(in), first = 0;
    if (in->bad || n_loops > (uint64_t)folds->n * WT_NEST) {
        return false;
    }
    for (uint64_t i = 0; i < n_loops; i++) {
        uint64_t gap = wt_get_varint(in), rows = wt_get_varint(in), n = wt_get_varint(in);
        if (in->bad || gap > folds->n || rows == 0 || rows > folds->n || first + gap + rows > folds->n ||
            n < 2 || n > UINT32_MAX) {
            return false;
        }
        first += gap;
        for (uint32_t at = 0; at < rows; at++) {
            if (!read_steps(in, &folds->rows[first + at].depth, &folds->nests[first + at], n, (uint32_t)rows,
                            at)) {
                return false;
            }
        }
    }
    return wt_loops_fit(folds);
}

static bool range_fits(const struct wt_folds *folds, unsigned low, unsigned high, unsigned level) {
    while (low < high) {
        const struct wt_around *loop = wt_loop_at(folds, low, level);
        if (loop == NULL) {
            low++;
            continue;
        }
        if (loop->at != 0 || loop->rows == 0 || loop->rows > high - low || loop->n < 2 ||
            loop->n > UINT32_MAX) {
            return false;
        }
        for (unsigned i = 0; i < loop->rows; i++) {
            const struct wt_around *own = wt_loop_at(folds, low + i, level);
            if (own == NULL || own->at != i || own->rows != loop->rows || own->n != loop->n) {
                return false;
            }
        }
        if (!range_fits(folds, low, low + loop->rows, level + 1)) {
            return false;
        }
        low += loop->rows;
    }
    return true;
}

bool wt_loops_fit(const struct wt_folds *folds) {
    for (unsigned i = 0; i < folds->n; i++) {
        if (folds->rows[i].depth > WT_NEST) {
            return false;
        }
    }
    return range_fits(folds, 0, folds->n, 0);
}

bool wt_read_times(struct wt_input *in, struct wt_folds *folds) {
    uint64_t length = wt_get_varint(in);
    if (in->bad || length > (uint64_t)(in->end - in->at)) {
        return false;
    }
    const uint8_t *end = in->at + length;
    for (unsigned i = 0; i < folds->n; i++) {
        struct wt_nest *nest = &folds->nests[i];
        if (folds->rows[i].count <= 1 && folds->rows[i].depth == 0) {
            continue;
        }
        if (folds->rows[i].depth > 0) {
            folds->rows[i].busy = wt_get_varint(in);
        }
        unsigned first = wt_get_byte(in), n = wt_get_byte(in);
        if (in->bad || first + n > WT_TIMES_BUCKETS) {
            return false;
        }
        for (unsigned b = first; b < first + n; b++) {
            nest->times[b] = (uint32_t)wt_get_varint(in);
        }
    }
    return !in->bad && in->at == end;
}
