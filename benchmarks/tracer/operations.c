/* Tight loops of one operation; prints ns an operation, by the clock and of the processor, and the most
 * memory that the process had, KiB. Arguments: directory, operations, kind (read: 4 KiB from the page cache,
 * pwrite: 4 KiB to tmpfs, lseek, loop: lseek and read in turns at a stride, irregular: pwrites of random
 * sizes at random places). */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

int main(int argc, char **argv) {
    if (argc != 4 || chdir(argv[1]) != 0) {
        return 2;
    }
    long n = atol(argv[2]);
    const char *kind = argv[3];
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
        } else {
            long size = 512 * (1 + random() % 16);
            done = pwrite(fd, buffer, (size_t)size, random() % (BLOCKS * 7) * 512);
        }
        if (done <= 0) {
            return 1;
        }
    }
    printf("%.1f %.1f %ld\n", (now_ns(CLOCK_MONOTONIC) - start) / (double)n,
           (now_ns(CLOCK_PROCESS_CPUTIME_ID) - start_cpu) / (double)n, most_memory());
    unlink("benchmark.bin");
    return 0;
}
