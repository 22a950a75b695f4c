/* A set of byte ranges of one file. Ranges that touch are one; ranges at a regular distance are kept as such,
 * so that memory grows with what is irregular, not with the operations. */
#ifndef WAVETANK_REPLAY_RANGES_H
#define WAVETANK_REPLAY_RANGES_H

#include <stdbool.h>
#include <stdint.h>

/* count ranges of length bytes, stride bytes from start to start. */
struct band {
    int64_t start, length, stride, count;
};

struct piece {
    int64_t start, end; /* half open */
};

enum { RANGES_RECENT = 64, RANGES_LEVELS = 24, RANGES_MOST_PIECES = 4 << 20, RANGES_MOST_BANDS = 16384 };

struct ranges {
    struct piece recent[RANGES_RECENT]; /* unsorted */
    int32_t n_recent;
    struct level { /* sorted, apart; each about twice as long as the one before */
        struct piece *pieces;
        int64_t n;
    } levels[RANGES_LEVELS];
    struct band *bands; /* of more than one range */
    int32_t n_bands;
    int64_t n_pieces;
    bool lost; /* it had more than RANGES_MOST_PIECES: what it holds is not known any more */
};

void wt_ranges_add(struct ranges *r, struct band band);

/* Whether a byte is in the set; *until: first byte behind it of which that is not known. */
bool wt_ranges_hold(const struct ranges *r, int64_t at, int64_t *until);

bool wt_band_holds(struct band band, int64_t at, int64_t *until);

/* Whether all of a band is certainly in the set. */
bool wt_ranges_hold_all(const struct ranges *r, struct band band);

/* Take away all from a byte on. */
void wt_ranges_cut(struct ranges *r, int64_t size);

void wt_ranges_clear(struct ranges *r);

/* All that is in the set, in any order. */
void wt_ranges_each(const struct ranges *r, void (*tell)(void *to, struct band band), void *to);

#endif
