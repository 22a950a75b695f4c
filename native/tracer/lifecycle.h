/* The life of the traced process. */
#ifndef WT_LIFECYCLE_H
#define WT_LIFECYCLE_H

#include "state.h"

#pragma GCC visibility push(hidden) /* what is declared here is in this library: it is reached directly */

void wt_finish(enum wt_end reason);

#pragma GCC visibility pop

#endif
