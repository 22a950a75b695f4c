/* Many children: forks SHAPE N. Each child writes a file of its own, and at its place of the parent's file.
 * With -DRANKS it is an MPI program, and each rank has N children. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef RANKS
#include <mpi.h>
#endif

static char block[1000];
static int rank, shared;

static void work(int number) {
    char name[40];
    snprintf(name, sizeof name, "out.%d.%d", rank, number);
    int own = open(name, O_CREAT | O_WRONLY | O_TRUNC, 0644);
    for (int i = 0; i < 4; i++) {
        if (write(own, block, sizeof block) != sizeof block) {
            abort();
        }
    }
    close(own);
    if (pwrite(shared, block, 100, number * 100L) != 100) {
        abort();
    }
}

static void wait_for_all(void) {
    int status;
    while (wait(&status) > 0) {
        if (status != 0) {
            abort();
        }
    }
}

int main(int argc, char **argv) {
    const char *shape = argc > 2 ? argv[1] : "together";
    int n = argc > 2 ? atoi(argv[2]) : 1;
    char name[40];
#ifdef RANKS
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
#endif
    snprintf(name, sizeof name, "shared.%d", rank);
    shared = open(name, O_CREAT | O_RDWR | O_TRUNC, 0644);
    for (int i = 0; i < n; i++) {
        if (fork() == 0) {
            work(i);
            if (strcmp(shape, "grandchildren") == 0) {
                if (fork() == 0) {
                    work(n + i);
                    _exit(0);
                }
                wait_for_all();
            }
            _exit(0);
        }
        if (strcmp(shape, "turns") == 0) {
            wait_for_all();
        }
    }
    wait_for_all();
    for (int i = 0; i < n; i++) {
        if (pread(shared, block, 100, i * 100L) != 100) {
            return 1;
        }
    }
    close(shared);
#ifdef RANKS
    MPI_Finalize();
#endif
    return 0;
}
