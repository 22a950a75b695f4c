/* POSIX calls on descriptors: call the real one, keep errno, record. The lists below are all that is seen of
 * them: a call that is in none goes to the kernel past us. errno is kept, since a program must find in it
 * what its own call left. */
#define _GNU_SOURCE
#undef _FORTIFY_SOURCE
#include "posix/posix.h"
#include "symbols.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/sendfile.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* read and write at the file's position. ofd is only looked at under the tracer's lock. */
static ssize_t at_position(uint32_t op, struct wt_ofd *ofd, int fd, size_t asked, ssize_t done, int error,
                           uint64_t t0, uint64_t t1) {
    struct wt_event event = {.op = op,
                             .view = WT_UNKNOWN,
                             .size = (int64_t)asked,
                             .moved = done > 0 ? done : 0,
                             .error = done < 0 ? error : 0,
                             .start = t0,
                             .end = t1};
    if (WT_UNLIKELY(ofd->append || ofd->unsure)) {
        bool writes = op == WT_OP_WRITE || op == WT_OP_WRITEV;
        if (ofd->unsure || writes) {
            off_t now = syscall(SYS_lseek, fd, 0, SEEK_CUR);
            if (now >= 0) {
                ofd->position = now - event.moved;
            }
        }
    }
    wt_record_at_position(ofd, &event);
    errno = error;
    return done;
}

static ssize_t at_offset(uint32_t op, struct wt_ofd *ofd, off_t offset, size_t asked, ssize_t done, int error,
                         uint64_t t0, uint64_t t1) {
    struct wt_event event = {.op = op,
                             .file = ofd->file,
                             .handle = ofd->handle,
                             .view = WT_UNKNOWN,
                             .size = (int64_t)asked,
                             .moved = done > 0 ? done : 0,
                             .offset = offset,
                             .view_offset = offset,
                             .error = done < 0 ? error : 0,
                             .start = t0,
                             .end = t1};
    wt_record_posix(&event);
    errno = error;
    return done;
}

#define TIMED(type, call)                                                                                    \
    uint64_t t0 = wt_now();                                                                                  \
    type done = (call);                                                                                      \
    uint64_t t1 = wt_now();                                                                                  \
    int error = errno

WT_EXPORT ssize_t read(int fd, void *buffer, size_t size) {
    WT_REAL(read);
    struct wt_ofd *ofd = wt_ofd_of(fd);
    if (ofd == NULL) {
        return real_read(fd, buffer, size);
    }
    TIMED(ssize_t, real_read(fd, buffer, size));
    return at_position(WT_OP_READ, ofd, fd, size, done, error, t0, t1);
}

WT_EXPORT ssize_t write(int fd, const void *buffer, size_t size) {
    WT_REAL(write);
    struct wt_ofd *ofd = wt_ofd_of(fd);
    if (ofd == NULL) {
        return real_write(fd, buffer, size);
    }
    TIMED(ssize_t, real_write(fd, buffer, size));
    return at_position(WT_OP_WRITE, ofd, fd, size, done, error, t0, t1);
}

ssize_t __read_chk(int fd, void *buffer, size_t size, size_t room);
WT_EXPORT ssize_t __read_chk(int fd, void *buffer, size_t size, size_t room) {
    WT_REAL(__read_chk);
    struct wt_ofd *ofd = wt_ofd_of(fd);
    if (ofd == NULL) {
        return real___read_chk(fd, buffer, size, room);
    }
    TIMED(ssize_t, real___read_chk(fd, buffer, size, room));
    return at_position(WT_OP_READ, ofd, fd, size, done, error, t0, t1);
}

static size_t total(const struct iovec *parts, int n) {
    size_t size = 0;
    for (int i = 0; i < n; i++) {
        size += parts[i].iov_len;
    }
    return size;
}

