/* MPI calls that count as a tick and leave no row: communication and its completion. Local inquiries
 * (MPI_Comm_rank, MPI_Wtime, MPI_Type_*, MPI_Info_*, ...) order nothing and are not counted. X(name) */
#ifndef WT_INTERCEPTED_MPI_H
#define WT_INTERCEPTED_MPI_H

#include <mpi.h> /* MPI_VERSION */

// clang-format off
#define WT_TICK_CALLS(X) \
    X(Send) X(Ssend) X(Bsend) X(Rsend) X(Isend) X(Issend) X(Ibsend) X(Irsend) X(Recv) X(Irecv) X(Mrecv) \
    X(Imrecv) X(Sendrecv) X(Sendrecv_replace) X(Probe) X(Iprobe) \
    X(Mprobe) X(Improbe) X(Cancel) X(Start) X(Startall) X(Request_get_status) X(Buffer_detach) X(Put) X(Get) X(Accumulate) X(Get_accumulate) \
    X(Fetch_and_op) X(Compare_and_swap) X(Rput) X(Rget) X(Raccumulate) X(Rget_accumulate) X(Win_start) \
    X(Win_post) X(Win_complete) X(Win_wait) X(Win_test) X(Win_lock) X(Win_lock_all) X(Win_unlock) \
    X(Win_unlock_all) X(Win_flush) X(Win_flush_all) X(Win_flush_local) X(Win_flush_local_all) \
    X(Win_sync) X(Comm_free) X(Comm_disconnect) X(Comm_spawn) \
    X(Comm_spawn_multiple) X(Comm_accept) X(Comm_connect) X(Comm_join)
// clang-format on

/* Of MPI 4, which not every library has: see mpi_optional.c. Those with MPI_Count arguments end with _c. */
// clang-format off
#define WT_OPTIONAL_TICK_CALLS(X) \
    X(Isendrecv) X(Isendrecv_replace) X(Pready) X(Pready_range) X(Pready_list) X(Parrived) \
    X(Comm_idup_with_info) X(Send_c) X(Ssend_c) X(Bsend_c) X(Rsend_c) X(Isend_c) X(Issend_c) X(Ibsend_c) \
    X(Irsend_c) X(Recv_c) X(Irecv_c) X(Mrecv_c) X(Imrecv_c) X(Sendrecv_c) X(Sendrecv_replace_c) \
    X(Isendrecv_c) X(Isendrecv_replace_c) X(Put_c) X(Get_c) X(Accumulate_c) X(Get_accumulate_c) X(Rput_c) \
    X(Rget_c) X(Raccumulate_c) X(Rget_accumulate_c)
// clang-format on

