/* MPI-IO calls. A call's offset is found before it by the file's own pointer, its bytes after it by its
 * status; both are mapped through the file view. The POSIX calls that the MPI library makes meanwhile are
 * recorded at their own level. */
#define _GNU_SOURCE
#include "mpi_call.h"
#include "views.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define OPEN_MAX_FILES 1024

struct open_file {
    MPI_File key;
    int32_t file, handle, view;
    int32_t communicator;
    int64_t displacement, etype_size;
};

static struct open_file open_files[OPEN_MAX_FILES];

static struct {
    __typeof__(MPI_File_get_position) *position;
    __typeof__(MPI_Type_size) *type_size;
    __typeof__(MPI_Get_elements) *elements;
    __typeof__(MPI_Info_get_nkeys) *info_n;
    __typeof__(MPI_Info_get_nthkey) *info_key;
    __typeof__(MPI_Info_get) *info_get;
} mpi;

static void start(void) {
    if (mpi.position == NULL) {
        mpi.type_size = (__typeof__(mpi.type_size))wt_mpi_real("MPI_Type_size");
        mpi.elements = (__typeof__(mpi.elements))wt_mpi_real("MPI_Get_elements");
        mpi.info_n = (__typeof__(mpi.info_n))wt_mpi_real("MPI_Info_get_nkeys");
        mpi.info_key = (__typeof__(mpi.info_key))wt_mpi_real("MPI_Info_get_nthkey");
        mpi.info_get = (__typeof__(mpi.info_get))wt_mpi_real("MPI_Info_get");
        mpi.position = (__typeof__(mpi.position))wt_mpi_real("MPI_File_get_position");
    }
}

static struct open_file *find(MPI_File key) {
    unsigned slot = (unsigned)(((uintptr_t)key >> 4) % OPEN_MAX_FILES);
    for (unsigned i = 0; i < OPEN_MAX_FILES; i++) {
        struct open_file *file = &open_files[(slot + i) % OPEN_MAX_FILES];
        if (file->key == key) {
            return file;
        }
        if (file->key == NULL && file->handle == 0) { /* never used: a closed one keeps its handle */
            return NULL;
        }
    }
    return NULL;
}

static struct open_file *enter(MPI_File key) {
    unsigned slot = (unsigned)(((uintptr_t)key >> 4) % OPEN_MAX_FILES);
    for (unsigned i = 0; i < OPEN_MAX_FILES; i++) {
        struct open_file *file = &open_files[(slot + i) % OPEN_MAX_FILES];
        if (file->key == NULL) {
            file->key = key;
            return file;
        }
    }
    return NULL;
}

static bool seen(void) {
    return wt_level_mpiio && wt_mpi_traced();
}

static void record(uint32_t op, const struct open_file *file, const struct wt_call *call, int status,
                   int64_t offset, int64_t arg) {
    uint64_t end = wt_now();
    if (file == NULL || !wt_level_mpiio) {
        return;
    }
    int saved = errno;
    struct wt_event event = {.op = op,
                             .file = file->file,
                             .handle = file->handle,
                             .view = WT_UNKNOWN,
                             .offset = offset,
                             .view_offset = offset,
                             .arg = arg,
                             .error = status == MPI_SUCCESS ? 0 : EIO,
                             .tick = call->tick,
                             .subtick = call->subtick,
                             .start = call->start,
                             .end = end};
    wt_record_mpi(&event);
    errno = saved;
}

static void record_data(uint32_t op, const struct open_file *file, const struct wt_call *call, int result,
                        int64_t view_offset, int64_t count, MPI_Datatype type, const MPI_Status *status) {
    uint64_t end = wt_now();
    if (file == NULL || !wt_level_mpiio) {
        return;
    }
    int saved = errno, type_size = 0, elements = 0;
    mpi.type_size(type, &type_size);
    int64_t asked = count * type_size, moved = result == MPI_SUCCESS ? asked : 0;
    if (result == MPI_SUCCESS && status != NULL &&
        mpi.elements(status, wt_mpi.byte, &elements) == MPI_SUCCESS && elements != MPI_UNDEFINED &&
        elements >= 0 && (elements < asked || asked <= INT32_MAX)) {
        moved = elements;
    }
    int64_t offset =
        view_offset < 0 ? WT_UNKNOWN : wt_view_to_file(file->view, file->displacement, view_offset);
    struct wt_event event = {.op = op,
                             .file = file->file,
                             .handle = file->handle,
                             .view = file->view >= 0 ? file->view : WT_UNKNOWN,
                             .size = asked,
                             .moved = moved,
                             .offset = offset,
                             .view_offset = file->view >= 0 ? view_offset : offset,
                             .error = result == MPI_SUCCESS ? 0 : EIO,
                             .tick = call->tick,
                             .subtick = call->subtick,
                             .start = call->start,
                             .end = end};
    wt_record_mpi(&event);
    errno = saved;
}