#define VECTOR_AT_POSITION(name, OP)                                                                         \
    WT_EXPORT ssize_t name(int fd, const struct iovec *parts, int n) {                                       \
        WT_REAL(name);                                                                                       \
        struct wt_ofd *ofd = wt_ofd_of(fd);                                                                  \
        if (ofd == NULL) {                                                                                   \
            return real_##name(fd, parts, n);                                                                \
        }                                                                                                    \
        TIMED(ssize_t, real_##name(fd, parts, n));                                                           \
        return at_position(WT_OP_##OP, ofd, fd, done < 0 ? 0 : total(parts, n), done, error, t0, t1);        \
    }
VECTOR_AT_POSITION(readv, READV)
VECTOR_AT_POSITION(writev, WRITEV)

#define AT_OFFSET(name, buffer_type, offset_type, OP)                                                        \
    WT_EXPORT ssize_t name(int fd, buffer_type buffer, size_t size, offset_type offset) {                    \
        WT_REAL(name);                                                                                       \
        struct wt_ofd *ofd = wt_ofd_of(fd);                                                                  \
        if (ofd == NULL) {                                                                                   \
            return real_##name(fd, buffer, size, offset);                                                    \
        }                                                                                                    \
        TIMED(ssize_t, real_##name(fd, buffer, size, offset));                                               \
        return at_offset(WT_OP_##OP, ofd, offset, size, done, error, t0, t1);                                \
    }
AT_OFFSET(pread, void *, off_t, PREAD)
AT_OFFSET(pread64, void *, off64_t, PREAD)
AT_OFFSET(pwrite, const void *, off_t, PWRITE)
AT_OFFSET(pwrite64, const void *, off64_t, PWRITE)

#define CHECKED_AT_OFFSET(name)                                                                              \
    ssize_t name(int fd, void *buffer, size_t size, off64_t offset, size_t room);                            \
    WT_EXPORT ssize_t name(int fd, void *buffer, size_t size, off64_t offset, size_t room) {                 \
        WT_REAL(name);                                                                                       \
        struct wt_ofd *ofd = wt_ofd_of(fd);                                                                  \
        if (ofd == NULL) {                                                                                   \
            return real_##name(fd, buffer, size, offset, room);                                              \
        }                                                                                                    \
        TIMED(ssize_t, real_##name(fd, buffer, size, offset, room));                                         \
        return at_offset(WT_OP_PREAD, ofd, offset, size, done, error, t0, t1);                               \
    }
CHECKED_AT_OFFSET(__pread_chk)
CHECKED_AT_OFFSET(__pread64_chk)

#define VECTOR_AT_OFFSET(name, offset_type, OP)                                                              \
    WT_EXPORT ssize_t name(int fd, const struct iovec *parts, int n, offset_type offset) {                   \
        WT_REAL(name);                                                                                       \
        struct wt_ofd *ofd = wt_ofd_of(fd);                                                                  \
        if (ofd == NULL) {                                                                                   \
            return real_##name(fd, parts, n, offset);                                                        \
        }                                                                                                    \
        TIMED(ssize_t, real_##name(fd, parts, n, offset));                                                   \
        return at_offset(WT_OP_##OP, ofd, offset, done < 0 ? 0 : total(parts, n), done, error, t0, t1);      \
    }
VECTOR_AT_OFFSET(preadv, off_t, PREADV)
VECTOR_AT_OFFSET(preadv64, off64_t, PREADV)
VECTOR_AT_OFFSET(pwritev, off_t, PWRITEV)
VECTOR_AT_OFFSET(pwritev64, off64_t, PWRITEV)

/* Offset -1 means the file's position (preadv2(2)). */
#define VECTOR_WITH_FLAGS(name, offset_type, OP, POSITION_OP)                                                \
    WT_EXPORT ssize_t name(int fd, const struct iovec *parts, int n, offset_type offset, int flags) {        \
        WT_REAL(name);                                                                                       \
        struct wt_ofd *ofd = wt_ofd_of(fd);                                                                  \
        if (ofd == NULL) {                                                                                   \
            return real_##name(fd, parts, n, offset, flags);                                                 \
        }                                                                                                    \
        TIMED(ssize_t, real_##name(fd, parts, n, offset, flags));                                            \
        size_t asked = done < 0 ? 0 : total(parts, n);                                                       \
        return offset == -1 ? at_position(WT_OP_##POSITION_OP, ofd, fd, asked, done, error, t0, t1)          \
                            : at_offset(WT_OP_##OP, ofd, offset, asked, done, error, t0, t1);                \
    }
VECTOR_WITH_FLAGS(preadv2, off_t, PREADV, READV)
VECTOR_WITH_FLAGS(preadv64v2, off64_t, PREADV, READV)
VECTOR_WITH_FLAGS(pwritev2, off_t, PWRITEV, WRITEV)
VECTOR_WITH_FLAGS(pwritev64v2, off64_t, PWRITEV, WRITEV)

/* ---- position, size, durability: operations of a descriptor that move nothing ---- */

static void of_fd(uint32_t op, const struct wt_ofd *ofd, int64_t offset, int64_t arg, bool ok, int error,
                  uint64_t t0, uint64_t t1) {
    wt_record_plain(op, ofd->file, ofd->handle, offset, arg, ok ? 0 : error, t0, t1);
    errno = error;
}

#define SEEK(name, offset_type)                                                                              \
    WT_EXPORT offset_type name(int fd, offset_type offset, int whence) {                                     \
        WT_REAL(name);                                                                                       \
        struct wt_ofd *ofd = wt_ofd_of(fd);                                                                  \
        if (ofd == NULL) {                                                                                   \
            return real_##name(fd, offset, whence);                                                          \
        }                                                                                                    \
        TIMED(offset_type, real_##name(fd, offset, whence));                                                 \
        if (done >= 0) {                                                                                     \
            ofd->position = done;                                                                            \
        }                                                                                                    \
        of_fd(WT_OP_LSEEK, ofd, done >= 0 ? done : WT_UNKNOWN, whence, done >= 0, error, t0, t1);            \
        return done;                                                                                         \
    }
SEEK(lseek, off_t)
SEEK(lseek64, off64_t)

#define OF_FD(name, OP, arg_value, offset_value, parameters, arguments)                                      \
    WT_EXPORT int name parameters {                                                                          \
        WT_REAL(name);                                                                                       \
        struct wt_ofd *ofd = wt_ofd_of(fd);                                                                  \
        if (ofd == NULL) {                                                                                   \
            return real_##name arguments;                                                                    \
        }                                                                                                    \
        TIMED(int, real_##name arguments);                                                                   \
        of_fd(WT_OP_##OP, ofd, offset_value, arg_value, done == 0, done > 0 ? done : error, t0, t1);         \
        errno = error;                                                                                       \
        return done;                                                                                         \
    }
OF_FD(fsync, FSYNC, 0, WT_UNKNOWN, (int fd), (fd))
OF_FD(fdatasync, FDATASYNC, 0, WT_UNKNOWN, (int fd), (fd))
OF_FD(sync_file_range, SYNC_FILE_RANGE, n, offset, (int fd, off64_t offset, off64_t n, unsigned flags),
      (fd, offset, n, flags))
OF_FD(ftruncate, FTRUNCATE, size, WT_UNKNOWN, (int fd, off_t size), (fd, size))
OF_FD(ftruncate64, FTRUNCATE, size, WT_UNKNOWN, (int fd, off64_t size), (fd, size))
OF_FD(fallocate, FALLOCATE, offset + size, offset, (int fd, int mode, off_t offset, off_t size),
      (fd, mode, offset, size))
OF_FD(fallocate64, FALLOCATE, offset + size, offset, (int fd, int mode, off64_t offset, off64_t size),
      (fd, mode, offset, size))
OF_FD(posix_fallocate, FALLOCATE, offset + size, offset, (int fd, off_t offset, off_t size),
      (fd, offset, size))
OF_FD(posix_fallocate64, FALLOCATE, offset + size, offset, (int fd, off64_t offset, off64_t size),
      (fd, offset, size))
OF_FD(fstat, FSTAT, 0, WT_UNKNOWN, (int fd, struct stat *facts), (fd, facts))
OF_FD(fstat64, FSTAT, 0, WT_UNKNOWN, (int fd, struct stat64 *facts), (fd, facts))
int __fxstat(int version, int fd, struct stat *facts);
int __fxstat64(int version, int fd, struct stat64 *facts);
OF_FD(__fxstat, FSTAT, 0, WT_UNKNOWN, (int version, int fd, struct stat *facts), (version, fd, facts))
OF_FD(__fxstat64, FSTAT, 0, WT_UNKNOWN, (int version, int fd, struct stat64 *facts), (version, fd, facts))

/* ---- moving bytes inside the kernel: a read of one file and a write of the other ---- */

/* One side: at *offset, or at the descriptor's position when there is none. The length that such a call gives
 * is a bound and no request (cp gives 2^63): the row's size is what was moved. */
static void one_side(uint32_t op, int fd, const int64_t *offset, ssize_t done, int error, uint64_t t0,
                     uint64_t t1) {
    struct wt_ofd *ofd = wt_ofd_of(fd);
    size_t size = done > 0 ? (size_t)done : 0;
    if (ofd != NULL && offset != NULL) {
        at_offset(op, ofd, *offset, size, done, error, t0, t1);
    } else if (ofd != NULL) {
        at_position(op, ofd, fd, size, done, error, t0, t1);
    }
}

#define SENDFILE(name, offset_type)                                                                          \
    WT_EXPORT ssize_t name(int to, int from, offset_type *offset, size_t size) {                             \
        WT_REAL(name);                                                                                       \
        int64_t before = offset ? *offset : 0;                                                               \
        TIMED(ssize_t, real_##name(to, from, offset, size));                                                 \
        one_side(WT_OP_SENDFILE_READ, from, offset ? &before : NULL, done, error, t0, t1);                   \
        one_side(WT_OP_SENDFILE_WRITE, to, NULL, done, error, t1, t1);                                       \
        errno = error;                                                                                       \
        return done;                                                                                         \
    }
SENDFILE(sendfile, off_t)
SENDFILE(sendfile64, off64_t)

/* Calls with an offset on either side. The pipe of a splice is no file: only its other side is a row. */
#define TWO_SIDES(name, READ_OP, WRITE_OP)                                                                   \
    WT_EXPORT ssize_t name(int from, off64_t *from_offset, int to, off64_t *to_offset, size_t size,          \
                           unsigned flags) {                                                                 \
        WT_REAL(name);                                                                                       \
        int64_t from_before = from_offset ? *from_offset : 0, to_before = to_offset ? *to_offset : 0;        \
        TIMED(ssize_t, real_##name(from, from_offset, to, to_offset, size, flags));                          \
        one_side(WT_OP_##READ_OP, from, from_offset ? &from_before : NULL, done, error, t0, t1);             \
        one_side(WT_OP_##WRITE_OP, to, to_offset ? &to_before : NULL, done, error, t1, t1);                  \
        errno = error;                                                                                       \
        return done;                                                                                         \
    }
TWO_SIDES(copy_file_range, COPY_READ, COPY_WRITE)
TWO_SIDES(splice, SENDFILE_READ, SENDFILE_WRITE)
