/* A block of a cubic grid for each rank of a Cartesian process grid (MPI_Dims_create), in three dimensions:
 * the first N mod parts blocks are one longer. Written by one collective call through a subarray view, read
 * back by rank 0 alone in planes. Usage: mpirun -n N grid_io FILE GRID */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, n_ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
    if (argc != 3) {
        fprintf(stderr, "usage: mpirun -n N grid_io FILE GRID\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    int grid = atoi(argv[2]), dims[3] = {0, 0, 0}, periods[3] = {0, 0, 0}, at[3];
    MPI_Dims_create(n_ranks, 3, dims);
    MPI_Comm cart;
    MPI_Cart_create(MPI_COMM_WORLD, 3, dims, periods, 0, &cart);
    MPI_Cart_coords(cart, rank, 3, at);
    int sizes[3] = {grid, grid, grid}, sub[3], start[3], count = 1;
    for (int d = 0; d < 3; d++) {
        int rest = grid % dims[d];
        sub[d] = grid / dims[d] + (at[d] < rest);
        start[d] = at[d] * (grid / dims[d]) + (at[d] < rest ? at[d] : rest);
        count *= sub[d];
    }
    MPI_Datatype type;
    MPI_Type_create_subarray(3, sizes, sub, start, MPI_ORDER_C, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    double *values = calloc((size_t)grid * (size_t)grid + (size_t)count, sizeof *values);
    MPI_File file;
    MPI_File_open(cart, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    MPI_File_set_view(file, 0, MPI_DOUBLE, type, "native", MPI_INFO_NULL);
    MPI_File_write_all(file, values, count, MPI_DOUBLE, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        MPI_File_open(MPI_COMM_SELF, argv[1], MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
        for (int z = 0; z < grid; z++) {
            MPI_File_read_at(file, (MPI_Offset)z * grid * grid * (MPI_Offset)sizeof(double), values,
                             grid * grid, MPI_DOUBLE, MPI_STATUS_IGNORE);
        }
        MPI_File_close(&file);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    free(values);
    MPI_Type_free(&type);
    MPI_Comm_free(&cart);
    MPI_Finalize();
    return 0;
}
