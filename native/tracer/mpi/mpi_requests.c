/* Completion: MPI_Wait, MPI_Test and their kin. They are ticks; one that completes a nonblocking MPI-IO call
 * leaves a row at that level, so that it is not taken for communication, and says by its MPI_Status what the
 * call has moved. */
#include "mpi/mpi_call.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

int64_t wt_moved(const MPI_Status *status, int64_t asked) {
    static __typeof__(MPI_Get_elements_x) *elements;
    MPI_Count moved = 0;
    if (elements == NULL) {
        elements = (__typeof__(elements))wt_mpi_real("MPI_Get_elements_x");
    }
    bool known = elements(status, wt_mpi.byte, &moved) == MPI_SUCCESS && moved != MPI_UNDEFINED && moved >= 0;
    return known && (int64_t)moved <= asked ? (int64_t)moved : asked;
}

void wt_pending_ended(const struct wt_pending *pending, int result, const MPI_Status *status) {
    int64_t moved = result == MPI_SUCCESS ? wt_moved(status, pending->asked) : 0;
    if (moved == pending->asked || !wt_level_mpiio) {
        return;
    }
    wt_lock();
    wt_meta_begin(WT_META_MOVED);
    wt_meta_number(pending->number);
    wt_meta_number((uint64_t)moved);
    wt_meta_end();
    wt_unlock();
}

/* ---- requests under way: open addressing by handle, grown when half full ---- */

struct request {
    MPI_Request key;
    struct wt_pending pending;
    bool used;
};

static struct request *requests;
static uint32_t n_slots, n_used;

