/* What all MPI-IO calls of the backend have in common: how they ended, and a type for any number of bytes. */
#include "backends/mpiio.h"

#include <limits.h>

static int last_error;

bool wt_mpiio_succeeded(int code) {
    if (code == MPI_SUCCESS) {
        return true;
    }
    last_error = code;
    return false;
}

const char *wt_mpiio_reason(void) {
    static char text[MPI_MAX_ERROR_STRING];
    int length;
    MPI_Error_string(last_error, text, &length);
    for (char *c = text; *c; c++) { /* MPICH's have several lines */
        if (*c == '\n') {
            *c = ' ';
        }
    }
    return text;
}

static MPI_Datatype large_type = MPI_DATATYPE_NULL;
static int64_t large_size;

MPI_Datatype wt_mpiio_type_of(int64_t size, int *count) {
    if (size <= INT_MAX) {
        *count = (int)size;
        return MPI_BYTE;
    }
    if (large_size != size) {
        const int64_t block = 1 << 20;
        MPI_Datatype blocks, of[2] = {MPI_DATATYPE_NULL, MPI_BYTE};
        MPI_Type_contiguous((int)block, MPI_BYTE, &blocks);
        of[0] = blocks;
        if (large_type != MPI_DATATYPE_NULL) {
            MPI_Type_free(&large_type);
        }
        MPI_Type_create_struct(2, (int[]){(int)(size / block), (int)(size % block)},
                               (MPI_Aint[]){0, (MPI_Aint)(size / block * block)}, of, &large_type);
        MPI_Type_commit(&large_type);
        MPI_Type_free(&blocks);
        large_size = size;
    }
    *count = 1;
    return large_type;
}

void wt_mpiio_free_type(void) {
    if (large_type != MPI_DATATYPE_NULL) {
        MPI_Type_free(&large_type);
    }
}
