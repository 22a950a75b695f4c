/* Several runs of one plan by the same ranks, each when it is told to: what the ranks of different jobs do at
 * the same time then starts at the same time. docs/reference/kernel.md describes the lines. */
#ifndef WAVETANK_REPLAY_SESSION_H
#define WAVETANK_REPLAY_SESSION_H

#include "run/perform.h"

/* Perform what rank 0's standard input asks for, until it ends. settings are those of r. */
void wt_session_run(struct replay *r, struct settings *settings);

#endif
