/* Completion: MPI_Wait, MPI_Test and their kin. They are ticks; one that completes a nonblocking MPI-IO call
 * leaves a row at that level, so that it is not taken for communication. */
#include "mpi_call.h"

#include <errno.h>

#define REQUESTS_MAX 256 /* under way at once; completion of further ones is only counted */

static struct {
    MPI_Request key;
    int32_t file, handle;
    bool used;
} requests[REQUESTS_MAX];
static unsigned n_used;

void wt_request_started(MPI_Request request, int32_t file, int32_t handle) {
    if (file == WT_UNKNOWN) {
        return;
    }
    wt_lock();
    for (unsigned i = 0; i < REQUESTS_MAX; i++) {
        if (!requests[i].used) {
            requests[i].key = request;
            requests[i].file = file;
            requests[i].handle = handle;
            requests[i].used = true;
            n_used++;
            break;
        }
    }
    wt_unlock();
}

#define NONE REQUESTS_MAX

static unsigned find(MPI_Request request) {
    for (unsigned i = 0; i < REQUESTS_MAX; i++) {
        if (requests[i].used && requests[i].key == request) {
            return i;
        }
    }
    return NONE;
}

/* Which of an array's requests are of MPI-IO: at most this many are looked at in one call. */
struct watched {
    unsigned n;
    struct {
        int place;
        unsigned slot;
    } entries[64];
};

static void watch(struct watched *watched, const MPI_Request *array, int n) {
    watched->n = 0;
    for (int i = 0; i < n && watched->n < 64; i++) {
        unsigned slot = find(array[i]);
        if (slot != NONE) {
            watched->entries[watched->n].place = i;
            watched->entries[watched->n++].slot = slot;
        }
    }
}

/* A completed request's handle has changed (to MPI_REQUEST_NULL). */
static void completed(uint32_t op, const struct watched *watched, const MPI_Request *array,
                      const struct wt_call *call, int status) {
    uint64_t end = wt_now();
    int saved = errno;
    int32_t file = WT_UNKNOWN, handle = WT_UNKNOWN;
    for (unsigned i = 0; i < watched->n; i++) {
        unsigned slot = watched->entries[i].slot;
        if (array[watched->entries[i].place] != requests[slot].key) {
            file = requests[slot].file;
            handle = requests[slot].handle;
            wt_lock();
            requests[slot].used = false;
            n_used--;
            wt_unlock();
        }
    }
    if (file != WT_UNKNOWN && wt_level_mpiio) {
        struct wt_event event = {.op = op,
                                 .file = file,
                                 .handle = handle,
                                 .view = WT_UNKNOWN,
                                 .offset = WT_UNKNOWN,
                                 .view_offset = WT_UNKNOWN,
                                 .error = status == MPI_SUCCESS ? 0 : EIO,
                                 .tick = call->tick,
                                 .subtick = call->subtick,
                                 .start = call->start,
                                 .end = end};
        wt_record_mpi(&event);
    }
    errno = saved;
}

/* Programs poll: without MPI-IO under way such a call costs its tick. */
#define COMPLETES(name, OP, array, n_requests, parameters, arguments)                                        \
    WT_MPI_WRAPPER(name, parameters, arguments, {                                                            \
        if (WT_LIKELY(n_used == 0)) {                                                                        \
            atomic_fetch_add_explicit(&wt_ticks, 1, memory_order_relaxed);                                   \
            return real_##name arguments;                                                                    \
        }                                                                                                    \
        struct watched watched;                                                                              \
        watch(&watched, array, n_requests);                                                                  \
        struct wt_call call = wt_call_begin();                                                               \
        int result = real_##name arguments;                                                                  \
        if (watched.n > 0) {                                                                                 \
            completed(WT_OP_##OP, &watched, array, &call, result);                                           \
        }                                                                                                    \
        return result;                                                                                       \
    })
COMPLETES(Wait, FILE_WAIT, request, 1, (MPI_Request * request, MPI_Status *status), (request, status))
COMPLETES(Waitall, FILE_WAIT, array, n, (int n, MPI_Request array[], MPI_Status *statuses),
          (n, array, statuses))
COMPLETES(Waitany, FILE_WAIT, array, n, (int n, MPI_Request array[], int *index, MPI_Status *status),
          (n, array, index, status))
COMPLETES(Waitsome, FILE_WAIT, array, n,
          (int n, MPI_Request array[], int *n_done, int indices[], MPI_Status *statuses),
          (n, array, n_done, indices, statuses))
COMPLETES(Test, FILE_TEST, request, 1, (MPI_Request * request, int *flag, MPI_Status *status),
          (request, flag, status))
COMPLETES(Testall, FILE_TEST, array, n, (int n, MPI_Request array[], int *flag, MPI_Status *statuses),
          (n, array, flag, statuses))
COMPLETES(Testany, FILE_TEST, array, n,
          (int n, MPI_Request array[], int *index, int *flag, MPI_Status *status),
          (n, array, index, flag, status))
COMPLETES(Testsome, FILE_TEST, array, n,
          (int n, MPI_Request array[], int *n_done, int indices[], MPI_Status *statuses),
          (n, array, n_done, indices, statuses))
