/* Streams. glibc's buffered streams reach the file through the read, write, seek and close entries of the
 * table _IO_file_jumps. Those entries are replaced, so every operation of fread, fprintf, getc, C++ and
 * Fortran streams on top of them, and of the flush at exit is seen as the read, write and lseek that it
 * really makes. The C library checks where a table lies, not what it holds. fopen and its kin open files
 * inside the C library and are wrapped. A C library with other tables is left alone, and the trace says that
 * streams were not seen. */
#define _GNU_SOURCE
#undef _FORTIFY_SOURCE
#include "posix/posix.h"
#include "symbols.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef __GLIBC__
/* libio/libioP.h, unchanged since 2.1: two words, then these functions in this order. */
struct jumps {
    size_t dummy[2];
    void *finish, *overflow, *underflow, *uflow, *pbackfail, *xsputn, *xsgetn, *seekoff, *seekpos, *setbuf,
        *sync, *doallocate;
    ssize_t (*read)(FILE *, void *, ssize_t);
    ssize_t (*write)(FILE *, const void *, ssize_t);
    off64_t (*seek)(FILE *, off64_t, int);
    int (*close)(FILE *);
    int (*stat)(FILE *, void *);
    void *showmanyc, *imbue;
};

static ssize_t (*real_stream_read)(FILE *, void *, ssize_t);
static ssize_t (*real_stream_write)(FILE *, const void *, ssize_t);
static off64_t (*real_stream_seek)(FILE *, off64_t, int);
static int (*real_stream_close)(FILE *);

static void moved(uint32_t op, struct wt_ofd *ofd, int fd, ssize_t asked, ssize_t done, int error,
                  uint64_t t0, uint64_t t1) {
    struct wt_event event = {.op = op,
                             .view = WT_UNKNOWN,
                             .size = asked,
                             .moved = done > 0 ? done : 0,
                             .error = done < 0 || (op == WT_OP_WRITE && done < asked) ? error : 0,
                             .start = t0,
                             .end = t1};
    if (ofd->unsure || (ofd->append && op == WT_OP_WRITE)) {
        off_t now = syscall(SYS_lseek, fd, 0, SEEK_CUR);
        if (now >= 0) {
            ofd->position = now - event.moved;
        }
    }
    wt_record_at_position(ofd, &event);
    errno = error;
}

/* fopen("a") seeks to the end before it returns: that seek is kept here, and recorded after the open. */
static __thread struct {
    bool opening, sought;
    off64_t position;
    int whence;
    uint64_t t0, t1;
} early __attribute__((tls_model("initial-exec")));

static ssize_t stream_read(FILE *stream, void *buffer, ssize_t size) {
    int fd = stream->_fileno;
    struct wt_ofd *ofd = wt_ofd_of(fd);
    if (ofd == NULL) {
        return real_stream_read(stream, buffer, size);
    }
    uint64_t t0 = wt_now();
    ssize_t done = real_stream_read(stream, buffer, size);
    uint64_t t1 = wt_now();
    moved(WT_OP_READ, ofd, fd, size, done, errno, t0, t1);
    return done;
}

static ssize_t stream_write(FILE *stream, const void *buffer, ssize_t size) {
    int fd = stream->_fileno;
    struct wt_ofd *ofd = wt_ofd_of(fd);
    if (ofd == NULL) {
        return real_stream_write(stream, buffer, size);
    }
    uint64_t t0 = wt_now();
    ssize_t done = real_stream_write(stream, buffer, size);
    uint64_t t1 = wt_now();
    moved(WT_OP_WRITE, ofd, fd, size, done, errno, t0, t1);
    return done;
}

static void record_seek(struct wt_ofd *ofd, off64_t done, int whence, int error, uint64_t t0, uint64_t t1) {
    if (done >= 0) {
        ofd->position = done;
    }
    int64_t offset = done >= 0 ? done : WT_UNKNOWN;
    wt_record_plain(WT_OP_LSEEK, ofd->file, ofd->handle, offset, whence, done >= 0 ? 0 : error, t0, t1);
}

