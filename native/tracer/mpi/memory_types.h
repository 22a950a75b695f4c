/* How the memory of MPI-IO calls lies, by their data types. */
#ifndef WT_MEMORY_TYPES_H
#define WT_MEMORY_TYPES_H

#include "mpi/mpi_call.h"

/* Of count items of a type, each of size bytes of data: an enum wt_memory, or WT_MEMORY_VIEW + the number of
 * the view that says where the gaps are. */
int64_t wt_memory_of(int64_t count, MPI_Datatype type, int64_t size);

#endif
