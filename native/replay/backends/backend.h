/* How calls are performed: posix, mpiio, or null (nothing is done; what remains is the program's own cost).
 */
#ifndef WAVETANK_REPLAY_BACKEND_H
#define WAVETANK_REPLAY_BACKEND_H

#include "plan/plan.h"

#include <stdbool.h>
#include <stdint.h>

/* A data call that is under way: nonblocking, or the first half of a split collective one. */
struct under_way {
    enum call call;
    char *buffer;
    const struct plan_view *memory; /* as of the file it goes through */
    int64_t position, size;
    int32_t phase;            /* index: to which its completion is counted */
    unsigned long long id[1]; /* MPI_Request */
};

/* One open of a file on this rank. */
struct open_file {
    int64_t handle;
    const struct plan_file *file;
    enum call_layer layer;
    bool is_open, append, readable, writable, written;
    bool synchronous;         /* each write waits until it is on storage */
    int64_t *unflushed_bytes; /* where writes are counted (flush.c) */
    bool nameless;            /* posix: opened by O_TMPFILE */
    const char *goes;   /* posix: path that goes at the close: of O_TMPFILE where the file system has none */
    int64_t known_size; /* at least so many bytes are in the file */
    int64_t position;   /* of the file pointer: bytes, in the view where there is one */
    int64_t copied_to;  /* posix: where the latest copy inside of the kernel ended */
    int64_t pending_seeks; /* seeks to where the next data call starts, not yet made */
    int64_t pending_whence;
    int32_t epoch;        /* which of the files that had the name one after the other (verify_state.c) */
    int32_t communicator; /* mpiio: index, -1: this rank alone */
    const struct plan_view *view;   /* NULL: none */
    int32_t view_index;             /* -1: none */
    const struct plan_view *memory; /* mpiio: of the data calls that come; NULL: one piece */
    int fd;                         /* posix */
    void *listing;                  /* posix: DIR * of a directory that is listed */
    bool directory;
    int *copies; /* posix: by dup */
    int n_copies;
    void *mpi_file;                   /* mpiio: MPI_File * */
    struct under_way *under_way;      /* oldest first */
    int32_t n_under_way, n_completed; /* the first n_completed are done, and not yet taken away */
};

/* A call that moves no data. */
struct file_action {
    enum call call;
    const struct plan_file *file;
    const struct plan_file *other; /* rename, link, symlink: the file that gets the new name */
    int32_t name, other_name;      /* which of the files' names */
    struct open_file *open;        /* NULL where there is none: stat, unlink, ... */
    int64_t arg, offset;           /* arg: asked by name, below; offset -1: not known */
    int32_t error;                 /* errno with which it failed in the traced run */
    bool refused;                  /* made so that it fails with that error (refusals.h) */
    int32_t view, communicator, info;
    bool direct; /* open with O_DIRECT */
};

static inline const struct plan_name *wt_name_of(const struct file_action *action) {
    return &action->file->names[action->name];
}

/* What a call was given, by name; 0 of calls that were given something else. */
static inline int64_t wt_open_flags(const struct file_action *a) {
    return wt_given(a->call, WT_GIVEN_FLAGS, a->arg);
}

static inline int64_t wt_mpi_mode(const struct file_action *a) {
    return wt_given(a->call, WT_GIVEN_MPI_MODE, a->arg);
}

static inline int64_t wt_origin(const struct file_action *a) {
    return wt_given(a->call, WT_GIVEN_ORIGIN, a->arg);
}

static inline int64_t wt_new_size(const struct file_action *a) {
    return wt_given(a->call, WT_GIVEN_NEW_SIZE, a->arg);
}

static inline int64_t wt_length(const struct file_action *a) {
    return wt_given(a->call, WT_GIVEN_LENGTH, a->arg);
}

static inline bool wt_is_new_name(const struct file_action *a) {
    return wt_given(a->call, WT_GIVEN_NEW_NAME, a->arg) != 0;
}

/* Bytes moved, or -1: reason() says why. offset is where the call starts; calls that go by the file pointer
 * find it there already. */
typedef int64_t (*data_call)(struct open_file *file, char *buffer, int64_t size, int64_t offset);

struct backend {
    const char *name;
    void (*start)(const struct plan *plan);
    data_call (*data)(enum call call);
    bool (*act)(const struct file_action *action); /* false: reason() says why */
    const char *(*reason)(void);                   /* of the last failure */
    int (*error)(void);                            /* the same as errno; 0 where it is none */
    void (*end)(void);
};

extern const struct backend wt_backend_posix, wt_backend_mpiio, wt_backend_null;

#endif
