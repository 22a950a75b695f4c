/* One rank of a program that writes each file under another name: renamed DIRECTORY RANK RANKS FILES
 * It writes its share of the files (sizes that follow no rule), each under another name, and renames it when
 * it is whole, as checkpoints, rsync and atomic writers do. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { LARGEST = 8192 };

static char buffer[LARGEST];

static uint64_t mixed(uint64_t n) { /* splitmix64 */
    n += 0x9e3779b97f4a7c15;
    n = (n ^ (n >> 30)) * 0xbf58476d1ce4e5b9;
    n = (n ^ (n >> 27)) * 0x94d049bb133111eb;
    return n ^ (n >> 31);
}

static _Noreturn void give_up(const char *name) {
    perror(name);
    exit(1);
}

int main(int argc, char **argv) {
    if (argc != 5)
        return 2;
    const int64_t rank = atoll(argv[2]), ranks = atoll(argv[3]), files = atoll(argv[4]);
    const int64_t first = files * rank / ranks, end = files * (rank + 1) / ranks;
    char name[4096], other[4096];
    for (int64_t i = first; i < end; i++) {
        snprintf(name, sizeof name, "%s/f%08lld.dat", argv[1], (long long)i);
        snprintf(other, sizeof other, "%s/f%08lld.dat.tmp", argv[1], (long long)i);
        const int fd = open(other, O_WRONLY | O_CREAT | O_EXCL, 0644);
        const size_t size = 1 + mixed((uint64_t)i) % LARGEST;
        if (fd < 0 || write(fd, buffer, size) != (ssize_t)size || close(fd) != 0)
            give_up(other);
        if (rename(other, name) != 0)
            give_up(name);
    }
    return 0;
}
