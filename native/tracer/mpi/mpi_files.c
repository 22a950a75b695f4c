/* The files that MPI-IO has open: a table by handle. Communicators and types hold their numbers as
 * attributes, which MPI does not have for files. Entries never move, so that a look-up takes no lock. */
#define _GNU_SOURCE
#include "mpi/mpi_files.h"
#include "mpi/views.h"
#include "posix/posix.h"

#include <fcntl.h>
#include <sched.h>
#include <string.h>

#define OPEN_MAX_FILES 4096

static struct wt_mpi_file open_files[OPEN_MAX_FILES];

static atomic_bool lock;

void wt_mpi_lock(void) {
    for (unsigned spins = 0; atomic_exchange_explicit(&lock, true, memory_order_acquire); spins++) {
        if (spins > 100) {
            sched_yield();
        }
    }
}

void wt_mpi_unlock(void) {
    atomic_store_explicit(&lock, false, memory_order_release);
}

static unsigned slot_of(MPI_File key) {
    return (unsigned)(((uintptr_t)key >> 4) % OPEN_MAX_FILES);
}

struct wt_mpi_file *wt_mpi_file_find(MPI_File key) {
    for (unsigned i = 0, slot = slot_of(key); i < OPEN_MAX_FILES; i++) {
        struct wt_mpi_file *file = &open_files[(slot + i) % OPEN_MAX_FILES];
        if (file->key == key) {
            return file;
        }
        if (!file->used) {
            return NULL;
        }
    }
    return NULL;
}

struct wt_mpi_file *wt_mpi_file_enter(MPI_File key) {
    struct wt_mpi_file *entered = NULL;
    wt_lock();
    for (unsigned i = 0, slot = slot_of(key); i < OPEN_MAX_FILES && entered == NULL; i++) {
        struct wt_mpi_file *file = &open_files[(slot + i) % OPEN_MAX_FILES];
        if (file->key == NULL) {
            *file = (struct wt_mpi_file){.key = key,
                                         .handle = wt_new_handle(),
                                         .view = WT_VIEW_NONE,
                                         .etype_size = 1,
                                         .split = {.file = WT_UNKNOWN},
                                         .used = true};
            entered = file;
        }
    }
    wt_unlock();
    return entered;
}

const char *wt_mpi_file_name(const char *name) { /* ROMIO and OMPIO take "ufs:/path" */
    const char *colon = strchr(name, ':');
    for (const char *c = name; colon != NULL && c < colon; c++) {
        if (*c == '/') {
            return name;
        }
    }
    return colon != NULL && colon - name > 1 ? colon + 1 : name;
}

int32_t wt_mpi_file_number(const char *name, const struct stat *before, bool existed) {
    char path[WT_PATH_BYTES], behind[WT_PATH_BYTES];
    struct wt_facts facts;
    int32_t file = WT_UNKNOWN;
    name = wt_mpi_file_name(name);
    wt_lock();
    bool named = wt_name(AT_FDCWD, name, path) > 0;
    wt_unlock();
    if (!named) {
        return file;
    }
    int64_t size = existed ? before->st_size : 0;
    bool there = wt_look(AT_FDCWD, name, 0, 0, &facts);
    bool link = there && wt_links_to(path, behind) && wt_path_kept(path) && wt_path_kept(behind);
    wt_lock();
    file = link ? wt_file_of_link(path, behind, &facts, size, existed)
                : wt_file_of_path(path, there ? &facts : NULL, size, existed);
    wt_unlock();
    return file;
}

void wt_mpi_file_record(uint32_t op, const struct wt_mpi_file *file, const struct wt_call *call, int status,
                        int64_t offset, int64_t arg) {
    struct wt_event event = wt_mpi_event(op, call, status);
    if (file == NULL || !wt_level_mpiio) {
        return;
    }
    int saved = errno;
    event.file = file->file;
    event.handle = file->handle;
    event.offset = event.view_offset = offset;
    event.arg = arg;
    wt_record_mpi(&event);
    errno = saved;
}
