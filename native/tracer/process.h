/* What the process runs. */
#ifndef WT_PROCESS_H
#define WT_PROCESS_H

#include "state.h"

#pragma GCC visibility push(hidden) /* what is declared here is in this library: it is reached directly */

extern char wt_arguments[];
extern unsigned wt_argc;
void wt_program_start(void);
bool wt_is_python(void);
bool wt_is_launcher(void);
void wt_program_leave_out(void);

void wt_rank_by_launcher(void); /* said, where the environment knows it */

#pragma GCC visibility pop

#endif
