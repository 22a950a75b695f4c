/* Mapped files: what can be seen of accesses that are no calls. Loads and stores of mapped memory are none,
 * so that only the mapping is a row, and the trace notes it. */
#define _GNU_SOURCE
#undef _FORTIFY_SOURCE
#include "posix/posix.h"
#include "symbols.h"

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
