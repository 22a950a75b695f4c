/* The POSIX backend: a system call for each call of the plan. Data calls are one function each, found once a
 * phase, so that no call is looked up in the loop whose speed matters. */
#define _GNU_SOURCE
#include "backends/backend.h"

#include "backends/kernel_copies.h"
#include "backends/mappings.h"
#include "backends/raw_syscalls.h"
#include "backends/refusals.h"
#include "failure.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

static int last_errno;

static int64_t failed(void) {
    last_errno = errno;
    return -1;
}

#define BY_POINTER(function, system_call)                                                                    \
    static int64_t function(struct open_file *f, char *buffer, int64_t size, int64_t offset) {               \
        int64_t moved;                                                                                       \
        (void)offset;                                                                                        \
        do {                                                                                                 \
            moved = system_call(f->fd, buffer, (size_t)size);                                                \
        } while (__builtin_expect(moved < 0, 0) && errno == EINTR);                                          \
        return moved < 0 ? failed() : moved;                                                                 \
    }
#define BY_OFFSET(function, system_call)                                                                     \
    static int64_t function(struct open_file *f, char *buffer, int64_t size, int64_t offset) {               \
        int64_t moved;                                                                                       \
        do {                                                                                                 \
            moved = system_call(f->fd, buffer, (size_t)size, offset);                                        \
        } while (__builtin_expect(moved < 0, 0) && errno == EINTR);                                          \
        return moved < 0 ? failed() : moved;                                                                 \
    }

static ssize_t readv_one(int fd, char *b, size_t n) {
    return readv(fd, &(struct iovec){b, n}, 1);
}
static ssize_t writev_one(int fd, char *b, size_t n) {
    return writev(fd, &(struct iovec){b, n}, 1);
}
static ssize_t preadv_one(int fd, char *b, size_t n, off_t o) {
    return preadv(fd, &(struct iovec){b, n}, 1, o);
}
static ssize_t pwritev_one(int fd, char *b, size_t n, off_t o) {
    return pwritev(fd, &(struct iovec){b, n}, 1, o);
}

BY_POINTER(posix_read, read)
BY_POINTER(posix_write, write)
BY_POINTER(posix_readv, readv_one)
BY_POINTER(posix_writev, writev_one)
BY_OFFSET(posix_pread, pread)
BY_OFFSET(posix_pwrite, pwrite)
BY_OFFSET(posix_preadv, preadv_one)
BY_OFFSET(posix_pwritev, pwritev_one)

static data_call posix_data(enum call call) {
    switch (call) {
    case CALL_READ:
        return posix_read;
    case CALL_WRITE:
        return posix_write;
    case CALL_READV:
        return posix_readv;
    case CALL_WRITEV:
        return posix_writev;
    case CALL_PREAD:
        return posix_pread;
    case CALL_PWRITE:
        return posix_pwrite;
    case CALL_PREADV:
        return posix_preadv;
    case CALL_PWRITEV:
        return posix_pwritev;
    default:
        return wt_copy_call(call);
    }
}

/* A file without a name; where the file system knows no such thing, one whose name goes when it is closed. */
static int open_nameless(const char *path, int flags, bool *named) {
    char folder[4096];
    const char *slash = strrchr(path, '/');
    int length = slash ? (int)(slash - path) : 0;
    if (snprintf(folder, sizeof folder, "%.*s/", length, path) >= (int)sizeof folder) {
        errno = ENAMETOOLONG;
        return -1;
    }
    int fd = open(folder, O_TMPFILE | flags, 0644);
    *named = fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL);
    return *named ? open(path, O_CREAT | O_EXCL | flags, 0644) : fd;
}

static const char *path_of(const struct file_action *a) {
    return a->refused ? wt_refused_path(wt_name_of(a)->path, a->error) : wt_name_of(a)->path;
}

static bool posix_open(const struct file_action *a) {
    /* Flags that do not change what the storage does, or that make no regular file, stay behind. */
    const int kept = O_ACCMODE | O_CREAT | O_EXCL | O_TRUNC | O_APPEND | O_SYNC | O_DSYNC | O_DIRECT;
    int flags = ((int)wt_open_flags(a) & kept) | O_CLOEXEC | (a->direct ? O_DIRECT : 0);
    bool nameless = ((int)wt_open_flags(a) & O_TMPFILE) == O_TMPFILE && !a->refused, named = false;
    const char *path = path_of(a);
    int fd = nameless ? open_nameless(path, flags, &named) : open(path, flags, 0644);
    if (fd < 0) {
        return false;
    }
    struct open_file *f = a->open;
    f->nameless = nameless;
    f->goes = named ? path : NULL;
    f->fd = fd;
    f->is_open = true;
    f->append = (flags & O_APPEND) != 0;
    f->synchronous = (flags & O_DSYNC) != 0; /* O_SYNC holds it */
    f->directory = !nameless && (wt_open_flags(a) & O_DIRECTORY);
    f->listing = NULL;
    f->readable = (flags & O_ACCMODE) != O_WRONLY;
    f->writable = (flags & O_ACCMODE) != O_RDONLY;
    f->position = 0;
    f->known_size = 0;
    return true;
}

