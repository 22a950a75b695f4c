/* System calls past the C library, whose functions a preloaded tracer replaces: what the replay asks for
 * itself is no call of the plan. */
#define _GNU_SOURCE
#include "backends/raw_syscalls.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef __x86_64__
/* By the processor's instruction: a tracer between the program and its libraries does not see it. */
static long ask(long number, long a, long b, long c) {
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
    return result;
}

int64_t wt_raw_size(int fd) {
    struct stat facts;
    return ask(SYS_fstat, fd, (long)&facts, 0) == 0 ? (int64_t)facts.st_size : -1;
}

bool wt_raw_exists(const char *path) {
    return ask(SYS_access, (long)path, F_OK, 0) == 0;
}
static bool look(int fd, const char *path, struct stat *facts) {
    return (fd >= 0 ? ask(SYS_fstat, fd, (long)facts, 0) : ask(SYS_stat, (long)path, (long)facts, 0)) == 0;
}

int64_t wt_raw_position(int fd) {
    return ask(SYS_lseek, fd, 0, SEEK_CUR);
}

int wt_raw_open(const char *path, int flags) {
    long fd = ask(SYS_open, (long)path, flags, 0);
    if (fd < 0) {
        errno = (int)-fd;
    }
    return fd < 0 ? -1 : (int)fd;
}

int wt_raw_sync(int fd) {
    long result;
    do {
        result = ask(SYS_fsync, fd, 0, 0);
    } while (result == -EINTR);
    return (int)-result;
}

void wt_raw_close(int fd) {
    ask(SYS_close, fd, 0, 0);
}
#else
int64_t wt_raw_size(int fd) {
    struct stat facts;
    return fstat(fd, &facts) == 0 ? (int64_t)facts.st_size : -1;
}

bool wt_raw_exists(const char *path) {
    return access(path, F_OK) == 0;
}

static bool look(int fd, const char *path, struct stat *facts) {
    return (fd >= 0 ? fstat(fd, facts) : stat(path, facts)) == 0;
}

int64_t wt_raw_position(int fd) {
    return lseek(fd, 0, SEEK_CUR);
}

int wt_raw_open(const char *path, int flags) {
    return open(path, flags);
}

int wt_raw_sync(int fd) {
    int result;
    do {
        result = fsync(fd);
    } while (result != 0 && errno == EINTR);
    return result == 0 ? 0 : errno;
}

void wt_raw_close(int fd) {
    close(fd);
}
#endif

bool wt_raw_look(int fd, const char *path, struct raw_facts *facts) {
    struct stat found;
    if (!look(fd, path, &found)) {
        return false;
    }
    *facts = (struct raw_facts){S_ISREG(found.st_mode), found.st_size, found.st_dev, found.st_ino};
    return true;
}
