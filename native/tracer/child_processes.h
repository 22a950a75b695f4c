/* Where other processes begin and end among the rows. */
#ifndef WT_CHILD_PROCESSES_H
#define WT_CHILD_PROCESSES_H

#include "state.h"

#pragma GCC visibility push(hidden) /* what is declared here is in this library: it is reached directly */

void wt_child_starts(void);       /* before fork */
void wt_vfork_child_starts(void); /* in the child, before exec */
void wt_children_reset(void);     /* in a child after fork */

#pragma GCC visibility pop

#endif
