/* Known POSIX calls on a file in the working directory. test_tracer_posix.py lists the same. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

static char buffer[65536];

static void must(long result) {
    if (result < 0) {
        perror("posix_calls");
        exit(1);
    }
}

int main(void) {
    struct iovec parts[2] = {{buffer, 100}, {buffer, 28}};
    int fd = open("data.bin", O_CREAT | O_TRUNC | O_RDWR, 0644);
    must(fd);
    for (int i = 0; i < 10; i++) {
        must(write(fd, buffer, 4096));
    }
    must(lseek(fd, 8192, SEEK_SET));
    must(read(fd, buffer, 8191));
    must(read(fd, buffer, 8191));
    must(pwrite(fd, buffer, 10, 3));
    must(pread(fd, buffer, 20, 40950)); /* short: 10 bytes are there */
    must(writev(fd, parts, 2));         /* at 8192 + 2 * 8191 */
    must(readv(fd, parts, 2));
    must(pwritev(fd, parts, 2, 1000));
    must(preadv(fd, parts, 2, 2000));
    must(fsync(fd));
    must(fdatasync(fd));
    must(ftruncate(fd, 50000));
    must(posix_fallocate(fd, 0, 60000));
    int copy = dup(fd);
    must(copy);
    must(lseek(copy, 100, SEEK_SET));
    must(read(fd, buffer, 1)); /* one position for both */
    must(close(fd));
    must(read(copy, buffer, 2));
    int other = fcntl(copy, F_DUPFD, 100);
    must(other);
    must(close(copy));
    void *memory = mmap(NULL, 4096, PROT_READ, MAP_SHARED, other, 0);
    must(munmap(memory, 4096));
    must(close(other));
    fd = open("data.bin", O_WRONLY | O_APPEND);
    must(fd);
    must(write(fd, buffer, 5)); /* at the end, 60000 */
    must(close(fd));
    int from = open("data.bin", O_RDONLY), to = creat("copy.bin", 0644);
    must(from);
    must(to);
    off_t at = 10;
    must(sendfile(to, from, &at, 1000));
    must(sendfile(to, from, NULL, 500));
    off64_t source = 7, target = 3;
    must(copy_file_range(from, &source, to, &target, 64, 0));
    off64_t last = 59905, place = 2000; /* 100 bytes before the end of the 60005 that there are */
    must(copy_file_range(from, &last, to, &place, (size_t)1 << 62, 0));
    int ends[2];
    must(pipe(ends));
    off64_t first = 20;
    must(splice(from, &first, ends[1], NULL, 300, 0));
    must(splice(ends[0], NULL, to, NULL, 1 << 20, 0));
    must(close(from));
    must(close(to));
    fd = open("missing.bin", O_RDONLY);
    for (int i = 0; i < 4; i++) { /* every second block: a stride */
        fd = fd < 0 ? open("data.bin", O_RDONLY) : fd;
        must(pread(fd, buffer, 512, i * 1024));
    }
    must(close(fd));
    return 0;
}