#if MPI_VERSION >= 4
#define WT_OPTIONAL_SYNC_CALLS(X)                                                                            \
    X(Allreduce_c, ALLREDUCE,                                                                                \
      (const void *a, void *b, MPI_Count n, MPI_Datatype t, MPI_Op op, MPI_Comm comm),                       \
      (a, b, n, t, op, comm))                                                                                \
    X(Allgather_c, ALLGATHER,                                                                                \
      (const void *a, MPI_Count n, MPI_Datatype t, void *b, MPI_Count m, MPI_Datatype u, MPI_Comm comm),     \
      (a, n, t, b, m, u, comm))                                                                              \
    X(Allgatherv_c, ALLGATHERV,                                                                              \
      (const void *a, MPI_Count n, MPI_Datatype t, void *b, const MPI_Count m[], const MPI_Aint d[],         \
       MPI_Datatype u, MPI_Comm comm),                                                                       \
      (a, n, t, b, m, d, u, comm))                                                                           \
    X(Alltoall_c, ALLTOALL,                                                                                  \
      (const void *a, MPI_Count n, MPI_Datatype t, void *b, MPI_Count m, MPI_Datatype u, MPI_Comm comm),     \
      (a, n, t, b, m, u, comm))                                                                              \
    X(Alltoallv_c, ALLTOALLV,                                                                                \
      (const void *a, const MPI_Count n[], const MPI_Aint d[], MPI_Datatype t, void *b, const MPI_Count m[], \
       const MPI_Aint e[], MPI_Datatype u, MPI_Comm comm),                                                   \
      (a, n, d, t, b, m, e, u, comm))                                                                        \
    X(Alltoallw_c, ALLTOALLW,                                                                                \
      (const void *a, const MPI_Count n[], const MPI_Aint d[], const MPI_Datatype t[], void *b,              \
       const MPI_Count m[], const MPI_Aint e[], const MPI_Datatype u[], MPI_Comm comm),                      \
      (a, n, d, t, b, m, e, u, comm))                                                                        \
    X(Reduce_scatter_c, REDUCE_SCATTER,                                                                      \
      (const void *a, void *b, const MPI_Count n[], MPI_Datatype t, MPI_Op op, MPI_Comm comm),               \
      (a, b, n, t, op, comm))                                                                                \
    X(Reduce_scatter_block_c, REDUCE_SCATTER_BLOCK,                                                          \
      (const void *a, void *b, MPI_Count n, MPI_Datatype t, MPI_Op op, MPI_Comm comm),                       \
      (a, b, n, t, op, comm))                                                                                \
    X(Bcast_c, BCAST, (void *a, MPI_Count n, MPI_Datatype t, int root, MPI_Comm comm),                       \
      (a, n, t, root, comm))                                                                                 \
    X(Reduce_c, REDUCE,                                                                                      \
      (const void *a, void *b, MPI_Count n, MPI_Datatype t, MPI_Op op, int root, MPI_Comm comm),             \
      (a, b, n, t, op, root, comm))                                                                          \
    X(Gather_c, GATHER,                                                                                      \
      (const void *a, MPI_Count n, MPI_Datatype t, void *b, MPI_Count m, MPI_Datatype u, int root,           \
       MPI_Comm comm),                                                                                       \
      (a, n, t, b, m, u, root, comm))                                                                        \
    X(Gatherv_c, GATHERV,                                                                                    \
      (const void *a, MPI_Count n, MPI_Datatype t, void *b, const MPI_Count m[], const MPI_Aint d[],         \
       MPI_Datatype u, int root, MPI_Comm comm),                                                             \
      (a, n, t, b, m, d, u, root, comm))                                                                     \
    X(Scatter_c, SCATTER,                                                                                    \
      (const void *a, MPI_Count n, MPI_Datatype t, void *b, MPI_Count m, MPI_Datatype u, int root,           \
       MPI_Comm comm),                                                                                       \
      (a, n, t, b, m, u, root, comm))                                                                        \
    X(Scatterv_c, SCATTERV,                                                                                  \
      (const void *a, const MPI_Count n[], const MPI_Aint d[], MPI_Datatype t, void *b, MPI_Count m,         \
       MPI_Datatype u, int root, MPI_Comm comm),                                                             \
      (a, n, d, t, b, m, u, root, comm))                                                                     \
    X(Scan_c, SCAN, (const void *a, void *b, MPI_Count n, MPI_Datatype t, MPI_Op op, MPI_Comm comm),         \
      (a, b, n, t, op, comm))                                                                                \
    X(Exscan_c, EXSCAN, (const void *a, void *b, MPI_Count n, MPI_Datatype t, MPI_Op op, MPI_Comm comm),     \
      (a, b, n, t, op, comm))
#else
#define WT_OPTIONAL_SYNC_CALLS(X)
#endif

/* Collectives that leave a row: an order between the ranks of a communicator. Rooted ones are among them:
 * they order the root before the others or after them, and a replay that keeps more order than that only
 * makes the root wait. X(name, OP, parameters, arguments) */
