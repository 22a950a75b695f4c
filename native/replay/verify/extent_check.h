/* How far the ranks reached into files by MPI-IO. Some libraries report no error of a full disk (Open
 * MPI 4.1's collective writes), or all bytes of a read at the end of a file (ROMIO's collective reads): the
 * file is then shorter than what was moved. */
#ifndef WAVETANK_REPLAY_EXTENT_CHECK_H
#define WAVETANK_REPLAY_EXTENT_CHECK_H

#include "backends/backend.h"

void wt_extent_start(const struct plan *plan);

/* A read or write of some bytes at a position (in the view where there is one); a call that cuts, removes or
 * renames a file, of which nothing is known then. */
void wt_extent_note(const struct open_file *file, bool reads, int64_t position, int64_t size);
void wt_extent_forget(const struct file_action *action);

/* After the run, by all ranks: wt_fail() where a file is shorter than that. */
void wt_extent_check(struct open_file *const *open_files, int32_t n);

#endif
