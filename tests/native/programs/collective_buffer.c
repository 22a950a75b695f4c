/* One collective write of all ranks, interleaved by blocks of 1 MiB. Usage: collective_buffer FILE MIB_A_RANK
 */
#include <mpi.h>
#include <stdlib.h>

enum { BLOCK = 1 << 20 };

int main(int argc, char **argv) {
    int rank, n, blocks = argc == 3 ? atoi(argv[2]) : 1;
    MPI_File file;
    MPI_Datatype mine;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    char *data = calloc((size_t)blocks, BLOCK);
    MPI_Type_vector(blocks, BLOCK, n * BLOCK, MPI_BYTE, &mine);
    MPI_Type_commit(&mine);
    MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file);
    MPI_File_set_view(file, (MPI_Offset)rank * BLOCK, MPI_BYTE, mine, "native", MPI_INFO_NULL);
    MPI_File_write_all(file, data, blocks * BLOCK, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
    MPI_Type_free(&mine);
    free(data);
    MPI_Finalize();
    return 0;
}
