/* What this rank wrote and no call has brought to storage since: counted, and flushed at the end of a run. */
#ifndef WAVETANK_REPLAY_FLUSH_H
#define WAVETANK_REPLAY_FLUSH_H

#include "run/perform.h"

/* Count what is written by an open of a file from now on; nothing where each write waits for storage. */
void wt_flush_follow(struct replay *r, struct open_file *f);

/* A call that moves no data was made: one that flushes ends the count. */
void wt_flush_acted(struct replay *r, const struct file_action *action);

/* A write, or a collective one by which another rank's bytes may have been written here, is about to be made.
 */
static inline void wt_flush_expect(struct replay *r, const struct open_file *f) {
    if (!f->synchronous) {
        r->unflushed[f->file - r->plan->files].waits = true;
    }
}

/* Bring all of it to storage: by calls that a tracer does not see, so that the trace of a replay is the
 * plan's. What cannot be flushed (a pipe, a file without permission) stays counted; an error of the storage
 * ends the run. */
void wt_flush_all(struct replay *r);

/* Bytes that are counted still, of each file no more than it has: what is removed or cut off is not missed.
 * The system may have written them back by itself. */
int64_t wt_flush_left(struct replay *r);

#endif
