/* Known MPI-IO calls of every rank on shared files. test_tracer_mpi.py lists the same. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#define BLOCK 1000

static char buffer[65536];

int main(int argc, char **argv) {
    int rank, n;
    MPI_File file;
    MPI_Status status;
    MPI_Datatype tile;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    memset(buffer, 'a' + rank, sizeof buffer);

    MPI_File_open(MPI_COMM_WORLD, "shared.bin", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    for (int i = 0; i < 5; i++) { /* strided over the ranks */
        MPI_File_write_at(file, (MPI_Offset)(i * n + rank) * BLOCK, buffer, BLOCK, MPI_BYTE,
                          MPI_STATUS_IGNORE);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_set_size(file, 5 * n * BLOCK);
    MPI_File_read_at_all(file, (MPI_Offset)rank * BLOCK, buffer, BLOCK / 4, MPI_INT, &status);
    MPI_File_read_at(file, (MPI_Offset)(5 * n - 1) * BLOCK, buffer, 2 * BLOCK, MPI_BYTE, &status); /* short */
    MPI_File_seek(file, 300, MPI_SEEK_SET);
    MPI_File_read(file, buffer, 50, MPI_BYTE, &status);
    MPI_File_write(file, buffer, 50, MPI_BYTE, &status);
    MPI_File_sync(file);

    /* blocks of 10 doubles, one for each rank in turn; after 3 of them a gap */
    MPI_Type_vector(3, 10, 10 * n, MPI_DOUBLE, &tile);
    MPI_Type_commit(&tile);
    MPI_File_set_view(file, (MPI_Offset)rank * 80, MPI_DOUBLE, tile, "native", MPI_INFO_NULL);
    for (int i = 0; i < 4; i++) {
        MPI_File_write_all(file, buffer, 10, MPI_DOUBLE, &status);
    }
    MPI_File_write_at_all(file, 5, buffer, 10, MPI_DOUBLE, &status); /* in the middle of a block */
    MPI_File_close(&file);
    MPI_Type_free(&tile);

    for (int i = 0; i < 1000; i++) {
        int found;
        MPI_Iprobe(MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, &found, &status);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    if (rank == 0) {
        FILE *after = fopen("after.txt", "w");
        fputs("work after MPI_Finalize\n", after);
        fclose(after);
    }
    return 0;
}
