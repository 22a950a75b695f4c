/* MPI-IO calls that move data. A call's offset is found before it by the file's own pointer, which the call
 * moves. Its bytes are found after it by its status, as it may move less than it was asked for. Both are
 * mapped through the file view. */
#include "mpi/memory_types.h"
#include "mpi/mpi_files.h"
#include "mpi/views.h"

static int64_t size_of_type(MPI_Datatype type) {
    static __typeof__(MPI_Type_size_x) *type_size;
    MPI_Count size = 0;
    if (type_size == NULL) {
        type_size = (__typeof__(type_size))wt_mpi_real("MPI_Type_size_x");
    }
    type_size(type, &size);
    return size;
}

/* The MPI library tells it, but for views whose tiles reach over those behind them: of these ROMIO tells the
 * first position that lies as high in the file, and uses the right one. */
int64_t wt_mpi_pointer(const struct wt_mpi_file *file) {
    static __typeof__(MPI_File_get_position) *get;
    MPI_Offset position = 0;
    if (file != NULL && wt_view_reaches_over(file->view)) {
        return file->pointer;
    }
    if (get == NULL) {
        get = (__typeof__(get))wt_mpi_real("MPI_File_get_position");
    }
    if (file == NULL || get(file->key, &position) != MPI_SUCCESS || position < 0) {
        return WT_UNKNOWN;
    }
    return (int64_t)position * file->etype_size;
}

/* How the place of a call is found. Other ranks move the shared pointer at any time, so that asking for it
 * before or after a call says nothing: the call's own first access tells where it was, one such call of the
 * process at a time. Ordered calls are places in a row of all ranks' sizes, which the reader adds up. */
enum place { PLACE_GIVEN, PLACE_OWN_POINTER, PLACE_SHARED_POINTER, PLACE_ORDERED };

struct data_call {
    struct wt_mpi_file *file;
    struct wt_call call;
    int64_t view_offset;
    bool watching, moves_pointer;
};

static struct data_call begin(MPI_File fh, enum place place, MPI_Offset offset) {
    struct data_call d = {
        .file = wt_mpi_file_find(fh), .view_offset = WT_UNKNOWN, .moves_pointer = place == PLACE_OWN_POINTER};
    if (d.file != NULL && place == PLACE_GIVEN) {
        d.view_offset = (int64_t)offset * d.file->etype_size;
    } else if (d.file != NULL && place == PLACE_OWN_POINTER) {
        d.view_offset = wt_mpi_pointer(d.file);
    } else if (d.file != NULL && place == PLACE_SHARED_POINTER) {
        d.watching = wt_level_posix && wt_watch_start(d.file->file);
    }
    d.call = wt_call_begin();
    return d;
}

/* Leaves the row. status NULL: it comes later, and what is asked for is taken to be moved until then. */
static struct wt_pending end(const struct data_call *d, uint32_t op, int result, int64_t count,
                             MPI_Datatype type, const MPI_Status *status) {
    struct wt_mpi_file *file = d->file;
    struct wt_event event = wt_mpi_event(op, &d->call, result);
    int64_t first = d->watching ? wt_watch_end() : WT_UNKNOWN;
    if (file == NULL || !wt_level_mpiio) {
        return (struct wt_pending){.file = WT_UNKNOWN};
    }
    int saved = errno;
    int64_t place = first < 0 ? d->view_offset : wt_view_from_file(file->view, file->displacement, first);
    event.file = file->file;
    event.handle = file->handle;
    event.view = file->view >= 0 ? file->view : WT_UNKNOWN;
    int64_t item = size_of_type(type);
    event.size = count * item;
    event.arg = wt_memory_of(count, type, item);
    event.moved = result != MPI_SUCCESS ? 0 : status != NULL ? wt_moved(status, event.size) : event.size;
    if (d->moves_pointer) {
        file->pointer = place < 0 ? WT_UNKNOWN : place + event.moved;
    }
    event.offset = place < 0 ? WT_UNKNOWN : wt_view_to_file(file->view, file->displacement, place);
    event.view_offset = file->view >= 0 ? place : event.offset;
    struct wt_pending pending = {.file = file->file, .handle = file->handle, .asked = event.size};
    pending.number = wt_record_mpi(&event);
    errno = saved;
    return pending;
}

/* ---- the wrappers, once for each width of counts ---- */

