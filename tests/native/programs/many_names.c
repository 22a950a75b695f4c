/* Makes many files, opens each again, and asks for its size. Argument: how many. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

int main(int argc, char **argv) {
    long n = argc > 1 ? atol(argv[1]) : 0;
    char name[32];
    struct stat facts;
    for (long i = 0; i < 2 * n; i++) {
        snprintf(name, sizeof name, "f%07ld", i % n);
        int fd = i < n ? open(name, O_WRONLY | O_CREAT, 0644) : open(name, O_RDONLY);
        if (fd < 0 || close(fd) != 0 || stat(name, &facts) != 0) {
            return 1;
        }
    }
    return 0;
}
