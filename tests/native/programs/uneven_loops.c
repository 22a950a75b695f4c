/* Writes to two files in turn: loops of 32, 32 and 40 repetitions, each at a place of its own. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <unistd.h>

static char buffer[100];

int main(void) {
    const int repetitions[] = {32, 32, 40};
    int a = open("a.bin", O_CREAT | O_RDWR, 0644), b = open("b.bin", O_CREAT | O_RDWR, 0644);
    for (int k = 0; k < 3; k++) {
        for (int i = 0; i < repetitions[k]; i++) {
            pwrite(a, buffer, 100, k * 1000000 + i * 1000);
            pwrite(b, buffer, 50, k * 1000000 + i * 300);
        }
    }
    return 0;
}
