/* Which clock CLOCK_MONOTONIC is: one for each boot of a machine and time namespace. */
#ifndef WAVETANK_REPLAY_CLOCK_H
#define WAVETANK_REPLAY_CLOCK_H

#include <stdbool.h>

enum { CLOCK_NAME = 96 };

/* Processes with equal names read the same clock. False, and an empty name, where that is not known.
 * src/wavetank/kernel/session.py makes the same name. */
bool clock_name(char name[CLOCK_NAME]);

#endif
