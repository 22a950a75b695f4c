/* The parts of the MPI-IO backend, each of which calls only those before it: mpiio_calls.c (how calls ended,
 * types), mpiio_nonblocking.c (nonblocking and split collective calls), mpiio_data.c (calls that return when
 * they are done) and backend_mpiio.c (opening, views, what moves no data). */
#ifndef WAVETANK_REPLAY_MPIIO_H
#define WAVETANK_REPLAY_MPIIO_H

#include "backends/backend.h"

#include <mpi.h>

/* Whether an MPI call went well; its code is kept for the reason. */
bool wt_mpiio_succeeded(int code);
const char *wt_mpiio_reason(void);

void wt_mpiio_start_types(const struct plan *plan);

/* The visible runs of a view as a type of its elements, tiles of its extent; committed. */
MPI_Datatype wt_mpiio_tile(const struct plan_view *view, MPI_Datatype etype);

/* A count and type for that many bytes of memory: MPI counts are ints. */
MPI_Datatype wt_mpiio_type_of(const struct open_file *f, int64_t size, int *count);
void wt_mpiio_free_types(void);

static inline MPI_File wt_mpiio_file(const struct open_file *f) {
    return *(MPI_File *)f->mpi_file;
}

static inline MPI_Offset wt_mpiio_in_etypes(const struct open_file *f, int64_t bytes) {
    return (MPI_Offset)(f->view ? bytes / f->view->etype_size : bytes);
}

/* The function of a data call; of one that is completed later, NULL if it is none. */
data_call wt_mpiio_data(enum call call);
data_call wt_mpiio_started(enum call call);

/* Wait for the oldest call under way, or for all of them. */
bool wt_mpiio_complete(struct open_file *f, bool all);
bool wt_mpiio_end_split(struct open_file *f);

#endif