/* The traced resulting position is reached the way the application did; a hole that lies elsewhere is
 * noticed, and mended, before the next operation. */
static bool posix_seek(const struct file_action *a) {
    struct open_file *f = a->open;
    int64_t place;
    if (a->error) { /* before the beginning, or data behind the end */
        place = lseek(f->fd, wt_origin(a) > SEEK_END ? INT64_MAX : INT64_MIN, (int)wt_origin(a));
    } else if (wt_origin(a) == SEEK_CUR) {
        place = lseek(f->fd, a->offset < 0 ? 0 : a->offset - f->position, SEEK_CUR);
    } else if (wt_origin(a) == SEEK_END) {
        place = lseek(f->fd, a->offset < 0 ? 0 : a->offset - wt_raw_size(f->fd), SEEK_END);
    } else if (wt_origin(a) == SEEK_DATA) {
        place = lseek(f->fd, a->offset < 0 ? 0 : a->offset, SEEK_DATA);
    } else if (wt_origin(a) == SEEK_HOLE) { /* from the byte before it: there is none at the end itself */
        place = lseek(f->fd, a->offset > 0 ? a->offset - 1 : 0, SEEK_HOLE);
    } else {
        place = lseek(f->fd, a->offset < 0 ? 0 : a->offset, SEEK_SET);
    }
    if (place < 0) {
        return false;
    }
    f->position = place;
    return true;
}

/* The stream that a directory is listed by has its descriptor. */
static bool end_descriptor(struct open_file *f, int fd) {
    if (!f->listing || dirfd(f->listing) != fd) {
        return close(fd) == 0;
    }
    DIR *listing = f->listing;
    f->listing = NULL;
    return closedir(listing) == 0;
}

/* An open file ends with the last of its descriptors. */
static bool posix_close(struct open_file *f) {
    int fd = f->fd;
    if (f->n_copies > 0) {
        f->fd = f->copies[--f->n_copies];
        return end_descriptor(f, fd);
    }
    f->is_open = false;
    free(f->copies);
    f->copies = NULL;
    bool gone = !f->goes || unlink(f->goes) == 0;
    return end_descriptor(f, fd) && gone;
}

/* The next entry, or the end: how many there are is the directory's affair. */
static bool posix_readdir(struct open_file *f) {
    if (!f->listing) {
        f->listing = fdopendir(f->fd);
    }
    if (!f->listing) {
        return false;
    }
    errno = 0;
    return readdir(f->listing) || errno == 0;
}

/* Times that were given are not in the plan: others are given. */
static const struct timespec *times_of(const struct file_action *a, struct timespec times[2]) {
    times[0] = times[1] = (struct timespec){.tv_sec = 1000000000};
    return wt_given(a->call, WT_GIVEN_TIMES_GIVEN, a->arg) ? times : NULL;
}

static bool posix_dup(struct open_file *f) {
    int fd = fcntl(f->fd, F_DUPFD_CLOEXEC, 0);
    if (fd < 0) {
        return false;
    }
    f->copies = wt_must_grow(f->copies, (size_t)(f->n_copies + 1) * sizeof *f->copies);
    f->copies[f->n_copies++] = fd;
    return true;
}

/* A call on two names that failed, of which the plan has one: no file has the other. */
static bool posix_two_names(const struct file_action *a) {
    char other[4096];
    const char *path = path_of(a);
    int (*call)(const char *, const char *) = a->call == CALL_RENAME ? rename : link;
    if (snprintf(other, sizeof other, "%s.wavetank-copy.none", wt_name_of(a)->path) >= (int)sizeof other) {
        errno = ENAMETOOLONG;
        return false;
    }
    return (wt_is_new_name(a) ? call(other, path) : call(path, other)) == 0;
}

static bool posix_link(const struct file_action *a, const char *to) {
    char of_descriptor[32];
    if (!a->open || !a->open->nameless) {
        return link(path_of(a), to) == 0;
    }
    snprintf(of_descriptor, sizeof of_descriptor, "/proc/self/fd/%d", a->open->fd);
    return linkat(AT_FDCWD, of_descriptor, AT_FDCWD, to, AT_SYMLINK_FOLLOW) == 0;
}

/* To the other name relative to the link's folder: the root may be mounted elsewhere tomorrow. */
static bool posix_symlink(const struct file_action *a, const struct plan_name *link) {
    char target[4096] = "";
    size_t n = 0;
    for (const char *c = link->name; *c && n + 4 < sizeof target; c++) {
        if (*c == '/') {
            n += (size_t)snprintf(target + n, sizeof target - n, "../");
        }
    }
    if (snprintf(target + n, sizeof target - n, "%s", wt_name_of(a)->name) >= (int)(sizeof target - n)) {
        errno = ENAMETOOLONG;
        return false;
    }
    return symlink(target, a->refused ? wt_refused_path(link->path, a->error) : link->path) == 0;
}

