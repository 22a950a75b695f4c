/* Calls that change attributes of a file (mode, owner, times), by its name or a descriptor, and readlink.
 * They are apart from the calls on names and those on descriptors, since most exist for both, and some take
 * either. */
#define _GNU_SOURCE
#undef _FORTIFY_SOURCE
#include "posix/posix.h"
#include "posix/wrapper.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>
#include <utime.h>

static void of_name(uint32_t op, int dirfd, const char *path, int64_t arg, int result, uint64_t t0,
                    uint64_t t1) {
    int error = errno;
    int32_t file = wt_number_of_name(dirfd, path, result < 0, NULL, true);
    if (file != WT_UNKNOWN) {
        wt_record_plain(op, file, WT_UNKNOWN, WT_UNKNOWN, arg, result < 0 ? error : 0, t0, t1);
    }
    errno = error;
}

static void of_descriptor(uint32_t op, int fd, int64_t arg, int result, uint64_t t0, uint64_t t1) {
    int error = errno;
    struct wt_ofd *ofd = wt_ofd_of(fd);
    if (ofd != NULL) {
        wt_record_plain(op, ofd->file, ofd->handle, WT_UNKNOWN, arg, result < 0 ? error : 0, t0, t1);
    }
    errno = error;
}

/* No name, or an empty one with AT_EMPTY_PATH, means the descriptor. */
static void of_either(uint32_t op, uint32_t op_of_descriptor, int dirfd, const char *path, int64_t arg,
                      int result, uint64_t t0, uint64_t t1) {
    if (path == NULL || path[0] == 0) {
        of_descriptor(op_of_descriptor, dirfd, arg, result, t0, t1);
    } else {
        of_name(op, dirfd, path, arg, result, t0, t1);
    }
}

#define OF_NAME(name, OP, dirfd, arg, parameters, arguments)                                                 \
    WT_SEEN(name, parameters, arguments, , of_name(WT_OP_##OP, dirfd, path, arg, result, t0, t1))
#define OF_DESCRIPTOR(name, OP, arg, parameters, arguments)                                                  \
    WT_SEEN(name, parameters, arguments, , of_descriptor(WT_OP_##OP, fd, arg, result, t0, t1))
#define OF_EITHER(name, OP, arg, parameters, arguments)                                                      \
    WT_SEEN(name, parameters, arguments, ,                                                                   \
            of_either(WT_OP_##OP, WT_OP_F##OP, dirfd, path, arg, result, t0, t1))

OF_NAME(chmod, CHMOD, AT_FDCWD, mode, (const char *path, mode_t mode), (path, mode))
OF_NAME(lchmod, CHMOD, AT_FDCWD, mode, (const char *path, mode_t mode), (path, mode))
OF_EITHER(fchmodat, CHMOD, mode, (int dirfd, const char *path, mode_t mode, int flags),
          (dirfd, path, mode, flags))
OF_DESCRIPTOR(fchmod, FCHMOD, mode, (int fd, mode_t mode), (fd, mode))

OF_NAME(chown, CHOWN, AT_FDCWD, 0, (const char *path, uid_t user, gid_t group), (path, user, group))
OF_NAME(lchown, CHOWN, AT_FDCWD, 0, (const char *path, uid_t user, gid_t group), (path, user, group))
OF_EITHER(fchownat, CHOWN, 0, (int dirfd, const char *path, uid_t user, gid_t group, int flags),
          (dirfd, path, user, group, flags))
OF_DESCRIPTOR(fchown, FCHOWN, 0, (int fd, uid_t user, gid_t group), (fd, user, group))

OF_NAME(utime, UTIME, AT_FDCWD, times != NULL, (const char *path, const struct utimbuf *times), (path, times))
OF_NAME(utimes, UTIME, AT_FDCWD, times != NULL, (const char *path, const struct timeval times[2]),
        (path, times))
OF_NAME(lutimes, UTIME, AT_FDCWD, times != NULL, (const char *path, const struct timeval times[2]),
        (path, times))
OF_EITHER(futimesat, UTIME, times != NULL, (int dirfd, const char *path, const struct timeval times[2]),
          (dirfd, path, times))
OF_EITHER(utimensat, UTIME, times != NULL,
          (int dirfd, const char *path, const struct timespec times[2], int flags),
          (dirfd, path, times, flags))
OF_DESCRIPTOR(futimens, FUTIME, times != NULL, (int fd, const struct timespec times[2]), (fd, times))
OF_DESCRIPTOR(futimes, FUTIME, times != NULL, (int fd, const struct timeval times[2]), (fd, times))

/* ---- the text of a symbolic link ---- */

static void read_link(int dirfd, const char *path, ssize_t done, uint64_t t0, uint64_t t1) {
    char name[WT_PATH_BYTES], behind[WT_PATH_BYTES];
    struct wt_facts facts;
    int error = errno;
    int32_t file = WT_UNKNOWN;
    if (path != NULL && path[0] != 0) {
        wt_lock();
        bool kept = wt_name(dirfd, path, name) > 0 && wt_path_kept(name);
        if (kept && wt_file_is_known(name)) {
            file = wt_file_of_path(name, NULL, 0, false);
        } else if (kept && done > 0 && wt_links_to(name, behind) && wt_path_kept(behind) &&
                   wt_look(AT_FDCWD, behind, AT_STATX_DONT_SYNC, 0, &facts)) {
            wt_file_of_path(behind, &facts, facts.size, !S_ISDIR(facts.mode));
            file = wt_file_of_link(name, behind, &facts, 0, false);
        }
        wt_unlock();
    }
    if (file != WT_UNKNOWN) {
        wt_record_plain(WT_OP_READLINK, file, WT_UNKNOWN, WT_UNKNOWN, 0, done < 0 ? error : 0, t0, t1);
    }
    errno = error;
}

#define READLINK(name, dirfd, parameters, arguments)                                                         \
    WT_EXPORT ssize_t name parameters {                                                                      \
        WT_REAL(name);                                                                                       \
        if (!wt_may_trace()) {                                                                               \
            return real_##name arguments;                                                                    \
        }                                                                                                    \
        uint64_t t0 = wt_now();                                                                              \
        ssize_t done = real_##name arguments;                                                                \
        uint64_t t1 = wt_now();                                                                              \
        read_link(dirfd, path, done, t0, t1);                                                                \
        return done;                                                                                         \
    }
READLINK(readlink, AT_FDCWD, (const char *path, char *buffer, size_t size), (path, buffer, size))
READLINK(readlinkat, dirfd, (int dirfd, const char *path, char *buffer, size_t size),
         (dirfd, path, buffer, size))