#define WT_SYNC_CALLS(X)                                                                                     \
    X(Barrier, BARRIER, (MPI_Comm comm), (comm))                                                             \
    X(Allreduce, ALLREDUCE, (const void *a, void *b, int n, MPI_Datatype t, MPI_Op op, MPI_Comm comm),       \
      (a, b, n, t, op, comm))                                                                                \
    X(Allgather, ALLGATHER,                                                                                  \
      (const void *a, int n, MPI_Datatype t, void *b, int m, MPI_Datatype u, MPI_Comm comm),                 \
      (a, n, t, b, m, u, comm))                                                                              \
    X(Allgatherv, ALLGATHERV,                                                                                \
      (const void *a, int n, MPI_Datatype t, void *b, const int m[], const int d[], MPI_Datatype u,          \
       MPI_Comm comm),                                                                                       \
      (a, n, t, b, m, d, u, comm))                                                                           \
    X(Alltoall, ALLTOALL,                                                                                    \
      (const void *a, int n, MPI_Datatype t, void *b, int m, MPI_Datatype u, MPI_Comm comm),                 \
      (a, n, t, b, m, u, comm))                                                                              \
    X(Alltoallv, ALLTOALLV,                                                                                  \
      (const void *a, const int n[], const int d[], MPI_Datatype t, void *b, const int m[], const int e[],   \
       MPI_Datatype u, MPI_Comm comm),                                                                       \
      (a, n, d, t, b, m, e, u, comm))                                                                        \
    X(Alltoallw, ALLTOALLW,                                                                                  \
      (const void *a, const int n[], const int d[], const MPI_Datatype t[], void *b, const int m[],          \
       const int e[], const MPI_Datatype u[], MPI_Comm comm),                                                \
      (a, n, d, t, b, m, e, u, comm))                                                                        \
    X(Reduce_scatter, REDUCE_SCATTER,                                                                        \
      (const void *a, void *b, const int n[], MPI_Datatype t, MPI_Op op, MPI_Comm comm),                     \
      (a, b, n, t, op, comm))                                                                                \
    X(Reduce_scatter_block, REDUCE_SCATTER_BLOCK,                                                            \
      (const void *a, void *b, int n, MPI_Datatype t, MPI_Op op, MPI_Comm comm), (a, b, n, t, op, comm))     \
    X(Bcast, BCAST, (void *a, int n, MPI_Datatype t, int root, MPI_Comm comm), (a, n, t, root, comm))        \
    X(Reduce, REDUCE, (const void *a, void *b, int n, MPI_Datatype t, MPI_Op op, int root, MPI_Comm comm),   \
      (a, b, n, t, op, root, comm))                                                                          \
    X(Gather, GATHER,                                                                                        \
      (const void *a, int n, MPI_Datatype t, void *b, int m, MPI_Datatype u, int root, MPI_Comm comm),       \
      (a, n, t, b, m, u, root, comm))                                                                        \
    X(Gatherv, GATHERV,                                                                                      \
      (const void *a, int n, MPI_Datatype t, void *b, const int m[], const int d[], MPI_Datatype u,          \
       int root, MPI_Comm comm),                                                                             \
      (a, n, t, b, m, d, u, root, comm))                                                                     \
    X(Scatter, SCATTER,                                                                                      \
      (const void *a, int n, MPI_Datatype t, void *b, int m, MPI_Datatype u, int root, MPI_Comm comm),       \
      (a, n, t, b, m, u, root, comm))                                                                        \
    X(Scatterv, SCATTERV,                                                                                    \
      (const void *a, const int n[], const int d[], MPI_Datatype t, void *b, int m, MPI_Datatype u,          \
       int root, MPI_Comm comm),                                                                             \
      (a, n, d, t, b, m, u, root, comm))                                                                     \
    X(Scan, SCAN, (const void *a, void *b, int n, MPI_Datatype t, MPI_Op op, MPI_Comm comm),                 \
      (a, b, n, t, op, comm))                                                                                \
    X(Exscan, EXSCAN, (const void *a, void *b, int n, MPI_Datatype t, MPI_Op op, MPI_Comm comm),             \
      (a, b, n, t, op, comm))                                                                                \
    X(Comm_dup, COMM_DUP, (MPI_Comm comm, MPI_Comm * out), (comm, out))                                      \
    X(Comm_split, COMM_SPLIT, (MPI_Comm comm, int color, int key, MPI_Comm *out), (comm, color, key, out))   \
    X(Comm_create, COMM_CREATE, (MPI_Comm comm, MPI_Group group, MPI_Comm * out), (comm, group, out))

/* Nonblocking collectives, at the place where they begin: there all ranks have the same order of them. And
 * collectives over the neighbours of a topology, which order these alone. */
