/* Collective communication as synchronisation: a row for each, with its communicator. The n-th row of a
 * communicator is the same call on all of its ranks, so that it orders what they do. A nonblocking one is a
 * row where it begins: completions have no order that is common to the ranks. */
#include "mpi/intercepted_mpi.h"
#include "mpi/mpi_call.h"

static void record_on(uint32_t op, int32_t communicator, const struct wt_call *call, int status) {
    struct wt_event event = wt_mpi_event(op, call, status);
    event.arg = communicator;
    wt_record_mpi(&event);
}

void wt_record_sync(uint32_t op, MPI_Comm comm, const struct wt_call *call, int status) {
    struct wt_event event = wt_mpi_event(op, call, status);
    int saved = errno;
    bool ordering = false;
    event.arg = wt_level_mpi ? wt_communicator(comm, &ordering) : WT_UNKNOWN;
    if (ordering) {
        wt_record_mpi(&event);
    }
    errno = saved;
}

#define SYNC_WRAPPER(name, OP, parameters, arguments)                                                        \
    WT_MPI_WRAPPER(name, parameters, arguments, {                                                            \
        struct wt_call call = wt_call_begin();                                                               \
        int status = real_##name arguments;                                                                  \
        wt_record_sync(WT_OP_##OP, comm, &call, status);                                                     \
        return status;                                                                                       \
    })
WT_SYNC_CALLS(SYNC_WRAPPER)
WT_NONBLOCKING_SYNC_CALLS(SYNC_WRAPPER)
WT_MAKING_SYNC_CALLS(SYNC_WRAPPER)
#undef WT_MPI_WRAPPER
#define WT_MPI_WRAPPER WT_MPI_OPTIONAL
WT_OPTIONAL_SYNC_CALLS(SYNC_WRAPPER)
WT_OPTIONAL_NONBLOCKING_SYNC_CALLS(SYNC_WRAPPER)
#undef WT_MPI_WRAPPER
#define WT_MPI_WRAPPER WT_MPI_EXPORTED

/* Collective over the members of what they make. */
#define MAKING_WRAPPER(name, OP, parameters, arguments)                                                      \
    WT_MPI_WRAPPER(name, parameters, arguments, {                                                            \
        struct wt_call call = wt_call_begin();                                                               \
        int status = real_##name arguments;                                                                  \
        if (status == MPI_SUCCESS) {                                                                         \
            wt_record_sync(WT_OP_##OP, *out, &call, status);                                                 \
        }                                                                                                    \
        return status;                                                                                       \
    })
MAKING_WRAPPER(Comm_create_group, COMM_CREATE_GROUP, (MPI_Comm comm, MPI_Group group, int tag, MPI_Comm *out),
               (comm, group, tag, out))
MAKING_WRAPPER(Intercomm_create, INTERCOMM_CREATE,
               (MPI_Comm comm, int leader, MPI_Comm peers, int remote_leader, int tag, MPI_Comm *out),
               (comm, leader, peers, remote_leader, tag, out))
MAKING_WRAPPER(Intercomm_merge, INTERCOMM_MERGE, (MPI_Comm comm, int high, MPI_Comm *out), (comm, high, out))

/* ---- windows: a fence names no communicator, so that the one of its window is kept ---- */

#define WINDOWS_MAX 256

static struct {
    MPI_Win key;
    int32_t communicator;
    bool used;
} windows[WINDOWS_MAX];

static void keep_window(MPI_Win window, MPI_Comm comm, int status) {
    bool ordering;
    int32_t number = status == MPI_SUCCESS && wt_level_mpi ? wt_communicator(comm, &ordering) : WT_UNKNOWN;
    if (number == WT_UNKNOWN || !ordering) {
        return;
    }
    wt_lock();
    for (unsigned i = 0; i < WINDOWS_MAX; i++) {
        if (!windows[i].used) {
            windows[i].key = window;
            windows[i].communicator = number;
            windows[i].used = true;
            break;
        }
    }
    wt_unlock();
}

static int32_t communicator_of(MPI_Win window, bool forget) {
    int32_t number = WT_UNKNOWN;
    wt_lock();
    for (unsigned i = 0; i < WINDOWS_MAX && number == WT_UNKNOWN; i++) {
        if (windows[i].used && windows[i].key == window) {
            number = windows[i].communicator;
            windows[i].used = !forget;
        }
    }
    wt_unlock();
    return number;
}

#define WINDOW_WRAPPER(name, OP, parameters, arguments)                                                      \
    WT_MPI_WRAPPER(name, parameters, arguments, {                                                            \
        struct wt_call call = wt_call_begin();                                                               \
        int status = real_##name arguments;                                                                  \
        wt_record_sync(WT_OP_##OP, comm, &call, status);                                                     \
        keep_window(*out, comm, status);                                                                     \
        return status;                                                                                       \
    })
WT_WINDOW_CALLS(WINDOW_WRAPPER)

WT_MPI_WRAPPER(Win_fence, (int assertion, MPI_Win window), (assertion, window), {
    struct wt_call call = wt_call_begin();
    int status = real_Win_fence(assertion, window);
    int32_t communicator = communicator_of(window, false);
    if (communicator != WT_UNKNOWN) {
        record_on(WT_OP_WIN_FENCE, communicator, &call, status);
    }
    return status;
})

WT_MPI_WRAPPER(Win_free, (MPI_Win * window), (window), {
    int32_t communicator = communicator_of(*window, true);
    struct wt_call call = wt_call_begin();
    int status = real_Win_free(window);
    if (communicator != WT_UNKNOWN) {
        record_on(WT_OP_WIN_FREE, communicator, &call, status);
    }
    return status;
})
