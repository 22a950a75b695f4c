/* What a rank is at, in a small file that outlives it: what is said of a rank that was killed. */
#ifndef WAVETANK_REPLAY_WHEREABOUTS_H
#define WAVETANK_REPLAY_WHEREABOUTS_H

#include <stdint.h>

/* As src/wavetank/kernel/whereabouts.py reads it. Offset -1: none. */
struct whereabouts {
    int64_t pid;
    char call[32], file[128]; /* names, cut where they are longer */
    int64_t offset, size;
};

/* In folder/rank-N, mapped; where there is no such folder (a rank on another machine), in memory only. */
struct whereabouts *whereabouts_open(const char *folder, int rank);

void whereabouts_enter(struct whereabouts *w, const char *call, const char *file, int64_t offset,
                       int64_t size);

#endif
