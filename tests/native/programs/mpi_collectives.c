/* Collective communication of every kind. test_tracer_collectives.py lists the same. */
#include <mpi.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    int rank, n, one = 1, all[16], sum, dims[1] = {0}, periods[1] = {1}, provided;
    MPI_Comm copy, half, ring, apart, merged, few;
    MPI_Request request;
    MPI_Group world, first;
    MPI_Win window;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Barrier(copy);
    MPI_Comm_split(MPI_COMM_WORLD, rank / 2, -rank, &half); /* ranks in falling order */
    MPI_Barrier(half);
    dims[0] = n;
    MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &ring);
    MPI_Neighbor_allgather(&one, 1, MPI_INT, all, 1, MPI_INT, ring);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank < 2 ? n - 1 : 1, 7, &apart);
    MPI_Barrier(apart);
    MPI_Intercomm_merge(apart, rank < 2, &merged);
    MPI_Barrier(merged);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 2, (int[]){0, 3}, &first);
    if (rank == 0 || rank == 3) {
        MPI_Comm_create_group(MPI_COMM_WORLD, first, 5, &few);
        MPI_Barrier(few);
        MPI_Comm_free(&few);
    }
    MPI_Win_create(&sum, sizeof sum, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Win_fence(0, window);
    MPI_Win_free(&window);
    MPI_Group_free(&first);
    MPI_Group_free(&world);
    MPI_Comm_free(&merged);
    MPI_Comm_free(&apart);
    MPI_Comm_free(&ring);
    MPI_Comm_free(&half);
    MPI_Comm_free(&copy);
    MPI_Finalize();
    return 0;
}
