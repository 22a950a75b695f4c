/* What passes over strands share. */
#ifndef WT_STRANDS_H
#define WT_STRANDS_H

#include "model.h"

enum {
    WT_CUT = 1,
    WT_RUN = 2,
    WT_SHORT = 4
}; /* marks: a part begins, a run begins, moved less than asked for */

static inline bool wt_similar(int64_t a, int64_t b, double low, double high) {
    return (a == b) | ((a > 0) & (b > 0) & ((double)b >= low * (double)a) & ((double)b <= high * (double)a));
}

/* Rows of strand k, whose operations are laid and marked, from row n on; returns how many there are then. */
int64_t wt_rows_of_strand(const struct wt_table *table, struct wt_strands *strands, int64_t k, int64_t n);

#endif
