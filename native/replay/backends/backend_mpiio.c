/* The MPI-IO backend: opening and closing, views, and what moves no data. Of a file that MPI opened a plan
 * has the MPI-IO calls alone: the POSIX calls below are the library's own, which it makes again. Types of
 * views are made once, as a loop may set a view in each repetition. */
#include "backends/mpiio.h"
#include "failure.h"
#include "ranks/ranks_mpi.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct plan *the_plan;

/* MPI types of each view of the plan, made when first set. */
static struct view_types {
    MPI_Datatype etype, filetype;
    bool made;
} * view_types;

static void mpiio_start(const struct plan *plan) {
    the_plan = plan;
    wt_mpiio_start_types(plan);
    view_types = wt_must_alloc((size_t)plan->n_views * sizeof *view_types);
}

/* MPI_INFO_NULL where the call had none; given back with free_info. */
static MPI_Info info_of(const struct file_action *a) {
    MPI_Info info = MPI_INFO_NULL;
    if (a->info < 0) {
        return info;
    }
    const struct plan_info *pairs = &the_plan->infos[a->info];
    MPI_Info_create(&info);
    for (int32_t i = 0; i < pairs->n; i++) {
        MPI_Info_set(info, pairs->keys[i], pairs->values[i]);
    }
    return info;
}

static void free_info(MPI_Info *info) {
    if (*info != MPI_INFO_NULL) {
        MPI_Info_free(info);
    }
}

static bool mpiio_open(const struct file_action *a) {
    /* MPI_MODE_* have the same values in Open MPI and MPICH (and in ROMIO, where both have them from). */
    MPI_Comm comm = a->communicator < 0 ? MPI_COMM_SELF : wt_ranks_communicator(a->communicator);
    MPI_File *opened = wt_must_alloc(sizeof *opened);
    MPI_Info info = info_of(a);
    bool done =
        wt_mpiio_succeeded(MPI_File_open(comm, wt_name_of(a)->path, (int)wt_mpi_mode(a), info, opened));
    free_info(&info);
    if (!done) {
        free(opened);
        return false;
    }
    struct open_file *f = a->open;
    f->mpi_file = opened;
    f->communicator = a->communicator;
    f->is_open = true;
    f->readable = !(wt_mpi_mode(a) & MPI_MODE_WRONLY);
    f->writable = !(wt_mpi_mode(a) & MPI_MODE_RDONLY);
    f->append = false;
    f->position = 0;
    return true;
}

static bool mpiio_close(struct open_file *f) {
    f->is_open = false;
    bool closed = wt_mpiio_succeeded(MPI_File_close(f->mpi_file));
    free(f->mpi_file);
    f->mpi_file = NULL;
    return closed;
}

static void make_types(const struct plan_view *view, struct view_types *types) {
    MPI_Type_contiguous((int)view->etype_size, MPI_BYTE, &types->etype);
    MPI_Type_commit(&types->etype);
    types->made = true;
    if (view->visible == 0) { /* a rank that sees nothing: it never moves a byte through this view */
        MPI_Type_dup(types->etype, &types->filetype);
        return;
    }
    types->filetype = wt_mpiio_tile(view, types->etype);
}

static bool mpiio_set_view(const struct file_action *a) {
    struct open_file *f = a->open;
    f->position = 0;
    f->view_index = a->view;
    f->view = a->view < 0 ? NULL : &the_plan->views[a->view];
    MPI_Offset displacement = 0;
    MPI_Datatype etype = MPI_BYTE, filetype = MPI_BYTE;
    if (f->view) {
        struct view_types *types = &view_types[a->view];
        if (!types->made) {
            make_types(f->view, types);
        }
        displacement = (MPI_Offset)f->view->displacement;
        etype = types->etype;
        filetype = types->filetype;
    }
    MPI_Info info = info_of(a);
    bool done = wt_mpiio_succeeded(
        MPI_File_set_view(wt_mpiio_file(f), displacement, etype, filetype, "native", info));
    free_info(&info);
    return done;
}

static bool mpiio_set_info(const struct file_action *a) {
    MPI_Info info = info_of(a), empty = MPI_INFO_NULL;
    if (info == MPI_INFO_NULL) { /* the call wants an object */
        MPI_Info_create(&empty);
    }
    bool done =
        wt_mpiio_succeeded(MPI_File_set_info(wt_mpiio_file(a->open), info == MPI_INFO_NULL ? empty : info));
    free_info(&info);
    free_info(&empty);
    return done;
}

static bool mpiio_act(const struct file_action *a) {
    struct open_file *f = a->open;
    MPI_Offset size;
    switch (a->call) {
    case CALL_M_OPEN:
        return mpiio_open(a);
    case CALL_M_CLOSE:
        return mpiio_close(f);
    case CALL_M_END:
        return wt_mpiio_end_split(f);
    case CALL_M_WAIT:
        return wt_mpiio_complete(f, wt_completes_all(a->call, a->arg));
    case CALL_M_SET_VIEW:
        return mpiio_set_view(a);
    case CALL_M_SET_INFO:
        return mpiio_set_info(a);
    case CALL_M_SEEK:
        f->position = a->offset < 0 ? 0 : a->offset;
        return wt_mpiio_succeeded(
            MPI_File_seek(wt_mpiio_file(f), wt_mpiio_in_etypes(f, f->position), MPI_SEEK_SET));
    case CALL_M_SEEK_SHARED:
        return wt_mpiio_succeeded(MPI_File_seek_shared(
            wt_mpiio_file(f), wt_mpiio_in_etypes(f, a->offset < 0 ? 0 : a->offset), MPI_SEEK_SET));
    case CALL_M_SYNC:
        return wt_mpiio_succeeded(MPI_File_sync(wt_mpiio_file(f)));
    case CALL_M_SET_SIZE:
        return wt_mpiio_succeeded(MPI_File_set_size(wt_mpiio_file(f), (MPI_Offset)wt_new_size(a)));
    case CALL_M_PREALLOCATE:
        return wt_mpiio_succeeded(MPI_File_preallocate(wt_mpiio_file(f), (MPI_Offset)wt_new_size(a)));
    case CALL_M_SET_ATOMICITY:
        return wt_mpiio_succeeded(
            MPI_File_set_atomicity(wt_mpiio_file(f), wt_given(a->call, WT_GIVEN_ATOMIC, a->arg) != 0));
    case CALL_M_GET_SIZE:
        return wt_mpiio_succeeded(MPI_File_get_size(wt_mpiio_file(f), &size));
    case CALL_M_DELETE:
        return wt_mpiio_succeeded(MPI_File_delete(wt_name_of(a)->path, MPI_INFO_NULL));
    default:
        return wt_mpiio_succeeded(MPI_ERR_UNSUPPORTED_OPERATION);
    }
}

/* As a tracer tells it: MPI's codes are those of a library. */
static int mpiio_error(void) {
    return EIO;
}

static void mpiio_end(void) {
    for (int32_t i = 0; i < the_plan->n_views; i++) {
        if (view_types[i].made) {
            MPI_Type_free(&view_types[i].etype);
            MPI_Type_free(&view_types[i].filetype);
        }
    }
    wt_mpiio_free_types();
}

const struct backend wt_backend_mpiio = {"mpiio",         mpiio_start, wt_mpiio_data, mpiio_act,
                                         wt_mpiio_reason, mpiio_error, mpiio_end};
