/* This rank's open files: finding, opening, seeking; each call is timed as metadata. A file or folder that
 * another rank makes may come later than in the traced run, since nothing of the plan orders the two. Such a
 * call waits, and the waiting is no I/O time. */
#include "run/perform_parts.h"

#include "backends/raw_syscalls.h"
#include "backends/refusals.h"
#include "failure.h"
#include "run/flush.h"
#include "verify/extent_check.h"
#include "verify/verify_state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct open_file *wt_slot_for(struct replay *r, int64_t handle, const struct plan_file *file,
                              enum call_layer layer) {
    struct open_file *slot = NULL;
    for (int32_t i = 0; i < r->n_open_files && !slot; i++) {
        if (!r->open_files[i]->is_open) {
            slot = r->open_files[i];
        }
    }
    if (slot) { /* the newest is last */
        int32_t i = 0;
        while (r->open_files[i] != slot) {
            i++;
        }
        memmove(&r->open_files[i], &r->open_files[i + 1],
                (size_t)(r->n_open_files - i - 1) * sizeof(struct open_file *));
        r->open_files[r->n_open_files - 1] = slot;
    } else {
        r->open_files = wt_must_grow(r->open_files, (size_t)(r->n_open_files + 1) * sizeof *r->open_files);
        slot = r->open_files[r->n_open_files++] = wt_must_alloc(sizeof *slot);
    }
    *slot = (struct open_file){
        .handle = handle, .file = file, .layer = layer, .view_index = -1, .communicator = -1, .fd = -1};
    wt_flush_follow(r, slot);
    return slot;
}

struct open_file *wt_find_open(const struct replay *r, const struct plan_file *file, enum call_layer layer,
                               int64_t handle, enum call_kind kind) {
    struct open_file *latest = NULL;
    for (int32_t i = r->n_open_files - 1; i >= 0; i--) {
        struct open_file *f = r->open_files[i];
        if (!f->is_open || f->file != file || f->layer != layer) {
            continue;
        }
        if (handle >= 0 && f->handle == handle) {
            return f;
        }
        bool allowed = kind == KIND_FILE || (kind == KIND_READ ? f->readable : f->writable);
        if (!latest && allowed) {
            latest = f;
        }
    }
    return latest;
}

/* A file that another rank makes may come a little later than in the traced run: nothing of the plan orders
 * the two. Wait for it, but not for ever. */
static void wait_for_file(struct replay *r, const struct file_action *action) {
    if (action->call == CALL_OPEN && action->file->made_in_run && !(wt_open_flags(action) & O_CREAT) &&
        !r->settings->null && !wt_raw_exists(wt_name_of(action)->path)) {
        r->waited_opens++;
        int64_t start = wt_now_ns();
        while (!wt_raw_exists(wt_name_of(action)->path) && wt_now_ns() - start < PATIENCE_NS) {
            nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        }
        wt_activity_waits(&r->activity, start, wt_now_ns());
    }
}

static enum io_kind kind_of(enum call call) {
    switch (call) {
    case CALL_FSYNC:
    case CALL_FDATASYNC:
    case CALL_AIO_FSYNC:
    case CALL_SYNC_FILE_RANGE:
    case CALL_MSYNC:
    case CALL_M_SYNC:
        return IO_FLUSH;
    default:
        return IO_METADATA;
    }
}

static enum io_rate rate_of(const struct file_action *a) {
    bool directory = a->open && a->open->directory;
    switch (a->call) {
    case CALL_OPEN:
        return wt_open_flags(a) & O_CREAT       ? RATE_CREATE
               : wt_open_flags(a) & O_DIRECTORY ? RATE_OPENDIR
                                                : RATE_OPEN;
    case CALL_M_OPEN:
        return RATE_OPEN;
    case CALL_CLOSE:
    case CALL_M_CLOSE:
        return directory ? RATE_CLOSEDIR : RATE_CLOSE;
    case CALL_READDIR:
        return RATE_READDIR;
    case CALL_STAT:
    case CALL_FSTAT:
    case CALL_M_GET_SIZE:
        return RATE_STAT;
    case CALL_ACCESS:
        return RATE_ACCESS;
    case CALL_UNLINK:
    case CALL_M_DELETE:
        return RATE_UNLINK;
    case CALL_MKDIR:
        return RATE_MKDIR;
    case CALL_RMDIR:
        return RATE_RMDIR;
    case CALL_MKNOD:
        return RATE_MKNOD;
    case CALL_RENAME:
        return RATE_RENAME;
    case CALL_LINK:
        return RATE_LINK;
    case CALL_SYMLINK:
        return RATE_SYMLINK;
    case CALL_READLINK:
        return RATE_READLINK;
    case CALL_CHMOD:
    case CALL_FCHMOD:
    case CALL_CHOWN:
    case CALL_FCHOWN:
    case CALL_UTIME:
    case CALL_FUTIME:
        return RATE_ATTRIBUTES;
    case CALL_TRUNCATE:
    case CALL_FTRUNCATE:
    case CALL_FALLOCATE:
    case CALL_M_SET_SIZE:
    case CALL_M_PREALLOCATE:
        return RATE_RESIZE;
    default:
        return RATE_NONE;
    }
}

