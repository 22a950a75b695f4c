/* The calls that a kernel can hold: names as the trace and the plan write them, and what each means.
 * One list; enum, table and parser come from it. */
#ifndef WAVETANK_REPLAY_CALLS_H
#define WAVETANK_REPLAY_CALLS_H

#include "wavetank_trace.h"

#include <stdbool.h>
#include <stdint.h>

enum call_layer { LAYER_POSIX, LAYER_MPIIO };
enum call_kind { KIND_READ, KIND_WRITE, KIND_FILE };
/* Where a data call finds its place in the file. */
enum call_place { PLACE_OFFSET, PLACE_POINTER, PLACE_SHARED, PLACE_NONE };

/* X(enum name, written name, layer, kind, place, collective) */
#define REPLAY_CALLS(X)                                                                                      \
    X(READ, "read", LAYER_POSIX, KIND_READ, PLACE_POINTER, false)                                            \
    X(WRITE, "write", LAYER_POSIX, KIND_WRITE, PLACE_POINTER, false)                                         \
    X(READV, "readv", LAYER_POSIX, KIND_READ, PLACE_POINTER, false)                                          \
    X(WRITEV, "writev", LAYER_POSIX, KIND_WRITE, PLACE_POINTER, false)                                       \
    X(PREAD, "pread", LAYER_POSIX, KIND_READ, PLACE_OFFSET, false)                                           \
    X(PWRITE, "pwrite", LAYER_POSIX, KIND_WRITE, PLACE_OFFSET, false)                                        \
    X(PREADV, "preadv", LAYER_POSIX, KIND_READ, PLACE_OFFSET, false)                                         \
    X(PWRITEV, "pwritev", LAYER_POSIX, KIND_WRITE, PLACE_OFFSET, false)                                      \
    X(COPY_FROM, "copy_file_range", LAYER_POSIX, KIND_READ, PLACE_OFFSET, false)                             \
    X(COPY_TO, "copy_file_range_to", LAYER_POSIX, KIND_WRITE, PLACE_OFFSET, false)                           \
    X(SENDFILE_FROM, "sendfile", LAYER_POSIX, KIND_READ, PLACE_OFFSET, false)                                \
    X(SENDFILE_TO, "sendfile_to", LAYER_POSIX, KIND_WRITE, PLACE_POINTER, false)                             \
    X(AIO_READ, "aio_read", LAYER_POSIX, KIND_READ, PLACE_OFFSET, false)                                     \
    X(AIO_WRITE, "aio_write", LAYER_POSIX, KIND_WRITE, PLACE_OFFSET, false)                                  \
    X(AIO_FSYNC, "aio_fsync", LAYER_POSIX, KIND_FILE, PLACE_NONE, false)                                     \
    X(OPEN, "open", LAYER_POSIX, KIND_FILE, PLACE_NONE, false)                                               \
    X(CLOSE, "close", LAYER_POSIX, KIND_FILE, PLACE_NONE, false)                                             \
    X(LSEEK, "lseek", LAYER_POSIX, KIND_FILE, PLACE_NONE, false)                                             \
    X(FSYNC, "fsync", LAYER_POSIX, KIND_FILE, PLACE_NONE, false)                                             \
    X(FDATASYNC, "fdatasync", LAYER_POSIX, KIND_FILE, PLACE_NONE, false)                                     \
    X(FTRUNCATE, "ftruncate", LAYER_POSIX, KIND_FILE, PLACE_NONE, false)                                     \
    X(TRUNCATE, "truncate", LAYER_POSIX, KIND_FILE, PLACE_NONE, false)                                       \
    X(SYNC_FILE_RANGE, "sync_file_range", LAYER_POSIX, KIND_FILE, PLACE_NONE, false)                         \
    X(FALLOCATE, "fallocate", LAYER_POSIX, KIND_FILE, PLACE_NONE, false)                                     \
    X(STAT, "stat", LAYER_POSIX, KIND_FILE, PLACE_NONE, false)                                               \
    X(FSTAT, "fstat", LAYER_POSIX, KIND_FILE, PLACE_NONE, false)                                             \
    X(ACCESS, "access", LAYER_POSIX, KIND_FILE, PLACE_NONE, false)                                           \
    X(UNLINK, "unlink", LAYER_POSIX, KIND_FILE, PLACE_NONE, false)                                           \
    X(RENAME, "rename", LAYER_POSIX, KIND_FILE, PLACE_NONE, false)                                           \
    X(LINK, "link", LAYER_POSIX, KIND_FILE, PLACE_NONE, false)                                               \
    X(SYMLINK, "symlink", LAYER_POSIX, KIND_FILE, PLACE_NONE, false)                                         \
    X(MKDIR, "mkdir", LAYER_POSIX, KIND_FILE, PLACE_NONE, false)                                             \
    X(RMDIR, "rmdir", LAYER_POSIX, KIND_FILE, PLACE_NONE, false)                                             \
    X(MKNOD, "mknod", LAYER_POSIX, KIND_FILE, PLACE_NONE, false)                                             \
    X(READDIR, "readdir", LAYER_POSIX, KIND_FILE, PLACE_NONE, false)                                         \
    X(READLINK, "readlink", LAYER_POSIX, KIND_FILE, PLACE_NONE, false)                                       \
    X(CHMOD, "chmod", LAYER_POSIX, KIND_FILE, PLACE_NONE, false)                                             \
    X(FCHMOD, "fchmod", LAYER_POSIX, KIND_FILE, PLACE_NONE, false)                                           \
    X(CHOWN, "chown", LAYER_POSIX, KIND_FILE, PLACE_NONE, false)                                             \
    X(FCHOWN, "fchown", LAYER_POSIX, KIND_FILE, PLACE_NONE, false)                                           \
    X(UTIME, "utime", LAYER_POSIX, KIND_FILE, PLACE_NONE, false)                                             \
    X(FUTIME, "futime", LAYER_POSIX, KIND_FILE, PLACE_NONE, false)                                           \
    X(FCNTL, "fcntl", LAYER_POSIX, KIND_FILE, PLACE_NONE, false)                                             \
    X(DUP, "dup", LAYER_POSIX, KIND_FILE, PLACE_NONE, false)                                                 \
    X(MMAP, "mmap", LAYER_POSIX, KIND_FILE, PLACE_NONE, false)                                               \
    X(MUNMAP, "munmap", LAYER_POSIX, KIND_FILE, PLACE_NONE, false)                                           \
    X(MSYNC, "msync", LAYER_POSIX, KIND_FILE, PLACE_NONE, false)                                             \
    X(M_READ, "MPI_File_read", LAYER_MPIIO, KIND_READ, PLACE_POINTER, false)                                 \
    X(M_WRITE, "MPI_File_write", LAYER_MPIIO, KIND_WRITE, PLACE_POINTER, false)                              \
    X(M_READ_ALL, "MPI_File_read_all", LAYER_MPIIO, KIND_READ, PLACE_POINTER, true)                          \
    X(M_WRITE_ALL, "MPI_File_write_all", LAYER_MPIIO, KIND_WRITE, PLACE_POINTER, true)                       \
    X(M_READ_AT, "MPI_File_read_at", LAYER_MPIIO, KIND_READ, PLACE_OFFSET, false)                            \
    X(M_WRITE_AT, "MPI_File_write_at", LAYER_MPIIO, KIND_WRITE, PLACE_OFFSET, false)                         \
    X(M_READ_AT_ALL, "MPI_File_read_at_all", LAYER_MPIIO, KIND_READ, PLACE_OFFSET, true)                     \
    X(M_WRITE_AT_ALL, "MPI_File_write_at_all", LAYER_MPIIO, KIND_WRITE, PLACE_OFFSET, true)                  \
    X(M_READ_SHARED, "MPI_File_read_shared", LAYER_MPIIO, KIND_READ, PLACE_SHARED, false)                    \
    X(M_WRITE_SHARED, "MPI_File_write_shared", LAYER_MPIIO, KIND_WRITE, PLACE_SHARED, false)                 \
    X(M_READ_ORDERED, "MPI_File_read_ordered", LAYER_MPIIO, KIND_READ, PLACE_SHARED, true)                   \
    X(M_WRITE_ORDERED, "MPI_File_write_ordered", LAYER_MPIIO, KIND_WRITE, PLACE_SHARED, true)                \
    X(M_IREAD, "MPI_File_iread", LAYER_MPIIO, KIND_READ, PLACE_POINTER, false)                               \
    X(M_IWRITE, "MPI_File_iwrite", LAYER_MPIIO, KIND_WRITE, PLACE_POINTER, false)                            \
    X(M_IREAD_AT, "MPI_File_iread_at", LAYER_MPIIO, KIND_READ, PLACE_OFFSET, false)                          \
    X(M_IWRITE_AT, "MPI_File_iwrite_at", LAYER_MPIIO, KIND_WRITE, PLACE_OFFSET, false)                       \
    X(M_IREAD_ALL, "MPI_File_iread_all", LAYER_MPIIO, KIND_READ, PLACE_POINTER, true)                        \
    X(M_IWRITE_ALL, "MPI_File_iwrite_all", LAYER_MPIIO, KIND_WRITE, PLACE_POINTER, true)                     \
    X(M_IREAD_AT_ALL, "MPI_File_iread_at_all", LAYER_MPIIO, KIND_READ, PLACE_OFFSET, true)                   \
    X(M_IWRITE_AT_ALL, "MPI_File_iwrite_at_all", LAYER_MPIIO, KIND_WRITE, PLACE_OFFSET, true)                \
    X(M_IREAD_SHARED, "MPI_File_iread_shared", LAYER_MPIIO, KIND_READ, PLACE_SHARED, false)                  \
    X(M_IWRITE_SHARED, "MPI_File_iwrite_shared", LAYER_MPIIO, KIND_WRITE, PLACE_SHARED, false)               \
    X(M_READ_ALL_BEGIN, "MPI_File_read_all_begin", LAYER_MPIIO, KIND_READ, PLACE_POINTER, true)              \
    X(M_WRITE_ALL_BEGIN, "MPI_File_write_all_begin", LAYER_MPIIO, KIND_WRITE, PLACE_POINTER, true)           \
    X(M_READ_AT_ALL_BEGIN, "MPI_File_read_at_all_begin", LAYER_MPIIO, KIND_READ, PLACE_OFFSET, true)         \
    X(M_WRITE_AT_ALL_BEGIN, "MPI_File_write_at_all_begin", LAYER_MPIIO, KIND_WRITE, PLACE_OFFSET, true)      \
    X(M_READ_ORDERED_BEGIN, "MPI_File_read_ordered_begin", LAYER_MPIIO, KIND_READ, PLACE_SHARED, true)       \
    X(M_WRITE_ORDERED_BEGIN, "MPI_File_write_ordered_begin", LAYER_MPIIO, KIND_WRITE, PLACE_SHARED, true)    \
    X(M_OPEN, "MPI_File_open", LAYER_MPIIO, KIND_FILE, PLACE_NONE, true)                                     \
    X(M_CLOSE, "MPI_File_close", LAYER_MPIIO, KIND_FILE, PLACE_NONE, true)                                   \
    X(M_SET_VIEW, "MPI_File_set_view", LAYER_MPIIO, KIND_FILE, PLACE_NONE, true)                             \
    X(M_SEEK, "MPI_File_seek", LAYER_MPIIO, KIND_FILE, PLACE_NONE, false)                                    \
    X(M_SEEK_SHARED, "MPI_File_seek_shared", LAYER_MPIIO, KIND_FILE, PLACE_NONE, true)                       \
    X(M_SYNC, "MPI_File_sync", LAYER_MPIIO, KIND_FILE, PLACE_NONE, true)                                     \
    X(M_SET_SIZE, "MPI_File_set_size", LAYER_MPIIO, KIND_FILE, PLACE_NONE, true)                             \
    X(M_PREALLOCATE, "MPI_File_preallocate", LAYER_MPIIO, KIND_FILE, PLACE_NONE, true)                       \
    X(M_GET_SIZE, "MPI_File_get_size", LAYER_MPIIO, KIND_FILE, PLACE_NONE, false)                            \
    X(M_END, "MPI_File_end", LAYER_MPIIO, KIND_FILE, PLACE_NONE, true)                                       \
    X(M_WAIT, "MPI_Wait", LAYER_MPIIO, KIND_FILE, PLACE_NONE, false)                                         \
    X(M_SET_ATOMICITY, "MPI_File_set_atomicity", LAYER_MPIIO, KIND_FILE, PLACE_NONE, true)                   \
    X(M_SET_INFO, "MPI_File_set_info", LAYER_MPIIO, KIND_FILE, PLACE_NONE, true)                             \
    X(M_DELETE, "MPI_File_delete", LAYER_MPIIO, KIND_FILE, PLACE_NONE, false)