/* ---- open and close ---- */

static void keep_hints(const struct open_file *file, MPI_Info info) {
    int n = 0;
    if (file == NULL || info == wt_mpi.info_null || mpi.info_n(info, &n) != MPI_SUCCESS) {
        return;
    }
    for (int i = 0; i < n; i++) {
        char key[MPI_MAX_INFO_KEY + 1], value[MPI_MAX_INFO_VAL + 1];
        int found = 0;
        if (mpi.info_key(info, i, key) == MPI_SUCCESS &&
            mpi.info_get(info, key, MPI_MAX_INFO_VAL, value, &found) == MPI_SUCCESS && found) {
            wt_lock();
            wt_meta_begin(WT_META_INFO);
            wt_meta_number((uint64_t)file->file);
            wt_meta_string(key);
            wt_meta_string(value);
            wt_meta_end();
            wt_unlock();
        }
    }
}

/* ROMIO and OMPIO take "ufs:/path" for a file system's driver. */
static const char *without_driver(const char *name) {
    const char *colon = strchr(name, ':');
    for (const char *c = name; colon != NULL && c < colon; c++) {
        if (*c == '/') {
            return name;
        }
    }
    return colon != NULL && colon - name > 1 ? colon + 1 : name;
}

static int32_t number_file(const char *name, const struct stat *before, bool existed) {
    char path[WT_PATH_BYTES];
    int32_t file = WT_UNKNOWN;
    if (wt_absolute(AT_FDCWD, without_driver(name), path) > 0) {
        wt_lock();
        file = wt_file_of_path(path, existed ? before->st_size : 0, existed);
        wt_unlock();
    }
    return file;
}

WT_MPI_WRAPPER(File_open, (MPI_Comm comm, const char *name, int mode, MPI_Info info, MPI_File *out),
               (comm, name, mode, info, out), {
                   start();
                   struct stat before;
                   bool existed = name != NULL &&
                                  syscall(SYS_newfstatat, AT_FDCWD, without_driver(name), &before, 0) == 0;
                   struct wt_call call = wt_call_begin();
                   int status = real_File_open(comm, name, mode, info, out);
                   uint64_t end = wt_now();
                   int32_t number = name != NULL ? number_file(name, &before, existed) : WT_UNKNOWN;
                   if (number == WT_UNKNOWN || !wt_level_mpiio) {
                       return status;
                   }
                   bool ordering;
                   struct wt_event event = {.op = WT_OP_FILE_OPEN,
                                            .file = number,
                                            .handle = WT_UNKNOWN,
                                            .view = WT_UNKNOWN,
                                            .size = wt_communicator(comm, &ordering) + 1,
                                            .offset = WT_UNKNOWN,
                                            .view_offset = WT_UNKNOWN,
                                            .arg = mode,
                                            .error = status == MPI_SUCCESS ? 0 : EIO,
                                            .tick = call.tick,
                                            .subtick = call.subtick,
                                            .start = call.start,
                                            .end = end};
                   event.moved = event.size; /* no bytes: nothing is missing */
                   if (status == MPI_SUCCESS) {
                       wt_lock();
                       struct open_file *file = enter(*out);
                       event.handle = wt_new_handle();
                       wt_unlock();
                       if (file != NULL) {
                           file->file = number;
                           file->handle = event.handle;
                           file->view = WT_VIEW_NONE;
                           file->displacement = 0;
                           file->etype_size = 1;
                           keep_hints(file, info);
                       }
                   }
                   wt_record_mpi(&event);
                   return status;
               })

WT_MPI_WRAPPER(File_close, (MPI_File * fh), (fh), {
    struct open_file *file = find(*fh);
    struct wt_call call = wt_call_begin();
    int status = real_File_close(fh);
    record(WT_OP_FILE_CLOSE, file, &call, status, WT_UNKNOWN, 0);
    if (file != NULL && status == MPI_SUCCESS) {
        file->key = NULL;
    }
    return status;
})

WT_MPI_WRAPPER(File_delete, (const char *name, MPI_Info info), (name, info), {
    struct wt_call call = wt_call_begin();
    int status = real_File_delete(name, info);
    struct open_file file = {.file = number_file(name, NULL, false), .handle = WT_UNKNOWN};
    if (file.file != WT_UNKNOWN) {
        record(WT_OP_FILE_DELETE, &file, &call, status, WT_UNKNOWN, 0);
    }
    return status;
})

