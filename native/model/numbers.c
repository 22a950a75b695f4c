/* Numbers equal rows of a table, in the order in which they first come. */
#include "columns.h"

#include <stdbool.h>

static bool same(const int64_t *table, int64_t n_columns, int64_t n, int64_t a, int64_t b) {
    for (int64_t c = 0; c < n_columns; c++) {
        if (table[c * n + a] != table[c * n + b]) {
            return false;
        }
    }
    return true;
}
static uint64_t hash(const int64_t *table, int64_t n_columns, int64_t n, int64_t row) {
    uint64_t h = 0;
    for (int64_t c = 0; c < n_columns; c++) {
        h = (h ^ (uint64_t)table[c * n + row]) * 0x9e3779b97f4a7c15u;
        h ^= h >> 29;
    }
    return h >> 20;
}

/* Columns of n rows, one after another; into `out` the number of each row, and behind them the first row of
 * each number. How many numbers; -1 without memory. */
WT_EXPORT int64_t wt_numbered(const int64_t *rows, int64_t n_columns, int64_t n, int64_t *out) {
    int64_t *number = out, *first = out + n;
    uint64_t room = 16;
    while (room < 2 * (uint64_t)n && room < 1u << 12) {
        room *= 2;
    }
    int64_t *table = calloc(room, sizeof *table), found = 0;
    for (int64_t i = 0; table && i < n; i++) {
        if (i && same(rows, n_columns, n, i, i - 1)) {
            number[i] = number[i - 1];
            continue;
        }
        if (2 * (uint64_t)found >= room) {
            free(table);
            room *= 4;
            table = calloc(room, sizeof *table);
            for (int64_t k = 0; table && k < found; k++) {
                uint64_t at = hash(rows, n_columns, n, first[k]) & (room - 1);
                while (table[at]) {
                    at = (at + 1) & (room - 1);
                }
                table[at] = k + 1;
            }
            if (!table) {
                break;
            }
        }
        uint64_t at = hash(rows, n_columns, n, i) & (room - 1);
        while (table[at] && !same(rows, n_columns, n, first[table[at] - 1], i)) {
            at = (at + 1) & (room - 1);
        }
        if (!table[at]) {
            table[at] = found + 1;
            first[found++] = i;
        }
        number[i] = table[at] - 1;
    }
    bool whole = table != NULL;
    free(table);
    return whole ? found : -1;
}
