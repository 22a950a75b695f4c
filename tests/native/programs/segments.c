/* The I/O of IOR: a shared file in segments, each with a block of every rank ("shared"), or a file for each
 * rank
 * ("unique"), written and read back by POSIX calls; rank 0 writes a log line for each rank beside it. And
 * TOTAL records of 100 bytes, of which the first TOTAL mod N ranks have one more than the others. Usage:
 * mpirun -n N segments shared|unique PREFIX SEGMENTS BLOCK TRANSFER TOTAL */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RECORD = 100 };

static void check(long moved, long asked) {
    if (moved != asked) {
        fprintf(stderr, "moved %ld of %ld bytes\n", moved, asked);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, n_ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
    if (argc != 7) {
        fprintf(stderr, "usage: mpirun -n N segments shared|unique PREFIX SEGMENTS BLOCK TRANSFER TOTAL\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    int unique = strcmp(argv[1], "unique") == 0;
    long segments = atol(argv[3]), block = atol(argv[4]), transfer = atol(argv[5]), total = atol(argv[6]);
    char path[4096], *data = calloc((size_t)(transfer > RECORD ? transfer : RECORD), 1);
    if (unique) {
        snprintf(path, sizeof path, "%s.%08d", argv[2], rank);
    } else {
        snprintf(path, sizeof path, "%s", argv[2]);
    }
    for (int reads = 0; reads < 2; reads++) {
        int fd = open(path, O_CREAT | O_RDWR, 0644);
        for (long s = 0; s < segments; s++) {
            for (long t = 0; t < block; t += transfer) {
                long at = (unique ? s * block : (s * n_ranks + rank) * block) + t;
                check(reads ? pread(fd, data, (size_t)transfer, at) : pwrite(fd, data, (size_t)transfer, at),
                      transfer);
            }
        }
        close(fd);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    long mine = total / n_ranks + (rank < total % n_ranks);
    long first = rank * (total / n_ranks) + (rank < total % n_ranks ? rank : total % n_ranks);
    snprintf(path, sizeof path, "%s.records", argv[2]);
    int fd = open(path, O_CREAT | O_WRONLY, 0644);
    for (long i = 0; i < mine; i++) {
        check(pwrite(fd, data, RECORD, (first + i) * RECORD), RECORD);
    }
    close(fd);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        snprintf(path, sizeof path, "%s.log", argv[2]);
        fd = open(path, O_CREAT | O_WRONLY, 0644);
        for (int r = 0; r < n_ranks; r++) {
            check(write(fd, data, 64), 64);
        }
        close(fd);
    }
    free(data);
    MPI_Finalize();
    return 0;
}
