/* What is not recorded, so that it can be said. */
#ifndef WT_UNTRACED_H
#define WT_UNTRACED_H

#include "state.h"

#pragma GCC visibility push(hidden) /* what is declared here is in this library: it is reached directly */

void wt_unseen_start(void);
void wt_bypass_start(void);
void wt_note_unseen(void); /* under the lock, at the end of the process */

#pragma GCC visibility pop

#endif
