/* What the MPI parts of the program share. */
#ifndef WAVETANK_REPLAY_RANKS_MPI_H
#define WAVETANK_REPLAY_RANKS_MPI_H

#include "ranks/ranks.h"

#include <mpi.h>

/* A communicator of the plan; MPI_COMM_NULL on ranks outside of it. */
MPI_Comm wt_ranks_communicator(int index);

#endif
