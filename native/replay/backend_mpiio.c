#include "backend.h"
#include "failure.h"
#include "ranks_mpi.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int last_error;
static const struct plan *the_plan;

/* MPI types of each view of the plan, made when first set. */
static struct view_types {
    MPI_Datatype etype, filetype;
    bool made;
} * view_types;

static void mpiio_start(const struct plan *plan) {
    the_plan = plan;
    view_types = must_alloc((size_t)plan->n_views * sizeof *view_types);
}

static bool succeeded(int code) {
    if (code == MPI_SUCCESS)
        return true;
    last_error = code;
    return false;
}

static MPI_Datatype large_type = MPI_DATATYPE_NULL;
static int64_t large_size;

/* A count and type for that many bytes: MPI counts are ints. */
static MPI_Datatype type_of(int64_t size, int *count) {
    if (size <= INT_MAX) {
        *count = (int)size;
        return MPI_BYTE;
    }
    if (large_size != size) {
        const int64_t block = 1 << 20;
        MPI_Datatype blocks, of[2] = {MPI_DATATYPE_NULL, MPI_BYTE};
        MPI_Type_contiguous((int)block, MPI_BYTE, &blocks);
        of[0] = blocks;
        if (large_type != MPI_DATATYPE_NULL)
            MPI_Type_free(&large_type);
        MPI_Type_create_struct(2, (int[]){(int)(size / block), (int)(size % block)},
                               (MPI_Aint[]){0, (MPI_Aint)(size / block * block)}, of, &large_type);
        MPI_Type_commit(&large_type);
        MPI_Type_free(&blocks);
        large_size = size;
    }
    *count = 1;
    return large_type;
}

static int64_t moved_by(int code, MPI_Status *status, MPI_Datatype type, int64_t size) {
    if (!succeeded(code))
        return -1;
    MPI_Count moved;
    MPI_Get_elements_x(status, type, &moved);
    /* Undefined where an MPI library does not count (some collective calls): it reported no error. */
    return moved == MPI_UNDEFINED ? size : (int64_t)moved;
}

static MPI_File file_of(const struct open_file *f) {
    return *(MPI_File *)f->mpi_file;
}

static MPI_Offset in_etypes(const struct open_file *f, int64_t bytes) {
    return (MPI_Offset)(f->view ? bytes / f->view->etype_size : bytes);
}

#define AT(function, mpi_call)                                                                               \
    static int64_t function(struct open_file *f, char *buffer, int64_t size, int64_t offset) {               \
        int count;                                                                                           \
        MPI_Status status;                                                                                   \
        MPI_Datatype type = type_of(size, &count);                                                           \
        int code = mpi_call(file_of(f), in_etypes(f, offset), buffer, count, type, &status);                 \
        return moved_by(code, &status, type, size);                                                          \
    }