#define WT_NONBLOCKING_SYNC_CALLS(X)                                                                         \
    X(Ibarrier, IBARRIER, (MPI_Comm comm, MPI_Request * request), (comm, request))                           \
    X(Iallreduce, IALLREDUCE,                                                                                \
      (const void *a, void *b, int n, MPI_Datatype t, MPI_Op op, MPI_Comm comm, MPI_Request *request),       \
      (a, b, n, t, op, comm, request))                                                                       \
    X(Iallgather, IALLGATHER,                                                                                \
      (const void *a, int n, MPI_Datatype t, void *b, int m, MPI_Datatype u, MPI_Comm comm,                  \
       MPI_Request *request),                                                                                \
      (a, n, t, b, m, u, comm, request))                                                                     \
    X(Iallgatherv, IALLGATHERV,                                                                              \
      (const void *a, int n, MPI_Datatype t, void *b, const int m[], const int d[], MPI_Datatype u,          \
       MPI_Comm comm, MPI_Request *request),                                                                 \
      (a, n, t, b, m, d, u, comm, request))                                                                  \
    X(Ialltoall, IALLTOALL,                                                                                  \
      (const void *a, int n, MPI_Datatype t, void *b, int m, MPI_Datatype u, MPI_Comm comm,                  \
       MPI_Request *request),                                                                                \
      (a, n, t, b, m, u, comm, request))                                                                     \
    X(Ialltoallv, IALLTOALLV,                                                                                \
      (const void *a, const int n[], const int d[], MPI_Datatype t, void *b, const int m[], const int e[],   \
       MPI_Datatype u, MPI_Comm comm, MPI_Request *request),                                                 \
      (a, n, d, t, b, m, e, u, comm, request))                                                               \
    X(Ialltoallw, IALLTOALLW,                                                                                \
      (const void *a, const int n[], const int d[], const MPI_Datatype t[], void *b, const int m[],          \
       const int e[], const MPI_Datatype u[], MPI_Comm comm, MPI_Request *request),                          \
      (a, n, d, t, b, m, e, u, comm, request))                                                               \
    X(Ireduce_scatter, IREDUCE_SCATTER,                                                                      \
      (const void *a, void *b, const int n[], MPI_Datatype t, MPI_Op op, MPI_Comm comm,                      \
       MPI_Request *request),                                                                                \
      (a, b, n, t, op, comm, request))                                                                       \
    X(Ireduce_scatter_block, IREDUCE_SCATTER_BLOCK,                                                          \
      (const void *a, void *b, int n, MPI_Datatype t, MPI_Op op, MPI_Comm comm, MPI_Request *request),       \
      (a, b, n, t, op, comm, request))                                                                       \
    X(Ibcast, IBCAST, (void *a, int n, MPI_Datatype t, int root, MPI_Comm comm, MPI_Request *request),       \
      (a, n, t, root, comm, request))                                                                        \
    X(Ireduce, IREDUCE,                                                                                      \
      (const void *a, void *b, int n, MPI_Datatype t, MPI_Op op, int root, MPI_Comm comm,                    \
       MPI_Request *request),                                                                                \
      (a, b, n, t, op, root, comm, request))                                                                 \
    X(Igather, IGATHER,                                                                                      \
      (const void *a, int n, MPI_Datatype t, void *b, int m, MPI_Datatype u, int root, MPI_Comm comm,        \
       MPI_Request *request),                                                                                \
      (a, n, t, b, m, u, root, comm, request))                                                               \
    X(Igatherv, IGATHERV,                                                                                    \
      (const void *a, int n, MPI_Datatype t, void *b, const int m[], const int d[], MPI_Datatype u,          \
       int root, MPI_Comm comm, MPI_Request *request),                                                       \
      (a, n, t, b, m, d, u, root, comm, request))                                                            \
    X(Iscatter, ISCATTER,                                                                                    \
      (const void *a, int n, MPI_Datatype t, void *b, int m, MPI_Datatype u, int root, MPI_Comm comm,        \
       MPI_Request *request),                                                                                \
      (a, n, t, b, m, u, root, comm, request))                                                               \
    X(Iscatterv, ISCATTERV,                                                                                  \
      (const void *a, const int n[], const int d[], MPI_Datatype t, void *b, int m, MPI_Datatype u,          \
       int root, MPI_Comm comm, MPI_Request *request),                                                       \
      (a, n, d, t, b, m, u, root, comm, request))                                                            \
    X(Iscan, ISCAN,                                                                                          \
      (const void *a, void *b, int n, MPI_Datatype t, MPI_Op op, MPI_Comm comm, MPI_Request *request),       \
      (a, b, n, t, op, comm, request))                                                                       \
    X(Iexscan, IEXSCAN,                                                                                      \
      (const void *a, void *b, int n, MPI_Datatype t, MPI_Op op, MPI_Comm comm, MPI_Request *request),       \
      (a, b, n, t, op, comm, request))                                                                       \
    X(Neighbor_allgather, NEIGHBOR_ALLGATHER,                                                                \
      (const void *a, int n, MPI_Datatype t, void *b, int m, MPI_Datatype u, MPI_Comm comm),                 \
      (a, n, t, b, m, u, comm))                                                                              \
    X(Ineighbor_allgather, INEIGHBOR_ALLGATHER,                                                              \
      (const void *a, int n, MPI_Datatype t, void *b, int m, MPI_Datatype u, MPI_Comm comm,                  \
       MPI_Request *request),                                                                                \
      (a, n, t, b, m, u, comm, request))                                                                     \
    X(Neighbor_allgatherv, NEIGHBOR_ALLGATHERV,                                                              \
      (const void *a, int n, MPI_Datatype t, void *b, const int m[], const int d[], MPI_Datatype u,          \
       MPI_Comm comm),                                                                                       \
      (a, n, t, b, m, d, u, comm))                                                                           \
    X(Ineighbor_allgatherv, INEIGHBOR_ALLGATHERV,                                                            \
      (const void *a, int n, MPI_Datatype t, void *b, const int m[], const int d[], MPI_Datatype u,          \
       MPI_Comm comm, MPI_Request *request),                                                                 \
      (a, n, t, b, m, d, u, comm, request))                                                                  \
    X(Neighbor_alltoall, NEIGHBOR_ALLTOALL,                                                                  \
      (const void *a, int n, MPI_Datatype t, void *b, int m, MPI_Datatype u, MPI_Comm comm),                 \
      (a, n, t, b, m, u, comm))                                                                              \
    X(Ineighbor_alltoall, INEIGHBOR_ALLTOALL,                                                                \
      (const void *a, int n, MPI_Datatype t, void *b, int m, MPI_Datatype u, MPI_Comm comm,                  \
       MPI_Request *request),                                                                                \
      (a, n, t, b, m, u, comm, request))                                                                     \
    X(Neighbor_alltoallv, NEIGHBOR_ALLTOALLV,                                                                \
      (const void *a, const int n[], const int d[], MPI_Datatype t, void *b, const int m[], const int e[],   \
       MPI_Datatype u, MPI_Comm comm),                                                                       \
      (a, n, d, t, b, m, e, u, comm))                                                                        \
    X(Ineighbor_alltoallv, INEIGHBOR_ALLTOALLV,                                                              \
      (const void *a, const int n[], const int d[], MPI_Datatype t, void *b, const int m[], const int e[],   \
       MPI_Datatype u, MPI_Comm comm, MPI_Request *request),                                                 \
      (a, n, d, t, b, m, e, u, comm, request))                                                               \
    X(Neighbor_alltoallw, NEIGHBOR_ALLTOALLW,                                                                \
      (const void *a, const int n[], const MPI_Aint d[], const MPI_Datatype t[], void *b, const int m[],     \
       const MPI_Aint e[], const MPI_Datatype u[], MPI_Comm comm),                                           \
      (a, n, d, t, b, m, e, u, comm))                                                                        \
    X(Ineighbor_alltoallw, INEIGHBOR_ALLTOALLW,                                                              \
      (const void *a, const int n[], const MPI_Aint d[], const MPI_Datatype t[], void *b, const int m[],     \
       const MPI_Aint e[], const MPI_Datatype u[], MPI_Comm comm, MPI_Request *request),                     \
      (a, n, d, t, b, m, e, u, comm, request))

