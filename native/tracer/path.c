/* Calls on names: stat and its kin, unlink, rename, mkdir, link, truncate. A name that is left out costs its
 * look-up only; names are numbered by the absolute path, without following links. */
#define _GNU_SOURCE
#undef _FORTIFY_SOURCE
#include "tracer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* only_known: the name is worth a row only if the file has one already. Programs look for files in many
 * places where there are none, and at directories. */
static int32_t number(int dirfd, const char *path, bool only_known) {
    char absolute[WT_PATH_BYTES];
    int32_t file = WT_UNKNOWN;
    if (path != NULL && wt_absolute(dirfd, path, absolute) > 0) {
        wt_lock();
        if (!only_known || wt_file_is_known(absolute)) {
            file = wt_file_of_path(absolute, 0, false);
        }
        wt_unlock();
    }
    return file;
}

static void of_name(uint32_t op, int dirfd, const char *path, bool only_known, int64_t arg, int result,
                    int error, uint64_t t0, uint64_t t1) {
    int32_t file = number(dirfd, path, only_known);
    if (file != WT_UNKNOWN) {
        wt_record_plain(op, file, WT_UNKNOWN, WT_UNKNOWN, arg, result < 0 ? error : 0, t0, t1);
    }
    errno = error;
}

static void of_path(uint32_t op, int dirfd, const char *path, int64_t arg, int result, int error, uint64_t t0,
                    uint64_t t1) {
    of_name(op, dirfd, path, op == WT_OP_ACCESS || result < 0, arg, result, error, t0, t1);
}

