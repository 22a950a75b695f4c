/* Names that several ranks make, look for and remove; which case is the argument. */
#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int rank, n_ranks;

static void own_file(const char *folder) {
    char name[64], text[100] = "content";
    snprintf(name, sizeof name, "%s/own.%d", folder, rank);
    int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (fd < 0 || write(fd, text, sizeof text) != sizeof text)
        exit(1);
    close(fd);
}

static void tell_others(void) { /* by messages: no collective orders the ranks */
    int word = 0;
    if (rank == 0)
        for (int other = 1; other < n_ranks; other++)
            MPI_Send(&word, 1, MPI_INT, other, 0, MPI_COMM_WORLD);
    else
        MPI_Recv(&word, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void all_make_a_folder(void) {
    struct stat facts;
    if (mkdir("folder", 0755) != 0 && (errno != EEXIST || stat("folder", &facts) != 0))
        exit(1);
    own_file("folder");
}

static void all_make_a_file(void) {
    int fd = open("shared", O_RDWR | O_CREAT, 0644);
    char text[100] = "content";
    if (pwrite(fd, text, sizeof text, 100 * rank) != sizeof text)
        exit(1);
    close(fd);
}

static void one_gets_the_lock(void) {
    int fd = open("lock", O_WRONLY | O_CREAT | O_EXCL, 0644);
    if (fd >= 0) {
        if (write(fd, "mine", 4) != 4)
            exit(1);
        close(fd);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    unlink("lock");
}

static void one_makes_what_all_use(void) {
    struct stat facts;
    if (rank == 0)
        mkdir("folder", 0755);
    tell_others();
    if (stat("folder", &facts) != 0)
        exit(1);
    own_file("folder");
}

static void all_wait_until_it_is_there(void) {
    struct stat facts;
    if (rank == 0) {
        usleep(20000);
        own_file(".");
    }
    while (stat("own.0", &facts) != 0)
        usleep(1000);
    if (rank)
        own_file(".");
}

static void one_removes_what_another_made(void) {
    if (rank == 0)
        own_file(".");
    tell_others();
    if (rank == 1 && unlink("own.0") != 0)
        exit(1);
}

static void one_renames_what_another_made(void) {
    if (rank == 0)
        own_file(".");
    tell_others();
    if (rank == 1 && rename("own.0", "moved") != 0)
        exit(1);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 2 && truncate("moved", 10) != 0)
        exit(1);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
    static void (*const CASES[])(void) = {all_make_a_folder,
                                          all_make_a_file,
                                          one_gets_the_lock,
                                          one_makes_what_all_use,
                                          all_wait_until_it_is_there,
                                          one_removes_what_another_made,
                                          one_renames_what_another_made};
    const unsigned long number = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
    if (number < sizeof CASES / sizeof *CASES)
        CASES[number]();
    MPI_Finalize();
    return 0;
}
