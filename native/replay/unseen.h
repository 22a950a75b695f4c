/* What the replay asks the system for itself, beside the plan: past a tracer, whose rows are the plan's
 * calls. */
#ifndef WAVETANK_REPLAY_UNSEEN_H
#define WAVETANK_REPLAY_UNSEEN_H

#include <stdbool.h>
#include <stdint.h>

/* Bytes of an open file; -1 where it cannot be told. */
int64_t unseen_size(int fd);

/* Whether a file of that name is there. */
bool unseen_exists(const char *path);

#endif