#if MPI_VERSION >= 4
#define WT_OPTIONAL_NONBLOCKING_SYNC_CALLS(X)                                                                \
    X(Iallreduce_c, IALLREDUCE,                                                                              \
      (const void *a, void *b, MPI_Count n, MPI_Datatype t, MPI_Op op, MPI_Comm comm, MPI_Request *request), \
      (a, b, n, t, op, comm, request))                                                                       \
    X(Iallgather_c, IALLGATHER,                                                                              \
      (const void *a, MPI_Count n, MPI_Datatype t, void *b, MPI_Count m, MPI_Datatype u, MPI_Comm comm,      \
       MPI_Request *request),                                                                                \
      (a, n, t, b, m, u, comm, request))                                                                     \
    X(Iallgatherv_c, IALLGATHERV,                                                                            \
      (const void *a, MPI_Count n, MPI_Datatype t, void *b, const MPI_Count m[], const MPI_Aint d[],         \
       MPI_Datatype u, MPI_Comm comm, MPI_Request *request),                                                 \
      (a, n, t, b, m, d, u, comm, request))                                                                  \
    X(Ialltoall_c, IALLTOALL,                                                                                \
      (const void *a, MPI_Count n, MPI_Datatype t, void *b, MPI_Count m, MPI_Datatype u, MPI_Comm comm,      \
       MPI_Request *request),                                                                                \
      (a, n, t, b, m, u, comm, request))                                                                     \
    X(Ialltoallv_c, IALLTOALLV,                                                                              \
      (const void *a, const MPI_Count n[], const MPI_Aint d[], MPI_Datatype t, void *b, const MPI_Count m[], \
       const MPI_Aint e[], MPI_Datatype u, MPI_Comm comm, MPI_Request *request),                             \
      (a, n, d, t, b, m, e, u, comm, request))                                                               \
    X(Ialltoallw_c, IALLTOALLW,                                                                              \
      (const void *a, const MPI_Count n[], const MPI_Aint d[], const MPI_Datatype t[], void *b,              \
       const MPI_Count m[], const MPI_Aint e[], const MPI_Datatype u[], MPI_Comm comm,                       \
       MPI_Request *request),                                                                                \
      (a, n, d, t, b, m, e, u, comm, request))                                                               \
    X(Ireduce_scatter_c, IREDUCE_SCATTER,                                                                    \
      (const void *a, void *b, const MPI_Count n[], MPI_Datatype t, MPI_Op op, MPI_Comm comm,                \
       MPI_Request *request),                                                                                \
      (a, b, n, t, op, comm, request))                                                                       \
    X(Ireduce_scatter_block_c, IREDUCE_SCATTER_BLOCK,                                                        \
      (const void *a, void *b, MPI_Count n, MPI_Datatype t, MPI_Op op, MPI_Comm comm, MPI_Request *request), \
      (a, b, n, t, op, comm, request))                                                                       \
    X(Ibcast_c, IBCAST,                                                                                      \
      (void *a, MPI_Count n, MPI_Datatype t, int root, MPI_Comm comm, MPI_Request *request),                 \
      (a, n, t, root, comm, request))                                                                        \
    X(Ireduce_c, IREDUCE,                                                                                    \
      (const void *a, void *b, MPI_Count n, MPI_Datatype t, MPI_Op op, int root, MPI_Comm comm,              \
       MPI_Request *request),                                                                                \
      (a, b, n, t, op, root, comm, request))                                                                 \
    X(Igather_c, IGATHER,                                                                                    \
      (const void *a, MPI_Count n, MPI_Datatype t, void *b, MPI_Count m, MPI_Datatype u, int root,           \
       MPI_Comm comm, MPI_Request *request),                                                                 \
      (a, n, t, b, m, u, root, comm, request))                                                               \
    X(Igatherv_c, IGATHERV,                                                                                  \
      (const void *a, MPI_Count n, MPI_Datatype t, void *b, const MPI_Count m[], const MPI_Aint d[],         \
       MPI_Datatype u, int root, MPI_Comm comm, MPI_Request *request),                                       \
      (a, n, t, b, m, d, u, root, comm, request))                                                            \
    X(Iscatter_c, ISCATTER,                                                                                  \
      (const void *a, MPI_Count n, MPI_Datatype t, void *b, MPI_Count m, MPI_Datatype u, int root,           \
       MPI_Comm comm, MPI_Request *request),                                                                 \
      (a, n, t, b, m, u, root, comm, request))                                                               \
    X(Iscatterv_c, ISCATTERV,                                                                                \
      (const void *a, const MPI_Count n[], const MPI_Aint d[], MPI_Datatype t, void *b, MPI_Count m,         \
       MPI_Datatype u, int root, MPI_Comm comm, MPI_Request *request),                                       \
      (a, n, d, t, b, m, u, root, comm, request))                                                            \
    X(Iscan_c, ISCAN,                                                                                        \
      (const void *a, void *b, MPI_Count n, MPI_Datatype t, MPI_Op op, MPI_Comm comm, MPI_Request *request), \
      (a, b, n, t, op, comm, request))                                                                       \
    X(Iexscan_c, IEXSCAN,                                                                                    \
      (const void *a, void *b, MPI_Count n, MPI_Datatype t, MPI_Op op, MPI_Comm comm, MPI_Request *request), \
      (a, b, n, t, op, comm, request))                                                                       \
    X(Neighbor_allgather_c, NEIGHBOR_ALLGATHER,                                                              \
      (const void *a, MPI_Count n, MPI_Datatype t, void *b, MPI_Count m, MPI_Datatype u, MPI_Comm comm),     \
      (a, n, t, b, m, u, comm))                                                                              \
    X(Ineighbor_allgather_c, INEIGHBOR_ALLGATHER,                                                            \
      (const void *a, MPI_Count n, MPI_Datatype t, void *b, MPI_Count m, MPI_Datatype u, MPI_Comm comm,      \
       MPI_Request *request),                                                                                \
      (a, n, t, b, m, u, comm, request))                                                                     \
    X(Neighbor_allgatherv_c, NEIGHBOR_ALLGATHERV,                                                            \
      (const void *a, MPI_Count n, MPI_Datatype t, void *b, const MPI_Count m[], const MPI_Aint d[],         \
       MPI_Datatype u, MPI_Comm comm),                                                                       \
      (a, n, t, b, m, d, u, comm))                                                                           \
    X(Ineighbor_allgatherv_c, INEIGHBOR_ALLGATHERV,                                                          \
      (const void *a, MPI_Count n, MPI_Datatype t, void *b, const MPI_Count m[], const MPI_Aint d[],         \
       MPI_Datatype u, MPI_Comm comm, MPI_Request *request),                                                 \
      (a, n, t, b, m, d, u, comm, request))                                                                  \
    X(Neighbor_alltoall_c, NEIGHBOR_ALLTOALL,                                                                \
      (const void *a, MPI_Count n, MPI_Datatype t, void *b, MPI_Count m, MPI_Datatype u, MPI_Comm comm),     \
      (a, n, t, b, m, u, comm))                                                                              \
    X(Ineighbor_alltoall_c, INEIGHBOR_ALLTOALL,                                                              \
      (const void *a, MPI_Count n, MPI_Datatype t, void *b, MPI_Count m, MPI_Datatype u, MPI_Comm comm,      \
       MPI_Request *request),                                                                                \
      (a, n, t, b, m, u, comm, request))                                                                     \
    X(Neighbor_alltoallv_c, NEIGHBOR_ALLTOALLV,                                                              \
      (const void *a, const MPI_Count n[], const MPI_Aint d[], MPI_Datatype t, void *b, const MPI_Count m[], \
       const MPI_Aint e[], MPI_Datatype u, MPI_Comm comm),                                                   \
      (a, n, d, t, b, m, e, u, comm))                                                                        \
    X(Ineighbor_alltoallv_c, INEIGHBOR_ALLTOALLV,                                                            \
      (const void *a, const MPI_Count n[], const MPI_Aint d[], MPI_Datatype t, void *b, const MPI_Count m[], \
       const MPI_Aint e[], MPI_Datatype u, MPI_Comm comm, MPI_Request *request),                             \
      (a, n, d, t, b, m, e, u, comm, request))                                                               \
    X(Neighbor_alltoallw_c, NEIGHBOR_ALLTOALLW,                                                              \
      (const void *a, const MPI_Count n[], const MPI_Aint d[], const MPI_Datatype t[], void *b,              \
       const MPI_Count m[], const MPI_Aint e[], const MPI_Datatype u[], MPI_Comm comm),                      \
      (a, n, d, t, b, m, e, u, comm))                                                                        \
    X(Ineighbor_alltoallw_c, INEIGHBOR_ALLTOALLW,                                                            \
      (const void *a, const MPI_Count n[], const MPI_Aint d[], const MPI_Datatype t[], void *b,              \
       const MPI_Count m[], const MPI_Aint e[], const MPI_Datatype u[], MPI_Comm comm,                       \
       MPI_Request *request),                                                                                \
      (a, n, d, t, b, m, e, u, comm, request))