/* Of the flags that F_SETFL can change, those that change what the storage does. */
static bool posix_set_flags(const struct file_action *a) {
    const int changed = O_APPEND | O_DIRECT;
    struct open_file *f = a->open;
    int flags = fcntl(f->fd, F_GETFL);
    if (flags < 0 || fcntl(f->fd, F_SETFL, (flags & ~changed) | ((int)wt_open_flags(a) & changed)) < 0) {
        return false;
    }
    f->append = (wt_open_flags(a) & O_APPEND) != 0;
    return true;
}

static bool wt_act_on_file(const struct file_action *a) {
    const char *path = path_of(a);
    const struct plan_name *to = a->other ? &a->other->names[a->other_name] : NULL;
    struct stat facts;
    struct timespec times[2];
    char text[4096];
    switch (a->call) {
    case CALL_READDIR:
        return posix_readdir(a->open);
    case CALL_READLINK:
        return readlink(path, text, sizeof text) >= 0;
    case CALL_MKNOD:
        return mknod(path, S_IFREG | 0644, 0) == 0;
    case CALL_CHMOD:
        return chmod(path, (mode_t)wt_given(a->call, WT_GIVEN_MODE, a->arg) & 07777) == 0;
    case CALL_FCHMOD:
        return fchmod(a->open->fd, (mode_t)wt_given(a->call, WT_GIVEN_MODE, a->arg) & 07777) == 0;
    case CALL_CHOWN:
        return lchown(path, geteuid(), getegid()) == 0;
    case CALL_FCHOWN:
        return fchown(a->open->fd, geteuid(), getegid()) == 0;
    case CALL_UTIME:
        return utimensat(AT_FDCWD, path, times_of(a, times), AT_SYMLINK_NOFOLLOW) == 0;
    case CALL_FUTIME:
        return futimens(a->open->fd, times_of(a, times)) == 0;
    case CALL_FCNTL:
        return posix_set_flags(a);
    case CALL_OPEN:
        return posix_open(a);
    case CALL_CLOSE:
        return posix_close(a->open);
    case CALL_DUP:
        return posix_dup(a->open);
    case CALL_LSEEK:
        return posix_seek(a);
    case CALL_FSYNC:
        return fsync(a->open->fd) == 0;
    case CALL_AIO_FSYNC:
        return wt_sync_aio(a->open);
    case CALL_FDATASYNC:
        return fdatasync(a->open->fd) == 0;
    case CALL_SYNC_FILE_RANGE:
        return sync_file_range(a->open->fd, 0, 0, SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER) == 0;
    case CALL_FTRUNCATE:
        return ftruncate(a->open->fd, wt_new_size(a)) == 0;
    case CALL_TRUNCATE:
        return truncate(path, wt_new_size(a)) == 0;
    case CALL_FALLOCATE:
        return fallocate(a->open->fd, 0, 0, wt_new_size(a)) == 0;
    case CALL_FSTAT:
        return fstat(a->open->fd,
                     a->refused ? (struct stat *)(void *)wt_refused_path("", a->error) : &facts) == 0;
    case CALL_STAT:
        if (!a->error && wt_name_of(a)->symlink && !wt_raw_exists(path)) { /* a link that leads nowhere */
            return lstat(path, &facts) == 0;
        }
        return stat(path, &facts) == 0;
    case CALL_ACCESS:
        return access(path, F_OK) == 0;
    case CALL_UNLINK: /* also by remove(), of a folder */
        return (wt_given(a->call, WT_GIVEN_REMOVAL, a->arg) & AT_REMOVEDIR
                    ? unlinkat(AT_FDCWD, path, AT_REMOVEDIR)
                    : remove(path)) == 0;
    case CALL_RENAME:
        return to ? rename(path, to->path) == 0 : posix_two_names(a);
    case CALL_LINK:
        return to ? posix_link(a, to->path) : posix_two_names(a);
    case CALL_SYMLINK:
        return to ? posix_symlink(a, to) : posix_two_names(a);
    case CALL_MKDIR:
        return mkdir(path, 0755) == 0;
    case CALL_RMDIR:
        return rmdir(path) == 0;
    case CALL_MMAP:
        return wt_mapping_make(a);
    case CALL_MUNMAP:
        return wt_mapping_remove(a);
    case CALL_MSYNC:
        return wt_mapping_sync(a);
    default:
        errno = ENOSYS;
        return false;
    }
}

static bool posix_act(const struct file_action *action) {
    bool done = wt_act_on_file(action);
    if (!done) {
        last_errno = errno;
    }
    return done;
}

static void posix_start(const struct plan *plan) {
    wt_refusals_start(plan);
}

static const char *posix_reason(void) {
    return strerror(last_errno);
}

static int posix_error(void) {
    return last_errno;
}

static void posix_end(void) {}

const struct backend wt_backend_posix = {"posix",      posix_start, posix_data, posix_act,
                                         posix_reason, posix_error, posix_end};
