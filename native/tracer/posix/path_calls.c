/* Calls on names: stat and its kin, unlink, rename, mkdir, link, symlink, truncate. A name that is left
 * out costs its look-up only. Links to folders are followed, a symbolic link at the end is a name itself. */
#define _GNU_SOURCE
#undef _FORTIFY_SOURCE
#include "posix/posix.h"
#include "posix/wrapper.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool is_no_link(const char *name) {
    struct wt_facts own;
    return wt_look(AT_FDCWD, name, AT_SYMLINK_NOFOLLOW, 0, &own) && !S_ISLNK(own.mode);
}

/* only_known: the name is worth a row only if the file has one already. Programs look for files in many
 * places where there are none, and at directories. facts: of the file that the name led to; NULL: they are
 * found, if the name is there and new. size_kept: the call has not changed the file's size. */
int32_t wt_number_of_name(int dirfd, const char *path, bool only_known, const struct wt_facts *facts,
                          bool size_kept) {
    char name[WT_PATH_BYTES];
    struct wt_facts found;
    int32_t file = WT_UNKNOWN;
    if (path == NULL || wt_absolute(dirfd, path, name) == 0) {
        return file;
    }
    wt_lock();
    bool known = wt_file_is_known(name);
    if (known || (wt_path_kept(name) && wt_name(dirfd, path, name) > 0)) {
        known = known || wt_file_is_known(name);
        if (!known && !only_known && facts == NULL && wt_look(AT_FDCWD, name, 0, STATX_SIZE, &found) &&
            (S_ISREG(found.mode) || (S_ISDIR(found.mode) && is_no_link(name)))) {
            facts = &found;
        }
        if (known || !only_known) {
            bool sized = size_kept && facts != NULL && S_ISREG(facts->mode);
            file = wt_file_of_path(name, facts, sized ? facts->size : 0, sized);
        }
    }
    wt_unlock();
    return file;
}

static void record(uint32_t op, int32_t file, int64_t arg, int error, uint64_t t0, uint64_t t1) {
    if (file != WT_UNKNOWN) {
        wt_record_plain(op, file, WT_UNKNOWN, WT_UNKNOWN, arg, error, t0, t1);
    }
}

static void of_path(uint32_t op, int dirfd, const char *path, int64_t arg, int result, int error, uint64_t t0,
                    uint64_t t1) {
    int32_t file =
        wt_number_of_name(dirfd, path, op == WT_OP_ACCESS || result < 0, NULL, op != WT_OP_TRUNCATE);
    record(op, file, arg, result < 0 ? error : 0, t0, t1);
    errno = error;
}

