/* Which bodies may have been repeated a third time by the row that came last: a rough look, for fold_loops.c.
 *
 * A row has a key, equal in every repetition, and the lowest bits of its offset, at equal steps. */
#include "record/record.h"

bool wt_may_repeat(const uint32_t *keys, const uint32_t *ends, unsigned n_rows, unsigned body) {
    unsigned z = n_rows - 1, y = z - body, x = y - body;
    return WT_REPETITIONS * body <= n_rows && keys[z] == keys[y] && keys[z] == keys[x] &&
           ends[z] - ends[y] == ends[y] - ends[x];
}

typedef uint32_t four __attribute__((vector_size(16), aligned(4), may_alias));

static inline four four_at(const uint32_t *at) {
    return *(const four *)(const void *)at;
}

/* Every second one of eight. */
static inline four even_at(const uint32_t *at) {
    return __builtin_shuffle(four_at(at), four_at(at + 4), (four){0, 2, 4, 6});
}

static inline uint32_t any_of(four bits) {
    return bits[0] | bits[1] | bits[2] | bits[3];
}

#define LONGEST ((uint32_t)1 << (WT_NEAR - 1))
static const four longest = {LONGEST, LONGEST >> 1, LONGEST >> 2, LONGEST >> 3};

/* All lengths of bodies at once: which of them fit is random with irregular rows, no branch is foreseen. */
uint32_t wt_near_bodies(const uint32_t *keys, const uint32_t *ends, unsigned n_rows) {
    uint32_t found = 0;
    if (n_rows <= 2 * WT_NEAR) {
        for (unsigned body = 1; WT_REPETITIONS * body <= n_rows; body++) {
            found |= (uint32_t)wt_may_repeat(keys, ends, n_rows, body) << (body - 1);
        }
        return found;
    }
    const unsigned top = n_rows - 1, once = top - WT_NEAR, twice = top - 2 * WT_NEAR;
    four bits = longest, same = {0};
    for (unsigned i = 0; i < WT_NEAR; i += 4, bits >>= 4) {
        four y = four_at(&keys[once + i]), x = even_at(&keys[twice + 2 * i]);
        same |= bits & (four)(y == keys[top]) & (four)(x == keys[top]);
    }
    found = any_of(same);
    if (WT_LIKELY(found == 0)) {
        return 0;
    }
    bits = longest;
    same = (four){0};
    for (unsigned i = 0; i < WT_NEAR; i += 4, bits >>= 4) {
        four y = four_at(&ends[once + i]), x = even_at(&ends[twice + 2 * i]);
        same |= bits & (four)(y + y - x == ends[top]);
    }
    return found & any_of(same);
}
