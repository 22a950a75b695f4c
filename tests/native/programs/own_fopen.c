/* What ABYSS-P does, in small: an fopen of its own, which comes before any preloaded library's; reads of 8191
 * bytes with a tell after each record; a descriptor that is used again at once for a file of /proc. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

__attribute__((visibility("default"))) FILE *fopen(const char *path, const char *mode) {
    FILE *(*next)(const char *, const char *) =
        (FILE * (*)(const char *, const char *)) dlsym(RTLD_NEXT, "fopen");
    return next(path, mode);
}

int main(void) {
    static char buffer[8191], line[256];
    FILE *out = fopen("out.txt", "w");
    for (int i = 0; i < 2000; i++) {
        fprintf(out, "%09d\n", i); /* 10 bytes */
    }
    fclose(out);
    int fd = open("out.txt", O_RDONLY);
    for (;;) {
        for (int record = 0; record < 40; record++) {
            lseek(fd, 0, SEEK_CUR);
        }
        if (read(fd, buffer, sizeof buffer) <= 0) {
            break;
        }
    }
    close(fd);
    int again = open("/proc/self/statm", O_RDONLY);
    if (again != fd || read(again, line, sizeof line) <= 0) {
        return 1;
    }
    close(again);
    return 0;
}