#else
#define WT_OPTIONAL_NONBLOCKING_SYNC_CALLS(X)
#endif

/* Collectives that make communicators; and windows. */
#define WT_MAKING_SYNC_CALLS(X)                                                                              \
    X(Comm_dup_with_info, COMM_DUP_WITH_INFO, (MPI_Comm comm, MPI_Info info, MPI_Comm * out),                \
      (comm, info, out))                                                                                     \
    X(Comm_idup, COMM_IDUP, (MPI_Comm comm, MPI_Comm * out, MPI_Request * request), (comm, out, request))    \
    X(Comm_split_type, COMM_SPLIT_TYPE, (MPI_Comm comm, int split, int key, MPI_Info info, MPI_Comm *out),   \
      (comm, split, key, info, out))                                                                         \
    X(Cart_create, CART_CREATE,                                                                              \
      (MPI_Comm comm, int n, const int d[], const int p[], int reorder, MPI_Comm *out),                      \
      (comm, n, d, p, reorder, out))                                                                         \
    X(Cart_sub, CART_SUB, (MPI_Comm comm, const int d[], MPI_Comm *out), (comm, d, out))                     \
    X(Graph_create, GRAPH_CREATE,                                                                            \
      (MPI_Comm comm, int n, const int i[], const int e[], int reorder, MPI_Comm *out),                      \
      (comm, n, i, e, reorder, out))                                                                         \
    X(Dist_graph_create, DIST_GRAPH_CREATE,                                                                  \
      (MPI_Comm comm, int n, const int s[], const int d[], const int t[], const int w[], MPI_Info info,      \
       int reorder, MPI_Comm *out),                                                                          \
      (comm, n, s, d, t, w, info, reorder, out))                                                             \
    X(Dist_graph_create_adjacent, DIST_GRAPH_CREATE_ADJACENT,                                                \
      (MPI_Comm comm, int n, const int s[], const int w[], int m, const int t[], const int v[],              \
       MPI_Info info, int reorder, MPI_Comm *out),                                                           \
      (comm, n, s, w, m, t, v, info, reorder, out))

#define WT_WINDOW_CALLS(X)                                                                                   \
    X(Win_create, WIN_CREATE, (void *a, MPI_Aint n, int unit, MPI_Info info, MPI_Comm comm, MPI_Win *out),   \
      (a, n, unit, info, comm, out))                                                                         \
    X(Win_allocate, WIN_ALLOCATE,                                                                            \
      (MPI_Aint n, int unit, MPI_Info info, MPI_Comm comm, void *a, MPI_Win *out),                           \
      (n, unit, info, comm, a, out))                                                                         \
    X(Win_allocate_shared, WIN_ALLOCATE_SHARED,                                                              \
      (MPI_Aint n, int unit, MPI_Info info, MPI_Comm comm, void *a, MPI_Win *out),                           \
      (n, unit, info, comm, a, out))                                                                         \
    X(Win_create_dynamic, WIN_CREATE_DYNAMIC, (MPI_Info info, MPI_Comm comm, MPI_Win * out),                 \
      (info, comm, out))

#endif
