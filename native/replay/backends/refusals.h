/* Calls that failed in the traced run: how they fail again.
 *
 * The storage refuses what it refused before: a name that is not there, one that is there already. What the
 * files of a replay would let pass (permissions, folders, another file system) the system refuses by a filter
 * of this process's own (seccomp), so that the call is made, and its result is the traced one. */
#ifndef WAVETANK_REPLAY_REFUSALS_H
#define WAVETANK_REPLAY_REFUSALS_H

#include "backends/backend.h"

/* Ask the system for the filter, if a step of the plan needs it. */
void wt_refusals_start(const struct plan *plan);

enum refusal {
    BY_STORAGE,    /* make the call as it is */
    BY_THE_FILTER, /* wt_refused_path, wt_refused_data */
    NOT_POSSIBLE   /* it would succeed: leave it out */
};

/* How a POSIX call that moves no data fails with action->error. */
enum refusal wt_refusal_of(const struct file_action *action);

/* The same name, at a place in memory by which the filter knows the error. */
const char *wt_refused_path(const char *path, int32_t error);

/* A data call that fails with an error: -1 and errno; false where it cannot be made to fail. */
bool wt_refused_data(enum call call, const struct open_file *f, int64_t size, int64_t offset, int32_t error,
                     int64_t *moved);

#endif
