/* Data that goes from one file to another inside of the kernel: copy_file_range and sendfile, each two calls
 * of a plan (the side that is read, then the side that is written); and aio, which is completed at once. */
#ifndef WAVETANK_REPLAY_KERNEL_COPIES_H
#define WAVETANK_REPLAY_KERNEL_COPIES_H

#include "backends/backend.h"

/* Copies go through memory instead, so that each byte can be checked. */
void wt_copies_through_memory(bool yes);

data_call wt_copy_call(enum call call); /* of aio_read and aio_write too */
bool wt_sync_aio(struct open_file *file);

/* Has a copy begun that no written file follows? Then read what it reads: sendfile to a socket, or a copy to
 * a file that the plan does not have. False: it failed; errno says why. */
bool wt_copies_finish(void);
bool wt_copies_waiting(void);

#endif
