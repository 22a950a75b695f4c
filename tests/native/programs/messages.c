/* Ranks ordered by messages alone: rank 0 writes records and tells rank 1 of each, which reads it from the
 * file, and answers in a file of its own; rank 0 reads the answer and removes both. */
#include <fcntl.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RECORDS = 200, SIZE = 4096 };

static char b[SIZE];

static void must(long moved, long wanted) {
    if (moved != wanted)
        MPI_Abort(MPI_COMM_WORLD, 1);
}

static void tell(int rank) {
    MPI_Send(b, 1, MPI_BYTE, rank, 0, MPI_COMM_WORLD);
}

static void hear(int rank) {
    char word;
    MPI_Recv(&word, 1, MPI_BYTE, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void writer(void) {
    int fd = open("records", O_CREAT | O_TRUNC | O_WRONLY, 0644);
    for (int i = 0; i < RECORDS; i++) {
        must(write(fd, b, SIZE), SIZE);
        tell(1);
        hear(1);
    }
    close(fd);
    hear(1);
    fd = open("answer", O_RDONLY);
    must(read(fd, b, 100), 100);
    close(fd);
    unlink("records");
    unlink("answer");
}

static void reader(void) {
    int fd = -1;
    for (int i = 0; i < RECORDS; i++) {
        hear(0);
        if (fd < 0)
            fd = open("records", O_RDONLY);
        must(read(fd, b, SIZE), SIZE);
        tell(0);
    }
    close(fd);
    fd = open("answer", O_CREAT | O_TRUNC | O_WRONLY, 0644);
    must(write(fd, b, 100), 100);
    close(fd);
    tell(0);
}

int main(int argc, char **argv) {
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    memset(b, 'x', sizeof b);
    if (rank == 0)
        writer();
    if (rank == 1)
        reader();
    MPI_Finalize();
    return 0;
}
