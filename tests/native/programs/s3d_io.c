/* The I/O of S3D-IO with aggregated writes, without its chemistry: for each checkpoint a shared file, and in
 * it one collective write of all fields; the grid is divided along its slowest dimension. Usage: mpirun -n N
 * s3d_io PREFIX GRID CHECKPOINTS */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { FIELDS = 16 }; /* 11 species, 3 velocities, temperature, pressure */

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, n_ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
    if (argc != 4 || atoi(argv[2]) % n_ranks != 0) {
        fprintf(stderr, "usage: mpirun -n N s3d_io PREFIX GRID CHECKPOINTS (N divides GRID)\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    int grid = atoi(argv[2]), checkpoints = atoi(argv[3]);
    int sizes[4] = {FIELDS, grid, grid, grid}, sub[4] = {FIELDS, grid / n_ranks, grid, grid};
    int start[4] = {0, rank * (grid / n_ranks), 0, 0};
    MPI_Datatype type;
    MPI_Type_create_subarray(4, sizes, sub, start, MPI_ORDER_C, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    int count = FIELDS * (grid / n_ranks) * grid * grid;
    double *fields = calloc((size_t)count, sizeof *fields);
    for (int checkpoint = 0; checkpoint < checkpoints; checkpoint++) {
        char path[4096];
        snprintf(path, sizeof path, "%s.%d.field", argv[1], checkpoint);
        MPI_Barrier(MPI_COMM_WORLD); /* stands for the time steps between two checkpoints */
        MPI_File file;
        MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file);
        MPI_File_set_view(file, 0, MPI_DOUBLE, type, "native", MPI_INFO_NULL);
        MPI_File_write_all(file, fields, count, MPI_DOUBLE, MPI_STATUS_IGNORE);
        MPI_File_close(&file);
    }
    free(fields);
    MPI_Type_free(&type);
    MPI_Finalize();
    return 0;
}
