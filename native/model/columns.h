/* Columns as numpy has them, read in place; lists that grow; and what is done when there is no memory. */
#ifndef WAVETANK_MODEL_COLUMNS_H
#define WAVETANK_MODEL_COLUMNS_H

#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>

#define WT_EXPORT __attribute__((visibility("default")))

typedef int64_t i64;

/* Bytes from one row to the next (0: one number for all rows), and of a number: of 1 byte unsigned, of 4 and
 * 8 signed. */
struct column {
    const char *at;
    i64 stride, width;
};
static inline i64 get(const struct column *c, i64 row) {
    const char *at = c->at + row * c->stride;
    return c->width == 8 ? *(const int64_t *)at : c->width == 4 ? *(const int32_t *)at : *(const uint8_t *)at;
}

/* The contracted loop around each row (-1: none), its repetitions that are left out up to the row, and bytes
 * from one repetition to the next. */
struct around {
    struct column loop, left, step;
};
/* Bytes that the repetitions left out between two rows lie apart. */
static inline i64 left_out(const struct around *a, i64 row, i64 other) {
    if (a->loop.stride == 0) {
        return 0;
    }
    i64 loop = get(&a->loop, row);
    if (loop < 0 || loop != get(&a->loop, other)) {
        return 0;
    }
    return (get(&a->left, other) - get(&a->left, row)) * get(&a->step, row);
}

/* Makes room for item n of an array. Without memory it returns to where the passes were called. */
static inline void *grown(void *at, i64 n, i64 *room, size_t size, jmp_buf failed) {
    if (n < *room) {
        return at;
    }
    i64 wanted = *room ? 2 * *room : 256;
    if (wanted <= n) {
        wanted = n + 1;
    }
    void *found = realloc(at, (size_t)wanted * size);
    if (found == NULL) {
        longjmp(failed, 1);
    }
    *room = wanted;
    return found;
}

#endif
