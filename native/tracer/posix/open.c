/* Calls that make, copy and end descriptors. A file's size is asked for before an open that may make or empty
 * it, as nobody can tell it afterwards. Each form of a call has a wrapper (open64, __open_2, mkstemp): inside
 * of itself the C library opens files out of our sight. */
#define _GNU_SOURCE
#undef _FORTIFY_SOURCE
#include "posix/posix.h"
#include "posix/wrapper.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

struct before {
    int64_t size;
    bool known;
};

/* The size a file had before an open that may create or empty it. */
static struct before look(int dirfd, const char *path, int flags) {
    struct stat facts;
    struct before before = {0, false};
    if ((flags & (O_TRUNC | O_CREAT)) && path != NULL &&
        syscall(SYS_newfstatat, dirfd, path, &facts, 0) == 0) {
        before.size = facts.st_size;
        before.known = true;
    }
    return before;
}

static void failed(int dirfd, const char *path, int flags, int error, uint64_t t0, uint64_t t1) {
    char name[WT_PATH_BYTES];
    if (path == NULL || wt_absolute(dirfd, path, name) == 0) {
        return;
    }
    wt_lock();
    bool kept = wt_file_is_known(name) || (wt_path_kept(name) && wt_name(dirfd, path, name) > 0);
    int32_t file = kept ? wt_file_of_path(name, NULL, 0, false) : WT_UNKNOWN;
    wt_unlock();
    if (file != WT_UNKNOWN) {
        wt_record_plain(WT_OP_OPEN, file, WT_UNKNOWN, WT_UNKNOWN, flags, error, t0, t1);
    }
}

static void opened(int fd, int dirfd, const char *path, int flags, struct before before, int error,
                   uint64_t t0, uint64_t t1) {
    if (fd >= 0) {
        wt_fd_opened(fd, dirfd, path, flags, before.size, before.known, t0, t1);
    } else {
        failed(dirfd, path, flags, error, t0, t1);
    }
    errno = error;
}

#define OPEN_BODY(dirfd, path, flags, call)                                                                  \
    if (!wt_may_trace()) {                                                                                   \
        return call;                                                                                         \
    }                                                                                                        \
    int entry_errno = errno;                                                                                 \
    struct before before = look(dirfd, path, flags);                                                         \
    errno = entry_errno;                                                                                     \
    uint64_t t0 = wt_now();                                                                                  \
    int fd = call;                                                                                           \
    uint64_t t1 = wt_now();                                                                                  \
    opened(fd, dirfd, path, flags, before, errno, t0, t1);                                                   \
    return fd

