/* One rank of a program that moves no data: metadata_only DIRECTORY RANK RANKS FILES
 * It makes its share of the files in a directory of its own, asks for the status of each, and removes them,
 * as mdtest -u -F does. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static _Noreturn void give_up(const char *name) {
    perror(name);
    exit(1);
}

int main(int argc, char **argv) {
    if (argc != 5)
        return 2;
    const int64_t rank = atoll(argv[2]), ranks = atoll(argv[3]), files = atoll(argv[4]);
    const int64_t n = files * (rank + 1) / ranks - files * rank / ranks;
    char folder[4000], name[4096];
    snprintf(folder, sizeof folder, "%s/tree.%lld", argv[1], (long long)rank);
    if (mkdir(folder, 0755) != 0)
        give_up(folder);
    for (int64_t i = 0; i < n; i++) {
        snprintf(name, sizeof name, "%s/item.%lld.%lld", folder, (long long)rank, (long long)i);
        const int fd = open(name, O_WRONLY | O_CREAT | O_EXCL, 0644);
        if (fd < 0 || close(fd) != 0)
            give_up(name);
    }
    for (int64_t i = 0; i < n; i++) {
        snprintf(name, sizeof name, "%s/item.%lld.%lld", folder, (long long)rank, (long long)i);
        struct stat facts;
        if (stat(name, &facts) != 0)
            give_up(name);
    }
    for (int64_t i = 0; i < n; i++) {
        snprintf(name, sizeof name, "%s/item.%lld.%lld", folder, (long long)rank, (long long)i);
        if (unlink(name) != 0)
            give_up(name);
    }
    if (rmdir(folder) != 0)
        give_up(folder);
    return 0;
}
