/* What ranks tell each other of the bytes of files (verify_state.c). */
#ifndef WAVETANK_REPLAY_WRITE_LOG_H
#define WAVETANK_REPLAY_WRITE_LOG_H

#include "plan/plan.h"
#include "plan/ranges.h"

enum note_kind {
    NOTE_WROTE, /* band was written, and is the pattern */
    NOTE_MAY,   /* band is written at some moment of the run */
    NOTE_CUTS,  /* band.count calls of the run empty, cut or replace the file; band.start: least size; length:
                 * 1 where  another file may have its name then */
    NOTE_CUT,   /* band.count of them are done */
    NOTE_APPENDS,  /* opened to write where it ends */
    NOTE_ANYWHERE, /* written where a shared pointer is */
};

struct note {
    int32_t kind, file, rank; /* file: index; rank -1: any */
    struct band band;
};

struct notes {
    struct note *notes;
    int64_t n, room;
};

void wt_log_add(struct notes *notes, struct note note);

/* All that this rank's part of the plan does to the bytes of files, in any order. */
void wt_log_of_plan(const struct plan *plan, int rank, struct notes *notes);

/* Whether a call, done well, empties, cuts or replaces a file. *which: index of the file; *size: of what is
 * left. */
bool wt_cuts_file(enum call call, int32_t file, int32_t other, int64_t arg, int32_t *which, int64_t *size);

#endif
