/* Feeds the decoder mutated payloads and tails. Arguments: a file with a good one, how many mutations, and
 * "rows" or "tail". Built with sanitizers, which end it at the first fault. */
#include "decode.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_BYTES (4 << 20)
#define MOST_ROWS 70000
#define MOST_TIMES 4000

static uint8_t good[MOST_BYTES], tried[MOST_BYTES];
static int64_t wide[18][MOST_ROWS], times[MOST_TIMES][WT_TIMES_BUCKETS + 1];
static int32_t narrow[5][MOST_ROWS];
static uint8_t op[MOST_ROWS];

int main(int argc, char **argv) {
    FILE *file = argc == 4 ? fopen(argv[1], "rb") : NULL;
    if (file == NULL) {
        return 2;
    }
    size_t n = fread(good, 1, sizeof good, file);
    fclose(file);
    bool tail = strcmp(argv[3], "tail") == 0;
    /* Of a tail mostly its head and first rows are changed: the rest is empty. */
    size_t changed = tail && n > 4096 ? 4096 : n;
    struct wt_columns columns = {wide[0],  op,       narrow[0], narrow[1], wide[1],  wide[2],
                                 wide[3],  wide[4],  wide[5],   narrow[2], wide[6],  wide[7],
                                 wide[8],  wide[9],  wide[10],  wide[11],  wide[12], wide[13],
                                 wide[14], wide[15], narrow[3], wide[16],  narrow[4]};
    struct wt_times_columns durations = {wide[17], times[0]};
    long decoded = 0;
    srandom(7);
    for (long i = 0, turns = atol(argv[2]); i < turns; i++) {
        size_t length = i % 3 == 0 && !tail ? (size_t)random() % (n + 1) : n;
        uint8_t *exact = malloc(length ? length : 1); /* the sanitizer sees the first byte past it */
        memcpy(tried, good, n);
        for (long k = random() % 8; k >= 0; k--) {
            tried[(size_t)random() % changed] = (uint8_t)random();
        }
        memcpy(exact, tried, length);
        struct wt_sizes sizes;
        unsigned members = i % 2 ? WT_MOST_MEMBERS : 0;
        int64_t status = tail ? wt_count_tail(exact, length, members, &sizes)
                              : wt_count_rows(exact, length, members, &sizes);
        if (status == 0 && sizes.rows <= MOST_ROWS && sizes.times <= MOST_TIMES) {
            decoded++;
            if (tail) {
                wt_decode_tail(exact, length, members, &columns, &durations, &sizes);
            } else {
                wt_decode_rows(exact, length, members, &columns, &durations, &sizes);
            }
        }
        free(exact);
    }
    return decoded == 0; /* else nothing was tried */
}
