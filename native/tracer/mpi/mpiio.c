/* MPI-IO calls that move no data: open, close, view, position, size. The POSIX calls that the MPI library
 * makes meanwhile are recorded at their own level. Both are kept: the upper is what the application asked
 * for, and what a replay performs; the lower is what one library made of it. */
#define _GNU_SOURCE
#include "mpi/mpi_files.h"
#include "mpi/views.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

static int64_t size_of_type(MPI_Datatype type) {
    static __typeof__(MPI_Type_size) *type_size;
    int size = 0;
    if (type_size == NULL) {
        type_size = (__typeof__(type_size))wt_mpi_real("MPI_Type_size");
    }
    type_size(type, &size);
    return size;
}

/* ---- open and close ---- */

static void record_open(const struct wt_mpi_file *file, int32_t number, struct wt_event *event, MPI_Comm comm,
                        int mode) {
    bool ordering;
    event->file = number;
    event->handle = file != NULL ? file->handle : WT_UNKNOWN;
    event->size = event->moved = wt_communicator(comm, &ordering) + 1; /* no bytes */
    event->arg = mode;
    wt_record_mpi(event);
}

/* Whether the file was there before this call. Of ranks that make it together only the first one looks: it
 * makes the file, and a client of NFS that has looked for a file in vain tells the open after it, for a
 * while, that there is none. */
static bool existed_before(MPI_Comm comm, const char *name, int mode, struct stat *before) {
    int rank = 0;
    if (name != NULL && comm != wt_mpi.comm_null && (mode & MPI_MODE_CREATE) != 0) {
        ((__typeof__(MPI_Comm_rank) *)wt_mpi_real("MPI_Comm_rank"))(comm, &rank);
    }
    return name != NULL && rank == 0 &&
           syscall(SYS_newfstatat, AT_FDCWD, wt_mpi_file_name(name), before, 0) == 0;
}

WT_MPI_WRAPPER(File_open, (MPI_Comm comm, const char *name, int mode, MPI_Info info, MPI_File *out),
               (comm, name, mode, info, out), {
                   wt_optional_loaded(); /* modules of Python, plugins */
                   struct stat before;
                   bool existed = existed_before(comm, name, mode, &before);
                   struct wt_call call = wt_call_begin();
                   int status = real_File_open(comm, name, mode, info, out);
                   struct wt_event event = wt_mpi_event(WT_OP_FILE_OPEN, &call, status);
                   int saved = errno;
                   int32_t number = name != NULL ? wt_mpi_file_number(name, &before, existed) : WT_UNKNOWN;
                   if (number != WT_UNKNOWN && wt_level_mpiio) {
                       struct wt_mpi_file *file = status == MPI_SUCCESS ? wt_mpi_file_enter(*out) : NULL;
                       if (file != NULL) {
                           file->file = number;
                           event.offset = wt_mpi_hints_given(file, info, WT_HINTS_AT_OPEN);
                           wt_mpi_hints_in_force(file);
                       }
                       record_open(file, number, &event, comm, mode);
                   }
                   errno = saved;
                   return status;
               })

WT_MPI_WRAPPER(File_close, (MPI_File * fh), (fh), {
    struct wt_mpi_file *file = wt_mpi_file_find(*fh);
    struct wt_mpi_file closed;
    if (file != NULL) { /* before: the handle may be another thread's next one at once */
        closed = *file;
        file->key = NULL;
    }
    struct wt_call call = wt_call_begin();
    int status = real_File_close(fh);
    wt_mpi_file_record(WT_OP_FILE_CLOSE, file != NULL ? &closed : NULL, &call, status, WT_UNKNOWN, 0);
    return status;
})

WT_MPI_WRAPPER(File_delete, (const char *name, MPI_Info info), (name, info), {
    struct wt_call call = wt_call_begin();
    int status = real_File_delete(name, info);
    struct wt_mpi_file file = {.handle = WT_UNKNOWN};
    file.file = wt_mpi_file_number(name, NULL, false);
    wt_mpi_file_record(WT_OP_FILE_DELETE, file.file != WT_UNKNOWN ? &file : NULL, &call, status, WT_UNKNOWN,
                       0);
    return status;
})

/* ---- view, position, size ---- */

