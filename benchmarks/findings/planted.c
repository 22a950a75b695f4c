/* Programs with one planted problem each, and their mended twins: planted NAME, run by MPI ranks in an empty folder.

   Each problem is what a log must show; its twin "NAME-mended" does the same work without it. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MIB = 1 << 20 };

static int rank, n_ranks;
static char *buffer;

static int open_file(const char *name, int flags) {
    int fd = open(name, flags, 0644);
    if (fd < 0) {
        perror(name);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return fd;
}

static void moved(ssize_t n) {
    if (n < 0) {
        perror("read or write");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

/* A file of so many MiB, which rank 0 writes before the others use it. */
static void input(const char *name, int n_mib) {
    if (rank == 0) {
        int fd = open_file(name, O_WRONLY | O_CREAT);
        for (int i = 0; i < n_mib; i++)
            moved(pwrite(fd, buffer, MIB, (off_t)i * MIB));
        close(fd);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Each rank writes requests of one size to a file of its own. */
static void own_file(size_t size, int n, int flush) {
    char name[32];
    snprintf(name, sizeof name, "own.%d", rank);
    int fd = open_file(name, O_WRONLY | O_CREAT);
    for (int i = 0; i < n; i++) {
        moved(write(fd, buffer, size));
        if (flush)
            fsync(fd);
    }
    fsync(fd);
    close(fd);
}

/* Ranks write pieces of one size that interleave in one file. */
static void interleaved(size_t size, int n, int collective) {
    MPI_File file;
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "romio_cb_write", collective ? "enable" : "disable");
    MPI_File_open(MPI_COMM_WORLD, "shared", MPI_MODE_CREATE | MPI_MODE_WRONLY, info, &file);
    if (collective) { /* all pieces of a rank by one call */
        MPI_Datatype pieces;
        MPI_Type_vector(n, (int)size, (int)size * n_ranks, MPI_BYTE, &pieces);
        MPI_Type_commit(&pieces);
        MPI_File_set_view(file, (MPI_Offset)rank * (MPI_Offset)size, MPI_BYTE, pieces, "native", info);
        MPI_File_write_all(file, buffer, (int)size * n, MPI_BYTE, MPI_STATUS_IGNORE);
        MPI_Type_free(&pieces);
    } else {
        for (int i = 0; i < n; i++)
            MPI_File_write_at(file, ((MPI_Offset)i * n_ranks + rank) * (MPI_Offset)size, buffer, (int)size, MPI_BYTE,
                              MPI_STATUS_IGNORE);
    }
    MPI_File_close(&file);
    MPI_Info_free(&info);
}

/* Rank 0 writes all, or each its part of one file in requests of 4 MiB. */
static void one_writer(int all_by_one) {
    int fd = open_file("shared", O_WRONLY | O_CREAT);
    int n = 64 / (all_by_one ? 1 : n_ranks), first = all_by_one ? 0 : rank * n;
    if (!all_by_one || rank == 0)
        for (int i = first; i < first + n; i += 4)
            moved(pwrite(fd, buffer, 4 * MIB, (off_t)i * MIB));
    fsync(fd);
    close(fd);
}

/* Rank 0 writes eight times as much to its own file as each other rank. */
static void uneven(int even) {
    own_file(4 * MIB, even ? 11 : rank ? 4 : 32, 0);
}

static void read_places(int random) {
    enum { N = 16384, SIZE = 8192 };
    input("input", N / (MIB / SIZE));
    int fd = open_file("input", O_RDONLY);
    if (random)
        for (int i = 0; i < N / 4; i++) /* a permutation: 6151 is odd */
            moved(pread(fd, buffer, SIZE, (off_t)((i * 4L + rank) * 6151 % N) * SIZE));
    else
        for (int i = rank; i < N / (4 * MIB / SIZE); i += n_ranks)
            moved(pread(fd, buffer, 4 * MIB, (off_t)i * 4 * MIB));
    close(fd);
}

/* All ranks read all of a file, or rank 0 does and broadcasts. */
static void same_bytes(int broadcast) {
    input("input", 32);
    int fd = open_file("input", O_RDONLY);
    for (int i = 0; i < 32; i += 4) {
        if (!broadcast || rank == 0)
            moved(pread(fd, buffer, 4 * MIB, (off_t)i * MIB));
        if (broadcast)
            MPI_Bcast(buffer, 4 * MIB, MPI_BYTE, 0, MPI_COMM_WORLD);
    }
    close(fd);
}

static void again(int times) {
    input("input", 64);
    int fd = open_file("input", O_RDONLY), n = 64 / n_ranks;
    for (int round = 0; round < times; round++)
        for (int i = 0; i < n; i += 4)
            moved(pread(fd, buffer, 4 * MIB, (off_t)(rank * n + i) * MIB));
    close(fd);
}

/* Many opens and stats, or few. */
static void metadata(int n) {
    char name[32];
    struct stat facts;
    snprintf(name, sizeof name, "own.%d", rank);
    int fd = open_file(name, O_RDWR | O_CREAT);
    moved(pwrite(fd, buffer, 4 * MIB, 0));
    close(fd);
    for (int i = 0; i < n; i++) {
        if (stat(name, &facts))
            perror(name);
        close(open_file(name, O_RDONLY));
    }
}

static void files(int n) {
    char name[32];
    size_t size = (size_t)(8 * MIB) / (size_t)n;
    for (int i = 0; i < n; i++) {
        snprintf(name, sizeof name, "f.%d.%d", rank, i);
        int fd = open_file(name, O_WRONLY | O_CREAT);
        moved(write(fd, buffer, size));
        close(fd);
    }
}

static void unaligned(off_t header) {
    int fd = open_file("shared", O_WRONLY | O_CREAT);
    for (int i = 0; i < 512; i++)
        moved(pwrite(fd, buffer, 128 * 1024, header + ((off_t)rank * 512 + i) * 128 * 1024));
    fsync(fd);
    close(fd);
}

static void streams(int by_stream) {
    char name[32];
    snprintf(name, sizeof name, "own.%d", rank);
    if (by_stream) {
        FILE *file = fopen(name, "w");
        for (int i = 0; file && i < 16 * 1024; i++)
            fwrite(buffer, 1, 1024, file);
        if (file)
            fclose(file);
    } else {
        own_file(4 * MIB, 4, 0);
    }
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
    buffer = malloc(64 * MIB);
    memset(buffer, 'w', 64 * MIB);
    const char *name = argc > 1 ? argv[1] : "";
    int mended = strstr(name, "-mended") != NULL, known = 1;
    size_t n = strcspn(name, "-");
#define IS(what) (n == strlen(what) && strncmp(name, what, n) == 0)
    if (IS("small"))
        own_file(mended ? 4 * MIB : 512, mended ? 4 : 32 * 1024, 0);
    else if (IS("flush"))
        own_file(mended ? 4 * MIB : 256 * 1024, mended ? 16 : 256, !mended);
    else if (IS("independent"))
        interleaved(4096, 4096, mended);
    else if (IS("writer"))
        one_writer(!mended);
    else if (IS("uneven"))
        uneven(mended);
    else if (IS("random"))
        read_places(!mended);
    else if (IS("same"))
        same_bytes(mended);
    else if (IS("again"))
        again(mended ? 1 : 8);
    else if (IS("metadata"))
        metadata(mended ? 2 : 4000);
    else if (IS("files"))
        files(mended ? 1 : 400);
    else if (IS("unaligned"))
        unaligned(mended ? 0 : 1000);
    else if (IS("streams"))
        streams(!mended);
    else
        known = 0;
    if (!known && rank == 0)
        fprintf(stderr, "no such program: %s\n", name);
    MPI_Finalize();
    return !known;
}
