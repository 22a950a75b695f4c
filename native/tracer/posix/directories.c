/* Directories that are listed or looked at: opendir and its kin, and which looks are the program's own.
 * Shells, interpreters and MPI libraries look at directories too. An open directory is a descriptor like that
 * of a file; readdir is a call on it. */
#define _GNU_SOURCE
#undef _FORTIFY_SOURCE
#include "hash.h"
#include "posix/posix.h"
#include "process.h"
#include "symbols.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Of the name that a thread's last look at a directory was by. Python's importer looks at a folder, then
 * lists it, both by the same absolute path. */
static __thread uint64_t last_look;

static bool is_at_or_above(const char *folder, const char *path) {
    size_t n = strlen(folder);
    n -= n == 1; /* the root */
    return strncmp(folder, path, n) == 0 && (path[n] == 0 || path[n] == '/');
}

/* Shells look at $PWD and $OLDPWD when they start, MPI_Init (Open MPI's opal_getcwd, PMIx) at $PWD and
 * $TMPDIR: also where these are not the folder that the process is in. */
static bool is_named_at_the_start(const char *path, const char *name) {
    static const char *const variables[] = {"HOME", "PWD", "OLDPWD", "TMPDIR"};
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        const char *value = getenv(variables[i]);
        if (value != NULL && (strcmp(path, value) == 0 || strcmp(name, value) == 0)) {
            return true;
        }
    }
    return false;
}

/* Shells, interpreters and MPI libraries look at where they are, at their user's home and at places for
 * temporary files; Python's importer looks at the folders of its path. The program's own looks go elsewhere.
 */
bool wt_folder_counts(int dirfd, const char *path) {
    static const char *const common[] = {"/tmp", "/var/tmp", "/var"};
    char name[WT_PATH_BYTES], here[WT_PATH_BYTES];
    if (path == NULL || wt_absolute(dirfd, path, name) == 0) {
        return false;
    }
    last_look = wt_hash(path, strlen(path));
    if (wt_path_included(name)) {
        return true;
    }
    if (wt_is_python() && path[0] == '/') {
        return false;
    }
    if (syscall(SYS_getcwd, here, sizeof here) > 0 && is_at_or_above(name, here)) {
        return false;
    }
    if (is_named_at_the_start(path, name)) {
        return false;
    }
    for (size_t i = 0; i < sizeof common / sizeof *common; i++) {
        if (strcmp(name, common[i]) == 0) {
            return false;
        }
    }
    return true;
}

static bool is_importers(const char *path) {
    return path[0] == '/' && wt_is_python() && wt_hash(path, strlen(path)) == last_look &&
           !wt_path_included(path);
}

WT_EXPORT DIR *opendir(const char *path) {
    WT_REAL(opendir);
    if (!wt_may_trace()) {
        return real_opendir(path);
    }
    uint64_t t0 = wt_now();
    DIR *stream = real_opendir(path);
    uint64_t t1 = wt_now();
    int error = errno;
    if (stream != NULL && !is_importers(path)) {
        wt_fd_opened(dirfd(stream), AT_FDCWD, path, O_RDONLY | O_DIRECTORY, 0, false, t0, t1);
    }
    errno = error;
    return stream;
}

/* -1 for none; errno stays. */
static int descriptor_of(DIR *stream) {
    int error = errno, fd = stream == NULL ? -1 : dirfd(stream);
    errno = error;
    return fd;
}

WT_EXPORT int closedir(DIR *stream) {
    WT_REAL(closedir);
    int fd = descriptor_of(stream);
    if (!wt_active || wt_inside || (unsigned)fd >= wt_fd_limit || wt_fd_table[fd] == 0 ||
        wt_other_process()) {
        return real_closedir(stream);
    }
    uint64_t t0 = wt_now();
    int result = real_closedir(stream);
    uint64_t t1 = wt_now();
    int error = errno;
    wt_fd_closed(fd, result, error, t0, t1);
    errno = error;
    return result;
}

/* The end of a directory and a failure are both no entry: the second sets errno. */
#define READDIR(name, type)                                                                                  \
    WT_EXPORT struct type *name(DIR *stream) {                                                               \
        WT_REAL(name);                                                                                       \
        int entry_errno = errno;                                                                             \
        struct wt_ofd *ofd = wt_ofd_of(descriptor_of(stream));                                               \
        if (ofd == NULL) {                                                                                   \
            return real_##name(stream);                                                                      \
        }                                                                                                    \
        errno = 0;                                                                                           \
        uint64_t t0 = wt_now();                                                                              \
        struct type *entry = real_##name(stream);                                                            \
        uint64_t t1 = wt_now();                                                                              \
        int error = entry == NULL ? errno : 0;                                                               \
        wt_record_plain(WT_OP_READDIR, ofd->file, ofd->handle, WT_UNKNOWN, entry == NULL, error, t0, t1);    \
        errno = error != 0 ? error : entry_errno;                                                            \
        return entry;                                                                                        \
    }
READDIR(readdir, dirent)
READDIR(readdir64, dirent64)