/* Where a call makes a name in a folder that another rank makes a little later than in the traced run:
 * whether the folder came. */
static bool folder_came(struct replay *r, const struct file_action *action, int64_t since_ns) {
    const struct plan_name *made =
        action->other ? &action->other->names[action->other_name] : wt_name_of(action);
    const char *slash = strrchr(made->name, '/');
    bool makes = action->other || action->call == CALL_MKDIR || action->call == CALL_MKNOD ||
                 (wt_open_flags(action) & O_CREAT);
    if (!makes || !slash || r->settings->null || wt_raw_exists(made->path)) {
        return false;
    }
    char *folder = strdup(made->path);
    if (!folder) {
        return false;
    }
    *strrchr(folder, '/') = 0;
    while (!wt_raw_exists(folder) && wt_now_ns() - since_ns < PATIENCE_NS) {
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    bool came = wt_raw_exists(folder);
    free(folder);
    return came;
}

/* Whether a file system answered an open that may create a file, or find it, by "File exists": MooseFS does
 * so to one of two nodes that open at the same moment. POSIX knows no such answer, and the next open finds
 * the file. */
static bool found_too_late(const struct file_action *action, int error) {
    return action->call == CALL_OPEN && error == EEXIST &&
           (wt_open_flags(action) & (O_CREAT | O_EXCL)) == O_CREAT;
}

/* What may have happened already, or has another rank to do it: ranks may race to remove a file, or to make a
 * folder. */
static bool is_tolerable(enum call call, int error) {
    switch (call) {
    case CALL_STAT:
    case CALL_ACCESS:
    case CALL_UNLINK:
    case CALL_RMDIR:
        return error == ENOENT;
    case CALL_MKDIR:
        return error == EEXIST;
    default:
        return call == CALL_M_DELETE;
    }
}

/* How a call that failed in the traced run is made; false: not at all. */
static bool prepare_refusal(struct replay *r, struct file_action *action) {
    if (r->settings->null || wt_calls[action->call].layer != LAYER_POSIX) {
        return true;
    }
    const enum refusal refusal = wt_refusal_of(action);
    action->refused = refusal == BY_THE_FILTER;
    r->other_results += refusal == NOT_POSSIBLE;
    return refusal != NOT_POSSIBLE;
}

void wt_act_on_file(struct replay *r, const struct file_action *wanted, int32_t traced_error) {
    const struct backend *backend = wt_backend_of(r, wt_calls[wanted->call].layer);
    struct file_action own = *wanted;
    const struct file_action *action = &own;
    if (!traced_error) {
        wait_for_file(r, action);
    } else if (!prepare_refusal(r, &own)) {
        return;
    }
    enum io_rate rate = rate_of(action);
    int64_t start = wt_now_ns();
    bool done = backend->act(action);
    if (!done && traced_error == 0 && backend->error() == ENOENT && folder_came(r, action, start)) {
        wt_activity_waits(&r->activity, start, wt_now_ns());
        r->waited_opens++;
        start = wt_now_ns();
        done = backend->act(action);
    }
    if (!done && traced_error == 0 && found_too_late(action, backend->error())) {
        r->opens_again++; /* in the time of this call */
        done = backend->act(action);
    }
    int64_t end = wt_now_ns();
    const int error = done ? 0 : backend->error();
    r->other_results += !r->settings->null && error != traced_error;
    wt_activity_call(&r->activity, kind_of(action->call), rate, start, end);
    r->metadata_ns += end - start;
    r->metadata_operations++;
    if (done) {
        if (action->open && action->open->synchronous) {
            wt_flush_follow(r, action->open);
        }
        wt_flush_acted(r, action);
        wt_extent_forget(action);
        wt_verify_acted(action);
    }
    if (!done && traced_error == 0 && !is_tolerable(action->call, error)) {
        wt_fail(&(struct doing){wt_calls[action->call].name, wt_name_of(action)->name, action->offset, -1},
                "%s", backend->reason());
    }
    if (r->settings->null && action->open) { /* the null backend keeps no state of its own */
        struct open_file *f = action->open;
        f->is_open = action->call != CALL_CLOSE && action->call != CALL_M_CLOSE;
        f->readable = f->writable = true;
    }
}

/* By which of its names a file is there: those that it had before its own come first. */
static int32_t present_name(const struct plan_file *file) {
    for (int32_t k = 1; k <= file->n_names && file->n_names > 1; k++) {
        if (wt_raw_exists(file->names[k % file->n_names].path)) {
            return k % file->n_names;
        }
    }
    return 0;
}

/* A file that the traced run had open before the trace began, or that a process inherited open. */
struct open_file *wt_open_unasked(struct replay *r, const struct plan_file *file, enum call_kind kind) {
    struct open_file *f = wt_slot_for(r, -1, file, LAYER_POSIX);
    wt_act_on_file(r,
                   &(struct file_action){.call = CALL_OPEN,
                                         .file = file,
                                         .open = f,
                                         .name = present_name(file),
                                         .arg = kind == KIND_WRITE ? O_RDWR | O_CREAT : O_RDONLY,
                                         .offset = -1,
                                         .direct = r->settings->direct},
                   0);
    return f;
}
