/* Reads behind the end of an empty file: of every seven the first is near and small, the others are at any
 * place and of any size; or the other way round. Argument: how many of each. */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

static char buffer[1 << 16];

int main(int argc, char **argv) {
    long n = argc > 1 ? atol(argv[1]) : 0;
    uint64_t random = 1;
    int fd = open("empty.bin", O_RDWR | O_CREAT, 0644);
    for (long i = 1; i <= 2 * n; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        int first = i % 7 == 0, near = i <= n ? first : !first;
        off_t offset = near ? (off_t)(random >> 60) : (off_t)(random >> 24);
        size_t size = near ? 1 + (random >> 40) % 3 : 1 + (random >> 40) % (sizeof buffer - 1);
        if (pread(fd, buffer, size, offset) != 0) {
            return 1;
        }
    }
    return close(fd);
}
