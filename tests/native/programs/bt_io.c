/* The I/O of NAS BT-IO, "full" subtype, without its solver: a diagonal multi-partition of a cubic grid, each
 * time step written by one collective call through a strided view, the file reopened and read back.
 * Usage: mpirun -n SQUARE bt_io FILE GRID STEPS */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { DOUBLES = 5 }; /* values of a grid point */

static int part_size(int grid, int n, int part) {
    return grid / n + (part < grid % n);
}

static int part_start(int grid, int n, int part) {
    int start = 0;
    for (int i = 0; i < part; i++) {
        start += part_size(grid, n, i);
    }
    return start;
}

/* The rank's cells of one time step (make_set of NPB's BT). */
static MPI_Datatype step_type(int rank, int n, int grid, MPI_Offset *bytes) {
    MPI_Datatype *cells = malloc((size_t)n * sizeof *cells);
    int *lengths = malloc((size_t)n * sizeof *lengths);
    MPI_Aint *places = calloc((size_t)n, sizeof *places);
    *bytes = 0;
    for (int c = 0; c < n; c++) {
        int part[3] = {c, ((rank / n - c) % n + n) % n, (rank % n + c) % n}; /* z, y, x */
        int sizes[4] = {grid, grid, grid, DOUBLES}, sub[4], start[4];
        for (int d = 0; d < 3; d++) {
            sub[d] = part_size(grid, n, part[d]);
            start[d] = part_start(grid, n, part[d]);
        }
        sub[3] = DOUBLES;
        start[3] = 0;
        MPI_Type_create_subarray(4, sizes, sub, start, MPI_ORDER_C, MPI_DOUBLE, &cells[c]);
        lengths[c] = 1;
        *bytes += (MPI_Offset)sub[0] * sub[1] * sub[2] * DOUBLES * (MPI_Offset)sizeof(double);
    }
    MPI_Datatype type;
    MPI_Type_create_struct(n, lengths, places, cells, &type);
    MPI_Type_commit(&type);
    for (int c = 0; c < n; c++) {
        MPI_Type_free(&cells[c]);
    }
    free(cells);
    free(lengths);
    free(places);
    return type;
}

static MPI_File open_file(const char *path, int mode, MPI_Datatype type) {
    MPI_File file;
    if (MPI_File_open(MPI_COMM_WORLD, path, mode, MPI_INFO_NULL, &file) != MPI_SUCCESS) {
        fprintf(stderr, "cannot open %s\n", path);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_File_set_view(file, 0, MPI_DOUBLE, type, "native", MPI_INFO_NULL);
    return file;
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, n_ranks, n = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
    while (n * n < n_ranks) {
        n++;
    }
    if (argc != 4 || n * n != n_ranks) {
        fprintf(stderr, "usage: mpirun -n SQUARE bt_io FILE GRID STEPS\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    int grid = atoi(argv[2]), steps = atoi(argv[3]);
    MPI_Offset bytes;
    MPI_Datatype type = step_type(rank, n, grid, &bytes);
    int count = (int)(bytes / (MPI_Offset)sizeof(double));
    double *values = calloc((size_t)count, sizeof *values);
    MPI_File file = open_file(argv[1], MPI_MODE_CREATE | MPI_MODE_WRONLY, type);
    for (int step = 0; step < steps; step++) {
        double mine = step, sum;
        MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM,
                      MPI_COMM_WORLD);    /* stands for the solver's messages */
        for (int i = 0; i < count; i++) { /* and this for the solver: memory that it has just written */
            values[i] = sum + i;
        }
        MPI_File_write_at_all(file, (MPI_Offset)step * count, values, count, MPI_DOUBLE, MPI_STATUS_IGNORE);
    }
    MPI_File_close(&file);
    file = open_file(argv[1], MPI_MODE_RDONLY, type);
    for (int step = 0; step < steps; step++) {
        MPI_File_read_at_all(file, (MPI_Offset)step * count, values, count, MPI_DOUBLE, MPI_STATUS_IGNORE);
    }
    MPI_File_close(&file);
    free(values);
    MPI_Type_free(&type);
    MPI_Finalize();
    return 0;
}
