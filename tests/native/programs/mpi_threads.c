/* MPI_THREAD_MULTIPLE: each thread has a file and a communicator of its own, sets views, writes at once with
 * the others, some calls nonblocking. */
#include <mpi.h>
#include <omp.h>
#include <stdio.h>

enum { THREADS = 4, CALLS = 50, BLOCK = 100 };

static char data[THREADS][BLOCK];

int main(int argc, char **argv) {
    int provided, rank;
    MPI_File files[THREADS];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (provided != MPI_THREAD_MULTIPLE) {
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    for (int i = 0; i < THREADS; i++) {
        char name[20];
        snprintf(name, sizeof name, "r%dt%d", rank, i);
        MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &files[i]);
    }
#pragma omp parallel num_threads(THREADS)
    {
        int me = omp_get_thread_num();
        MPI_File file = files[me];
        MPI_Request request;
        MPI_Datatype half;
        for (int i = 0; i < CALLS; i++) {
            MPI_Type_vector(1, BLOCK, BLOCK, MPI_BYTE, &half);
            MPI_Type_create_resized(half, 0, 2 * BLOCK, &half);
            MPI_Type_commit(&half);
            MPI_File_set_view(file, (MPI_Offset)me * 10, MPI_BYTE, half, "native", MPI_INFO_NULL);
            MPI_Type_free(&half);
            MPI_File_write_at(file, (MPI_Offset)i * BLOCK, data[me], BLOCK, MPI_BYTE, MPI_STATUS_IGNORE);
            MPI_File_iread_at(file, (MPI_Offset)i * BLOCK, data[me], BLOCK, MPI_BYTE, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
    }
    for (int i = 0; i < THREADS; i++)
        MPI_File_close(&files[i]);
    MPI_Finalize();
    return 0;
}
