/* Each rank reads 8 KiB READS times at random places of a shared file of BLOCKS such blocks, and writes a
 * line about each read through a stream into a file of its own. Usage: mpirun -n N random_reads FILE READS
 * BLOCKS LOG */
#include <fcntl.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { BLOCK = 8192 };

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc != 5) {
        fprintf(stderr, "usage: mpirun -n N random_reads FILE READS BLOCKS LOG\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    long reads = atol(argv[2]), blocks = atol(argv[3]);
    char *data = malloc(BLOCK), name[4096];
    snprintf(name, sizeof name, "%s.%d", argv[4], rank);
    int file = open(argv[1], O_RDONLY);
    FILE *log = fopen(name, "w");
    if (data == NULL || file < 0 || log == NULL) {
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    uint64_t x = (uint64_t)rank + 1;
    for (long i = 0; i < reads; i++) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        long at = (long)((x >> 33) % (uint64_t)blocks);
        if (pread(file, data, BLOCK, at * BLOCK) != BLOCK) {
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
        fprintf(log, "%09ld\n", at); /* 10 bytes */
    }
    fclose(log);
    close(file);
    free(data);
    MPI_Finalize();
    return 0;
}
