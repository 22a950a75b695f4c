/* MPI data types as runs of bytes. */
#ifndef WT_DATATYPES_H
#define WT_DATATYPES_H

#include "mpi/mpi_call.h"

struct wt_run {
    int64_t offset, length, before; /* before: visible bytes of the tile in front of it */
};
extern struct wt_run *wt_type_runs; /* of all types that are kept, one after another */
extern uint32_t wt_n_type_runs;

void wt_types_start(void); /* before the others */
int wt_type_size(MPI_Datatype type);
MPI_Aint wt_type_extent(MPI_Datatype type);
bool wt_type_is_predefined(MPI_Datatype type); /* by MPI itself */
/* Append the runs of one item of the type; false: too many, or a type that is not understood. */
bool wt_type_decode(MPI_Datatype type);

#endif