static void *reserve(size_t bytes) {
    void *memory =
        (void *)syscall(SYS_mmap, NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

static uint32_t slot_of(MPI_Request key) {
    uint64_t bits = (uint64_t)(uintptr_t)key * 0x9e3779b97f4a7c15u;
    return (uint32_t)(bits >> 32) & (n_slots - 1);
}

static void put(const struct request *request) {
    uint32_t slot = slot_of(request->key);
    while (requests[slot].used) {
        slot = (slot + 1) & (n_slots - 1);
    }
    requests[slot] = *request;
}

static bool grow(void) {
    struct request *old = requests;
    uint32_t n_old = n_slots, n_new = n_old ? n_old * 2 : 256;
    struct request *memory = reserve(n_new * sizeof *memory);
    if (memory == NULL) {
        return false;
    }
    requests = memory;
    n_slots = n_new;
    for (uint32_t i = 0; i < n_old; i++) {
        if (old[i].used) {
            put(&old[i]);
        }
    }
    if (old != NULL) {
        syscall(SYS_munmap, old, n_old * sizeof *old);
    }
    return true;
}

void wt_request_started(MPI_Request request, const struct wt_pending *pending) {
    if (pending->file == WT_UNKNOWN) {
        return;
    }
    wt_lock();
    if (n_used * 2 < n_slots || grow()) {
        put(&(struct request){.key = request, .pending = *pending, .used = true});
        n_used++;
    }
    wt_unlock();
}

/* Takes a request out: a handle that MPI has freed may be another thread's next one before we hear of it. */
static bool take(MPI_Request key, struct wt_pending *pending) {
    if (n_slots == 0) {
        return false;
    }
    uint32_t mask = n_slots - 1, slot = slot_of(key);
    while (requests[slot].used && requests[slot].key != key) {
        slot = (slot + 1) & mask;
    }
    if (!requests[slot].used) {
        return false;
    }
    *pending = requests[slot].pending;
    requests[slot].used = false;
    n_used--;
    for (uint32_t next = (slot + 1) & mask; requests[next].used; next = (next + 1) & mask) {
        if (((next - slot_of(requests[next].key)) & mask) >= ((next - slot) & mask)) {
            requests[slot] = requests[next]; /* close the gap, so that searches do not end at it */
            requests[next].used = false;
            slot = next;
        }
    }
    return true;
}

/* ---- one call that completes ---- */

#define ON_STACK 32 /* requests of a call for which no memory is mapped */

struct watched {
    int place; /* in the call's array */
    MPI_Request key;
    struct wt_pending pending;
    const MPI_Status *status; /* NULL: not completed */
};

struct completion {
    struct watched *watched;
    MPI_Status *statuses;
    int n, n_watched;
    bool mapped;
    char room[ON_STACK * (sizeof(struct watched) + sizeof(MPI_Status))] __attribute__((aligned(16)));
};

static size_t bytes_for(int n) {
    return (size_t)n * (sizeof(struct watched) + sizeof(MPI_Status));
}

static bool begin(struct completion *c, const MPI_Request *array, int n) {
    c->n = n;
    c->n_watched = 0;
    c->mapped = n > ON_STACK;
    char *memory = c->mapped ? reserve(bytes_for(n)) : c->room;
    if (memory == NULL || n <= 0) {
        c->mapped = false;
        return false;
    }
    c->watched = (struct watched *)memory;
    c->statuses = (MPI_Status *)(memory + (size_t)n * sizeof(struct watched));
    wt_lock();
    for (int i = 0; i < n; i++) {
        struct watched *w = &c->watched[c->n_watched];
        if (take(array[i], &w->pending)) {
            w->place = i;
            w->key = array[i];
            w->status = NULL;
            c->n_watched++;
        }
    }
    wt_unlock();
    if (c->n_watched == 0 && c->mapped) {
        syscall(SYS_munmap, memory, bytes_for(n));
    }
    return c->n_watched > 0;
}

static void record_completion(uint32_t op, const struct wt_pending *pending, const struct wt_call *call,
                              int result) {
    struct wt_event event = wt_mpi_event(op, call, result);
    event.file = pending->file;
    event.handle = pending->handle;
    wt_record_mpi(&event);
}

/* A completed request's handle has changed (to MPI_REQUEST_NULL). Each file has one row. */
static void end(struct completion *c, uint32_t op, const MPI_Request *array, const struct wt_call *call,
                int result, const int *indices, int n_done, const MPI_Status *statuses) {
    int saved = errno;
    for (int i = 0; i < c->n_watched; i++) {
        struct watched *w = &c->watched[i];
        if (array[w->place] == w->key) {
            wt_request_started(w->key, &w->pending); /* still under way */
            continue;
        }
        w->status = indices == NULL ? &statuses[w->place] : NULL;
        for (int k = 0; indices != NULL && k < n_done; k++) {
            w->status = indices[k] == w->place ? &statuses[k] : w->status;
        }
        if (w->status != NULL) {
            int code = result == MPI_ERR_IN_STATUS ? w->status->MPI_ERROR : result;
            wt_pending_ended(&w->pending, code, w->status);
        }
        bool said = !wt_level_mpiio;
        for (int k = 0; k < i && !said; k++) {
            const struct watched *other = &c->watched[k];
            said = array[other->place] != other->key && other->pending.handle == w->pending.handle;
        }
        if (!said) {
            record_completion(op, &w->pending, call, result);
        }
    }
    if (c->mapped) {
        syscall(SYS_munmap, c->watched, bytes_for(c->n));
    }
    errno = saved;
}

/* Programs poll: without MPI-IO under way such a call costs its tick. The name of the statuses' parameter is
 * `statuses`; where the application ignores them, ours are taken. */
#define COMPLETES(name, OP, array, n_requests, indices, n_done, parameters, arguments)                       \
    WT_MPI_WRAPPER(name, parameters, arguments, {                                                            \
        struct completion c;                                                                                 \
        if (WT_LIKELY(n_used == 0) || !begin(&c, array, n_requests)) {                                       \
            atomic_fetch_add_explicit(&wt_ticks, 1, memory_order_relaxed);                                   \
            return real_##name arguments;                                                                    \
        }                                                                                                    \
        statuses = statuses == MPI_STATUSES_IGNORE || statuses == MPI_STATUS_IGNORE ? c.statuses : statuses; \
        struct wt_call call = wt_call_begin();                                                               \
        int result = real_##name arguments;                                                                  \
        end(&c, WT_OP_##OP, array, &call, result, indices, n_done, statuses);                                \
        return result;                                                                                       \
    })
COMPLETES(Wait, FILE_WAIT, request, 1, NULL, 0, (MPI_Request * request, MPI_Status *statuses),
          (request, statuses))
COMPLETES(Waitall, FILE_WAIT, array, n, NULL, 0, (int n, MPI_Request array[], MPI_Status *statuses),
          (n, array, statuses))
COMPLETES(Waitany, FILE_WAIT, array, n, index, 1,
          (int n, MPI_Request array[], int *index, MPI_Status *statuses), (n, array, index, statuses))
COMPLETES(Waitsome, FILE_WAIT, array, n, indices, *n_done,
          (int n, MPI_Request array[], int *n_done, int indices[], MPI_Status *statuses),
          (n, array, n_done, indices, statuses))
COMPLETES(Test, FILE_TEST, request, 1, NULL, 0, (MPI_Request * request, int *flag, MPI_Status *statuses),
          (request, flag, statuses))
COMPLETES(Testall, FILE_TEST, array, n, NULL, 0,
          (int n, MPI_Request array[], int *flag, MPI_Status *statuses), (n, array, flag, statuses))
COMPLETES(Testany, FILE_TEST, array, n, index, *flag ? 1 : 0,
          (int n, MPI_Request array[], int *index, int *flag, MPI_Status *statuses),
          (n, array, index, flag, statuses))
COMPLETES(Testsome, FILE_TEST, array, n, indices, *n_done,
          (int n, MPI_Request array[], int *n_done, int indices[], MPI_Status *statuses),
          (n, array, n_done, indices, statuses))

/* A request that nobody waits for: its handle may come back as another call's. No communication. */
WT_MPI_WRAPPER(Request_free, (MPI_Request * request), (request), {
    struct wt_pending pending;
    wt_lock();
    take(*request, &pending);
    wt_unlock();
    return real_Request_free(request);
})
