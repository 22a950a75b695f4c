/* Writes of random sizes at random places, which do not fold. Arguments: their number, and the number of
 * further files that are made and written, a byte each. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv) {
    int n = atoi(argv[1]), n_files = argc > 2 ? atoi(argv[2]) : 0;
    int file = open("random.bin", O_RDWR | O_CREAT | O_TRUNC, 0666);
    char block[128] = {0}, name[200];
    uint64_t x = 12345;
    for (int i = 0; i < n; i++) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        if (pwrite(file, block, 8 + ((x >> 20) & 63), (off_t)((x >> 33) & 0xfffff)) < 0) {
            return 1;
        }
    }
    close(file);
    for (int i = 0; i < n_files; i++) {
        snprintf(name, sizeof name, "a-file-with-a-name-that-is-rather-long-so-that-names-fill-the-disk-%06d",
                 i);
        int one = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0666);
        if (write(one, block, 1) != 1) {
            return 1;
        }
        close(one);
        unlink(name);
    }
    return 0;
}