#define BY_POINTER(function, mpi_call)                                                                       \
    static int64_t function(struct open_file *f, char *buffer, int64_t size, int64_t offset) {               \
        int count;                                                                                           \
        MPI_Status status;                                                                                   \
        MPI_Datatype type = type_of(size, &count);                                                           \
        (void)offset;                                                                                        \
        int code = mpi_call(file_of(f), buffer, count, type, &status);                                       \
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

/* ---- calls that are completed later ---- */

_Static_assert(sizeof(MPI_Request) <= sizeof(unsigned long long), "a request fits struct under_way");

static int64_t started(struct open_file *f, int code, MPI_Request request, int64_t size) {
    if (!succeeded(code))
        return -1;
    if (f->n_under_way > 0) /* the caller has described the call; only the request is ours */
        memcpy(f->under_way[f->n_under_way - 1].id, &request, sizeof request);
    return size;
}

#define I_AT(function, mpi_call)                                                                             \
    static int64_t function(struct open_file *f, char *buffer, int64_t size, int64_t offset) {               \
        int count;                                                                                           \
        MPI_Request request = MPI_REQUEST_NULL;                                                              \
        MPI_Datatype type = type_of(size, &count);                                                           \
        int code = mpi_call(file_of(f), in_etypes(f, offset), buffer, count, type, &request);                \
        return started(f, code, request, size);                                                              \
    }
#define I_BY_POINTER(function, mpi_call)                                                                     \
    static int64_t function(struct open_file *f, char *buffer, int64_t size, int64_t offset) {               \
        int count;                                                                                           \
        MPI_Request request = MPI_REQUEST_NULL;                                                              \
        MPI_Datatype type = type_of(size, &count);                                                           \
        (void)offset;                                                                                        \
        int code = mpi_call(file_of(f), buffer, count, type, &request);                                      \
        return started(f, code, request, size);                                                              \
    }
#define BEGIN_AT(function, mpi_call)                                                                         \
    static int64_t function(struct open_file *f, char *buffer, int64_t size, int64_t offset) {               \
        int count;                                                                                           \
        MPI_Datatype type = type_of(size, &count);                                                           \
        int code = mpi_call(file_of(f), in_etypes(f, offset), buffer, count, type);                          \
        return started(f, code, MPI_REQUEST_NULL, size);                                                     \
    }
#define BEGIN_BY_POINTER(function, mpi_call)                                                                 \
    static int64_t function(struct open_file *f, char *buffer, int64_t size, int64_t offset) {               \
        int count;                                                                                           \
        MPI_Datatype type = type_of(size, &count);                                                           \
        (void)offset;                                                                                        \
        int code = mpi_call(file_of(f), buffer, count, type);                                                \
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

/* Wait for the oldest call under way, or for all of them. */
static bool complete(struct open_file *f, bool all) {
    int n = all ? f->n_under_way : 1;
    if (f->n_under_way == 0)
        return true;
    MPI_Request *requests = must_alloc((size_t)n * sizeof *requests);
    for (int i = 0; i < n; i++)
        memcpy(&requests[i], f->under_way[i].id, sizeof requests[i]);
    MPI_Status *statuses = must_alloc((size_t)n * sizeof *statuses);
    int code = n == 1 ? MPI_Wait(requests, statuses) : MPI_Waitall(n, requests, statuses);
    free(statuses);
    free(requests);
    f->n_completed = n;
    return succeeded(code);
}

static bool end_split(struct open_file *f) {
    if (f->n_under_way == 0)
        return true;
    MPI_File file = file_of(f);
    MPI_Status status;
    char *buffer = f->under_way[0].buffer;
    f->n_completed = 1;
    switch (f->under_way[0].call) {
    case CALL_M_READ_AT_ALL_BEGIN:
        return succeeded(MPI_File_read_at_all_end(file, buffer, &status));
    case CALL_M_WRITE_AT_ALL_BEGIN:
        return succeeded(MPI_File_write_at_all_end(file, buffer, &status));
    case CALL_M_READ_ALL_BEGIN:
        return succeeded(MPI_File_read_all_end(file, buffer, &status));
    case CALL_M_WRITE_ALL_BEGIN:
        return succeeded(MPI_File_write_all_end(file, buffer, &status));
    case CALL_M_READ_ORDERED_BEGIN:
        return succeeded(MPI_File_read_ordered_end(file, buffer, &status));
    default:
        return succeeded(MPI_File_write_ordered_end(file, buffer, &status));
    }
}

static data_call mpiio_data(enum call call) {
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
    case CALL_M_READ_ORDERED:
        return read_ordered;
    default:
        return write_ordered;
    }
}

/* MPI_INFO_NULL where the call had none; given back with free_info. */
static MPI_Info info_of(const struct file_action *a) {
    MPI_Info info = MPI_INFO_NULL;
    if (a->info < 0)
        return info;
    const struct plan_info *pairs = &the_plan->infos[a->info];
    MPI_Info_create(&info);
    for (int32_t i = 0; i < pairs->n; i++)
        MPI_Info_set(info, pairs->keys[i], pairs->values[i]);
    return info;
}

static void free_info(MPI_Info *info) {
    if (*info != MPI_INFO_NULL)
        MPI_Info_free(info);
}

static bool mpiio_open(const struct file_action *a) {
    /* MPI_MODE_* have the same values in Open MPI and MPICH (and in ROMIO, where both have them from). */
    MPI_Comm comm = a->communicator < 0 ? MPI_COMM_SELF : ranks_communicator(a->communicator);
    MPI_File *opened = must_alloc(sizeof *opened);
    MPI_Info info = info_of(a);
    bool done = succeeded(MPI_File_open(comm, a->file->path, (int)a->arg, info, opened));
    free_info(&info);
    if (!done) {
        free(opened);
        return false;
    }
    struct open_file *f = a->open;
    f->mpi_file = opened;
    f->is_open = true;
    f->readable = !(a->arg & MPI_MODE_WRONLY);
    f->writable = !(a->arg & MPI_MODE_RDONLY);
    f->append = false;
    f->position = 0;
    return true;
}

static bool mpiio_close(struct open_file *f) {
    f->is_open = false;
    bool closed = succeeded(MPI_File_close(f->mpi_file));
    free(f->mpi_file);
    f->mpi_file = NULL;
    return closed;
}

/* The view's visible runs as a file type of its element type, tiles of its extent. */
static void make_types(const struct plan_view *view, struct view_types *types) {
    MPI_Type_contiguous((int)view->etype_size, MPI_BYTE, &types->etype);
    MPI_Type_commit(&types->etype);
    types->made = true;
    if (view->visible == 0) { /* a rank that sees nothing: it never moves a byte through this view */
        MPI_Type_dup(types->etype, &types->filetype);
        return;
    }
    int *lengths = must_alloc((size_t)view->n_runs * sizeof(int));
    MPI_Aint *places = must_alloc((size_t)view->n_runs * sizeof(MPI_Aint));
    for (int32_t i = 0; i < view->n_runs; i++) {
        lengths[i] = (int)(view->run_lengths[i] / view->etype_size);
        places[i] = (MPI_Aint)view->run_offsets[i];
    }
    MPI_Datatype runs;
    MPI_Type_create_hindexed(view->n_runs, lengths, places, types->etype, &runs);
    MPI_Type_create_resized(runs, 0, (MPI_Aint)view->extent, &types->filetype);
    MPI_Type_commit(&types->filetype);
    MPI_Type_free(&runs);
    free(lengths);
    free(places);
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
        if (!types->made)
            make_types(f->view, types);
        displacement = (MPI_Offset)f->view->displacement;
        etype = types->etype;
        filetype = types->filetype;
    }
    MPI_Info info = info_of(a);
    bool done = succeeded(MPI_File_set_view(file_of(f), displacement, etype, filetype, "native", info));
    free_info(&info);
    return done;
}

