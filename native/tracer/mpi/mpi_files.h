/* The files that MPI-IO has open, as its calls name them, and the rows of calls on them. */
#ifndef WT_MPI_FILES_H
#define WT_MPI_FILES_H

#include "mpi/mpi_call.h"

#include <sys/stat.h>

struct wt_mpi_file {
    MPI_File key;
    int32_t file, handle, view;
    int64_t displacement, etype_size;
    int64_t pointer;         /* the individual pointer by our own count, bytes of the view; WT_UNKNOWN */
    struct wt_pending split; /* the split collective call under way, of which a file has one at most */
    bool used;               /* now or before: the search goes on behind it */
};

struct wt_mpi_file *wt_mpi_file_find(MPI_File key); /* NULL: not open, or left out */
struct wt_mpi_file *wt_mpi_file_enter(MPI_File key);
int32_t wt_mpi_file_number(const char *name, const struct stat *before, bool existed);
const char *wt_mpi_file_name(const char *name); /* without the driver: "ufs:/path" */

/* A row of a call that moves no data. A NULL file leaves none. */
void wt_mpi_file_record(uint32_t op, const struct wt_mpi_file *file, const struct wt_call *call, int status,
                        int64_t offset, int64_t arg);

/* mpiio_data.c: the individual pointer, bytes of the view; UNKNOWN where MPI does not say */
int64_t wt_mpi_pointer(const struct wt_mpi_file *file);

/* mpi_hints.c: the hints of an MPI_Info, under the file; the number of their set, UNKNOWN: none */
int64_t wt_mpi_hints_given(const struct wt_mpi_file *file, MPI_Info info, enum wt_hints when);
void wt_mpi_hints_in_force(const struct wt_mpi_file *file);

#endif