/* ---- view, position, size ---- */

WT_MPI_WRAPPER(File_set_view,
               (MPI_File fh, MPI_Offset displacement, MPI_Datatype etype, MPI_Datatype filetype,
                const char *representation, MPI_Info info),
               (fh, displacement, etype, filetype, representation, info), {
                   struct open_file *file = find(fh);
                   struct wt_call call = wt_call_begin();
                   int status = real_File_set_view(fh, displacement, etype, filetype, representation, info);
                   uint64_t end = wt_now();
                   if (file == NULL || !seen()) {
                       return status;
                   }
                   if (status == MPI_SUCCESS) {
                       int etype_size = 1;
                       mpi.type_size(etype, &etype_size);
                       file->etype_size = etype_size;
                       file->displacement = displacement;
                       file->view = wt_view_make(displacement, etype, filetype);
                       keep_hints(file, info);
                   }
                   struct wt_event event = {.op = WT_OP_FILE_SET_VIEW,
                                            .file = file->file,
                                            .handle = file->handle,
                                            .view = file->view >= 0 ? file->view : WT_UNKNOWN,
                                            .offset = displacement,
                                            .view_offset = 0,
                                            .error = status == MPI_SUCCESS ? 0 : EIO,
                                            .tick = call.tick,
                                            .subtick = call.subtick,
                                            .start = call.start,
                                            .end = end};
                   wt_record_mpi(&event);
                   return status;
               })

/* The individual pointer, bytes of the view; UNKNOWN where MPI does not say. */
static int64_t pointer_of(MPI_File fh, const struct open_file *file) {
    MPI_Offset position = 0;
    if (file == NULL || mpi.position(fh, &position) != MPI_SUCCESS || position < 0) {
        return WT_UNKNOWN;
    }
    return (int64_t)position * file->etype_size;
}

static int64_t in_view(const struct open_file *file, MPI_Offset offset) {
    return file != NULL ? (int64_t)offset * file->etype_size : 0;
}

WT_MPI_WRAPPER(File_seek, (MPI_File fh, MPI_Offset offset, int whence), (fh, offset, whence), {
    struct open_file *file = find(fh);
    struct wt_call call = wt_call_begin();
    int status = real_File_seek(fh, offset, whence);
    int64_t to = pointer_of(fh, file);
    int arg = whence == MPI_SEEK_SET ? SEEK_SET : whence == MPI_SEEK_CUR ? SEEK_CUR : SEEK_END;
    record(WT_OP_FILE_SEEK, file, &call, status,
           file != NULL && to >= 0 ? wt_view_to_file(file->view, file->displacement, to) : WT_UNKNOWN, arg);
    return status;
})

