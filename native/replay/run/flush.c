/* Counts the bytes that no call has brought to storage, and flushes them within the run's time: otherwise a
 * replay that ends earlier than the writing of its data would look faster. */
#include "run/flush.h"

#include "backends/raw_syscalls.h"
#include "failure.h"
#include "run/members.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

static struct unflushed *of(struct replay *r, const struct plan_file *file) {
    return &r->unflushed[file - r->plan->files];
}

void wt_flush_follow(struct replay *r, struct open_file *f) {
    f->unflushed_bytes = f->synchronous ? &r->synchronous_bytes : &of(r, f->file)->bytes;
}

void wt_flush_acted(struct replay *r, const struct file_action *action) {
    switch (action->call) {
    case CALL_FSYNC:
    case CALL_FDATASYNC:
    case CALL_AIO_FSYNC:
    case CALL_M_SYNC: /* sync_file_range promises nothing, and msync is about a mapping */
        *of(r, action->file) = (struct unflushed){0};
        break;
    case CALL_RENAME:
        if (action->other &&
            action->other != action->file) { /* a file of the model's own under the new name */
            *of(r, action->other) = *of(r, action->file);
            *of(r, action->file) = (struct unflushed){0};
        }
        break;
    default:
        break;
    }
}

/* An open of the file that the plan has not closed; -1: none. */
static int still_open(const struct replay *r, const struct plan_file *file) {
    for (int32_t i = 0; i < r->n_open_files; i++) {
        const struct open_file *f = r->open_files[i];
        if (f->is_open && f->file == file && f->layer == LAYER_POSIX) {
            return f->fd;
        }
    }
    return -1;
}

static int open_by_any_name(const struct plan_file *file) {
    int fd = -1;
    for (int32_t k = 0; fd < 0 && k < file->n_names; k++) {
        for (int way = 0; fd < 0 && way < 2; way++) { /* a file may be for writing alone */
            fd = wt_raw_open(file->names[k].path, (way ? O_WRONLY : O_RDONLY) | O_NONBLOCK | O_CLOEXEC);
        }
    }
    return fd;
}

/* The first of a file's names that is there. */
static bool look_by_any_name(const struct plan_file *file, struct raw_facts *facts) {
    for (int32_t k = 0; k < file->n_names; k++) {
        if (wt_raw_look(-1, file->names[k].path, facts)) {
            return true;
        }
    }
    return false;
}

/* Whether an fsync failed because there is nothing to flush to, rather than because of the storage. */
static bool cannot_be_flushed(int error) {
    return error == EINVAL || error == EROFS || error == ENOSYS || error == EOPNOTSUPP;
}

/* Whether an fsync failed because another rank removed the file since it was opened. File systems of several
 * nodes forget such a file: GlusterFS opens it by its name alone. */
static bool was_removed(int error) {
    return error == ENOENT || error == ESTALE;
}

/* A file of the plan that may come to be by giving another one a new name. */
struct made_file {
    int32_t content; /* number of that other one */
    int32_t file;    /* index */
};

static int by_content(const void *a, const void *b) {
    const struct made_file *one = a, *other = b;
    if (one->content != other->content) {
        return one->content < other->content ? -1 : 1;
    }
    return (one->file > other->file) - (one->file < other->file);
}

/* Such files of all others, by those, then in the plan's order; looked for once. */
static const struct made_file *all_made(const struct plan *plan, int32_t *n) {
    static struct made_file *made;
    static int32_t n_made;
    if (!made) {
        made = wt_must_alloc(((size_t)plan->n_files + 1) * sizeof *made);
        for (int32_t i = 0; i < plan->n_files; i++) {
            if (plan->files[i].content != plan->files[i].id) {
                made[n_made++] = (struct made_file){plan->files[i].content, i};
            }
        }
        qsort(made, (size_t)n_made, sizeof *made, by_content);
    }
    *n = n_made;
    return made;
}

/* Files that another rank may have made of one, by giving it a new name: from `*at` on the next one, NULL: no
 * more. *at is -1 at first. */
static const struct plan_file *made_from(const struct replay *r, const struct plan_file *file, int32_t *at) {
    int32_t n;
    const struct made_file *made = all_made(r->plan, &n);
    if (*at < 0) {
        int32_t low = 0, high = n;
        while (low < high) {
            const int32_t middle = low + (high - low) / 2;
            if (made[middle].content < file->id) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        *at = low;
    }
    return *at < n && made[*at].content == file->id ? &r->plan->files[made[(*at)++].file] : NULL;
}

static int open_whatever_its_name(const struct replay *r, const struct plan_file *file) {
    int32_t at = -1;
    int fd = open_by_any_name(file);
    for (const struct plan_file *other; fd < 0 && errno == ENOENT && (other = made_from(r, file, &at));) {
        fd = open_by_any_name(other);
    }
    return fd;
}

static bool look_whatever_its_name(const struct replay *r, const struct plan_file *file,
                                   struct raw_facts *facts) {
    int32_t at = -1;
    bool found = look_by_any_name(file, facts);
    for (const struct plan_file *other; !found && (other = made_from(r, file, &at));) {
        found = look_by_any_name(other, facts);
    }
    return found;
}

static void flush_file(struct replay *r, const struct plan_file *file) {
    struct unflushed *u = of(r, file);
    const int kept_open = still_open(r, file),
              fd = kept_open >= 0 ? kept_open : open_whatever_its_name(r, file);
    if (fd < 0) { /* removed, or not permitted: wt_flush_left tells them apart */
        return;
    }
    const int error = wt_raw_sync(fd);
    if (kept_open < 0) {
        wt_raw_close(fd);
    }
    if (error == 0) {
        *u = (struct unflushed){0};
    } else if (!cannot_be_flushed(error) && !was_removed(error)) {
        wt_fail(&(struct doing){"fsync", file->name, -1, -1}, "%s", strerror(error));
    }
}

static void flush_waiting(void *to, struct replay *r, struct plan_file *file) {
    int64_t *start = to;
    if (!of(r, file)->waits) {
        return;
    }
    wt_status_enter(RANK_WORKS, "fsync", file->name, -1, -1);
    flush_file(r, file);
    int64_t end = wt_now_ns();
    wt_activity_calls(&r->activity, IO_FLUSH, *start, end);
    r->final_flush_ns += end - *start;
    *start = end;
}

void wt_flush_all(struct replay *r) {
    int64_t start = wt_now_ns();
    wt_members_each_written(r, flush_waiting, &start);
    for (int32_t i = 0; i < r->plan->n_files; i++) {
        flush_waiting(&start, r, &r->plan->files[i]);
    }
}

static void add_left(void *to, struct replay *r, struct plan_file *file) {
    const int64_t bytes = of(r, file)->bytes;
    struct raw_facts facts;
    if (bytes > 0 && look_whatever_its_name(r, file, &facts)) {
        *(int64_t *)to += facts.regular && facts.size < bytes ? facts.size : bytes;
    }
}

int64_t wt_flush_left(struct replay *r) {
    int64_t left = 0;
    wt_members_each_written(r, add_left, &left);
    for (int32_t i = 0; i < r->plan->n_files; i++) {
        add_left(&left, r, &r->plan->files[i]);
    }
    return left;
}
