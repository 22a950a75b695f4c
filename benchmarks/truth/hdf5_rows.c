/* A parallel HDF5 program: datasets of rows in one file, written collectively, and read back by the rank
 * beside. Usage: mpirun -n N hdf5_rows FILE ROWS DATASETS (N divides ROWS; a row is 1024 doubles) */
#include <hdf5.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { COLUMNS = 1024 };

static void transfer(hid_t file, int number, hsize_t first, hsize_t rows, hsize_t all, double *values,
                     int writes) {
    char name[32];
    snprintf(name, sizeof name, "field-%d", number);
    hsize_t whole[2] = {all, COLUMNS}, start[2] = {first, 0}, count[2] = {rows, COLUMNS};
    hid_t space = H5Screate_simple(2, whole, NULL), memory = H5Screate_simple(2, count, NULL);
    hid_t set = writes
                    ? H5Dcreate2(file, name, H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT)
                    : H5Dopen2(file, name, H5P_DEFAULT);
    hid_t how = H5Pcreate(H5P_DATASET_XFER);
    H5Pset_dxpl_mpio(how, H5FD_MPIO_COLLECTIVE);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL);
    herr_t failed = writes ? H5Dwrite(set, H5T_NATIVE_DOUBLE, memory, space, how, values)
                           : H5Dread(set, H5T_NATIVE_DOUBLE, memory, space, how, values);
    H5Pclose(how);
    H5Dclose(set);
    H5Sclose(memory);
    H5Sclose(space);
    if (failed < 0) {
        fprintf(stderr, "cannot %s %s\n", writes ? "write" : "read", name);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, n_ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
    if (argc != 4 || atoi(argv[2]) % n_ranks != 0) {
        fprintf(stderr, "usage: mpirun -n N hdf5_rows FILE ROWS DATASETS (N divides ROWS)\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    hsize_t all = (hsize_t)atoi(argv[2]), rows = all / (hsize_t)n_ranks;
    int datasets = atoi(argv[3]);
    double *values = calloc(rows * COLUMNS, sizeof *values);
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL);
    for (int writes = 1; writes >= 0; writes--) {
        hid_t file = writes ? H5Fcreate(argv[1], H5F_ACC_TRUNC, H5P_DEFAULT, access)
                            : H5Fopen(argv[1], H5F_ACC_RDONLY, access);
        hsize_t place = (hsize_t)(writes ? rank : (rank + 1) % n_ranks);
        for (int number = 0; number < datasets; number++) {
            for (hsize_t i = 0; i < rows * COLUMNS; i++) { /* stands for the computation of a field */
                values[i] = writes ? (double)i * number : 0;
            }
            transfer(file, number, place * rows, rows, all, values, writes);
        }
        H5Fclose(file);
    }
    H5Pclose(access);
    free(values);
    MPI_Finalize();
    return 0;
}