#define FILE_CALL(name, OP, arg, parameters, arguments)                                                      \
    WT_MPI_WRAPPER(name, parameters, arguments, {                                                            \
        struct open_file *file = find(fh);                                                                   \
        struct wt_call call = wt_call_begin();                                                               \
        int status = real_##name arguments;                                                                  \
        record(WT_OP_##OP, file, &call, status, WT_UNKNOWN, arg);                                            \
        return status;                                                                                       \
    })
FILE_CALL(File_set_size, FILE_SET_SIZE, size, (MPI_File fh, MPI_Offset size), (fh, size))
FILE_CALL(File_preallocate, FILE_PREALLOCATE, size, (MPI_File fh, MPI_Offset size), (fh, size))
FILE_CALL(File_sync, FILE_SYNC, 0, (MPI_File fh), (fh))
FILE_CALL(File_set_atomicity, FILE_SET_ATOMICITY, flag, (MPI_File fh, int flag), (fh, flag))
FILE_CALL(File_seek_shared, FILE_SEEK_SHARED, whence, (MPI_File fh, MPI_Offset offset, int whence),
          (fh, offset, whence))

WT_MPI_WRAPPER(File_set_info, (MPI_File fh, MPI_Info info), (fh, info), {
    struct open_file *file = find(fh);
    struct wt_call call = wt_call_begin();
    int status = real_File_set_info(fh, info);
    record(WT_OP_FILE_SET_INFO, file, &call, status, WT_UNKNOWN, 0);
    keep_hints(file, info);
    return status;
})

/* ---- data: X(suffix, count type), once for each width of counts ---- */

#define AT(name, OP, buffer_type, count_type)                                                                \
    WT_MPI_WRAPPER(name,                                                                                     \
                   (MPI_File fh, MPI_Offset offset, buffer_type buffer, count_type count, MPI_Datatype type, \
                    MPI_Status * status),                                                                    \
                   (fh, offset, buffer, count, type, status), {                                              \
                       struct open_file *file = find(fh);                                                    \
                       MPI_Status own;                                                                       \
                       status = status == MPI_STATUS_IGNORE ? &own : status;                                 \
                       struct wt_call call = wt_call_begin();                                                \
                       int result = real_##name(fh, offset, buffer, count, type, status);                    \
                       record_data(WT_OP_##OP, file, &call, result, in_view(file, offset), (int64_t)count,   \
                                   type, status);                                                            \
                       return result;                                                                        \
                   })

#define BY_POINTER(name, OP, buffer_type, count_type, where)                                                 \
    WT_MPI_WRAPPER(                                                                                          \
        name, (MPI_File fh, buffer_type buffer, count_type count, MPI_Datatype type, MPI_Status * status),   \
        (fh, buffer, count, type, status), {                                                                 \
            struct open_file *file = find(fh);                                                               \
            MPI_Status own;                                                                                  \
            status = status == MPI_STATUS_IGNORE ? &own : status;                                            \
            int64_t place = where;                                                                           \
            struct wt_call call = wt_call_begin();                                                           \
            int result = real_##name(fh, buffer, count, type, status);                                       \
            record_data(WT_OP_##OP, file, &call, result, place, (int64_t)count, type, status);               \
            return result;                                                                                   \
        })

/* Nonblocking: recorded when it is asked for, as if it moved all; the call that completes it is a row too. */
#define I_AT(name, OP, buffer_type, count_type)                                                              \
    WT_MPI_WRAPPER(                                                                                          \
        name,                                                                                                \
        (MPI_File fh, MPI_Offset offset, buffer_type buffer, count_type count, MPI_Datatype type,            \
         MPI_Request * request),                                                                             \
        (fh, offset, buffer, count, type, request), {                                                        \
            struct open_file *file = find(fh);                                                               \
            struct wt_call call = wt_call_begin();                                                           \
            int result = real_##name(fh, offset, buffer, count, type, request);                              \
            record_data(WT_OP_##OP, file, &call, result, in_view(file, offset), (int64_t)count, type, NULL); \
            wt_request_started(*request, file ? file->file : WT_UNKNOWN, file ? file->handle : WT_UNKNOWN);  \
            return result;                                                                                   \
        })

#define I_BY_POINTER(name, OP, buffer_type, count_type, where)                                               \
    WT_MPI_WRAPPER(                                                                                          \
        name, (MPI_File fh, buffer_type buffer, count_type count, MPI_Datatype type, MPI_Request * request), \
        (fh, buffer, count, type, request), {                                                                \
            struct open_file *file = find(fh);                                                               \
            int64_t place = where;                                                                           \
            struct wt_call call = wt_call_begin();                                                           \
            int result = real_##name(fh, buffer, count, type, request);                                      \
            record_data(WT_OP_##OP, file, &call, result, place, (int64_t)count, type, NULL);                 \
            wt_request_started(*request, file ? file->file : WT_UNKNOWN, file ? file->handle : WT_UNKNOWN);  \
            return result;                                                                                   \
        })

/* Split collectives: the begin has the operation, the end is a row of its own. */
#define BEGIN_AT(name, OP, buffer_type, count_type)                                                          \
    WT_MPI_WRAPPER(                                                                                          \
        name, (MPI_File fh, MPI_Offset offset, buffer_type buffer, count_type count, MPI_Datatype type),     \
        (fh, offset, buffer, count, type), {                                                                 \
            struct open_file *file = find(fh);                                                               \
            struct wt_call call = wt_call_begin();                                                           \
            int result = real_##name(fh, offset, buffer, count, type);                                       \
            record_data(WT_OP_##OP, file, &call, result, in_view(file, offset), (int64_t)count, type, NULL); \
            return result;                                                                                   \
        })

#define BEGIN_BY_POINTER(name, OP, buffer_type, count_type, where)                                           \
    WT_MPI_WRAPPER(name, (MPI_File fh, buffer_type buffer, count_type count, MPI_Datatype type),             \
                   (fh, buffer, count, type), {                                                              \
                       struct open_file *file = find(fh);                                                    \
                       int64_t place = where;                                                                \
                       struct wt_call call = wt_call_begin();                                                \
                       int result = real_##name(fh, buffer, count, type);                                    \
                       record_data(WT_OP_##OP, file, &call, result, place, (int64_t)count, type, NULL);      \
                       return result;                                                                        \
                   })

#define END(name, buffer_type)                                                                               \
    WT_MPI_WRAPPER(name, (MPI_File fh, buffer_type buffer, MPI_Status * status), (fh, buffer, status), {     \
        struct open_file *file = find(fh);                                                                   \
        struct wt_call call = wt_call_begin();                                                               \
        int result = real_##name(fh, buffer, status);                                                        \
        record(WT_OP_FILE_SPLIT_END, file, &call, result, WT_UNKNOWN, 0);                                    \
        return result;                                                                                       \
    })

/* The shared pointer may move under other ranks' calls at any time: the offsets of its calls are not known.
 */
#define OWN pointer_of(fh, file)
#define SHARED WT_UNKNOWN
#define DATA_CALLS(c, count)                                                                                 \
    AT(File_read_at##c, FILE_READ_AT, void *, count)                                                         \
    AT(File_write_at##c, FILE_WRITE_AT, const void *, count)                                                 \
    AT(File_read_at_all##c, FILE_READ_AT_ALL, void *, count)                                                 \
    AT(File_write_at_all##c, FILE_WRITE_AT_ALL, const void *, count)                                         \
    BY_POINTER(File_read##c, FILE_READ, void *, count, OWN)                                                  \
    BY_POINTER(File_write##c, FILE_WRITE, const void *, count, OWN)                                          \
    BY_POINTER(File_read_all##c, FILE_READ_ALL, void *, count, OWN)                                          \
    BY_POINTER(File_write_all##c, FILE_WRITE_ALL, const void *, count, OWN)                                  \
    BY_POINTER(File_read_shared##c, FILE_READ_SHARED, void *, count, SHARED)                                 \
    BY_POINTER(File_write_shared##c, FILE_WRITE_SHARED, const void *, count, SHARED)                         \
    BY_POINTER(File_read_ordered##c, FILE_READ_ORDERED, void *, count, SHARED)                               \
    BY_POINTER(File_write_ordered##c, FILE_WRITE_ORDERED, const void *, count, SHARED)                       \
    I_AT(File_iread_at##c, FILE_IREAD_AT, void *, count)                                                     \
    I_AT(File_iwrite_at##c, FILE_IWRITE_AT, const void *, count)                                             \
    I_AT(File_iread_at_all##c, FILE_IREAD_AT_ALL, void *, count)                                             \
    I_AT(File_iwrite_at_all##c, FILE_IWRITE_AT_ALL, const void *, count)                                     \
    I_BY_POINTER(File_iread##c, FILE_IREAD, void *, count, OWN)                                              \
    I_BY_POINTER(File_iwrite##c, FILE_IWRITE, const void *, count, OWN)                                      \
    I_BY_POINTER(File_iread_all##c, FILE_IREAD_ALL, void *, count, OWN)                                      \
    I_BY_POINTER(File_iwrite_all##c, FILE_IWRITE_ALL, const void *, count, OWN)                              \
    I_BY_POINTER(File_iread_shared##c, FILE_IREAD_SHARED, void *, count, SHARED)                             \
    I_BY_POINTER(File_iwrite_shared##c, FILE_IWRITE_SHARED, const void *, count, SHARED)                     \
    BEGIN_AT(File_read_at_all_begin##c, FILE_READ_AT_ALL_BEGIN, void *, count)                               \
    BEGIN_AT(File_write_at_all_begin##c, FILE_WRITE_AT_ALL_BEGIN, const void *, count)                       \
    BEGIN_BY_POINTER(File_read_all_begin##c, FILE_READ_ALL_BEGIN, void *, count, OWN)                        \
    BEGIN_BY_POINTER(File_write_all_begin##c, FILE_WRITE_ALL_BEGIN, const void *, count, OWN)                \
    BEGIN_BY_POINTER(File_read_ordered_begin##c, FILE_READ_ORDERED_BEGIN, void *, count, SHARED)             \
    BEGIN_BY_POINTER(File_write_ordered_begin##c, FILE_WRITE_ORDERED_BEGIN, const void *, count, SHARED)
DATA_CALLS(, int)
#if MPI_VERSION >= 4
DATA_CALLS(_c, MPI_Count)
#endif
END(File_read_at_all_end, void *)
END(File_write_at_all_end, const void *)
END(File_read_all_end, void *)
END(File_write_all_end, const void *)
END(File_read_ordered_end, void *)
END(File_write_ordered_end, const void *)