static off64_t stream_seek(FILE *stream, off64_t offset, int whence) {
    if (early.opening) {
        early.t0 = wt_now();
        early.position = real_stream_seek(stream, offset, whence);
        early.t1 = wt_now();
        early.whence = whence;
        early.sought = true;
        return early.position;
    }
    struct wt_ofd *ofd = wt_ofd_of(stream->_fileno);
    if (ofd == NULL) {
        return real_stream_seek(stream, offset, whence);
    }
    uint64_t t0 = wt_now();
    off64_t done = real_stream_seek(stream, offset, whence);
    uint64_t t1 = wt_now();
    int error = errno;
    record_seek(ofd, done, whence, error, t0, t1);
    errno = error;
    return done;
}

static int stream_close(FILE *stream) {
    int fd = stream->_fileno;
    if (!wt_active || wt_inside || (unsigned)fd >= wt_fd_limit || wt_fd_table[fd] == 0) {
        return real_stream_close(stream);
    }
    uint64_t t0 = wt_now();
    int result = real_stream_close(stream);
    uint64_t t1 = wt_now();
    int error = errno;
    wt_fd_closed(fd, result, error, t0, t1);
    errno = error;
    return result;
}

static struct jumps *jumps_of(FILE *stream) {
    return *(struct jumps **)((char *)stream + sizeof(FILE)); /* struct _IO_FILE_plus */
}

static bool replace(struct jumps *jumps) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uintptr_t first = (uintptr_t)jumps & ~(page - 1);
    size_t length = (uintptr_t)(jumps + 1) - first;
    if (syscall(SYS_mprotect, first, length, PROT_READ | PROT_WRITE) != 0) {
        return false;
    }
    jumps->read = stream_read;
    jumps->write = stream_write;
    jumps->seek = stream_seek;
    jumps->close = stream_close;
    syscall(SYS_mprotect, first, length, PROT_READ);
    return true;
}

void wt_stdio_start(void) {
    struct jumps *narrow = jumps_of(stdin);
    struct jumps *wide = wt_next("_IO_wfile_jumps");
    struct jumps *named = wt_next("_IO_file_jumps");
    bool known = narrow != NULL && narrow == named && wide != NULL && narrow->dummy[0] == 0 &&
                 narrow->read == wide->read && narrow->write == wide->write && narrow->close == wide->close;
    if (known) {
        real_stream_read = narrow->read;
        real_stream_write = narrow->write;
        real_stream_seek = narrow->seek;
        real_stream_close = narrow->close;
        known = replace(narrow) && replace(wide);
    }
    if (!known) {
        wt_meta_begin(WT_META_NOTE);
        wt_meta_number(WT_NOTE_STDIO);
        wt_meta_string("");
        wt_meta_end();
    }
}
#else
static struct {
    bool opening, sought;
    off64_t position;
    int whence;
    uint64_t t0, t1;
} early;
static void record_seek(struct wt_ofd *ofd, off64_t done, int whence, int error, uint64_t t0, uint64_t t1) {
    (void)ofd, (void)done, (void)whence, (void)error, (void)t0, (void)t1;
}
void wt_stdio_start(void) {}
#endif

static int flags_of(const char *mode) {
    int plus = strchr(mode, '+') != NULL;
    switch (mode[0]) {
    case 'r':
        return plus ? O_RDWR : O_RDONLY;
    case 'w':
        return (plus ? O_RDWR : O_WRONLY) | O_CREAT | O_TRUNC;
    default:
        return (plus ? O_RDWR : O_WRONLY) | O_CREAT | O_APPEND;
    }
}

static void before_open(const char *path, int flags, int64_t *size, bool *known) {
    struct stat facts;
    *known = (flags & O_CREAT) && path != NULL && syscall(SYS_newfstatat, AT_FDCWD, path, &facts, 0) == 0;
    *size = *known ? facts.st_size : 0;
}

