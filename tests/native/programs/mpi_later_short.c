/* Nonblocking and split calls that move less than they ask for,
 * completed in every way, with and without statuses. Each rank has 10 blocks of 1000 bytes of its own, of
 * which the last one is half there. */
#include <mpi.h>
#include <stdlib.h>

enum { BLOCK = 1000, BLOCKS = 10 };

static char data[BLOCKS][BLOCK];

int main(int argc, char **argv) {
    MPI_File file;
    MPI_Request requests[BLOCKS];
    MPI_Status status;
    int rank, index, n_done, flag = 0, indices[BLOCKS], provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SINGLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_File_open(MPI_COMM_SELF, argv[1 + rank], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    MPI_File_write_at(file, 0, data, BLOCK * BLOCKS - BLOCK / 2, MPI_BYTE, MPI_STATUS_IGNORE);

    for (int i = 0; i < BLOCKS; i++) /* the last one is short */
        MPI_File_iread_at(file, (MPI_Offset)i * BLOCK, data[i], BLOCK, MPI_BYTE, &requests[i]);
    MPI_Waitall(BLOCKS, requests, MPI_STATUSES_IGNORE);

    MPI_File_iread_at(file, (BLOCKS - 1) * BLOCK, data[0], BLOCK, MPI_BYTE, &requests[0]);
    requests[1] = MPI_REQUEST_NULL;
    MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);

    MPI_File_iread_at(file, BLOCKS * BLOCK, data[0], BLOCK, MPI_BYTE, &requests[0]); /* nothing is there */
    for (n_done = 0; n_done < 1;)
        MPI_Testsome(1, requests, &n_done, indices, MPI_STATUSES_IGNORE);

    MPI_File_iread_at(file, (BLOCKS - 1) * BLOCK, data[0], BLOCK, MPI_BYTE, &requests[0]);
    while (!flag)
        MPI_Test(&requests[0], &flag, &status);

    MPI_File_read_at_all_begin(file, (BLOCKS - 1) * BLOCK, data[0], BLOCK, MPI_BYTE);
    MPI_File_read_at_all_end(file, data[0], MPI_STATUS_IGNORE);
    MPI_File_close(&file);
    MPI_Finalize();
    return 0;
}
