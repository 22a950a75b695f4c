/* Every way by which a process moves a file's bytes but mappings: by the pointer and beside it, in pieces,
 * inside of the kernel, asynchronously, at the end. Usage: data_ways INPUT (of 300000 bytes at least) */
#define _GNU_SOURCE
#include <aio.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static char b[8192];

static void must(long long moved, long long wanted) {
    if (moved != wanted)
        exit(1);
}

static int make(const char *name) {
    return open(name, O_RDWR | O_CREAT | O_TRUNC, 0644);
}

/* A child takes what comes through a socket: its end is no file. */
static void send_through_a_socket(int in) {
    int ends[2];
    must(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        while (recv(ends[1], b, sizeof b, 0) > 0)
            ;
        _exit(0);
    }
    close(ends[1]);
    off_t at = 1000;
    for (int i = 0; i < 4; i++)
        must(sendfile(ends[0], in, &at, 20000), 20000);
    close(ends[0]);
    waitpid(child, NULL, 0);
}

int main(int argc, char **argv) {
    int in = open(argc > 1 ? argv[1] : "input", O_RDONLY), out = make("copied"), ends[2];
    struct iovec two[2] = {{b, 100}, {b + 100, 300}};
    must(copy_file_range(in, NULL, out, NULL, 50000, 0), 50000); /* by both pointers */
    off_t from = 200000, to = 1000;
    must(copy_file_range(in, &from, out, &to, 3000, 0), 3000); /* by neither */
    must(sendfile(out, in, NULL, 4000), 4000);
    send_through_a_socket(in);

    lseek(in, 0, SEEK_SET);
    for (int i = 0; i < 20; i++) { /* a pread does not move the pointer */
        must(read(in, b, 1000), 1000);
        must(pread(in, b, 777, i * 5000), 777);
    }
    must(preadv(in, two, 2, 4096), 400);
    must(readv(in, two, 2), 400);
    must(pwritev2(out, two, 2, 9000, 0), 400);
    must(writev(out, two, 2), 400);

    must(posix_fallocate(out, 0, 90000), 0);
    lseek(out, 0, SEEK_END);
    must(write(out, b, 500), 500);
    lseek(out, 10, SEEK_DATA);
    must(write(out, b, 50), 50);
    must(ftruncate(out, 120000), 0);
    int twin = dup(out);
    must(write(twin, b, 90), 90);
    close(out);
    must(write(twin, b, 70), 70); /* goes on where the other was */

    struct aiocb later = {.aio_fildes = twin, .aio_buf = b, .aio_nbytes = 600, .aio_offset = 2000};
    const struct aiocb *all[1] = {&later};
    must(aio_write(&later), 0);
    while (aio_error(&later) != 0)
        aio_suspend(all, 1, NULL);
    must(aio_return(&later), 600);
    fdatasync(twin);
    close(twin);

    int end = open("copied", O_WRONLY | O_APPEND);
    for (int i = 0; i < 5; i++)
        must(write(end, b, 111), 111);
    close(end);

    int piped = make("piped");
    must(pipe(ends), 0);
    must(write(ends[1], b, 3000), 3000);
    must(splice(ends[0], NULL, piped, NULL, 3000, 0), 3000);
    close(piped);
    close(in);
    return 0;
}
