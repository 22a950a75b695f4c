/* Names of files: absolute, of descriptors, without links to folders; and which file a name leads to. An open
 * file has the name that the kernel has for its descriptor, so that calls on names must come to the same one.
 * A folder is found by opening it: its text alone is wrong where ".." follows a link. System calls are made
 * past the C library, where our own wrappers stand. */
#define _GNU_SOURCE
#include "files/files.h"
#include "hash.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define FOLDERS 256 /* remembered, of those that are no links and lie below none */

static size_t append_path(char *out, size_t n, const char *path) {
    while (*path) { /* part by part: "." and "" vanish, ".." goes up */
        const char *end = strchrnul(path, '/');
        size_t length = (size_t)(end - path);
        if (length == 2 && path[0] == '.' && path[1] == '.') {
            while (n > 0 && out[n - 1] != '/') {
                n--;
            }
            n -= n > 0;
        } else if (length > 0 && !(length == 1 && path[0] == '.')) {
            if (n + length + 2 > WT_PATH_BYTES) {
                return 0;
            }
            out[n++] = '/';
            memcpy(out + n, path, length);
            n += length;
        }
        path = *end ? end + 1 : end;
    }
    if (n == 0) {
        out[n++] = '/';
    }
    out[n] = 0;
    return n;
}

size_t wt_path_of_fd(int fd, char *out) {
    char link[40] = "/proc/self/fd/";
    char *at = link + strlen(link), digits[12];
    int n_digits = 0;
    for (unsigned rest = (unsigned)fd; n_digits == 0 || rest; rest /= 10) {
        digits[n_digits++] = (char)('0' + rest % 10);
    }
    while (n_digits > 0) {
        *at++ = digits[--n_digits];
    }
    *at = 0;
    ssize_t n = syscall(SYS_readlinkat, AT_FDCWD, link, out, WT_PATH_BYTES - 1);
    if (n <= 0 || out[0] != '/') {
        return 0;
    }
    out[n] = 0;
    static const char gone[] = " (deleted)";
    if (n > (ssize_t)sizeof gone && memcmp(out + n - (sizeof gone - 1), gone, sizeof gone - 1) == 0) {
        n -= (ssize_t)(sizeof gone - 1);
        out[n] = 0;
    }
    return (size_t)n;
}

size_t wt_absolute(int dirfd, const char *path, char *out) {
    size_t n = 0;
    if (path[0] != '/') {
        if (dirfd == AT_FDCWD) {
            n = syscall(SYS_getcwd, out, WT_PATH_BYTES) > 0 ? strlen(out) : 0;
        } else {
            n = wt_path_of_fd(dirfd, out);
        }
        if (n == 0) {
            return 0;
        }
        if (n == 1) { /* the root itself */
            n = 0;
        }
    }
    return append_path(out, n, path);
}

/* ---- names without links to folders: as the kernel names descriptors ---- */

static uint64_t plain_folders[FOLDERS]; /* hashes */

static size_t folder_length(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash == NULL ? 0 : (size_t)(slash - path);
}

void wt_folder_is_plain(const char *path) {
    uint64_t hash = wt_hash(path, folder_length(path));
    plain_folders[hash % FOLDERS] = hash;
}

/* The folder itself, by opening it: also right where ".." follows a link. */
static size_t resolved_folder(int dirfd, const char *path, size_t length, char *out) {
    static char folder[WT_PATH_BYTES]; /* stacks of threads may be small */
    if (length >= sizeof folder) {
        return 0;
    }
    memcpy(folder, path, length);
    memcpy(folder + length, "/", 2);
    int fd = (int)syscall(SYS_openat, dirfd, folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        return 0;
    }
    size_t n = wt_path_of_fd(fd, out);
    syscall(SYS_close, fd);
    return n;
}

size_t wt_name(int dirfd, const char *path, char *out) {
    size_t n = wt_absolute(dirfd, path, out), length = folder_length(path);
    const char *last = strrchr(path, '/');
    last = last == NULL ? path : last + 1;
    if (n == 0 || last == path || *last == 0 || strcmp(last, ".") == 0 || strcmp(last, "..") == 0) {
        return n; /* a name in the working folder, or of a folder */
    }
    uint64_t hash = wt_hash(out, folder_length(out));
    if (plain_folders[hash % FOLDERS] == hash && strstr(path, "..") == NULL) {
        return n;
    }
    static char folder[WT_PATH_BYTES];
    size_t m = resolved_folder(dirfd, path, length, folder), k = strlen(last);
    if (m == 0 || m + k + 2 > WT_PATH_BYTES) {
        return n;
    }
    m -= m == 1; /* the root */
    memcpy(out, folder, m);
    out[m] = '/';
    memcpy(out + m + 1, last, k + 1);
    wt_folder_is_plain(out);
    return m + 1 + k;
}

size_t wt_name_behind(const char *link, const char *target, char *out) {
    size_t n = target[0] == '/' ? 0 : folder_length(link);
    if (n + 2 > WT_PATH_BYTES) {
        return 0;
    }
    memcpy(out, link, n);
    return append_path(out, n, target);
}

bool wt_links_to(const char *path, char *out) {
    struct wt_facts facts;
    if (!wt_look(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, 0, &facts) || !S_ISLNK(facts.mode)) {
        return false;
    }
    int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_PATH | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    size_t n = wt_path_of_fd(fd, out);
    syscall(SYS_close, fd);
    return n > 0;
}

/* ---- which file ---- */

bool wt_look(int dirfd, const char *path, int flags, unsigned more, struct wt_facts *facts) {
    static bool without_statx;
    struct statx found;
    struct stat older;
    *facts = (struct wt_facts){.inode = 0};
    if (!without_statx) {
        unsigned mask = STATX_TYPE | STATX_INO | STATX_BTIME | more;
        if (syscall(SYS_statx, dirfd, path, flags, mask, &found) == 0) {
            facts->mode = found.stx_mode;
            facts->size = (int64_t)found.stx_size;
            facts->device = ((uint64_t)found.stx_dev_major << 32) | found.stx_dev_minor;
            facts->inode = found.stx_ino;
            if ((found.stx_mask & STATX_BTIME) && found.stx_btime.tv_sec > 0) {
                facts->born_ns =
                    (uint64_t)found.stx_btime.tv_sec * 1000000000u + (uint64_t)found.stx_btime.tv_nsec;
            }
            facts->real_device = makedev(found.stx_dev_major, found.stx_dev_minor);
            return true;
        }
        without_statx = errno == ENOSYS || errno == EPERM; /* Linux before 4.11; seccomp filters */
    }
    int known = flags & (AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW);
    if (!without_statx || syscall(SYS_newfstatat, dirfd, path, &older, known) != 0) {
        return false;
    }
    facts->mode = older.st_mode;
    facts->size = older.st_size;
    facts->device = ((uint64_t)major(older.st_dev) << 32) | minor(older.st_dev);
    facts->inode = older.st_ino;
    facts->real_device = older.st_dev;
    return true;
}