WT_MPI_WRAPPER(File_set_view,
               (MPI_File fh, MPI_Offset displacement, MPI_Datatype etype, MPI_Datatype filetype,
                const char *representation, MPI_Info info),
               (fh, displacement, etype, filetype, representation, info), {
                   struct wt_mpi_file *file = wt_mpi_file_find(fh);
                   struct wt_call call = wt_call_begin();
                   int status = real_File_set_view(fh, displacement, etype, filetype, representation, info);
                   struct wt_event event = wt_mpi_event(WT_OP_FILE_SET_VIEW, &call, status);
                   if (file == NULL || !wt_level_mpiio) {
                       return status;
                   }
                   int saved = errno;
                   if (status == MPI_SUCCESS) {
                       file->etype_size = size_of_type(etype);
                       file->displacement = displacement;
                       file->view = wt_view_make(displacement, etype, filetype);
                       file->pointer = 0;
                       if (info != wt_mpi.info_null) {
                           event.arg = wt_mpi_hints_given(file, info, WT_HINTS_WITH_VIEW) + 1;
                           wt_mpi_hints_in_force(file);
                       }
                   }
                   event.file = file->file;
                   event.handle = file->handle;
                   event.view = file->view >= 0 ? file->view : WT_UNKNOWN;
                   event.offset = file->view != WT_VIEW_UNKNOWN ? displacement : WT_UNKNOWN;
                   event.view_offset = 0;
                   wt_record_mpi(&event);
                   errno = saved;
                   return status;
               })

static int64_t in_file(const struct wt_mpi_file *file, int64_t view_offset) {
    return view_offset >= 0 ? wt_view_to_file(file->view, file->displacement, view_offset) : WT_UNKNOWN;
}

static int whence_of(int whence) {
    return whence == MPI_SEEK_SET ? SEEK_SET : whence == MPI_SEEK_CUR ? SEEK_CUR : SEEK_END;
}

WT_MPI_WRAPPER(File_seek, (MPI_File fh, MPI_Offset offset, int whence), (fh, offset, whence), {
    struct wt_mpi_file *file = wt_mpi_file_find(fh);
    struct wt_call call = wt_call_begin();
    int status = real_File_seek(fh, offset, whence);
    if (file != NULL && status == MPI_SUCCESS) {
        int64_t by = offset * file->etype_size, from = whence == MPI_SEEK_SET ? 0 : file->pointer;
        file->pointer = whence == MPI_SEEK_END || from < 0 ? WT_UNKNOWN : from + by;
    }
    wt_mpi_file_record(WT_OP_FILE_SEEK, file, &call, status,
                       file != NULL ? in_file(file, wt_mpi_pointer(file)) : WT_UNKNOWN, whence_of(whence));
    return status;
})

/* Collective: when it is over, other ranks may have moved the pointer on already. Where it went is known when
 * it was said from the start. */
WT_MPI_WRAPPER(File_seek_shared, (MPI_File fh, MPI_Offset offset, int whence), (fh, offset, whence), {
    struct wt_mpi_file *file = wt_mpi_file_find(fh);
    struct wt_call call = wt_call_begin();
    int status = real_File_seek_shared(fh, offset, whence);
    struct wt_event event = wt_mpi_event(WT_OP_FILE_SEEK_SHARED, &call, status);
    if (file != NULL && wt_level_mpiio) {
        int saved = errno;
        int64_t to = whence == MPI_SEEK_SET ? offset * file->etype_size : WT_UNKNOWN;
        event.file = file->file;
        event.handle = file->handle;
        event.view = file->view >= 0 ? file->view : WT_UNKNOWN;
        event.offset = in_file(file, to);
        event.view_offset = file->view >= 0 ? to : event.offset;
        event.arg = whence_of(whence);
        wt_record_mpi(&event);
        errno = saved;
    }
    return status;
})

#define FILE_CALL(name, OP, arg, parameters, arguments)                                                      \
    WT_MPI_WRAPPER(name, parameters, arguments, {                                                            \
        struct wt_mpi_file *file = wt_mpi_file_find(fh);                                                     \
        struct wt_call call = wt_call_begin();                                                               \
        int status = real_##name arguments;                                                                  \
        wt_mpi_file_record(WT_OP_##OP, file, &call, status, WT_UNKNOWN, arg);                                \
        return status;                                                                                       \
    })
FILE_CALL(File_set_size, FILE_SET_SIZE, size, (MPI_File fh, MPI_Offset size), (fh, size))
FILE_CALL(File_preallocate, FILE_PREALLOCATE, size, (MPI_File fh, MPI_Offset size), (fh, size))
FILE_CALL(File_sync, FILE_SYNC, 0, (MPI_File fh), (fh))
FILE_CALL(File_set_atomicity, FILE_SET_ATOMICITY, flag, (MPI_File fh, int flag), (fh, flag))

WT_MPI_WRAPPER(File_set_info, (MPI_File fh, MPI_Info info), (fh, info), {
    struct wt_mpi_file *file = wt_mpi_file_find(fh);
    struct wt_call call = wt_call_begin();
    int status = real_File_set_info(fh, info);
    struct wt_event event = wt_mpi_event(WT_OP_FILE_SET_INFO, &call, status);
    if (file != NULL && wt_level_mpiio) {
        int saved = errno;
        event.file = file->file;
        event.handle = file->handle;
        event.arg = wt_mpi_hints_given(file, info, WT_HINTS_SET) + 1;
        wt_mpi_hints_in_force(file);
        wt_record_mpi(&event);
        errno = saved;
    }
    return status;
})
