/* The I/O of IOR without its timing: each task writes its blocks by transfers, segment after segment, and
 * reads those of the next task back (-C). Usage: mpirun -n N ior_like POSIX|MPIIO|COLLECTIVE shared|each FILE
 * SEGMENTS BLOCK TRANSFER */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank, n, posix, collective, fd = -1;
static MPI_File file;
static char *data;

static void open_file(const char *name, int write) {
    MPI_Comm comm = strstr(name, "each") ? MPI_COMM_SELF : MPI_COMM_WORLD;
    if (posix)
        fd = open(name, write ? O_CREAT | O_RDWR : O_RDONLY, 0644);
    else
        MPI_File_open(comm, name, write ? MPI_MODE_CREATE | MPI_MODE_RDWR : MPI_MODE_RDONLY, MPI_INFO_NULL,
                      &file);
    if (posix && fd < 0)
        MPI_Abort(MPI_COMM_WORLD, 1);
}

static void close_file(int write) {
    if (posix && ((write && fsync(fd) != 0) || close(fd) != 0))
        MPI_Abort(MPI_COMM_WORLD, 1);
    if (!posix) {
        if (write)
            MPI_File_sync(file);
        MPI_File_close(&file);
    }
}

static void move(int writes, long offset, int size) {
    MPI_Status s;
    if (posix) {
        if (lseek(fd, offset, SEEK_SET) != offset ||
            (writes ? write(fd, data, (size_t)size) : read(fd, data, (size_t)size)) != size)
            MPI_Abort(MPI_COMM_WORLD, 1);
    } else if (collective) {
        if (writes)
            MPI_File_write_at_all(file, offset, data, size, MPI_BYTE, &s);
        else
            MPI_File_read_at_all(file, offset, data, size, MPI_BYTE, &s);
    } else if (writes) {
        MPI_File_write_at(file, offset, data, size, MPI_BYTE, &s);
    } else {
        MPI_File_read_at(file, offset, data, size, MPI_BYTE, &s);
    }
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    if (argc != 7)
        MPI_Abort(MPI_COMM_WORLD, 2);
    posix = strcmp(argv[1], "POSIX") == 0;
    collective = strcmp(argv[1], "COLLECTIVE") == 0;
    int each = strcmp(argv[2], "each") == 0, segments = atoi(argv[4]), transfer = atoi(argv[6]);
    long block = atol(argv[5]);
    data = calloc((size_t)transfer, 1);
    for (int write = 1; write >= 0; write--) {
        char name[256];
        int task = write ? rank : (rank + 1) % n;
        if (each)
            snprintf(name, sizeof name, "%s.each.%08d", argv[3], task);
        else
            snprintf(name, sizeof name, "%s", argv[3]);
        open_file(name, write);
        MPI_Barrier(MPI_COMM_WORLD);
        for (int segment = 0; segment < segments; segment++)
            for (long at = 0; at < block; at += transfer)
                move(write, (each ? segment * block : ((long)segment * n + task) * block) + at, transfer);
        MPI_Barrier(MPI_COMM_WORLD);
        close_file(write);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    free(data);
    MPI_Finalize();
    return 0;
}
