/* Loops that open, use and close files in every repetition. Arguments: how often, and a seed of what they do;
 * seed 0 makes the loop of a log, of parts in turn, and of files read in many pieces. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILES = 4, MOST_VISITS = 3 };

static char buffer[4096];

struct visit { /* of a file, in every repetition of a loop */
    int file, turns, kind, pieces, size, together, sync;
    long offset, step;
};

static long below(long n) {
    return random() % n;
}

static int opened(int file) {
    char name[16];
    snprintf(name, sizeof name, "f%d.bin", file);
    return open(name, O_CREAT | O_RDWR, 0644);
}

static void use(int fd, const struct visit *visit, long i) {
    long place = visit->offset + i * visit->step;
    if (visit->kind > 1) {
        lseek(fd, place, SEEK_SET);
    }
    for (int k = 0; k < visit->pieces; k++, place += visit->size) {
        if (visit->kind == 0) {
            pwrite(fd, buffer, (size_t)visit->size, place);
        } else if (visit->kind == 1) {
            pread(fd, buffer, (size_t)visit->size, place);
        } else if (visit->kind == 2) {
            write(fd, buffer, (size_t)visit->size);
        } else {
            read(fd, buffer, (size_t)visit->size);
        }
    }
    if (visit->sync) {
        fdatasync(fd);
    }
}

static void repeat(const struct visit *visits, int n_visits, long n) {
    for (long i = 0; i < n; i++) {
        for (int v = 0; v < n_visits; v++) {
            const struct visit *visit = &visits[v], *next = &visits[(v + 1) % n_visits];
            int fd = opened((visit->file + (int)(i % visit->turns)) % FILES);
            int other = visit->together ? opened(next->file) : -1;
            use(fd, visit, i);
            if (other >= 0) {
                use(other, next, i);
                close(other);
            }
            close(fd);
        }
    }
}

int main(int argc, char **argv) {
    long n = argc > 2 ? atol(argv[1]) : 0, seed = argc > 2 ? atol(argv[2]) : 0;
    for (int file = 0; file < FILES; file++) { /* there is something to read everywhere */
        int fd = opened(file);
        ftruncate(fd, 64 << 20);
        close(fd);
    }
    if (seed == 0) {
        struct visit log = {0, 1, 2, 1, 100, 0, 1, 0, 100}, parts = {0, 3, 0, 1, 4096, 0, 0, 0, 4096},
                     reads = {3, 1, 3, 70, 100, 0, 0, 0, 7000};
        repeat(&log, 1, n);
        repeat(&parts, 1, n);
        repeat(&reads, 1, 10 * n);
        return 0;
    }
    srandom((unsigned)seed);
    for (int loop = 0; loop < 4; loop++) {
        struct visit visits[MOST_VISITS];
        int n_visits = 1 + (int)below(MOST_VISITS);
        for (int v = 0; v < n_visits; v++) {
            long size = 1 + below(3) * 500, pieces = below(3) ? 1 + below(4) : 65 + below(20);
            visits[v] = (struct visit){(int)below(FILES), 1 + (int)below(3), (int)below(4),
                                       (int)pieces,       (int)size,         below(4) == 0,
                                       below(4) == 0,     below(1000),       below(3) * size * pieces};
        }
        repeat(visits, n_visits, 2 + below(n));
    }
    return 0;
}
