/* Files mapped into memory: made, synchronised and removed as in the traced run. What the application read
 * and wrote through a mapping is not in the trace, so nothing is touched. */
#ifndef WAVETANK_REPLAY_MAPPINGS_H
#define WAVETANK_REPLAY_MAPPINGS_H

#include "backends/backend.h"

bool wt_mapping_make(const struct file_action *action);

/* Of the file's latest mapping; true where there is none (its mmap failed, as in the traced run). */
bool wt_mapping_sync(const struct file_action *action);
bool wt_mapping_remove(const struct file_action *action);

#endif