static void stream_opened(FILE *stream, const char *path, int flags, int64_t size, bool known, uint64_t t0,
                          uint64_t t1) {
    int error = errno;
    int fd = stream ? fileno(stream) : -1;
    if (fd >= 0) {
        wt_fd_opened(fd, AT_FDCWD, path, flags, size, known, t0, t1);
        if (early.sought && (unsigned)fd < wt_fd_limit && wt_fd_table[fd] > 0) {
            record_seek(&wt_ofds[wt_fd_table[fd]], early.position, early.whence, 0, early.t0, early.t1);
        }
    }
    errno = error;
}

#define FOPEN(name)                                                                                          \
    WT_EXPORT FILE *name(const char *path, const char *mode) {                                               \
        WT_REAL(name);                                                                                       \
        if (!wt_may_trace() || path == NULL || mode == NULL) {                                               \
            return real_##name(path, mode);                                                                  \
        }                                                                                                    \
        int64_t size;                                                                                        \
        bool known;                                                                                          \
        int flags = flags_of(mode), entry_errno = errno;                                                     \
        before_open(path, flags, &size, &known);                                                             \
        errno = entry_errno;                                                                                 \
        uint64_t t0 = wt_now();                                                                              \
        early.opening = true;                                                                                \
        early.sought = false;                                                                                \
        FILE *stream = real_##name(path, mode);                                                              \
        uint64_t t1 = early.sought ? early.t0 : wt_now();                                                    \
        early.opening = false;                                                                               \
        stream_opened(stream, path, flags, size, known, t0, t1);                                             \
        return stream;                                                                                       \
    }
FOPEN(fopen)
FOPEN(fopen64)

/* The stream's old file is closed and the new one opened inside the C library, on the old number. */
#define FREOPEN(name)                                                                                        \
    WT_EXPORT FILE *name(const char *path, const char *mode, FILE *old) {                                    \
        WT_REAL(name);                                                                                       \
        if (!wt_may_trace() || old == NULL || mode == NULL) {                                                \
            return real_##name(path, mode, old);                                                             \
        }                                                                                                    \
        int64_t size;                                                                                        \
        bool known;                                                                                          \
        int flags = flags_of(mode), old_fd = fileno(old), entry_errno = errno;                               \
        before_open(path, flags, &size, &known);                                                             \
        errno = entry_errno;                                                                                 \
        uint64_t t0 = wt_now();                                                                              \
        early.sought = false;                                                                                \
        FILE *stream = real_##name(path, mode, old);                                                         \
        uint64_t t1 = wt_now();                                                                              \
        int error = errno;                                                                                   \
        if (old_fd >= 0 && (unsigned)old_fd < wt_fd_limit && wt_fd_table[old_fd] != 0) {                     \
            wt_fd_closed(old_fd, 0, 0, t0, t0);                                                              \
        }                                                                                                    \
        errno = error;                                                                                       \
        stream_opened(stream, path, flags, size, known, t0, t1);                                             \
        return stream;                                                                                       \
    }
FREOPEN(freopen)
FREOPEN(freopen64)

#define TMPFILE(name)                                                                                        \
    WT_EXPORT FILE *name(void) {                                                                             \
        WT_REAL(name);                                                                                       \
        if (!wt_may_trace()) {                                                                               \
            return real_##name();                                                                            \
        }                                                                                                    \
        early.sought = false;                                                                                \
        uint64_t t0 = wt_now();                                                                              \
        FILE *stream = real_##name();                                                                        \
        uint64_t t1 = wt_now();                                                                              \
        stream_opened(stream, NULL, O_RDWR | O_TMPFILE, 0, false, t0, t1);                                   \
        return stream;                                                                                       \
    }
TMPFILE(tmpfile)
TMPFILE(tmpfile64)
