/* Descriptors: which open file each stands for, and where its position is. These are two tables, since
 * descriptors that were duplicated share a position. The position is followed, as asking for it would be a
 * system call more at each read. It is asked for where another process may have moved it. */
#define _GNU_SOURCE
#include "posix/posix.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FDS_MAX (1u << 20)
#define LEFT_OUT (-1)

int32_t *wt_fd_table;
struct wt_ofd *wt_ofds;
unsigned wt_fd_limit;

static int32_t *free_ofds; /* stack of indices that were used before */
static unsigned n_free, n_ofds;
static int32_t next_handle;

void wt_fds_start(void) {
    wt_fd_limit = 0;
    wt_fd_table = wt_reserve(FDS_MAX * sizeof *wt_fd_table);
    wt_ofds = wt_reserve((FDS_MAX + 1) * sizeof *wt_ofds);
    free_ofds = wt_reserve(FDS_MAX * sizeof *free_ofds);
    n_ofds = 1; /* 0 means not known */
    if (wt_fd_table && wt_ofds && free_ofds) {
        wt_fd_limit = FDS_MAX;
    } else {
        wt_stop("no memory for the table of descriptors", ENOMEM);
    }
}

/* A child's descriptors are met anew: their handles belong to another part. */
void wt_fds_after_fork(void) {
    syscall(SYS_madvise, wt_fd_table, FDS_MAX * sizeof *wt_fd_table, MADV_DONTNEED);
    n_ofds = 1;
    n_free = 0;
    next_handle = 0;
}

void wt_fds_shared(void) {
    for (unsigned i = 1; i < n_ofds; i++) {
        wt_ofds[i].unsure = true;
    }
}

int32_t wt_new_handle(void) {
    return next_handle++;
}

static int32_t new_ofd(int32_t file) {
    int32_t index = n_free > 0 ? free_ofds[--n_free] : (int32_t)n_ofds++;
    wt_ofds[index] = (struct wt_ofd){.file = file, .handle = next_handle++, .references = 1};
    return index;
}

static void drop(int fd) {
    int32_t index = wt_fd_table[fd];
    wt_fd_table[fd] = 0;
    if (index > 0 && --wt_ofds[index].references == 0) {
        free_ofds[n_free++] = index;
    }
}

static bool is_data(int fd, struct wt_facts *facts) {
    return wt_look(fd, "", AT_EMPTY_PATH, STATX_SIZE, facts) &&
           (S_ISREG(facts->mode) || S_ISBLK(facts->mode));
}

/* The user's own standard output and error, where they are files: "device:inode+device:inode". */
static char users_streams[128];
static bool users_streams_known;

void wt_streams_start(const char *streams) {
    users_streams_known = streams != NULL && strlen(streams) < sizeof users_streams;
    if (users_streams_known) {
        strcpy(users_streams, streams);
    }
}

/* Whether a standard stream leads where the user's own shell sent it for the whole command. What a program of
 * the command redirected is a file like any other, also after fork and exec. */
static bool is_users_stream(int fd, const struct wt_facts *facts) {
    if ((fd != STDOUT_FILENO && fd != STDERR_FILENO) || wt_standard_streams) {
        return false;
    }
    if (!users_streams_known) {
        return true;
    }
    for (const char *at = users_streams; *at != 0;) {
        char *end;
        uint64_t device = strtoull(at, &end, 10);
        if (*end != ':') {
            return false;
        }
        uint64_t inode = strtoull(end + 1, &end, 10);
        if (device == (uint64_t)facts->real_device && inode == facts->inode) {
            return true;
        }
        at = end + (*end != 0);
    }
    return false;
}

/* A descriptor that was opened out of our sight: inherited, received, or opened inside another library. */
WT_COLD struct wt_ofd *wt_ofd_slow(int fd) {
    int saved = errno;
    char path[WT_PATH_BYTES];
    struct wt_facts facts;
    struct wt_ofd *found = NULL;
    wt_lock();
    if (wt_fd_table[fd] == 0 && syscall(SYS_fcntl, fd, F_GETFD) >= 0) {
        int32_t file = WT_UNKNOWN;
        if (is_data(fd, &facts) && !is_users_stream(fd, &facts) && wt_path_of_fd(fd, path) > 0) {
            file = wt_file_of_path(path, &facts, facts.size, true);
        }
        wt_fd_table[fd] = file == WT_UNKNOWN ? LEFT_OUT : new_ofd(file);
        if (file != WT_UNKNOWN) {
            struct wt_ofd *ofd = &wt_ofds[wt_fd_table[fd]];
            ofd->position = syscall(SYS_lseek, fd, 0, SEEK_CUR);
            ofd->append = (syscall(SYS_fcntl, fd, F_GETFL) & O_APPEND) != 0;
            ofd->unsure = true; /* others may have it too */
        }
    }
    if (wt_fd_table[fd] > 0) {
        found = &wt_ofds[wt_fd_table[fd]];
    }
    wt_unlock();
    errno = saved;
    return found;
}

