/* Keeps the mappings of open files. Their memory is not touched: which bytes the application touched is in no
 * trace. */
#include "backends/mappings.h"

#include "backends/refusals.h"
#include "failure.h"

#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

static struct mapping {
    const struct plan_file *file;
    void *place;
    size_t length;
} * mappings; /* the newest last */
static int n_mappings;

bool wt_mapping_make(const struct file_action *a) {
    const struct open_file *f = a->open;
    int protection = f->readable && f->writable ? PROT_READ | PROT_WRITE : PROT_READ;
    off_t offset = a->offset < 0 ? 0 : (off_t)a->offset, page = sysconf(_SC_PAGESIZE);
    void *near = a->refused ? (void *)(uintptr_t)wt_refused_path("", a->error) : NULL;
    void *place = mmap(near, (size_t)wt_length(a), protection, f->readable ? MAP_SHARED : MAP_PRIVATE, f->fd,
                       offset - offset % page);
    if (place == MAP_FAILED) {
        return false;
    }
    mappings = wt_must_grow(mappings, (size_t)(n_mappings + 1) * sizeof *mappings);
    mappings[n_mappings++] = (struct mapping){a->file, place, (size_t)wt_length(a)};
    return true;
}

static struct mapping *latest_of(const struct plan_file *file) {
    for (int i = n_mappings - 1; i >= 0; i--) {
        if (mappings[i].file == file) {
            return &mappings[i];
        }
    }
    return NULL;
}

bool wt_mapping_sync(const struct file_action *a) {
    const struct mapping *m = latest_of(a->file);
    return !m || msync(m->place, m->length, MS_SYNC) == 0;
}

bool wt_mapping_remove(const struct file_action *a) {
    struct mapping *m = latest_of(a->file);
    if (!m) {
        return true;
    }
    struct mapping gone = *m;
    for (; m < mappings + n_mappings - 1; m++) {
        *m = m[1];
    }
    n_mappings--;
    return munmap(gone.place, gone.length) == 0;
}
