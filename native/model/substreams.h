/* What passes over substreams share. */
#ifndef WT_SUBSTREAMS_H
#define WT_SUBSTREAMS_H

#include "model.h"

#include <string.h>

enum {
    WT_CUT = 1,
    WT_RUN = 2,
    WT_SHORT = 4
}; /* marks: a part begins, a run begins, moved less than asked for */

static inline bool wt_similar(int64_t a, int64_t b, double low, double high) {
    return (a == b) | ((a > 0) & (b > 0) & ((double)b >= low * (double)a) & ((double)b <= high * (double)a));
}

/* Whether an order of n codes, each of `width` bytes, repeats a pattern for long at one of the places that
 * are probed. */
static inline bool wt_has_pattern(const void *codes, size_t width, int64_t n,
                                  const struct wt_limits *limits) {
    const char *code = codes;
    for (int64_t place = 0; place < n - 2 * limits->head; place += limits->probe) {
        const char *at = code + (size_t)place * width;
        for (int64_t period = 1; period <= limits->period && place + period + limits->head <= n; period++) {
            const char *later = at + (size_t)period * width;
            if (memcmp(at, later, width) != 0 || memcmp(at, later, (size_t)limits->head * width) != 0) {
                continue;
            }
            int64_t rest = n - place < limits->order ? n - place : limits->order;
            if (rest >= limits->order / 2 && rest > period &&
                memcmp(later, at, (size_t)(rest - period) * width) == 0) {
                return true;
            }
            break;
        }
    }
    return false;
}

/* Rows of substream k, whose operations are laid and marked, from row n on; returns how many there are then.
 */
int64_t wt_rows_of_substream(const struct wt_table *table, struct wt_substreams *substreams, int64_t k,
                             int64_t n);

/* Whether an order holds loops: those of up to 64 members that are longer than two strides are seen, and some
 * that are none. */
bool wt_holds_loops(const uint8_t *order, int64_t n);

/* Whether the operations of each file, `counts` of each substream, still have no repeating order. */
bool wt_files_irregular(const uint8_t *order, int64_t n, const int64_t *counts,
                        const struct wt_unfinished *unfinished);

#endif
