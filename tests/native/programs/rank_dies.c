/* Each rank writes 20 blocks of 1000 bytes; rank 2 kills itself behind its tenth, when all others have
 * written theirs. They say so by files of their own, with system calls that no tracer sees. Usage: mpirun -n
 * N rank_dies FILE */
#define _GNU_SOURCE
#include <fcntl.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char *done_by(int rank) {
    static char name[64];
    snprintf(name, sizeof name, "rank-%d-has-written", rank);
    return name;
}

static void wait_for_others(int rank, int n) {
    for (int other = 0; other < n; other++)
        while (other != rank && syscall(SYS_faccessat, AT_FDCWD, done_by(other), F_OK) != 0)
            usleep(1000);
}

int main(int argc, char **argv) {
    static char block[1000];
    int rank, n;
    MPI_File file;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file);
    for (int i = 0; i < 20; i++) {
        if (rank == 2 && i == 10) {
            wait_for_others(rank, n);
            raise(SIGKILL);
        }
        MPI_File_write_at(file, (MPI_Offset)(rank * 20 + i) * 1000, block, 1000, MPI_BYTE, MPI_STATUS_IGNORE);
    }
    syscall(SYS_openat, AT_FDCWD, done_by(rank), O_CREAT | O_WRONLY, 0600);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_close(&file);
    MPI_Finalize();
    return 0;
}
