/* One rank of a program of many small files: small_files DIRECTORY RANK RANKS FILES
 * It writes its share of the files (an untar: sizes that follow no rule), then reads them in
 * random order (a training epoch). */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LARGEST = 8192 };

static char buffer[LARGEST];

static uint64_t mixed(uint64_t n) { /* splitmix64 */
    n += 0x9e3779b97f4a7c15;
    n = (n ^ (n >> 30)) * 0xbf58476d1ce4e5b9;
    n = (n ^ (n >> 27)) * 0x94d049bb133111eb;
    return n ^ (n >> 31);
}

static void name_of(char *name, size_t length, const char *folder, int64_t file) {
    snprintf(name, length, "%s/d%03d/f%08lld.dat", folder, (int)(file / 1000), (long long)file);
}

static _Noreturn void give_up(const char *name) {
    perror(name);
    exit(1);
}

int main(int argc, char **argv) {
    if (argc != 5)
        return 2;
    const char *folder = argv[1];
    const int64_t rank = atoll(argv[2]), ranks = atoll(argv[3]), files = atoll(argv[4]);
    const int64_t first = files * rank / ranks, end = files * (rank + 1) / ranks;
    char name[4096];
    for (int64_t i = first; i < end; i++) {
        name_of(name, sizeof name, folder, i);
        if (i == first || i % 1000 == 0) {
            char sub[4096];
            snprintf(sub, sizeof sub, "%s/d%03d", folder, (int)(i / 1000));
            mkdir(sub, 0755);
        }
        int fd = open(name, O_WRONLY | O_CREAT | O_EXCL, 0644);
        const size_t size = 1 + mixed((uint64_t)i) % LARGEST;
        if (fd < 0 || write(fd, buffer, size) != (ssize_t)size || close(fd) != 0)
            give_up(name);
    }
    const int64_t n = end - first;
    int64_t *order = malloc((size_t)(n ? n : 1) * sizeof *order);
    if (!order)
        give_up("malloc");
    for (int64_t i = 0; i < n; i++)
        order[i] = first + i;
    for (int64_t i = n - 1; i > 0; i--) {
        const int64_t j = (int64_t)(mixed((uint64_t)(first + i) ^ 0xabcdef) % (uint64_t)(i + 1)), kept = order[i];
        order[i] = order[j];
        order[j] = kept;
    }
    for (int64_t i = 0; i < n; i++) {
        name_of(name, sizeof name, folder, order[i]);
        int fd = open(name, O_RDONLY);
        struct stat facts;
        if (fd < 0 || fstat(fd, &facts) != 0 || read(fd, buffer, LARGEST) != facts.st_size || close(fd) != 0)
            give_up(name);
    }
    free(order);
    return 0;
}