/* The number of the name that a file was opened by: its own, or that of a symbolic link. A path through a
 * link to a folder is no name of its own. */
static int32_t number(int dirfd, const char *name, const char *own, const struct wt_facts *facts,
                      int64_t size, bool size_known) {
    static char path[WT_PATH_BYTES]; /* under the lock */
    struct wt_facts link;
    if (name != NULL && wt_absolute(dirfd, name, path) > 0 && strcmp(path, own) != 0 &&
        wt_look(dirfd, name, AT_SYMLINK_NOFOLLOW, 0, &link) && S_ISLNK(link.mode) &&
        wt_name(dirfd, name, path) > 0 && wt_path_kept(own) && wt_path_kept(path)) {
        return wt_file_of_link(path, own, facts, size, size_known);
    }
    return wt_file_of_path(own, facts, size, size_known);
}

/* The number of a name that leads to the same file as before: no need to ask how the kernel names it. */
static int32_t number_again(int dirfd, const char *name, const struct wt_facts *facts) {
    static char path[WT_PATH_BYTES]; /* under the lock */
    if (name == NULL || strstr(name, "..") != NULL || wt_absolute(dirfd, name, path) == 0) {
        return WT_UNKNOWN;
    }
    return wt_file_if_same(path, facts);
}

void wt_fd_opened(int fd, int dirfd, const char *name, int flags, int64_t size_before, bool size_known,
                  uint64_t t0, uint64_t t1) {
    char path[WT_PATH_BYTES];
    struct wt_facts facts;
    if ((unsigned)fd >= wt_fd_limit) {
        return;
    }
    wt_lock();
    drop(fd); /* it was closed out of our sight */
    int32_t file = WT_UNKNOWN;
    bool data = is_data(fd, &facts);
    if (!data && S_ISDIR(facts.mode) && wt_path_of_fd(fd, path) > 0) {
        flags |= O_DIRECTORY;
        file = wt_file_of_path(path, &facts, 0, false);
    } else if (data) {
        if (((flags & O_CREAT) != 0 && !size_known) || (flags & O_TMPFILE) == O_TMPFILE) {
            wt_file_made(&facts);
        }
        file = number_again(dirfd, name, &facts);
    }
    if (data && file == WT_UNKNOWN && wt_path_of_fd(fd, path) > 0) {
        bool asked = (flags & (O_TRUNC | O_CREAT)) != 0;
        bool no_link = (flags & O_NOFOLLOW) != 0 || (flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL) ||
                       (flags & O_TMPFILE) == O_TMPFILE;
        file = number(dirfd, no_link ? NULL : name, path, &facts, asked ? size_before : facts.size,
                      asked ? size_known : true);
    }
    wt_fd_table[fd] = file == WT_UNKNOWN ? LEFT_OUT : new_ofd(file);
    struct wt_ofd *ofd = file == WT_UNKNOWN ? NULL : &wt_ofds[wt_fd_table[fd]];
    int32_t handle = ofd ? ofd->handle : 0;
    if (ofd) {
        ofd->append = (flags & O_APPEND) != 0;
    }
    wt_unlock();
    if (ofd) {
        wt_record_plain(WT_OP_OPEN, file, handle, WT_UNKNOWN, flags, 0, t0, t1);
    }
}

static void forget(int fd) {
    if ((unsigned)fd < wt_fd_limit && wt_fd_table[fd] != 0) {
        wt_lock();
        drop(fd);
        wt_unlock();
    }
}

void wt_fd_closed(int fd, int result, int error, uint64_t t0, uint64_t t1) {
    if ((unsigned)fd >= wt_fd_limit || (result != 0 && error == EBADF)) {
        return;
    }
    int32_t index = wt_fd_table[fd];
    if (index > 0) {
        wt_record_plain(WT_OP_CLOSE, wt_ofds[index].file, wt_ofds[index].handle, WT_UNKNOWN, 0,
                        result == 0 ? 0 : error, t0, t1);
    }
    forget(fd);
}

void wt_fd_duplicated(int from, int to, uint64_t t0, uint64_t t1) {
    if ((unsigned)from >= wt_fd_limit || (unsigned)to >= wt_fd_limit || from == to) {
        return;
    }
    struct wt_ofd *ofd = wt_ofd_of(from);
    wt_lock();
    drop(to);
    wt_fd_table[to] = wt_fd_table[from];
    if (ofd) {
        ofd->references++;
    }
    wt_unlock();
    if (ofd) {
        wt_record_plain(WT_OP_DUP, ofd->file, ofd->handle, WT_UNKNOWN, 0, 0, t0, t1);
    }
}
