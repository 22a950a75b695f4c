/* Mapped files and asynchronous I/O: what can be seen of accesses that are no read or write calls. Loads and
 * stores of mapped memory are no calls, so that only the mapping is a row, and the trace notes it.
 * Asynchronous requests are rows where they are made, as the C library's own threads perform them. */
#define _GNU_SOURCE
#undef _FORTIFY_SOURCE
#include "posix/posix.h"
#include "symbols.h"

#include <aio.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MAPS_MAX                                                                                             \
    256 /* shared or private mappings of traced files that are remembered for munmap and msync               \
         */

static struct {
    uintptr_t start;
    size_t length;
    int32_t file, handle;
    int64_t offset;
} maps[MAPS_MAX];
static unsigned n_maps; /* highest used + 1 */
static bool noted;

static void mapped(int fd, void *place, size_t size, off64_t offset, int error, uint64_t t0, uint64_t t1) {
    struct wt_ofd *ofd = wt_ofd_of(fd);
    if (ofd == NULL) {
        return;
    }
    if (place != MAP_FAILED) {
        wt_lock();
        for (unsigned i = 0; i < MAPS_MAX; i++) {
            if (maps[i].length == 0) {
                maps[i].start = (uintptr_t)place;
                maps[i].length = size;
                maps[i].file = ofd->file;
                maps[i].handle = ofd->handle;
                maps[i].offset = offset;
                n_maps = i >= n_maps ? i + 1 : n_maps;
                break;
            }
        }
        if (!noted) {
            noted = true;
            wt_meta_begin(WT_META_NOTE);
            wt_meta_number(WT_NOTE_MAPPED);
            wt_meta_string("");
            wt_meta_end();
        }
        wt_unlock();
    }
    wt_record_plain(WT_OP_MMAP, ofd->file, ofd->handle, offset, (int64_t)size,
                    place == MAP_FAILED ? error : 0, t0, t1);
}

#define MMAP(name, offset_type)                                                                              \
    WT_EXPORT void *name(void *place, size_t size, int protection, int flags, int fd, offset_type offset) {  \
        if (fd < 0 || wt_inside) { /* memory: asked for by our own look-up of names, too */                  \
            return (void *)syscall(SYS_mmap, place, size, protection, flags, fd, offset);                    \
        }                                                                                                    \
        WT_REAL(name);                                                                                       \
        if (!wt_active) {                                                                                    \
            return real_##name(place, size, protection, flags, fd, offset);                                  \
        }                                                                                                    \
        uint64_t t0 = wt_now();                                                                              \
        void *done = real_##name(place, size, protection, flags, fd, offset);                                \
        uint64_t t1 = wt_now();                                                                              \
        int error = errno;                                                                                   \
        mapped(fd, done, size, offset, error, t0, t1);                                                       \
        errno = error;                                                                                       \
        return done;                                                                                         \
    }
MMAP(mmap, off_t)
MMAP(mmap64, off64_t)

/* The mapping that begins at or holds an address, n_maps if none of a traced file does. */
static unsigned find(const void *place) {
    for (unsigned i = 0; i < n_maps; i++) {
        if (maps[i].length > 0 && (uintptr_t)place - maps[i].start < maps[i].length) {
            return i;
        }
    }
    return n_maps;
}

WT_EXPORT int munmap(void *place, size_t size) {
    if (wt_inside) {
        return (int)syscall(SYS_munmap, place, size);
    }
    WT_REAL(munmap);
    unsigned i = wt_active ? find(place) : n_maps;
    if (i == n_maps) {
        return real_munmap(place, size);
    }
    uint64_t t0 = wt_now();
    int result = real_munmap(place, size);
    uint64_t t1 = wt_now();
    int error = errno;
    wt_record_plain(WT_OP_MUNMAP, maps[i].file, maps[i].handle, maps[i].offset, (int64_t)size,
                    result == 0 ? 0 : error, t0, t1);
    if ((uintptr_t)place == maps[i].start && size >= maps[i].length) {
        maps[i].length = 0;
    }
    errno = error;
    return result;
}

WT_EXPORT int msync(void *place, size_t size, int flags) {
    WT_REAL(msync);
    unsigned i = wt_active && !wt_inside ? find(place) : n_maps;
    if (i == n_maps) {
        return real_msync(place, size, flags);
    }
    uint64_t t0 = wt_now();
    int result = real_msync(place, size, flags);
    uint64_t t1 = wt_now();
    int error = errno;
    wt_record_plain(WT_OP_MSYNC, maps[i].file, maps[i].handle,
                    maps[i].offset + (int64_t)((uintptr_t)place - maps[i].start), (int64_t)size,
                    result == 0 ? 0 : error, t0, t1);
    errno = error;
    return result;
}

/* ---- POSIX asynchronous I/O: recorded when it is asked for; the C library's own threads do it ---- */

static void asked(uint32_t op, const struct aiocb *request, int result, int error, uint64_t t0, uint64_t t1) {
    struct wt_ofd *ofd = wt_ofd_of(request->aio_fildes);
    if (ofd != NULL) {
        struct wt_event event = {.op = op,
                                 .file = ofd->file,
                                 .handle = ofd->handle,
                                 .view = WT_UNKNOWN,
                                 .size = op == WT_OP_AIO_FSYNC ? 0 : (int64_t)request->aio_nbytes,
                                 .offset = op == WT_OP_AIO_FSYNC ? WT_UNKNOWN : request->aio_offset,
                                 .error = result == 0 ? 0 : error,
                                 .start = t0,
                                 .end = t1};
        event.moved = result == 0 ? event.size : 0;
        event.view_offset = event.offset;
        wt_record_posix(&event);
    }
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
        asked(WT_OP_##OP, (const struct aiocb *)request, result, errno, t0, t1);                             \
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
        asked(WT_OP_AIO_FSYNC, (const struct aiocb *)request, result, errno, t0, t1);                        \
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
                asked(list[i]->aio_lio_opcode == LIO_READ ? WT_OP_AIO_READ : WT_OP_AIO_WRITE,                \
                      (const struct aiocb *)list[i], result, error, t0, t1);                                 \
            }                                                                                                \
        }                                                                                                    \
        errno = error;                                                                                       \
        return result;                                                                                       \
    }
LIO_LISTIO(lio_listio, struct aiocb)
LIO_LISTIO(lio_listio64, struct aiocb64)