#define OF_PATH(name, OP, dirfd, path, arg, parameters, arguments)                                           \
    WT_SEEN(name, parameters, arguments, , of_path(WT_OP_##OP, dirfd, path, arg, result, errno, t0, t1))

OF_PATH(access, ACCESS, AT_FDCWD, path, mode, (const char *path, int mode), (path, mode))
OF_PATH(faccessat, ACCESS, dirfd, path, mode, (int dirfd, const char *path, int mode, int flags),
        (dirfd, path, mode, flags))

/* A name that comes to be without an open: of a folder, or of an empty file. One that is there already (mkdir
 * -p) is worth a row as a stat of it would be. */
static void name_made(uint32_t op, int dirfd, const char *path, mode_t mode, int result, int error,
                      uint64_t t0, uint64_t t1) {
    struct wt_facts facts;
    bool was_there = result < 0 && error == EEXIST && wt_folder_counts(dirfd, path);
    bool there = (result == 0 || was_there) && wt_look(dirfd, path, AT_STATX_DONT_SYNC, 0, &facts);
    if (there && result == 0) {
        wt_lock();
        wt_file_made(&facts);
        wt_unlock();
    }
    int32_t file = wt_number_of_name(dirfd, path, result < 0 && !was_there, there ? &facts : NULL, false);
    record(op, file, mode, result < 0 ? error : 0, t0, t1);
    errno = error;
}

#define MAKE(name, OP, dirfd, parameters, arguments)                                                         \
    WT_SEEN(name, parameters, arguments, , name_made(WT_OP_##OP, dirfd, path, mode, result, errno, t0, t1))
MAKE(mkdir, MKDIR, AT_FDCWD, (const char *path, mode_t mode), (path, mode))
MAKE(mkdirat, MKDIR, dirfd, (int dirfd, const char *path, mode_t mode), (dirfd, path, mode))

static void node_made(int dirfd, const char *path, mode_t mode, int result, int error, uint64_t t0,
                      uint64_t t1) {
    if ((mode & S_IFMT) == 0 || S_ISREG(mode)) {
        name_made(WT_OP_MKNOD, dirfd, path, mode & 07777, result, error, t0, t1);
    }
    errno = error;
}

#define MAKE_NODE(name, dirfd, parameters, arguments)                                                        \
    WT_SEEN(name, parameters, arguments, , node_made(dirfd, path, mode, result, errno, t0, t1))
MAKE_NODE(mknod, AT_FDCWD, (const char *path, mode_t mode, dev_t device), (path, mode, device))
MAKE_NODE(mknodat, dirfd, (int dirfd, const char *path, mode_t mode, dev_t device),
          (dirfd, path, mode, device))
int __xmknod(int version, const char *path, mode_t mode, dev_t *device);
MAKE_NODE(__xmknod, AT_FDCWD, (int version, const char *path, mode_t mode, dev_t *device),
          (version, path, mode, device))
OF_PATH(truncate, TRUNCATE, AT_FDCWD, path, size, (const char *path, off_t size), (path, size))
OF_PATH(truncate64, TRUNCATE, AT_FDCWD, path, size, (const char *path, off64_t size), (path, size))

/* ---- a name that goes: which file it led to is known before only ---- */

static struct wt_facts before_removal(int dirfd, const char *path) {
    int error = errno;
    struct wt_facts facts;
    if (!wt_look(dirfd, path, AT_SYMLINK_NOFOLLOW | AT_STATX_DONT_SYNC, STATX_SIZE, &facts)) {
        facts.mode = 0;
    }
    errno = error;
    return facts;
}

static void removed(int dirfd, const char *path, bool asked_for_folder, const struct wt_facts *facts,
                    int result, int error, uint64_t t0, uint64_t t1) {
    bool folder = asked_for_folder || S_ISDIR(facts->mode), known = S_ISREG(facts->mode) || folder;
    int32_t file = wt_number_of_name(dirfd, path, result < 0, known && facts->mode != 0 ? facts : NULL, true);
    record(folder ? WT_OP_RMDIR : WT_OP_UNLINK, file, 0, result < 0 ? error : 0, t0, t1);
    errno = error;
}

#define REMOVE(name, dirfd, path, of_folders, parameters, arguments)                                         \
    WT_SEEN(name, parameters, arguments, struct wt_facts facts = before_removal(dirfd, path),                \
            removed(dirfd, path, of_folders, &facts, result, errno, t0, t1))

REMOVE(unlink, AT_FDCWD, path, false, (const char *path), (path))
REMOVE(rmdir, AT_FDCWD, path, true, (const char *path), (path))
REMOVE(unlinkat, dirfd, path, (flags & AT_REMOVEDIR) != 0, (int dirfd, const char *path, int flags),
       (dirfd, path, flags))
REMOVE(remove, AT_FDCWD, path, false, (const char *path), (path))

/* ---- two names of one file: a row for each; arg 0 is the old one, 1 the new ---- */

/* A descriptor given for the old name: "/proc/self/fd/N", or no name at all with AT_EMPTY_PATH. -1: neither.
 */
static int descriptor_of(int dirfd, const char *path) {
    static const char descriptors[] = "/proc/self/fd/";
    if (path == NULL || *path == 0) {
        return dirfd;
    }
    if (strncmp(path, descriptors, sizeof descriptors - 1) != 0) {
        return -1;
    }
    int fd = 0;
    for (const char *digit = path + sizeof descriptors - 1; *digit; digit++) {
        if (*digit < '0' || *digit > '9' || fd > 1000000) {
            return -1;
        }
        fd = fd * 10 + (*digit - '0');
    }
    return fd;
}

struct link_numbers {
    int32_t target, link; /* UNKNOWN: left out */
};

/* The target of a symbolic link is text; the file that it names may come later. */
static struct link_numbers number_of_symlink(int dirfd, const char *link, const char *target) {
    char name[WT_PATH_BYTES], behind[WT_PATH_BYTES];
    struct link_numbers found = {WT_UNKNOWN, WT_UNKNOWN};
    struct wt_facts facts;
    wt_lock();
    bool kept = wt_name(dirfd, link, name) > 0 && wt_name_behind(name, target, behind) > 0 &&
                wt_path_kept(name) && wt_path_kept(behind);
    wt_unlock();
    if (kept) {
        bool there = wt_look(AT_FDCWD, behind, AT_STATX_DONT_SYNC, 0, &facts);
        found.target = wt_number_of_name(AT_FDCWD, behind, false, there ? &facts : NULL, false);
        wt_lock();
        found.link = wt_file_of_link(name, behind, there ? &facts : NULL, 0, false);
        wt_unlock();
    }
    return found;
}

/* The new name leads to the file now, whatever the two names led to before. A symbolic link that is moved or
 * linked has its old text at its new place. */
static void of_two(uint32_t op, int old_dir, const char *old, int new_dir, const char *new, int result,
                   int error, uint64_t t0, uint64_t t1) {
    char path[WT_PATH_BYTES], target[WT_PATH_BYTES];
    struct wt_facts facts;
    const struct wt_facts *moved = NULL;
    int32_t files[2] = {WT_UNKNOWN, WT_UNKNOWN};
    int fd = op == WT_OP_LINK ? descriptor_of(old_dir, old) : -1;
    if (fd >= 0 && wt_path_of_fd(fd, path) > 0) {
        old = path;
    }
    if (result == 0 && new != NULL &&
        wt_look(new_dir, new, AT_SYMLINK_NOFOLLOW | AT_STATX_DONT_SYNC, STATX_SIZE, &facts)) {
        long n = S_ISLNK(facts.mode) ? syscall(SYS_readlinkat, new_dir, new, target, sizeof target - 1) : 0;
        if (n > 0) {
            target[n] = 0;
            files[0] = number_of_symlink(old_dir, old, target).link;
            files[1] = number_of_symlink(new_dir, new, target).link;
        } else {
            moved = &facts;
        }
    }
    for (int which = 0; which < 2; which++) {
        if (files[which] == WT_UNKNOWN) {
            files[which] =
                wt_number_of_name(which ? new_dir : old_dir, which ? new : old, result < 0, moved, true);
        }
        record(op, files[which], which, result < 0 ? error : 0, which ? t1 : t0, t1);
    }
    errno = error;
}

#define OF_TWO(name, OP, old_dir, old, new_dir, new, parameters, arguments)                                  \
    WT_SEEN(name, parameters, arguments, ,                                                                   \
            of_two(WT_OP_##OP, old_dir, old, new_dir, new, result, errno, t0, t1))

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

static void symlink_seen(const char *target, int dirfd, const char *link, int result, int error, uint64_t t0,
                         uint64_t t1) {
    if (result == 0 && target != NULL) {
        struct link_numbers of = number_of_symlink(dirfd, link, target);
        record(WT_OP_SYMLINK, of.target, 0, 0, t0, t1);
        record(WT_OP_SYMLINK, of.link, 1, 0, t1, t1);
    }
    errno = error;
}

#define SYMLINK(name, dirfd, parameters, arguments)                                                          \
    WT_SEEN(name, parameters, arguments, , symlink_seen(target, dirfd, link, result, errno, t0, t1))
SYMLINK(symlink, AT_FDCWD, (const char *target, const char *link), (target, link))
SYMLINK(symlinkat, dirfd, (const char *target, int dirfd, const char *link), (target, dirfd, link))

/* ---- stat: of regular files and directories ---- */

/* An empty name with AT_EMPTY_PATH, or none at all, means the descriptor itself. */
static void stat_seen(int dirfd, const char *path, unsigned mode, int result, uint64_t t0, uint64_t t1) {
    int error = errno;
    if (path != NULL && path[0] != 0) {
        bool data = result == 0 && (S_ISREG(mode) || (S_ISDIR(mode) && wt_folder_counts(dirfd, path)));
        record(WT_OP_STAT, wt_number_of_name(dirfd, path, !data, NULL, true), 0, result < 0 ? error : 0, t0,
               t1);
        errno = error;
        return;
    }
    struct wt_ofd *ofd = wt_ofd_of(dirfd);
    if (ofd != NULL) {
        wt_record_plain(WT_OP_FSTAT, ofd->file, ofd->handle, WT_UNKNOWN, 0, result < 0 ? error : 0, t0, t1);
    }
    errno = error;
}

#define STAT(name, dirfd, mode, parameters, arguments)                                                       \
    WT_SEEN(name, parameters, arguments, ,                                                                   \
            stat_seen(dirfd, path, result == 0 ? facts->mode : 0, result, t0, t1))
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
