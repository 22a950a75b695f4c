/* What IOR does: each rank writes and then reads back blocks of a file, in SEGMENTS segments of one block a
 * rank. API: posix or mpiio (independent), collective; a name with "%d" is a file of each rank's own. Usage:
 * mpirun -n N ior_blocks API FILE BLOCK TRANSFER SEGMENTS */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int posix = -1, collective;
static MPI_File file;

static void open_file(const char *path, MPI_Comm ranks, int create) {
    if (posix >= 0) {
        posix = open(path, create ? O_CREAT | O_RDWR : O_RDONLY, 0644);
        if (posix < 0) {
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    } else if (MPI_File_open(ranks, path, create ? MPI_MODE_CREATE | MPI_MODE_RDWR : MPI_MODE_RDONLY,
                             MPI_INFO_NULL, &file) != MPI_SUCCESS) {
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

static void close_file(void) {
    if (posix >= 0) {
        close(posix);
        posix = 0;
    } else {
        MPI_File_close(&file);
    }
}

static void move(int writes, MPI_Offset at, char *bytes, int n) {
    if (posix >= 0) { /* IOR seeks, then reads or writes */
        lseek(posix, at, SEEK_SET);
        if ((writes ? write(posix, bytes, (size_t)n) : read(posix, bytes, (size_t)n)) != n) {
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    } else if (writes && collective) {
        MPI_File_write_at_all(file, at, bytes, n, MPI_BYTE, MPI_STATUS_IGNORE);
    } else if (writes) {
        MPI_File_write_at(file, at, bytes, n, MPI_BYTE, MPI_STATUS_IGNORE);
    } else if (collective) {
        MPI_File_read_at_all(file, at, bytes, n, MPI_BYTE, MPI_STATUS_IGNORE);
    } else {
        MPI_File_read_at(file, at, bytes, n, MPI_BYTE, MPI_STATUS_IGNORE);
    }
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, n_ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
    if (argc != 6) {
        fprintf(stderr,
                "usage: mpirun -n N ior_blocks posix|mpiio|collective FILE BLOCK TRANSFER SEGMENTS\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    posix = strcmp(argv[1], "posix") == 0 ? 0 : -1;
    collective = strcmp(argv[1], "collective") == 0;
    int block = atoi(argv[3]), transfer = atoi(argv[4]), segments = atoi(argv[5]);
    char path[4096], *own = strstr(argv[2], "%d"), *bytes = calloc((size_t)transfer, 1);
    if (own != NULL) {
        snprintf(path, sizeof path, "%.*s%d%s", (int)(own - argv[2]), argv[2], rank, own + 2);
    } else {
        snprintf(path, sizeof path, "%s", argv[2]);
    }
    for (int writes = 1; writes >= 0; writes--) {
        open_file(path, own != NULL ? MPI_COMM_SELF : MPI_COMM_WORLD, writes);
        MPI_Barrier(MPI_COMM_WORLD);
        for (int segment = 0; segment < segments; segment++) {
            MPI_Offset start = own != NULL ? segment : (MPI_Offset)segment * n_ranks + rank;
            for (int done = 0; done < block; done += transfer) {
                move(writes, start * block + done, bytes, transfer);
            }
        }
        close_file();
        MPI_Barrier(MPI_COMM_WORLD);
    }
    free(bytes);
    MPI_Finalize();
    return 0;
}
