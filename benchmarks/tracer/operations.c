/* Tight loops of one operation; prints ns an operation, by the clock and of the processor, and the most
 * memory that the process had, KiB. Arguments: directory, operations, kind (read: 4 KiB from the page cache,
 * pwrite: 4 KiB to tmpfs, lseek, loop: lseek and read in turns at a stride, irregular: pwrites of random
 * sizes at random places, random: preads of 4 KiB at random places; create: open of a new file and its close,
 * open: the same of one of the files of before, stat of one). */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define BLOCK 4096
#define BLOCKS 4096 /* 16 MiB: stays in the page cache */

static char buffer[1 << 16];

static double now_ns(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* Not ru_maxrss: that is also what the process was before it ran this program. */
static long most_memory(void) {
    FILE *status = fopen("/proc/self/status", "r");
    char line[256];
    long kib = 0;
    while (status != NULL && fgets(line, sizeof line, status)) {
        if (strncmp(line, "VmHWM:", 6) == 0) {
            kib = atol(line + 6);
        }
    }
    return kib;
}

/* Calls on a name of `kind`, the i-th of n; files are there already but for "create". False: it failed. */
static int call_on_name(const char *kind, long i) {
    char name[32];
    struct stat facts;
    snprintf(name, sizeof name, "f%08ld", i);
    if (strcmp(kind, "stat") == 0) {
        return stat(name, &facts) == 0;
    }
    int fd = strcmp(kind, "open") == 0 ? open(name, O_RDONLY) : open(name, O_CREAT | O_WRONLY, 0644);
    return fd >= 0 && close(fd) == 0;
}

static int remove_names(long n) {
    char name[32];
    for (long i = 0; i < n; i++) {
        snprintf(name, sizeof name, "f%08ld", i);
        if (unlink(name) != 0) {
            return 1;
        }
    }
    return 0;
}

static void say(double start, double start_cpu, long n) {
    printf("%.1f %.1f %ld\n", (now_ns(CLOCK_MONOTONIC) - start) / (double)n,
           (now_ns(CLOCK_PROCESS_CPUTIME_ID) - start_cpu) / (double)n, most_memory());
}

static int names(const char *kind, long n) {
    for (long i = 0; i < n && strcmp(kind, "create") != 0; i++) {
        if (!call_on_name("create", i)) {
            return 1;
        }
    }
    double start = now_ns(CLOCK_MONOTONIC), start_cpu = now_ns(CLOCK_PROCESS_CPUTIME_ID);
    for (long i = 0; i < n; i++) {
        if (!call_on_name(kind, i)) {
            return 1;
        }
    }
    say(start, start_cpu, n);
    return remove_names(n);
}

int main(int argc, char **argv) {
    if (argc != 4 || chdir(argv[1]) != 0) {
        return 2;
    }
    long n = atol(argv[2]);
    const char *kind = argv[3];
    if (strcmp(kind, "create") == 0 || strcmp(kind, "open") == 0 || strcmp(kind, "stat") == 0) {
        return names(kind, n);
    }
    int fd = open("benchmark.bin", O_CREAT | O_RDWR | O_TRUNC, 0644);
    for (int i = 0; i < BLOCKS; i++) {
        if (write(fd, buffer, BLOCK) != BLOCK) {
            return 1;
        }
    }
    lseek(fd, 0, SEEK_SET);
    srandom(7);
    double start = now_ns(CLOCK_MONOTONIC), start_cpu = now_ns(CLOCK_PROCESS_CPUTIME_ID);
    for (long i = 0; i < n; i++) {
        long done = 0;
        if (strcmp(kind, "read") == 0) {
            if (i % BLOCKS == 0) {
                lseek(fd, 0, SEEK_SET);
            }
            done = read(fd, buffer, BLOCK);
        } else if (strcmp(kind, "pwrite") == 0) {
            done = pwrite(fd, buffer, BLOCK, i % BLOCKS * BLOCK);
        } else if (strcmp(kind, "lseek") == 0) {
            done = lseek(fd, 0, SEEK_CUR) + 1;
        } else if (strcmp(kind, "loop") == 0) {
            done = i % 2 == 0 ? lseek(fd, i / 2 % (BLOCKS / 2) * 2 * BLOCK, SEEK_SET) + 1
                              : read(fd, buffer, BLOCK);
        } else if (strcmp(kind, "random") == 0) {
            done = pread(fd, buffer, BLOCK, random() % BLOCKS * BLOCK);
        } else {
            long size = 512 * (1 + random() % 16);
            done = pwrite(fd, buffer, (size_t)size, random() % (BLOCKS * 7) * 512);
        }
        if (done <= 0) {
            return 1;
        }
    }
    say(start, start_cpu, n);
    unlink("benchmark.bin");
    return 0;
}