#define BLOCKING(name, OP, place, offset, count_type, parameters, arguments)                                 \
    WT_MPI_WRAPPER(name, parameters, arguments, {                                                            \
        MPI_Status own;                                                                                      \
        status = status == MPI_STATUS_IGNORE ? &own : status;                                                \
        struct data_call d = begin(fh, place, offset);                                                       \
        int result = real_##name arguments;                                                                  \
        end(&d, WT_OP_##OP, result, (int64_t)count, type, status);                                           \
        return result;                                                                                       \
    })
#define AT(name, OP, buffer_type, count_type)                                                                \
    BLOCKING(name, OP, PLACE_GIVEN, offset, count_type,                                                      \
             (MPI_File fh, MPI_Offset offset, buffer_type buffer, count_type count, MPI_Datatype type,       \
              MPI_Status * status),                                                                          \
             (fh, offset, buffer, count, type, status))
#define BY_POINTER(name, OP, buffer_type, count_type, place)                                                 \
    BLOCKING(name, OP, place, 0, count_type,                                                                 \
             (MPI_File fh, buffer_type buffer, count_type count, MPI_Datatype type, MPI_Status * status),    \
             (fh, buffer, count, type, status))

/* Recorded when it is asked for; the call that completes it is a row too. */
#define NONBLOCKING(name, OP, place, offset, parameters, arguments)                                          \
    WT_MPI_WRAPPER(name, parameters, arguments, {                                                            \
        struct data_call d = begin(fh, place, offset);                                                       \
        int result = real_##name arguments;                                                                  \
        struct wt_pending pending = end(&d, WT_OP_##OP, result, (int64_t)count, type, NULL);                 \
        if (result == MPI_SUCCESS) {                                                                         \
            wt_request_started(*request, &pending);                                                          \
        }                                                                                                    \
        return result;                                                                                       \
    })
#define I_AT(name, OP, buffer_type, count_type)                                                              \
    NONBLOCKING(name, OP, PLACE_GIVEN, offset,                                                               \
                (MPI_File fh, MPI_Offset offset, buffer_type buffer, count_type count, MPI_Datatype type,    \
                 MPI_Request * request),                                                                     \
                (fh, offset, buffer, count, type, request))
#define I_BY_POINTER(name, OP, buffer_type, count_type, place)                                               \
    NONBLOCKING(                                                                                             \
        name, OP, place, 0,                                                                                  \
        (MPI_File fh, buffer_type buffer, count_type count, MPI_Datatype type, MPI_Request * request),       \
        (fh, buffer, count, type, request))

/* Split collectives: the begin has the operation, the end is a row of its own. */
#define SPLIT(name, OP, place, offset, parameters, arguments)                                                \
    WT_MPI_WRAPPER(name, parameters, arguments, {                                                            \
        struct data_call d = begin(fh, place, offset);                                                       \
        int result = real_##name arguments;                                                                  \
        struct wt_pending pending = end(&d, WT_OP_##OP, result, (int64_t)count, type, NULL);                 \
        if (d.file != NULL) {                                                                                \
            d.file->split = pending;                                                                         \
        }                                                                                                    \
        return result;                                                                                       \
    })
#define BEGIN_AT(name, OP, buffer_type, count_type)                                                          \
    SPLIT(name, OP, PLACE_GIVEN, offset,                                                                     \
          (MPI_File fh, MPI_Offset offset, buffer_type buffer, count_type count, MPI_Datatype type),         \
          (fh, offset, buffer, count, type))
#define BEGIN_BY_POINTER(name, OP, buffer_type, count_type, place)                                           \
    SPLIT(name, OP, place, 0, (MPI_File fh, buffer_type buffer, count_type count, MPI_Datatype type),        \
          (fh, buffer, count, type))
#define END(name, buffer_type)                                                                               \
    WT_MPI_WRAPPER(name, (MPI_File fh, buffer_type buffer, MPI_Status * status), (fh, buffer, status), {     \
        struct wt_mpi_file *file = wt_mpi_file_find(fh);                                                     \
        MPI_Status own;                                                                                      \
        status = status == MPI_STATUS_IGNORE ? &own : status;                                                \
        struct wt_call call = wt_call_begin();                                                               \
        int result = real_##name(fh, buffer, status);                                                        \
        wt_mpi_file_record(WT_OP_FILE_SPLIT_END, file, &call, result, WT_UNKNOWN, 0);                        \
        if (file != NULL && file->split.file != WT_UNKNOWN) {                                                \
            wt_pending_ended(&file->split, result, status);                                                  \
            file->split.file = WT_UNKNOWN;                                                                   \
        }                                                                                                    \
        return result;                                                                                       \
    })

#define DATA_CALLS(c, count)                                                                                 \
    AT(File_read_at##c, FILE_READ_AT, void *, count)                                                         \
    AT(File_write_at##c, FILE_WRITE_AT, const void *, count)                                                 \
    AT(File_read_at_all##c, FILE_READ_AT_ALL, void *, count)                                                 \
    AT(File_write_at_all##c, FILE_WRITE_AT_ALL, const void *, count)                                         \
    BY_POINTER(File_read##c, FILE_READ, void *, count, PLACE_OWN_POINTER)                                    \
    BY_POINTER(File_write##c, FILE_WRITE, const void *, count, PLACE_OWN_POINTER)                            \
    BY_POINTER(File_read_all##c, FILE_READ_ALL, void *, count, PLACE_OWN_POINTER)                            \
    BY_POINTER(File_write_all##c, FILE_WRITE_ALL, const void *, count, PLACE_OWN_POINTER)                    \
    BY_POINTER(File_read_shared##c, FILE_READ_SHARED, void *, count, PLACE_SHARED_POINTER)                   \
    BY_POINTER(File_write_shared##c, FILE_WRITE_SHARED, const void *, count, PLACE_SHARED_POINTER)           \
    BY_POINTER(File_read_ordered##c, FILE_READ_ORDERED, void *, count, PLACE_ORDERED)                        \
    BY_POINTER(File_write_ordered##c, FILE_WRITE_ORDERED, const void *, count, PLACE_ORDERED)                \
    I_AT(File_iread_at##c, FILE_IREAD_AT, void *, count)                                                     \
    I_AT(File_iwrite_at##c, FILE_IWRITE_AT, const void *, count)                                             \
    I_AT(File_iread_at_all##c, FILE_IREAD_AT_ALL, void *, count)                                             \
    I_AT(File_iwrite_at_all##c, FILE_IWRITE_AT_ALL, const void *, count)                                     \
    I_BY_POINTER(File_iread##c, FILE_IREAD, void *, count, PLACE_OWN_POINTER)                                \
    I_BY_POINTER(File_iwrite##c, FILE_IWRITE, const void *, count, PLACE_OWN_POINTER)                        \
    I_BY_POINTER(File_iread_all##c, FILE_IREAD_ALL, void *, count, PLACE_OWN_POINTER)                        \
    I_BY_POINTER(File_iwrite_all##c, FILE_IWRITE_ALL, const void *, count, PLACE_OWN_POINTER)                \
    I_BY_POINTER(File_iread_shared##c, FILE_IREAD_SHARED, void *, count, PLACE_SHARED_POINTER)               \
    I_BY_POINTER(File_iwrite_shared##c, FILE_IWRITE_SHARED, const void *, count, PLACE_SHARED_POINTER)       \
    BEGIN_AT(File_read_at_all_begin##c, FILE_READ_AT_ALL_BEGIN, void *, count)                               \
    BEGIN_AT(File_write_at_all_begin##c, FILE_WRITE_AT_ALL_BEGIN, const void *, count)                       \
    BEGIN_BY_POINTER(File_read_all_begin##c, FILE_READ_ALL_BEGIN, void *, count, PLACE_OWN_POINTER)          \
    BEGIN_BY_POINTER(File_write_all_begin##c, FILE_WRITE_ALL_BEGIN, const void *, count, PLACE_OWN_POINTER)  \
    BEGIN_BY_POINTER(File_read_ordered_begin##c, FILE_READ_ORDERED_BEGIN, void *, count, PLACE_ORDERED)      \
    BEGIN_BY_POINTER(File_write_ordered_begin##c, FILE_WRITE_ORDERED_BEGIN, const void *, count,             \
                     PLACE_ORDERED)
DATA_CALLS(, int)
#if MPI_VERSION >= 4
#undef WT_MPI_WRAPPER
#define WT_MPI_WRAPPER WT_MPI_OPTIONAL
DATA_CALLS(_c, MPI_Count)
#undef WT_MPI_WRAPPER
#define WT_MPI_WRAPPER WT_MPI_EXPORTED
#endif
END(File_read_at_all_end, void *)
END(File_write_at_all_end, const void *)
END(File_read_all_end, void *)
END(File_write_all_end, const void *)
END(File_read_ordered_end, void *)
END(File_write_ordered_end, const void *)
