/* Things that are allowed and seldom: what a model makes of them is in tests/e2e/test_odd_runs.py.
 * Usage: odd_calls overlap|far|zero|nothing FILE */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char bytes[1000];

/* Three opens of one file at a time; each has a position of its own. */
static int overlap(const char *path) {
    int a = open(path, O_CREAT | O_RDWR | O_TRUNC, 0644), b = open(path, O_RDWR), c = open(path, O_RDONLY);
    for (int i = 0; i < 10; i++) {
        if (write(a, bytes, 100) != 100 || write(b, bytes, 50) != 50 || read(c, bytes, 70) != 70) {
            return 1;
        }
    }
    close(b);
    for (int i = 0; i < 5; i++) {
        if (write(a, bytes, 100) != 100) {
            return 1;
        }
    }
    return 0; /* a and c are left open */
}

/* Offsets that a double cannot tell apart. */
static int far(const char *path) {
    int fd = open(path, O_CREAT | O_RDWR | O_TRUNC, 0644);
    for (int i = 0; i < 10; i++) {
        if (pwrite(fd, bytes, 100, ((off_t)1 << 53) + 1 + i * 101) != 100) {
            return 1;
        }
    }
    return 0;
}

/* Calls that ask for nothing, between ones that do not. */
static int zero(const char *path) {
    int fd = open(path, O_CREAT | O_RDWR | O_TRUNC, 0644);
    for (int i = 0; i < 5; i++) {
        if (write(fd, bytes, 0) != 0 || pwrite(fd, bytes, 0, 77) != 0 || read(fd, bytes, 0) != 0 ||
            write(fd, bytes, 10) != 10) {
            return 1;
        }
    }
    return 0;
}

/* Nothing but such calls, and reads behind the end. */
static int nothing(const char *path) {
    int fd = open(path, O_CREAT | O_RDWR | O_TRUNC, 0644);
    return write(fd, bytes, 0) != 0 || pread(fd, bytes, 10, 500) != 0;
}

int main(int argc, char **argv) {
    if (argc == 3 && strcmp(argv[1], "overlap") == 0) {
        return overlap(argv[2]);
    }
    if (argc == 3 && strcmp(argv[1], "far") == 0) {
        return far(argv[2]);
    }
    if (argc == 3 && strcmp(argv[1], "zero") == 0) {
        return zero(argv[2]);
    }
    if (argc == 3 && strcmp(argv[1], "nothing") == 0) {
        return nothing(argv[2]);
    }
    fprintf(stderr, "usage: odd_calls overlap|far|zero|nothing FILE\n");
    return 2;
}
