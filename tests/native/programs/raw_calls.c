/* System calls that pass the C library's functions by. Usage: raw_calls data | ring */
#define _GNU_SOURCE
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static char bytes[300];

int main(int argc, char **argv) {
    int fd = open("raw.bin", O_CREAT | O_RDWR, 0644);
    if (argc == 2 && strcmp(argv[1], "data") == 0) {
        if (syscall(SYS_write, fd, bytes, 100L) != 100 || syscall(SYS_pwrite64, fd, bytes, 10L, 200L) != 10) {
            return 1;
        }
    } else if (argc == 2) {
        char parameters[120] = {0};
        syscall(SYS_io_uring_setup, 4L, parameters); /* asking is enough: it may be forbidden here */
    }
    return write(fd, bytes, 5) == 5 ? 0 : 1;
}
