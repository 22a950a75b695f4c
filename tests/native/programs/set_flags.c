/* Flags of an open file that are changed: appended to, and no more; by O_DIRECT but for the tail. argv: file,
 * [direct]. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BLOCK = 4096, TAIL = 1908 };

static int set(int fd, int on, int off) {
    return fcntl(fd, F_SETFL, (fcntl(fd, F_GETFL) | on) & ~off);
}

int main(int argc, char **argv) {
    char *data;
    if (posix_memalign((void **)&data, BLOCK, BLOCK) != 0) {
        return 2;
    }
    memset(data, 'x', BLOCK);
    if (argc > 2) {
        int fd = open(argv[1], O_WRONLY | O_CREAT | O_DIRECT, 0644);
        if (fd < 0) {
            return 77; /* not on this file system */
        }
        return write(fd, data, BLOCK) != BLOCK || write(fd, data, BLOCK) != BLOCK ||
               set(fd, 0, O_DIRECT) != 0 || write(fd, data, TAIL) != TAIL || close(fd) != 0;
    }
    int fd = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC, 0644);
    int failed = write(fd, data, 100) != 100 || lseek(fd, 0, SEEK_SET) != 0;
    failed |= set(fd, O_APPEND, 0) != 0 || write(fd, data, 50) != 50; /* at 100 */
    failed |= set(fd, 0, O_APPEND) != 0 || lseek(fd, 10, SEEK_SET) != 10 || write(fd, data, 5) != 5;
    failed |= set(fd, O_APPEND, 0) != 0 || write(fd, data, 7) != 7; /* at 150 */
    return failed || close(fd) != 0;
}
