/* MPI-IO data calls that are completed later: nonblocking ones by MPI_Wait, the first halves of split
 * collective ones by their second. A split call has no request: the call that began it is kept with the file,
 * and tells which one ends it. */
#include "backends/mpiio.h"
#include "failure.h"

#include <stdlib.h>
#include <string.h>

_Static_assert(sizeof(MPI_Request) <= sizeof(unsigned long long), "a request fits struct under_way");

static int64_t started(struct open_file *f, int code, MPI_Request request, int64_t size) {
    if (!wt_mpiio_succeeded(code)) {
        return -1;
    }
    if (f->n_under_way > 0) { /* the caller has described the call; only the request is ours */
        memcpy(f->under_way[f->n_under_way - 1].id, &request, sizeof request);
    }
    return size;
}

#define I_AT(function, mpi_call)                                                                             \
    static int64_t function(struct open_file *f, char *buffer, int64_t size, int64_t offset) {               \
        int count;                                                                                           \
        MPI_Request request = MPI_REQUEST_NULL;                                                              \
        MPI_Datatype type = wt_mpiio_type_of(f, size, &count);                                               \
        int code = mpi_call(wt_mpiio_file(f), wt_mpiio_in_etypes(f, offset), buffer, count, type, &request); \
        return started(f, code, request, size);                                                              \
    }
#define I_BY_POINTER(function, mpi_call)                                                                     \
    static int64_t function(struct open_file *f, char *buffer, int64_t size, int64_t offset) {               \
        int count;                                                                                           \
        MPI_Request request = MPI_REQUEST_NULL;                                                              \
        MPI_Datatype type = wt_mpiio_type_of(f, size, &count);                                               \
        (void)offset;                                                                                        \
        int code = mpi_call(wt_mpiio_file(f), buffer, count, type, &request);                                \
        return started(f, code, request, size);                                                              \
    }
#define BEGIN_AT(function, mpi_call)                                                                         \
    static int64_t function(struct open_file *f, char *buffer, int64_t size, int64_t offset) {               \
        int count;                                                                                           \
        MPI_Datatype type = wt_mpiio_type_of(f, size, &count);                                               \
        int code = mpi_call(wt_mpiio_file(f), wt_mpiio_in_etypes(f, offset), buffer, count, type);           \
        return started(f, code, MPI_REQUEST_NULL, size);                                                     \
    }
#define BEGIN_BY_POINTER(function, mpi_call)                                                                 \
    static int64_t function(struct open_file *f, char *buffer, int64_t size, int64_t offset) {               \
        int count;                                                                                           \
        MPI_Datatype type = wt_mpiio_type_of(f, size, &count);                                               \
        (void)offset;                                                                                        \
        int code = mpi_call(wt_mpiio_file(f), buffer, count, type);                                          \
        return started(f, code, MPI_REQUEST_NULL, size);                                                     \
    }

I_AT(iread_at, MPI_File_iread_at)
I_AT(iwrite_at, MPI_File_iwrite_at)
I_AT(iread_at_all, MPI_File_iread_at_all)
I_AT(iwrite_at_all, MPI_File_iwrite_at_all)
I_BY_POINTER(iread_own, MPI_File_iread)
I_BY_POINTER(iwrite_own, MPI_File_iwrite)
I_BY_POINTER(iread_all, MPI_File_iread_all)
I_BY_POINTER(iwrite_all, MPI_File_iwrite_all)
I_BY_POINTER(iread_shared, MPI_File_iread_shared)
I_BY_POINTER(iwrite_shared, MPI_File_iwrite_shared)
BEGIN_AT(read_at_all_begin, MPI_File_read_at_all_begin)
BEGIN_AT(write_at_all_begin, MPI_File_write_at_all_begin)
BEGIN_BY_POINTER(read_all_begin, MPI_File_read_all_begin)
BEGIN_BY_POINTER(write_all_begin, MPI_File_write_all_begin)
BEGIN_BY_POINTER(read_ordered_begin, MPI_File_read_ordered_begin)
BEGIN_BY_POINTER(write_ordered_begin, MPI_File_write_ordered_begin)

bool wt_mpiio_complete(struct open_file *f, bool all) {
    int n = all ? f->n_under_way : 1;
    if (f->n_under_way == 0) {
        return true;
    }
    MPI_Request *requests = wt_must_alloc((size_t)n * sizeof *requests);
    for (int i = 0; i < n; i++) {
        memcpy(&requests[i], f->under_way[i].id, sizeof requests[i]);
    }
    MPI_Status *statuses = wt_must_alloc((size_t)n * sizeof *statuses);
    int code = n == 1 ? MPI_Wait(requests, statuses) : MPI_Waitall(n, requests, statuses);
    free(statuses);
    free(requests);
    f->n_completed = n;
    return wt_mpiio_succeeded(code);
}

bool wt_mpiio_end_split(struct open_file *f) {
    if (f->n_under_way == 0) {
        return true;
    }
    MPI_File file = wt_mpiio_file(f);
    MPI_Status status;
    char *buffer = f->under_way[0].buffer;
    f->n_completed = 1;
    switch (f->under_way[0].call) {
    case CALL_M_READ_AT_ALL_BEGIN:
        return wt_mpiio_succeeded(MPI_File_read_at_all_end(file, buffer, &status));
    case CALL_M_WRITE_AT_ALL_BEGIN:
        return wt_mpiio_succeeded(MPI_File_write_at_all_end(file, buffer, &status));
    case CALL_M_READ_ALL_BEGIN:
        return wt_mpiio_succeeded(MPI_File_read_all_end(file, buffer, &status));
    case CALL_M_WRITE_ALL_BEGIN:
        return wt_mpiio_succeeded(MPI_File_write_all_end(file, buffer, &status));
    case CALL_M_READ_ORDERED_BEGIN:
        return wt_mpiio_succeeded(MPI_File_read_ordered_end(file, buffer, &status));
    default:
        return wt_mpiio_succeeded(MPI_File_write_ordered_end(file, buffer, &status));
    }
}

data_call wt_mpiio_started(enum call call) {
    switch (call) {
    case CALL_M_IREAD:
        return iread_own;
    case CALL_M_IWRITE:
        return iwrite_own;
    case CALL_M_IREAD_AT:
        return iread_at;
    case CALL_M_IWRITE_AT:
        return iwrite_at;
    case CALL_M_IREAD_ALL:
        return iread_all;
    case CALL_M_IWRITE_ALL:
        return iwrite_all;
    case CALL_M_IREAD_AT_ALL:
        return iread_at_all;
    case CALL_M_IWRITE_AT_ALL:
        return iwrite_at_all;
    case CALL_M_IREAD_SHARED:
        return iread_shared;
    case CALL_M_IWRITE_SHARED:
        return iwrite_shared;
    case CALL_M_READ_ALL_BEGIN:
        return read_all_begin;
    case CALL_M_WRITE_ALL_BEGIN:
        return write_all_begin;
    case CALL_M_READ_AT_ALL_BEGIN:
        return read_at_all_begin;
    case CALL_M_WRITE_AT_ALL_BEGIN:
        return write_at_all_begin;
    case CALL_M_READ_ORDERED_BEGIN:
        return read_ordered_begin;
    case CALL_M_WRITE_ORDERED_BEGIN:
        return write_ordered_begin;
    default:
        return NULL;
    }
}
