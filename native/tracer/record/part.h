/* The process's part and its tail, as files. */
#ifndef WT_PART_H
#define WT_PART_H

#include "record/record.h"

#pragma GCC visibility push(hidden)

bool wt_part_create(void);   /* false: errno says why not */
void wt_part_map_tail(void); /* wt_tail is in a file from now on, where there is room for it */
int wt_part_open(void);      /* to put blocks into it */
bool wt_part_put(int fd, enum wt_block type, const uint8_t *payload, size_t n);
void wt_part_drop_tail(void);

/* The part is as long as it gets. note: the record of why, in the tail; n_missing: operations that are in
 * memory only. Where further ones are counted; NULL: no file keeps a count. */
uint64_t *wt_part_stopped(const uint8_t *note, size_t n, uint64_t n_missing);

void wt_part_reset(void); /* in a child after fork: the parent's tail stays the parent's */

#pragma GCC visibility pop

#endif
