/* The I/O of MADbench2 (shared file, blocking, independent) without its algebra: S writes all matrices,
 * W reads two ahead, then writes and reads in turn, C reads all.
 * Usage: mpirun -n N madbench2 FILE N_BIN BYTES */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static MPI_File file;
static char *matrix;
static int rank, n_bin, bytes;

static void write_matrix(int i) {
    MPI_File_write_at(file, ((MPI_Offset)rank * n_bin + i) * bytes, matrix, bytes, MPI_BYTE,
                      MPI_STATUS_IGNORE);
}

static void read_matrix(int i) {
    MPI_File_read_at(file, ((MPI_Offset)rank * n_bin + i) * bytes, matrix, bytes, MPI_BYTE,
                     MPI_STATUS_IGNORE);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc != 4 || (n_bin = atoi(argv[2])) < 4 || (bytes = atoi(argv[3])) < 1) {
        fprintf(stderr, "usage: mpirun -n N madbench2 FILE N_BIN BYTES\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    matrix = calloc((size_t)bytes, 1);
    MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    for (int i = 0; i < n_bin; i++) {
        write_matrix(i);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    read_matrix(0);
    read_matrix(1);
    for (int i = 0; i < n_bin - 2; i++) {
        write_matrix(i);
        read_matrix(i + 2);
    }
    write_matrix(n_bin - 2);
    write_matrix(n_bin - 1);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < n_bin; i++) {
        read_matrix(i);
    }
    MPI_File_close(&file);
    free(matrix);
    MPI_Finalize();
    return 0;
}
