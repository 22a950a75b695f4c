/* MPI calls that count as a tick and leave no row: communication and its completion. Local inquiries
 * (MPI_Comm_rank, MPI_Wtime, MPI_Type_*, MPI_Info_*, ...) order nothing and are not counted. X(name) */
#ifndef WT_INTERCEPTED_MPI_H
#define WT_INTERCEPTED_MPI_H

#include <mpi.h> /* MPI_VERSION */

// clang-format off
#define WT_TICK_CALLS(X) \
    X(Send) X(Ssend) X(Bsend) X(Rsend) X(Isend) X(Issend) X(Ibsend) X(Irsend) X(Recv) X(Irecv) X(Mrecv) \
    X(Imrecv) X(Sendrecv) X(Sendrecv_replace) X(Isendrecv) X(Isendrecv_replace) X(Probe) X(Iprobe) \
    X(Mprobe) X(Improbe) X(Cancel) X(Start) X(Startall) X(Request_get_status) X(Pready) X(Pready_range) \
    X(Pready_list) X(Parrived) X(Buffer_detach) X(Ibarrier) X(Ibcast) X(Igather) X(Igatherv) X(Iscatter) \
    X(Iscatterv) X(Iallgather) X(Iallgatherv) X(Ialltoall) X(Ialltoallv) X(Ialltoallw) X(Ireduce) \
    X(Iallreduce) X(Ireduce_scatter) X(Ireduce_scatter_block) X(Iscan) X(Iexscan) X(Neighbor_allgather) \
    X(Neighbor_allgatherv) X(Neighbor_alltoall) X(Neighbor_alltoallv) X(Neighbor_alltoallw) \
    X(Ineighbor_allgather) X(Ineighbor_allgatherv) X(Ineighbor_alltoall) X(Ineighbor_alltoallv) \
    X(Ineighbor_alltoallw) X(Put) X(Get) X(Accumulate) X(Get_accumulate) X(Fetch_and_op) \
    X(Compare_and_swap) X(Rput) X(Rget) X(Raccumulate) X(Rget_accumulate) X(Win_create) X(Win_allocate) \
    X(Win_allocate_shared) X(Win_create_dynamic) X(Win_free) X(Win_fence) X(Win_start) X(Win_post) \
    X(Win_complete) X(Win_wait) X(Win_test) X(Win_lock) X(Win_lock_all) X(Win_unlock) X(Win_unlock_all) \
    X(Win_flush) X(Win_flush_all) X(Win_flush_local) X(Win_flush_local_all) X(Win_sync) X(Comm_idup) \
    X(Comm_idup_with_info) X(Comm_dup_with_info) X(Comm_create_group) X(Comm_split_type) X(Comm_free) \
    X(Comm_disconnect) X(Comm_spawn) X(Comm_spawn_multiple) X(Comm_accept) X(Comm_connect) X(Comm_join) \
    X(Intercomm_create) X(Intercomm_merge) X(Cart_create) X(Cart_sub) X(Graph_create) X(Dist_graph_create) \
    X(Dist_graph_create_adjacent)
// clang-format on

/* Their twins with MPI_Count arguments, of MPI 4. */
// clang-format off
#define WT_LARGE_TICK_CALLS(X) \
    X(Send_c) X(Ssend_c) X(Bsend_c) X(Rsend_c) X(Isend_c) X(Issend_c) X(Ibsend_c) X(Irsend_c) X(Recv_c) \
    X(Irecv_c) X(Mrecv_c) X(Imrecv_c) X(Sendrecv_c) X(Sendrecv_replace_c) X(Isendrecv_c) \
    X(Isendrecv_replace_c) X(Ibcast_c) X(Igather_c) X(Igatherv_c) X(Iscatter_c) X(Iscatterv_c) \
    X(Iallgather_c) X(Iallgatherv_c) X(Ialltoall_c) X(Ialltoallv_c) X(Ialltoallw_c) X(Ireduce_c) \
    X(Iallreduce_c) X(Ireduce_scatter_c) X(Ireduce_scatter_block_c) X(Iscan_c) X(Iexscan_c) X(Put_c) \
    X(Get_c) X(Accumulate_c) X(Get_accumulate_c) X(Rput_c) X(Rget_c) X(Raccumulate_c) X(Rget_accumulate_c)
// clang-format on

#if MPI_VERSION >= 4
#define WT_LARGE_SYNC_CALLS(X)                                                                               \
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
#define WT_LARGE_SYNC_CALLS(X)
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
    WT_LARGE_SYNC_CALLS(X)                                                                                   \
    X(Comm_dup, COMM_DUP, (MPI_Comm comm, MPI_Comm * out), (comm, out))                                      \
    X(Comm_split, COMM_SPLIT, (MPI_Comm comm, int color, int key, MPI_Comm *out), (comm, color, key, out))   \
    X(Comm_create, COMM_CREATE, (MPI_Comm comm, MPI_Group group, MPI_Comm * out), (comm, group, out))

#endif
