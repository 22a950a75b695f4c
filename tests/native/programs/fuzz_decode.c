/* Feeds the decoder mutated payloads. Arguments: a file with a good payload, how many mutations. Built with
 * sanitizers, which end it at the first fault. */
#include "decode.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_BYTES (1 << 20)
#define MOST_ROWS 70000

static uint8_t good[MOST_BYTES], tried[MOST_BYTES];
static int64_t wide[17][MOST_ROWS];
static int32_t narrow[4][MOST_ROWS];
static uint8_t op[MOST_ROWS];

int main(int argc, char **argv) {
    FILE *file = argc == 3 ? fopen(argv[1], "rb") : NULL;
    if (file == NULL) {
        return 2;
    }
    size_t n = fread(good, 1, sizeof good, file);
    fclose(file);
    struct wt_columns columns = {wide[0],  op,       narrow[0], narrow[1], wide[1],  wide[2],  wide[3],
                                 wide[4],  wide[5],  narrow[2], wide[6],   wide[7],  wide[8],  wide[9],
                                 wide[10], wide[11], wide[12],  wide[13],  wide[14], wide[15], narrow[3]};
    srandom(7);
    for (long i = 0, turns = atol(argv[2]); i < turns; i++) {
        size_t length = i % 3 == 0 ? (size_t)random() % (n + 1) : n;
        uint8_t *exact = malloc(length ? length : 1); /* the sanitizer sees the first byte past it */
        memcpy(tried, good, n);
        for (long k = random() % 8; k >= 0; k--) {
            tried[(size_t)random() % n] = (uint8_t)random();
        }
        memcpy(exact, tried, length);
        int64_t rows = wt_count_rows(exact, length);
        if (rows >= 0 && rows <= MOST_ROWS) {
            wt_decode_rows(exact, length, &columns, rows);
        }
        free(exact);
    }
    return 0;
}