#define OF_PATH(name, OP, dirfd, path, arg, parameters, arguments)                                           \
    WT_EXPORT int name parameters {                                                                          \
        WT_REAL(name);                                                                                       \
        if (!wt_may_trace()) {                                                                               \
            return real_##name arguments;                                                                    \
        }                                                                                                    \
        uint64_t t0 = wt_now();                                                                              \
        int result = real_##name arguments;                                                                  \
        uint64_t t1 = wt_now();                                                                              \
        of_path(WT_OP_##OP, dirfd, path, arg, result, errno, t0, t1);                                        \
        return result;                                                                                       \
    }

OF_PATH(access, ACCESS, AT_FDCWD, path, mode, (const char *path, int mode), (path, mode))
OF_PATH(faccessat, ACCESS, dirfd, path, mode, (int dirfd, const char *path, int mode, int flags),
        (dirfd, path, mode, flags))
OF_PATH(unlink, UNLINK, AT_FDCWD, path, 0, (const char *path), (path))
OF_PATH(unlinkat, UNLINK, dirfd, path, flags, (int dirfd, const char *path, int flags), (dirfd, path, flags))
OF_PATH(remove, UNLINK, AT_FDCWD, path, 0, (const char *path), (path))
OF_PATH(mkdir, MKDIR, AT_FDCWD, path, mode, (const char *path, mode_t mode), (path, mode))
OF_PATH(mkdirat, MKDIR, dirfd, path, mode, (int dirfd, const char *path, mode_t mode), (dirfd, path, mode))
OF_PATH(rmdir, RMDIR, AT_FDCWD, path, 0, (const char *path), (path))
OF_PATH(truncate, TRUNCATE, AT_FDCWD, path, size, (const char *path, off_t size), (path, size))
OF_PATH(truncate64, TRUNCATE, AT_FDCWD, path, size, (const char *path, off64_t size), (path, size))

/* ---- two names: a row for each; arg 0 is the old one, 1 the new ---- */

#define OF_TWO(name, OP, old_dir, old, new_dir, new, parameters, arguments)                                  \
    WT_EXPORT int name parameters {                                                                          \
        WT_REAL(name);                                                                                       \
        if (!wt_may_trace()) {                                                                               \
            return real_##name arguments;                                                                    \
        }                                                                                                    \
        uint64_t t0 = wt_now();                                                                              \
        int result = real_##name arguments;                                                                  \
        uint64_t t1 = wt_now();                                                                              \
        int error = errno;                                                                                   \
        of_path(WT_OP_##OP, old_dir, old, 0, result, error, t0, t1);                                         \
        of_path(WT_OP_##OP, new_dir, new, 1, result, error, t1, t1);                                         \
        return result;                                                                                       \
    }

OF_TWO(rename, RENAME, AT_FDCWD, old, AT_FDCWD, new, (const char *old, const char *new), (old, new))
OF_TWO(renameat, RENAME, old_dir, old, new_dir, new,
       (int old_dir, const char *old, int new_dir, const char *new), (old_dir, old, new_dir, new))
OF_TWO(renameat2, RENAME, old_dir, old, new_dir, new,
       (int old_dir, const char *old, int new_dir, const char *new, unsigned flags),
       (old_dir, old, new_dir, new, flags))
OF_TWO(link, LINK, AT_FDCWD, old, AT_FDCWD, new, (const char *old, const char *new), (old, new))
OF_TWO(linkat, LINK, old_dir, old, new_dir, new,
       (int old_dir, const char *old, int new_dir, const char *new, int flags),
       (old_dir, old, new_dir, new, flags))
/* A symbolic link's target is text; only the link is a name. */
OF_PATH(symlink, LINK, AT_FDCWD, name, 0, (const char *target, const char *name), (target, name))
OF_PATH(symlinkat, LINK, dirfd, name, 0, (const char *target, int dirfd, const char *name),
        (target, dirfd, name))

/* ---- stat: of regular files ---- */

/* An empty name with AT_EMPTY_PATH, or none at all, means the descriptor itself. */
static void stat_seen(int dirfd, const char *path, unsigned mode, int result, uint64_t t0, uint64_t t1) {
    int error = errno;
    if (path != NULL && path[0] != 0) {
        bool data = result == 0 && S_ISREG(mode);
        of_name(WT_OP_STAT, dirfd, path, !data, 0, result, error, t0, t1);
        return;
    }
    struct wt_ofd *ofd = wt_ofd_of(dirfd);
    if (ofd != NULL) {
        wt_record_plain(WT_OP_FSTAT, ofd->file, ofd->handle, WT_UNKNOWN, 0, result < 0 ? error : 0, t0, t1);
    }
    errno = error;
}

#define STAT(name, dirfd, mode, parameters, arguments)                                                       \
    WT_EXPORT int name parameters {                                                                          \
        WT_REAL(name);                                                                                       \
        if (!wt_may_trace()) {                                                                               \
            return real_##name arguments;                                                                    \
        }                                                                                                    \
        uint64_t t0 = wt_now();                                                                              \
        int result = real_##name arguments;                                                                  \
        uint64_t t1 = wt_now();                                                                              \
        stat_seen(dirfd, path, result == 0 ? facts->mode : 0, result, t0, t1);                               \
        return result;                                                                                       \
    }
#define STAT_OF_PATH(name, type)                                                                             \
    STAT(name, AT_FDCWD, st_mode, (const char *path, struct type *facts), (path, facts))
#define STAT_OF_VERSION(name, type)                                                                          \
    int name(int version, const char *path, struct type *facts);                                             \
    STAT(name, AT_FDCWD, st_mode, (int version, const char *path, struct type *facts), (version, path, facts))
STAT_OF_PATH(stat, stat)
STAT_OF_PATH(stat64, stat64)
STAT_OF_PATH(lstat, stat)
STAT_OF_PATH(lstat64, stat64)
STAT_OF_VERSION(__xstat, stat)
STAT_OF_VERSION(__xstat64, stat64)
STAT_OF_VERSION(__lxstat, stat)
STAT_OF_VERSION(__lxstat64, stat64)
STAT(fstatat, dirfd, st_mode, (int dirfd, const char *path, struct stat *facts, int flags),
     (dirfd, path, facts, flags))
STAT(fstatat64, dirfd, st_mode, (int dirfd, const char *path, struct stat64 *facts, int flags),
     (dirfd, path, facts, flags))
STAT(statx, dirfd, stx_mode, (int dirfd, const char *path, int flags, unsigned mask, struct statx *facts),
     (dirfd, path, flags, mask, facts))
