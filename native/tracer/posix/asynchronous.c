/* Asynchronous I/O: requests are rows where they are made. Threads of the C library (POSIX) or the kernel
 * (libaio) perform them later, and no call of the program says when. */
#define _GNU_SOURCE
#undef _FORTIFY_SOURCE
#include "posix/posix.h"
#include "symbols.h"

#include <aio.h>
#include <errno.h>
#include <linux/aio_abi.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static void asked(uint32_t op, int fd, int64_t size, int64_t offset, int error, uint64_t t0, uint64_t t1) {
    struct wt_ofd *ofd = wt_ofd_of(fd);
    if (ofd != NULL) {
        struct wt_event event = {.op = op,
                                 .file = ofd->file,
                                 .handle = ofd->handle,
                                 .view = WT_UNKNOWN,
                                 .size = op == WT_OP_AIO_FSYNC ? 0 : size,
                                 .offset = op == WT_OP_AIO_FSYNC ? WT_UNKNOWN : offset,
                                 .error = error,
                                 .start = t0,
                                 .end = t1};
        event.moved = error == 0 ? event.size : 0;
        event.view_offset = event.offset;
        wt_record_posix(&event);
    }
}

/* ---- POSIX ---- */

static void asked_posix(uint32_t op, const struct aiocb *request, int result, int error, uint64_t t0,
                        uint64_t t1) {
    asked(op, request->aio_fildes, (int64_t)request->aio_nbytes, request->aio_offset, result == 0 ? 0 : error,
          t0, t1);
    errno = error;
}

/* struct aiocb64 is struct aiocb where off_t has 64 bits. */
_Static_assert(sizeof(off_t) == 8, "aiocb and aiocb64 differ");

#define AIO(name, OP, type)                                                                                  \
    WT_EXPORT int name(type *request) {                                                                      \
        WT_REAL(name);                                                                                       \
        uint64_t t0 = wt_now();                                                                              \
        int result = real_##name(request);                                                                   \
        uint64_t t1 = wt_now();                                                                              \
        asked_posix(WT_OP_##OP, (const struct aiocb *)request, result, errno, t0, t1);                       \
        return result;                                                                                       \
    }
AIO(aio_read, AIO_READ, struct aiocb)
AIO(aio_read64, AIO_READ, struct aiocb64)
AIO(aio_write, AIO_WRITE, struct aiocb)
AIO(aio_write64, AIO_WRITE, struct aiocb64)

#define AIO_FSYNC(name, type)                                                                                \
    WT_EXPORT int name(int how, type *request) {                                                             \
        WT_REAL(name);                                                                                       \
        uint64_t t0 = wt_now();                                                                              \
        int result = real_##name(how, request);                                                              \
        uint64_t t1 = wt_now();                                                                              \
        asked_posix(WT_OP_AIO_FSYNC, (const struct aiocb *)request, result, errno, t0, t1);                  \
        return result;                                                                                       \
    }
AIO_FSYNC(aio_fsync, struct aiocb)
AIO_FSYNC(aio_fsync64, struct aiocb64)

#define LIO_LISTIO(name, type)                                                                               \
    WT_EXPORT int name(int mode, type *const list[], int n, struct sigevent *event) {                        \
        WT_REAL(name);                                                                                       \
        uint64_t t0 = wt_now();                                                                              \
        int result = real_##name(mode, list, n, event);                                                      \
        uint64_t t1 = wt_now();                                                                              \
        int error = errno;                                                                                   \
        for (int i = 0; i < n; i++) {                                                                        \
            if (list[i] != NULL && list[i]->aio_lio_opcode != LIO_NOP) {                                     \
                asked_posix(list[i]->aio_lio_opcode == LIO_READ ? WT_OP_AIO_READ : WT_OP_AIO_WRITE,          \
                            (const struct aiocb *)list[i], result, error, t0, t1);                           \
            }                                                                                                \
        }                                                                                                    \
        errno = error;                                                                                       \
        return result;                                                                                       \
    }
LIO_LISTIO(lio_listio, struct aiocb)
LIO_LISTIO(lio_listio64, struct aiocb64)

/* ---- libaio, which hands requests to the kernel ---- */

_Thread_local bool wt_submitting;

static int64_t bytes_of(const struct iovec *pieces, uint64_t n) {
    int64_t size = 0;
    for (uint64_t i = 0; i < n; i++) {
        size += (int64_t)pieces[i].iov_len;
    }
    return size;
}

static void submitted(const struct iocb *request, uint64_t t0, uint64_t t1) {
    const int fd = (int)request->aio_fildes;
    int64_t size = (int64_t)request->aio_nbytes;
    switch (request->aio_lio_opcode) {
    case IOCB_CMD_PREADV:
    case IOCB_CMD_PWRITEV:
        size = bytes_of((const struct iovec *)(uintptr_t)request->aio_buf, request->aio_nbytes);
        break;
    case IOCB_CMD_PREAD:
    case IOCB_CMD_PWRITE:
    case IOCB_CMD_FSYNC:
    case IOCB_CMD_FDSYNC:
        break;
    default: /* waits for a descriptor, and what moves nothing */
        return;
    }
    static const uint32_t ops[] = {
        [IOCB_CMD_PREAD] = WT_OP_AIO_READ,   [IOCB_CMD_PREADV] = WT_OP_AIO_READ,
        [IOCB_CMD_PWRITE] = WT_OP_AIO_WRITE, [IOCB_CMD_PWRITEV] = WT_OP_AIO_WRITE,
        [IOCB_CMD_FSYNC] = WT_OP_AIO_FSYNC,  [IOCB_CMD_FDSYNC] = WT_OP_AIO_FSYNC,
    };
    asked(ops[request->aio_lio_opcode], fd, size, request->aio_offset, 0, t0, t1);
}

/* The kernel takes the first so many requests, and those are rows. */
static void record_taken(long n, struct iocb **requests, uint64_t t0, uint64_t t1) {
    int error = errno;
    for (long i = 0; i < n; i++) {
        submitted(requests[i], t0, t1);
    }
    errno = error;
}

/* As libaio's own: it gives what was wrong as a negative number, and leaves errno. */
static int submit(aio_context_t queue, long n, struct iocb **requests) {
    int saved = errno;
    int result = (int)syscall(SYS_io_submit, queue, n, requests);
    if (result < 0) {
        result = -errno;
        errno = saved;
    }
    return result;
}

/* A library that only an object with a scope of its own has loaded (RTLD_LOCAL) is not found behind us: then
 * the call is made here. */
WT_EXPORT int io_submit(aio_context_t queue, long n, struct iocb **requests);
WT_EXPORT int io_submit(aio_context_t queue, long n, struct iocb **requests) {
    WT_REAL(io_submit);
    uint64_t t0 = wt_now();
    wt_submitting = true; /* the library may make its call by syscall(2) */
    int result = real_io_submit != NULL ? real_io_submit(queue, n, requests) : submit(queue, n, requests);
    wt_submitting = false;
    uint64_t t1 = wt_now();
    record_taken(result, requests, t0, t1);
    return result;
}

/* The same by syscall(2): of a program, or of a libaio that it loaded and asked for its function. */
long wt_submit_seen(long number, aio_context_t queue, long n, struct iocb **requests) {
    uint64_t t0 = wt_now();
    long result = syscall(number, queue, n, requests);
    record_taken(result, requests, t0, wt_now());
    return result;
}
