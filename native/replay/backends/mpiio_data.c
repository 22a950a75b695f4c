/* MPI-IO data calls that return when they are done. Each is one function, found once a phase, so that no call
 * is looked up in the loop whose speed matters. */
#include "backends/mpiio.h"

static int64_t moved_by(int code, MPI_Status *status, MPI_Datatype type, int64_t size) {
    if (!wt_mpiio_succeeded(code)) {
        return -1;
    }
    MPI_Count moved;
    MPI_Get_elements_x(status, type, &moved);
    /* Undefined where an MPI library does not count (some collective calls): it reported no error. */
    return moved == MPI_UNDEFINED ? size : (int64_t)moved;
}

#define AT(function, mpi_call)                                                                               \
    static int64_t function(struct open_file *f, char *buffer, int64_t size, int64_t offset) {               \
        int count;                                                                                           \
        MPI_Status status;                                                                                   \
        MPI_Datatype type = wt_mpiio_type_of(f, size, &count);                                               \
        int code = mpi_call(wt_mpiio_file(f), wt_mpiio_in_etypes(f, offset), buffer, count, type, &status);  \
        return moved_by(code, &status, type, size);                                                          \
    }
#define BY_POINTER(function, mpi_call)                                                                       \
    static int64_t function(struct open_file *f, char *buffer, int64_t size, int64_t offset) {               \
        int count;                                                                                           \
        MPI_Status status;                                                                                   \
        MPI_Datatype type = wt_mpiio_type_of(f, size, &count);                                               \
        (void)offset;                                                                                        \
        int code = mpi_call(wt_mpiio_file(f), buffer, count, type, &status);                                 \
        return moved_by(code, &status, type, size);                                                          \
    }

AT(read_at, MPI_File_read_at)
AT(write_at, MPI_File_write_at)
AT(read_at_all, MPI_File_read_at_all)
AT(write_at_all, MPI_File_write_at_all)
BY_POINTER(read_own, MPI_File_read)
BY_POINTER(write_own, MPI_File_write)
BY_POINTER(read_all, MPI_File_read_all)
BY_POINTER(write_all, MPI_File_write_all)
BY_POINTER(read_shared, MPI_File_read_shared)
BY_POINTER(write_shared, MPI_File_write_shared)
BY_POINTER(read_ordered, MPI_File_read_ordered)
BY_POINTER(write_ordered, MPI_File_write_ordered)

data_call wt_mpiio_data(enum call call) {
    switch (call) {
    case CALL_M_READ:
        return read_own;
    case CALL_M_WRITE:
        return write_own;
    case CALL_M_READ_ALL:
        return read_all;
    case CALL_M_WRITE_ALL:
        return write_all;
    case CALL_M_READ_AT:
        return read_at;
    case CALL_M_WRITE_AT:
        return write_at;
    case CALL_M_READ_AT_ALL:
        return read_at_all;
    case CALL_M_WRITE_AT_ALL:
        return write_at_all;
    case CALL_M_READ_SHARED:
        return read_shared;
    case CALL_M_WRITE_SHARED:
        return write_shared;
    case CALL_M_READ_ORDERED:
        return read_ordered;
    default: {
        data_call started = wt_mpiio_started(call);
        return started ? started : write_ordered;
    }
    }
}
