/* Each rank writes a file and maps it, between MPI_Init and MPI_Finalize. */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int main(int argc, char **argv) {
    int rank, ranks;
    char name[32], data[4096], sent = 1, received = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Sendrecv(&sent, 1, MPI_CHAR, (rank + 1) % ranks, 0, &received, 1, MPI_CHAR, MPI_ANY_SOURCE, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    snprintf(name, sizeof name, "mapped.%d", rank);
    memset(data, 'x', sizeof data);
    int fd = open(name, O_CREAT | O_RDWR | O_TRUNC, 0666);
    int failed = write(fd, data, sizeof data) != (ssize_t)sizeof data;
    char *memory = mmap(NULL, sizeof data, PROT_READ, MAP_SHARED, fd, 0);
    failed |= memory == MAP_FAILED || memory[4095] != 'x';
    munmap(memory, sizeof data);
    close(fd);
    MPI_Finalize();
    return failed;
}