static mode_t mode_of(int flags, va_list arguments) {
    return (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(arguments, mode_t) : 0;
}

#define OPEN(name)                                                                                           \
    WT_EXPORT int name(const char *path, int flags, ...) {                                                   \
        WT_REAL(name);                                                                                       \
        va_list arguments;                                                                                   \
        va_start(arguments, flags);                                                                          \
        mode_t mode = mode_of(flags, arguments);                                                             \
        va_end(arguments);                                                                                   \
        OPEN_BODY(AT_FDCWD, path, flags, real_##name(path, flags, mode));                                    \
    }
OPEN(open)
OPEN(open64)

#define OPENAT(name)                                                                                         \
    WT_EXPORT int name(int dirfd, const char *path, int flags, ...) {                                        \
        WT_REAL(name);                                                                                       \
        va_list arguments;                                                                                   \
        va_start(arguments, flags);                                                                          \
        mode_t mode = mode_of(flags, arguments);                                                             \
        va_end(arguments);                                                                                   \
        OPEN_BODY(dirfd, path, flags, real_##name(dirfd, path, flags, mode));                                \
    }
OPENAT(openat)
OPENAT(openat64)

#define OPEN_2(name)                                                                                         \
    int name(const char *path, int flags);                                                                   \
    WT_EXPORT int name(const char *path, int flags) {                                                        \
        WT_REAL(name);                                                                                       \
        OPEN_BODY(AT_FDCWD, path, flags, real_##name(path, flags));                                          \
    }
OPEN_2(__open_2)
OPEN_2(__open64_2)

#define OPENAT_2(name)                                                                                       \
    int name(int dirfd, const char *path, int flags);                                                        \
    WT_EXPORT int name(int dirfd, const char *path, int flags) {                                             \
        WT_REAL(name);                                                                                       \
        OPEN_BODY(dirfd, path, flags, real_##name(dirfd, path, flags));                                      \
    }
OPENAT_2(__openat_2)
OPENAT_2(__openat64_2)

#define CREAT(name)                                                                                          \
    WT_EXPORT int name(const char *path, mode_t mode) {                                                      \
        WT_REAL(name);                                                                                       \
        OPEN_BODY(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, real_##name(path, mode));                    \
    }
CREAT(creat)
CREAT(creat64)

static void made(int fd, int error, uint64_t t0, uint64_t t1) {
    if (fd >= 0) {
        wt_fd_opened(fd, AT_FDCWD, NULL, O_CREAT | O_EXCL | O_RDWR, 0, false, t0, t1);
    }
    errno = error;
}

#define MKSTEMP(name, parameters, arguments)                                                                 \
    WT_SEEN(name, parameters, arguments, , made(result, errno, t0, t1))
MKSTEMP(mkstemp, (char *pattern), (pattern))
MKSTEMP(mkstemp64, (char *pattern), (pattern))
MKSTEMP(mkostemp, (char *pattern, int flags), (pattern, flags))
MKSTEMP(mkostemp64, (char *pattern, int flags), (pattern, flags))
MKSTEMP(mkstemps, (char *pattern, int suffix), (pattern, suffix))
MKSTEMP(mkstemps64, (char *pattern, int suffix), (pattern, suffix))
MKSTEMP(mkostemps, (char *pattern, int suffix, int flags), (pattern, suffix, flags))
MKSTEMP(mkostemps64, (char *pattern, int suffix, int flags), (pattern, suffix, flags))

WT_EXPORT int close(int fd) {
    WT_REAL(close);
    if (!wt_active || wt_inside || (unsigned)fd >= wt_fd_limit || wt_fd_table[fd] == 0 ||
        wt_other_process()) {
        return real_close(fd);
    }
    uint64_t t0 = wt_now();
    int result = real_close(fd);
    uint64_t t1 = wt_now();
    int error = errno;
    wt_fd_closed(fd, result, error, t0, t1);
    errno = error;
    return result;
}

static void forget_range(unsigned first, unsigned last) {
    if (!wt_active || wt_inside || wt_other_process()) {
        return;
    }
    uint64_t now = wt_now();
    int error = errno;
    for (unsigned fd = first; fd <= last && fd < wt_fd_limit && fd < (1u << 16); fd++) {
        if (wt_fd_table[fd] != 0) {
            wt_fd_closed((int)fd, 0, 0, now, now);
        }
    }
    errno = error;
}

WT_EXPORT int close_range(unsigned first, unsigned last, int flags) {
    WT_REAL(close_range);
    int result = real_close_range(first, last, flags);
    if (result == 0 && (flags & 4) == 0) { /* CLOSE_RANGE_CLOEXEC closes later */
        forget_range(first, last);
    }
    return result;
}

WT_EXPORT void closefrom(int first) {
    WT_REAL(closefrom);
    real_closefrom(first);
    forget_range(first < 0 ? 0 : (unsigned)first, ~0u - 1);
}

static void duplicated(int from, int to, int error, uint64_t t0, uint64_t t1) {
    if (to >= 0) {
        wt_fd_duplicated(from, to, t0, t1);
    }
    errno = error;
}

#define DUP(name, parameters, arguments)                                                                     \
    WT_SEEN(name, parameters, arguments, , duplicated(from, result, errno, t0, t1))
DUP(dup, (int from), (from))
DUP(dup2, (int from, int wanted), (from, wanted))
DUP(dup3, (int from, int wanted, int flags), (from, wanted, flags))

/* What open(2) was given for its duration is not among the flags: nor can F_SETFL change how a file is
 * accessed. */
static void flags_set(int fd, long flags, int result, int error, uint64_t t0, uint64_t t1) {
    struct wt_ofd *ofd = wt_ofd_of(fd);
    if (ofd) {
        if (result == 0) {
            ofd->append = (flags & O_APPEND) != 0;
        }
        wt_record_plain(WT_OP_FCNTL, ofd->file, ofd->handle, WT_UNKNOWN,
                        flags & (O_APPEND | O_DIRECT | O_NOATIME | O_NONBLOCK | O_ASYNC),
                        result < 0 ? error : 0, t0, t1);
    }
    errno = error;
}

#define FCNTL(name)                                                                                          \
    WT_EXPORT int name(int from, int command, ...) {                                                         \
        WT_REAL(name);                                                                                       \
        va_list arguments;                                                                                   \
        va_start(arguments, command);                                                                        \
        void *argument = va_arg(arguments, void *); /* as wide as any that fcntl takes */                    \
        va_end(arguments);                                                                                   \
        bool copies = command == F_DUPFD || command == F_DUPFD_CLOEXEC;                                      \
        if ((!copies && command != F_SETFL) || !wt_may_trace()) {                                            \
            return real_##name(from, command, argument);                                                     \
        }                                                                                                    \
        uint64_t t0 = wt_now();                                                                              \
        int result = real_##name(from, command, argument);                                                   \
        uint64_t t1 = wt_now();                                                                              \
        if (copies) {                                                                                        \
            duplicated(from, result, errno, t0, t1);                                                         \
        } else {                                                                                             \
            flags_set(from, (long)argument, result, errno, t0, t1);                                          \
        }                                                                                                    \
        return result;                                                                                       \
    }
FCNTL(fcntl)
FCNTL(fcntl64)
