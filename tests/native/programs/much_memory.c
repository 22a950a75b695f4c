/* All that might make a tracer grow: irregular operations, many files, many descriptors, long loops. Prints
 * the most memory that the process ever had, KiB. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OPERATIONS 200000
#define FILES 20000
#define AT_ONCE 900

static char buffer[4096];

int main(void) {
    int fd = open("data.bin", O_CREAT | O_RDWR, 0644);
    srandom(7);
    for (int i = 0; i < OPERATIONS; i++) {
        pwrite(fd, buffer, (size_t)(random() % 64), random() % (1 << 20));
    }
    static int open_now[AT_ONCE];
    for (int i = 0; i < FILES; i++) {
        char name[64];
        snprintf(name, sizeof name, "many-files-with-a-long-name-%d.bin", i);
        int *place = &open_now[i % AT_ONCE];
        if (*place > 0) {
            close(*place);
        }
        *place = open(name, O_CREAT | O_WRONLY, 0644);
        pwrite(*place, buffer, 10, i);
        unlink(name);
    }
    for (int i = 0; i < OPERATIONS; i++) {
        pwrite(fd, buffer, 16, i * 16);
        pread(fd, buffer, 8, i * 8);
    }
    char line[256];
    FILE *status = fopen("/proc/self/status", "r");
    while (fgets(line, sizeof line, status)) {
        if (strncmp(line, "VmHWM:", 6) == 0) {
            printf("%d\n", atoi(line + 6));
        }
    }
    return 0;
}