static bool mpiio_set_info(const struct file_action *a) {
    MPI_Info info = info_of(a), empty = MPI_INFO_NULL;
    if (info == MPI_INFO_NULL) /* the call wants an object */
        MPI_Info_create(&empty);
    bool done = succeeded(MPI_File_set_info(file_of(a->open), info == MPI_INFO_NULL ? empty : info));
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
        return end_split(f);
    case CALL_M_WAIT:
        return complete(f, a->arg == 0);
    case CALL_M_SET_VIEW:
        return mpiio_set_view(a);
    case CALL_M_SET_INFO:
        return mpiio_set_info(a);
    case CALL_M_SEEK:
        f->position = a->offset < 0 ? 0 : a->offset;
        return succeeded(MPI_File_seek(file_of(f), in_etypes(f, f->position), MPI_SEEK_SET));
    case CALL_M_SEEK_SHARED:
        return succeeded(
            MPI_File_seek_shared(file_of(f), in_etypes(f, a->offset < 0 ? 0 : a->offset), MPI_SEEK_SET));
    case CALL_M_SYNC:
        return succeeded(MPI_File_sync(file_of(f)));
    case CALL_M_SET_SIZE:
        return succeeded(MPI_File_set_size(file_of(f), (MPI_Offset)a->arg));
    case CALL_M_PREALLOCATE:
        return succeeded(MPI_File_preallocate(file_of(f), (MPI_Offset)a->arg));
    case CALL_M_SET_ATOMICITY:
        return succeeded(MPI_File_set_atomicity(file_of(f), a->arg != 0));
    case CALL_M_GET_SIZE:
        return succeeded(MPI_File_get_size(file_of(f), &size));
    case CALL_M_DELETE:
        MPI_File_delete(a->file->path, MPI_INFO_NULL);
        return true; /* may not be there */
    default:
        last_error = MPI_ERR_UNSUPPORTED_OPERATION;
        return false;
    }
}

static const char *mpiio_reason(void) {
    static char text[MPI_MAX_ERROR_STRING];
    int length;
    MPI_Error_string(last_error, text, &length);
    return text;
}

static void mpiio_end(void) {
    for (int32_t i = 0; i < the_plan->n_views; i++) {
        if (view_types[i].made) {
            MPI_Type_free(&view_types[i].etype);
            MPI_Type_free(&view_types[i].filetype);
        }
    }
    if (large_type != MPI_DATATYPE_NULL)
        MPI_Type_free(&large_type);
}

const struct backend BACKEND_MPIIO = {"mpiio", mpiio_start, mpiio_data, mpiio_act, mpiio_reason, mpiio_end};
