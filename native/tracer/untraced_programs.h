/* Programs that are about to be started, and may not load this library. */
#ifndef WT_UNTRACED_PROGRAMS_H
#define WT_UNTRACED_PROGRAMS_H

#include "state.h"

#pragma GCC visibility push(hidden) /* what is declared here is in this library: it is reached directly */

void wt_note_program(const char *file, char *const env[]);
/* As execveat names them: `name` in `directory`; NULL or "": `directory` is the program. */
void wt_note_program_of(int directory, const char *name, char *const env[]);

#pragma GCC visibility pop

#endif
