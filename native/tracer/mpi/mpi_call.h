/* What the MPI files of the tracer share. Compiled once for each MPI family. */
#ifndef WT_MPI_CALL_H
#define WT_MPI_CALL_H

#include "record/record.h"

#include <errno.h>
#include <mpi.h>

/* The function behind a wrapper: PMPI_name of this library's MPI family; of another family, the next in line.
 */
void *wt_mpi_real(const char *name); /* "MPI_Send" */
void *wt_mpi_has(const char *name);  /* the same; NULL: the process's MPI library does not have it */
bool wt_mpi_is_ours(void); /* the process's MPI is of the family that this library was compiled for */
extern bool wt_mpi_runs;   /* between MPI_Init and MPI_Finalize, of our family */
bool wt_mpi_traced(void);  /* between MPI_Init and MPI_Finalize, of our family, tracing */
/* Open MPI's Fortran bindings, and MPICH's for mpi_f08, call PMPI_ directly: such a call is the
 * application's, any other is internal. */
bool wt_mpi_from_fortran(const void *caller);
bool wt_mpi_is_fortran(const char *file); /* a library with Fortran bindings, by its name */

/* Open MPI's constants are addresses of its objects. They are looked up, not linked: this library is also
 * loaded into programs without MPI. */
struct wt_mpi_constants {
    MPI_Comm world, comm_null;
    MPI_Info info_null;
    MPI_Datatype byte;
};
extern struct wt_mpi_constants wt_mpi; /* valid once wt_mpi_is_ours() is true */

#define WT_MPI_REAL(name)                                                                                    \
    static __typeof__(MPI_##name) *real_##name;                                                              \
    if (WT_UNLIKELY(real_##name == NULL)) {                                                                  \
        real_##name = (__typeof__(MPI_##name) *)wt_mpi_real("MPI_" #name);                                   \
    }

/* The same for a wrapper of PMPI_name: where this library is not of the process's family, the next in line
 * must still see a PMPI call, or it would take the MPI library's own calls for the application's. */
void *wt_pmpi_real(const char *name); /* "MPI_Send" */
#define WT_PMPI_REAL(name)                                                                                   \
    static __typeof__(MPI_##name) *real_##name;                                                              \
    if (WT_UNLIKELY(real_##name == NULL)) {                                                                  \
        real_##name = (__typeof__(MPI_##name) *)wt_pmpi_real("MPI_" #name);                                  \
    }

/* Defines the wrapper MPI_name, and PMPI_name for calls out of Fortran bindings. The body
 * calls real_name. */
#define WT_MPI_TWIN(type, name, parameters, arguments, ...)                                                  \
    WT_EXPORT type PMPI_##name parameters {                                                                  \
        WT_PMPI_REAL(name)                                                                                   \
        if (!wt_mpi_from_fortran(__builtin_return_address(0)) || !wt_mpi_traced()) {                         \
            return real_##name arguments;                                                                    \
        }                                                                                                    \
        __VA_ARGS__                                                                                          \
    }
#define WT_MPI_EXPORTED(name, parameters, arguments, ...)                                                    \
    WT_EXPORT int MPI_##name parameters {                                                                    \
        WT_MPI_REAL(name)                                                                                    \
        if (!wt_mpi_traced()) {                                                                              \
            return real_##name arguments;                                                                    \
        }                                                                                                    \
        __VA_ARGS__                                                                                          \
    }                                                                                                        \
    WT_MPI_TWIN(int, name, parameters, arguments, __VA_ARGS__)
#define WT_MPI_WRAPPER WT_MPI_EXPORTED

/* ---- mpi_optional.c: functions that not every MPI library has. Programs ask whether the library has them,
 * by weak references or dlsym, so that they are not exported: calls of them are led here once the library is
 * known. `real` is the library's function, and is there whenever the wrapper is called. ---- */
struct wt_optional {
    const char *name; /* "MPI_Send_c" */
    void *wrapper, *real;
};
/* aligned: the entries of the section lie one behind another */
#define WT_OPTIONAL_ENTRY __attribute__((section("wt_optional"), used, aligned(8)))
#define WT_MPI_OPTIONAL(name, parameters, arguments, ...)                                                    \
    static int optional_##name parameters;                                                                   \
    static struct wt_optional entry_##name WT_OPTIONAL_ENTRY = {"MPI_" #name, (void *)optional_##name,       \
                                                                NULL};                                       \
    static int optional_##name parameters {                                                                  \
        __typeof__(MPI_##name) *real_##name = (__typeof__(MPI_##name) *)entry_##name.real;                   \
        if (!wt_mpi_traced()) {                                                                              \
            return real_##name arguments;                                                                    \
        }                                                                                                    \
        __VA_ARGS__                                                                                          \
    }
void wt_optional_start(void);  /* behind MPI_Init */
void wt_optional_loaded(void); /* again, if objects were loaded since */

/* A call under way: the clocks before it. */
struct wt_call {
    uint64_t tick, subtick, start;
};
static inline struct wt_call wt_call_begin(void) {
    struct wt_call call;
    wt_subtick_now(&call.tick, &call.subtick);
    call.start = wt_now();
    return call;
}

/* A call that has ended now, of no file and no place as long as nothing else is filled in. */
static inline struct wt_event wt_mpi_event(uint32_t op, const struct wt_call *call, int status) {
    return (struct wt_event){.op = op,
                             .file = WT_UNKNOWN,
                             .handle = WT_UNKNOWN,
                             .view = WT_UNKNOWN,
                             .offset = WT_UNKNOWN,
                             .view_offset = WT_UNKNOWN,
                             .error = status == MPI_SUCCESS ? 0 : EIO,
                             .tick = call->tick,
                             .subtick = call->subtick,
                             .start = call->start,
                             .end = wt_now()};
}

/* ---- mpi_files.c: guards tables whose upkeep calls into MPI. Taken before wt_lock, never after: a thread
 * inside MPI may hold the library's own lock while it waits for wt_lock to record its POSIX calls. ---- */
void wt_mpi_lock(void);
void wt_mpi_unlock(void);

/* ---- mpi_communicators.c, mpi_collectives.c ---- */
void wt_communicators_start(void);
void wt_communicators_end(void);
void wt_record_sync(uint32_t op, MPI_Comm comm, const struct wt_call *call, int status);
int32_t
wt_communicator(MPI_Comm comm,
                bool *ordering); /* number; ordering: more than one rank of MPI_COMM_WORLD, or all of it */

/* ---- mpi_requests.c ---- */
/* A data call whose MPI_Status comes later: what was asked for, and which row says so. */
struct wt_pending {
    int32_t file, handle;
    uint64_t number; /* of the operation within the process */
    int64_t asked;   /* bytes */
};
void wt_request_started(MPI_Request request, const struct wt_pending *pending);
void wt_pending_ended(const struct wt_pending *pending, int result, const MPI_Status *status);
int64_t wt_moved(const MPI_Status *status, int64_t asked); /* bytes; asked where the status does not say */

/* ---- mpi_clock.c: all ranks together ---- */
void wt_mpi_clock_start(void); /* behind MPI_Init */
void wt_mpi_clock_end(void);   /* before MPI_Finalize */

#endif
