/* What the wrappers of the C library's calls share: descriptors, and numbers of names. */
#ifndef WT_POSIX_H
#define WT_POSIX_H

#include "files/files.h"
#include "record/record.h"

#pragma GCC visibility push(hidden) /* what is declared here is in this library: it is reached directly */

/* ---- path_calls.c: calls on names ---- */
/* The number of a name's file. only_known: UNKNOWN where it has none yet. facts: of the file that the name
 * led to; NULL: they are found, if the name is there and new. size_kept: the call has not changed the file's
 * size. */
int32_t wt_number_of_name(int dirfd, const char *path, bool only_known, const struct wt_facts *facts,
                          bool size_kept);

/* ---- directories.c: directories that are listed or looked at ---- */
bool wt_folder_counts(int dirfd, const char *path); /* a look at it is worth a row */

/* ---- descriptors.c: descriptors ---- */
struct wt_ofd *wt_ofd_slow(int fd);
extern int32_t *wt_fd_table; /* 0 not known, -1 left out, else index into wt_ofds */
extern struct wt_ofd *wt_ofds;
extern unsigned wt_fd_limit;
void wt_fds_start(void);
void wt_streams_start(const char *streams);
void wt_fds_after_fork(void); /* in the child */
void wt_fds_shared(void);     /* in the parent */
/* path: the name that it was opened by, NULL where it is the file's own */
void wt_fd_opened(int fd, int dirfd, const char *path, int flags, int64_t size_before, bool size_known,
                  uint64_t t0, uint64_t t1);
void wt_fd_closed(int fd, int result, int error, uint64_t t0, uint64_t t1);
void wt_fd_duplicated(int from, int to, uint64_t t0, uint64_t t1);
int32_t wt_new_handle(void);

static inline struct wt_ofd *wt_ofd_of(int fd) {
    if (WT_UNLIKELY(!wt_active || !wt_level_posix)) {
        return NULL;
    }
    if (WT_UNLIKELY(wt_inside != 0)) {
        if ((unsigned)fd < wt_fd_limit && wt_fd_table[fd] > 0) {
            atomic_fetch_add_explicit(&wt_missed, 1, memory_order_relaxed);
        }
        return NULL;
    }
    if (WT_UNLIKELY((unsigned)fd >= wt_fd_limit)) {
        return NULL;
    }
    int32_t index = wt_fd_table[fd];
    if (WT_LIKELY(index > 0)) {
        return &wt_ofds[index];
    }
    return index < 0 ? NULL : wt_ofd_slow(fd);
}

/* ---- asynchronous.c ---- */
extern _Thread_local bool wt_submitting; /* this thread is in an io_submit that is recorded */
struct iocb;
long wt_submit_seen(long number, unsigned long queue, long n, struct iocb **requests); /* as syscall(2) */

/* ---- stdio.c ---- */
void wt_stdio_start(void);

#pragma GCC visibility pop

#endif
