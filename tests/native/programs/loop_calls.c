/* Loops of several operations. Argument: how often; "kill" as a second one ends it by SIGKILL. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char buffer[4096];

static int open_for_writing(const char *name) {
    return open(name, O_CREAT | O_RDWR, 0644);
}

int main(int argc, char **argv) {
    int n = atoi(argv[1]);
    int a = open_for_writing("a.bin"), b = open_for_writing("b.bin");
    for (int i = 0; i < n; i++) { /* two files in turn, the third operation at a place of its own */
        pwrite(a, buffer, 100, i * 1000);
        pwrite(b, buffer, 200, i * 300);
        pread(a, buffer, 50, i * 7);
    }
    for (int i = 0; i < n; i++) { /* IOR's way */
        lseek(a, i * 4096, SEEK_SET);
        write(a, buffer, 1024);
    }
    for (int i = 0; i < n; i++) { /* a loop in a loop, and a run in it */
        for (int k = 0; k < 4; k++) {
            pwrite(a, buffer, 10, i * 100000 + k * 500);
            pread(b, buffer, 20, i * 3 + k);
        }
        for (int k = 0; k < 5; k++) {
            pwrite(b, buffer, 30, i * 2000 + k * 30);
        }
        fsync(a);
    }
    for (int i = 0; i < n; i++) { /* an open for each */
        int log = open("log.txt", O_CREAT | O_WRONLY | O_APPEND, 0644);
        write(log, buffer, 10);
        close(log);
    }
    for (int i = 0; i < n; i++) { /* nearly a loop: every fifth is another */
        pwrite(a, buffer, 10, i * 64);
        pwrite(b, buffer, i % 5 == 0 ? 11 : 10, i * 64);
    }
    for (int i = 0; i < n; i++) { /* a body of 100 operations */
        for (int k = 0; k < 50; k++) {
            pwrite(a, buffer, (size_t)(1 + k), i * 10000 + k * k);
            pread(b, buffer, (size_t)(1 + k), i + k * k);
        }
    }
    if (argc > 2) {
        kill(getpid(), SIGKILL);
    }
    return 0;
}
