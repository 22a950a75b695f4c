/* What a rank is at: kept in memory that its watching process shares (watchdog.c), so that it can be said of
 * a rank that was killed or makes no progress. */
#ifndef WAVETANK_REPLAY_RANK_STATUS_H
#define WAVETANK_REPLAY_RANK_STATUS_H

#include <stdint.h>

enum rank_state {
    RANK_STARTS,
    RANK_WORKS,  /* in a call; a collective one may wait for other ranks too */
    RANK_WAITS,  /* for other ranks, and does nothing else */
    RANK_PAUSES, /* as the application did, or until it is told to go on */
    RANK_TELLS,  /* prints its result */
    RANK_ENDED,  /* has nothing more to do, or has said itself why it failed */
};

struct rank_status {
    int64_t done;             /* operations and steps: changes as long as the rank gets on */
    int64_t offset, size;     /* bytes; -1: none */
    int64_t step, steps;      /* of the rank's program, from 1; 0: none yet */
    int32_t rank, state;      /* rank -1: not known yet */
    char call[32], file[128]; /* names, cut where they are longer */
};

/* This process's; never NULL. */
extern struct rank_status *wt_status;

void wt_status_enter(enum rank_state state, const char *call, const char *file, int64_t offset, int64_t size);

#endif
