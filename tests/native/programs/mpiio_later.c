/* MPI-IO calls that are completed later, and those by the shared file pointer. Each rank has blocks of its
 * own. */
#include <mpi.h>
#include <string.h>

enum { BLOCK = 4096, AT_ONCE = 4 };

static char data[AT_ONCE][BLOCK];

int main(int argc, char **argv) {
    int rank, n_ranks;
    MPI_File file;
    MPI_Status status[AT_ONCE];
    MPI_Request requests[AT_ONCE];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
    memset(data, 'x', sizeof data);
    MPI_File_open(MPI_COMM_WORLD, "later.out", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    for (int i = 0; i < 3 * AT_ONCE; i += AT_ONCE) { /* several at once */
        for (int j = 0; j < AT_ONCE; j++)
            MPI_File_iwrite_at(file, (MPI_Offset)((i + j) * n_ranks + rank) * BLOCK, data[j], BLOCK, MPI_BYTE,
                               &requests[j]);
        MPI_Waitall(AT_ONCE, requests, status);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < 6; i++) { /* one at a time */
        MPI_File_iread_at(file, (MPI_Offset)(i * n_ranks + rank) * BLOCK, data[0], BLOCK, MPI_BYTE, requests);
        MPI_Wait(requests, status);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < 3; i++) { /* collectives in two halves */
        MPI_File_write_at_all_begin(file, (MPI_Offset)(i * n_ranks + rank) * BLOCK, data[0], BLOCK, MPI_BYTE);
        MPI_File_write_at_all_end(file, data[0], status);
    }
    MPI_File_seek(file, (MPI_Offset)rank * 3 * 1000, MPI_SEEK_SET);
    for (int i = 0; i < 3; i++) {
        MPI_File_read_all_begin(file, data[0], 1000, MPI_BYTE);
        MPI_File_read_all_end(file, data[0], status);
    }
    for (int i = 0; i < 3; i++) /* by the shared pointer */
        MPI_File_write_shared(file, data[0], 100, MPI_BYTE, status);
    MPI_File_seek_shared(file, 0, MPI_SEEK_SET);
    for (int i = 0; i < 2; i++)
        MPI_File_read_ordered(file, data[0], 100, MPI_BYTE, status);
    MPI_File_close(&file);
    MPI_Finalize();
    return 0;
}