enum call {
#define X(id, name, layer, kind, place, collective) CALL_##id,
    REPLAY_CALLS(X)
#undef X
        N_CALLS
};

struct call_facts {
    const char *name;
    enum call_layer layer;
    enum call_kind kind;
    enum call_place place;
    bool collective;
};

extern const struct call_facts wt_calls[N_CALLS];

/* When a data call's buffer is its own again: when it returns, after MPI_Wait, or after MPI_File_..._end. */
enum completion { COMPLETES_AT_ONCE, COMPLETES_BY_WAIT, COMPLETES_BY_END };
enum completion wt_completion_of(enum call call);

/* The call of that name, N_CALLS if there is none. */
enum call wt_call_named(const char *name);

/* Whether a call works on a file by its name and opens nothing. */
bool wt_goes_by_name(enum call call);
bool wt_needs_open_file(enum call call);

/* What a call was given beside bytes and places: its arg, where WT_ARGUMENTS says that it is that; else 0. */
int64_t wt_given(enum call call, enum wt_given_what what, int64_t arg);

/* Whether an MPI_Wait completes all that is under way. Its arg is the plan's own: 1 for one. */
bool wt_completes_all(enum call call, int64_t arg);

bool wt_is_copy(enum call call);

/* The first half of a copy: nothing is moved until the call that writes follows, or wt_copies_finish. */
bool wt_starts_copy(enum call call);

#endif
