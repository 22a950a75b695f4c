/* What all MPI-IO calls of the backend have in common: how they ended, and types for any number of bytes,
 * with gaps or without. MPI's counts are ints, so that more bytes than these can say need a type. It is kept,
 * as calls that follow each other mostly have one size. */
#include "backends/mpiio.h"
#include "failure.h"

#include <limits.h>
#include <stdlib.h>

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

static const struct plan *the_plan;
static MPI_Datatype *memory_types; /* of each view of the plan, made when first used */

void wt_mpiio_start_types(const struct plan *plan) {
    the_plan = plan;
    memory_types = wt_must_alloc((size_t)plan->n_views * sizeof *memory_types);
    for (int32_t i = 0; i < plan->n_views; i++) {
        memory_types[i] = MPI_DATATYPE_NULL;
    }
}

MPI_Datatype wt_mpiio_tile(const struct plan_view *view, MPI_Datatype etype) {
    int *lengths = wt_must_alloc((size_t)view->n_runs * sizeof(int));
    MPI_Aint *places = wt_must_alloc((size_t)view->n_runs * sizeof(MPI_Aint));
    for (int32_t i = 0; i < view->n_runs; i++) {
        lengths[i] = (int)(view->run_lengths[i] / view->etype_size);
        places[i] = (MPI_Aint)view->run_offsets[i];
    }
    MPI_Datatype runs, tile;
    MPI_Type_create_hindexed(view->n_runs, lengths, places, etype, &runs);
    MPI_Type_create_resized(runs, 0, (MPI_Aint)view->extent, &tile);
    MPI_Type_commit(&tile);
    MPI_Type_free(&runs);
    free(lengths);
    free(places);
    return tile;
}

static MPI_Datatype large_type = MPI_DATATYPE_NULL;
static int64_t large_size;

MPI_Datatype wt_mpiio_type_of(const struct open_file *f, int64_t size, int *count) {
    if (f->memory) {
        MPI_Datatype *type = &memory_types[f->memory - the_plan->views];
        if (*type == MPI_DATATYPE_NULL) {
            *type = wt_mpiio_tile(f->memory, MPI_BYTE);
        }
        *count = (int)(size / f->memory->visible);
        return *type;
    }
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

void wt_mpiio_free_types(void) {
    for (int32_t i = 0; i < the_plan->n_views; i++) {
        if (memory_types[i] != MPI_DATATYPE_NULL) {
            MPI_Type_free(&memory_types[i]);
        }
    }
    if (large_type != MPI_DATATYPE_NULL) {
        MPI_Type_free(&large_type);
    }
}
