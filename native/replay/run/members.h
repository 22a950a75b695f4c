/* Files that the application used alike, one at a time, as one file of the plan: its names and prepared bytes
 * are those of the member at hand. docs/reference/kernel.md, "members" and "visits". */
#ifndef WAVETANK_REPLAY_MEMBERS_H
#define WAVETANK_REPLAY_MEMBERS_H

#include "run/perform.h"

/* Turn to the next member of this rank's visits. What was written to the one at hand stays counted. */
void wt_members_next(struct replay *r, const struct plan_file *file);

/* Before a further run: the first visit comes next. */
void wt_members_rewind(struct replay *r);

/* The same, and forget what was written. */
void wt_members_renew(struct replay *r);

/* Call tell for each member that this rank wrote, as the file of the plan with its count in r->unflushed. */
void wt_members_each_written(struct replay *r,
                             void (*tell)(void *to, struct replay *r, struct plan_file *file), void *to);

#endif
