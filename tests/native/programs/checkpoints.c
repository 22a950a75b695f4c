/* A file for each rank, written under a temporary name and renamed, as applications write checkpoints.
 * Usage: mpirun -n N checkpoints PREFIX TIMES BYTES */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc != 4) {
        fprintf(stderr, "usage: mpirun -n N checkpoints PREFIX TIMES BYTES\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    long times = atol(argv[2]), bytes = atol(argv[3]);
    char *data = calloc((size_t)bytes, 1), name[4096], made[4096];
    snprintf(name, sizeof name, "%s.%d.bin", argv[1], rank);
    snprintf(made, sizeof made, "%s.%d.tmp", argv[1], rank);
    for (long t = 0; t < times; t++) {
        int fd = open(made, O_CREAT | O_WRONLY | O_TRUNC, 0644);
        for (int block = 0; block < 4; block++) {
            if (write(fd, data, (size_t)bytes) != bytes) {
                MPI_Abort(MPI_COMM_WORLD, 1);
            }
        }
        close(fd);
        rename(made, name);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    free(data);
    MPI_Finalize();
    return 0;
}
