/* What this rank's own calls do to the bytes of files, and what a read must find. Works on ranges and not on
 * bytes, so that memory grows with what is irregular. */
#include "verify/known_bytes.h"

#include "failure.h"
#include "plan/views.h"
#include "ranks/ranks.h"

#include <string.h>

static int32_t index_of(const struct plan_file *file) {
    return (int32_t)(file - wt_verify.plan->files);
}

/* ---- what this rank does ---- */

struct target {
    int32_t file;
    const void *key;
};

static void tell_written(void *to, struct band band) {
    const struct target *target = to;
    struct knowledge *k = wt_verify_file(target->file);
    if (target->key && band.count == 1) {
        for (int i = 0; i < N_GROWING; i++) {
            struct growing *g = &k->growing[i];
            if (g->key != target->key || g->band.length != band.length) {
                continue;
            }
            const int64_t distance = band.start - g->band.start - (g->band.count - 1) * g->band.stride;
            if (g->band.count == 1 && distance > 0) {
                g->band.stride = distance;
            }
            if (distance > 0 && distance == g->band.stride) {
                g->band.count++;
                return;
            }
        }
        struct growing *g = &k->growing[k->next_growing++ % N_GROWING];
        wt_verify_keep(target->file, g->band);
        *g = (struct growing){target->key, band};
        return;
    }
    wt_verify_keep(target->file, band);
}

/* Whether what is appended went where the plan says: not if another rank appended something in between. */
static bool is_in_place(const struct open_file *f, const struct knowledge *k, int64_t end) {
    return !f->append || k->n_writers == 0 || wt_raw_position(f->fd) == end;
}

void wt_verify_wrote(const struct open_file *f, const void *key, int64_t position, int64_t size, int64_t disp,
                     int64_t n, int64_t last) {
    if (!wt_verify.is_on || n <= 0) {
        return;
    }
    struct target target = {index_of(f->file), n == 1 && disp != size && !f->view ? key : NULL};
    struct knowledge *k = wt_verify_file(target.file);
    if (k->anywhere || k->epoch != f->epoch || wt_verify_is_pending(k) ||
        !is_in_place(f, k, position + (n - 1) * disp + last)) {
        return;
    }
    if (last != size) {
        wt_bands_in_file(f->view, wt_one_piece(position + (n - 1) * disp, position + (n - 1) * disp + last),
                         tell_written, &target);
        n--;
    }
    wt_bands_in_file(f->view, (struct band){position, size, disp, n}, tell_written, &target);
}

/* Nothing from a byte on is known any more. */
static void cut(int32_t file, int64_t size) {
    struct knowledge *k = wt_verify_file(file);
    wt_verify_settle(file);
    wt_ranges_cut(&k->holds, size);
    wt_ranges_cut(&k->fresh, size);
    for (int64_t i = 0; i < wt_verify.log.n; i++) {
        struct note *note = &wt_verify.log.notes[i];
        if (note->kind == NOTE_WROTE && note->file == file &&
            note->band.start + (note->band.count - 1) * note->band.stride + note->band.length > size) {
            note->band.length =
                note->band.count == 1 && note->band.start < size ? size - note->band.start : 0;
        }
    }
}

/* A file has been opened. It may be another one than before that has the name now. */
static void look_at(int32_t file, struct open_file *f, const char *path) {
    struct knowledge *k = wt_verify_file(file);
    struct raw_facts found;
    if (!wt_raw_look(f->fd, path, &found)) {
        return;
    }
    const bool same =
        k->has_inode && k->inode.number == found.number && k->inode.device == found.device && !k->loses_name;
    const bool is_other = (k->has_inode || k->loses_name) && !same;
    k->has_inode = true;
    k->loses_name = false;
    k->inode = found;
    k->epoch += is_other;
    if (found.size == 0 || is_other) {
        cut(file, 0);
    }
    if (found.size == 0 || !is_other) {
        return;
    }
    for (int32_t i = 0; i < wt_verify.plan->n_files;
         i++) { /* renamed or linked from another file of the plan */
        if (i != file && wt_verify.files[i] && wt_verify.files[i]->has_inode &&
            wt_verify.files[i]->inode.number == found.number &&
            wt_verify.files[i]->inode.device == found.device &&
            wt_verify.plan->files[i].content == wt_verify.plan->files[file].content) {
            wt_verify_settle(i);
            wt_ranges_each(&wt_verify.files[i]->holds, tell_written, &(struct target){file, NULL});
        }
    }
    wt_ranges_add(&k->others, wt_one_piece(0, INT64_MAX));
}

void wt_verify_turned(int32_t file) {
    if (!wt_verify.is_on) {
        return;
    }
    const struct plan_file *turned = &wt_verify.plan->files[file];
    struct knowledge *k = wt_verify_file(file);
    wt_verify_settle(file);
    wt_ranges_clear(&k->holds);
    wt_ranges_clear(&k->others);
    wt_ranges_clear(&k->fresh);
    k->has_inode = k->loses_name = false;
    if (turned->made_in_run ||
        turned->family->written) { /* by this rank at an earlier visit, or by another one */
        wt_ranges_add(&k->others, wt_one_piece(0, INT64_MAX));
    } else {
        wt_ranges_add(&k->holds, wt_one_piece(0, turned->prepared));
    }
}

static bool is_collective(enum call call) {
    return call == CALL_M_OPEN || call == CALL_M_CLOSE || call == CALL_M_SYNC || call == CALL_M_SET_VIEW ||
           call == CALL_M_SET_SIZE || call == CALL_M_PREALLOCATE || call == CALL_M_SEEK_SHARED;
}

void wt_verify_acted(const struct file_action *a) {
    if (!wt_verify.is_on) {
        return;
    }
    const int32_t file = index_of(a->file), other = a->other ? index_of(a->other) : -1;
    int32_t which;
    int64_t size;
    if (wt_cuts_file(a->call, file, other, a->arg, &which, &size)) {
        if (a->call == CALL_UNLINK || a->call == CALL_M_DELETE || a->call == CALL_RENAME) {
            wt_verify_file(which)->loses_name = true; /* what is open stays as it is */
        } else {
            cut(which, size);
        }
        wt_verify_file(which)->own_cuts += a->error == 0;
        if (wt_verify.shared[which]) {
            wt_log_add(
                &wt_verify.log,
                (struct note){NOTE_CUT, which, wt_rank_number(), {.count = wt_verify_file(which)->own_cuts}});
        }
    }
    if (a->call == CALL_OPEN || a->call == CALL_M_OPEN) {
        look_at(file, a->open, wt_name_of(a)->path);
        a->open->epoch = wt_verify_file(file)->epoch;
    }
    if (is_collective(a->call) && a->error == 0) {
        wt_verify_meet(a->open->communicator);
    }
}

/* ---- comparing ---- */

static bool is_held(const struct knowledge *k, int64_t at, int64_t *until) {
    bool held = !k->holds.lost && wt_ranges_hold(&k->holds, at, until);
    if (k->holds.lost) {
        *until = INT64_MAX;
    }
    for (int i = 0; i < N_GROWING; i++) {
        int64_t end;
        const bool in_band = k->growing[i].band.count > 0 && wt_band_holds(k->growing[i].band, at, &end);
        if (k->growing[i].band.count == 0) {
            continue;
        }
        if (in_band ? !held || end > *until : !held && end < *until) {
            *until = end;
        }
        held |= in_band;
    }
    return held;
}

static bool may_be_written(const struct knowledge *k, int64_t at, int64_t *until) {
    if (!k->others.lost && !k->holds.lost) {
        return wt_ranges_hold(&k->others, at, until);
    }
    *until = INT64_MAX;
    return true;
}

/* The first byte that is not what it must be; n where there is none. */
static int64_t first_wrong(const char *found, const char *expected, int64_t n, bool may_be_zero) {
    if (expected && memcmp(found, expected, (size_t)n) == 0) {
        return n;
    }
    for (int64_t i = 0; i < n; i++) {
        if (!(expected && found[i] == expected[i]) && !(may_be_zero && found[i] == 0)) {
            return i;
        }
    }
    return n;
}

enum wrong wt_verify_compare(const struct pattern *pattern, const struct open_file *f, const char *buffer,
                             int64_t position, int64_t size, struct compared *compared, int64_t *where,
                             unsigned char *found) {
    const struct knowledge *k = wt_verify_file(index_of(f->file));
    const bool loose = k->n_appenders > 0 && k->n_writers > 1, old = k->epoch != f->epoch;
    for (int64_t done = 0, n; done < size; done += n) {
        int64_t until, until_others, offset = wt_piece_in_file(f->view, position + done, &n);
        n = n < size - done ? n : size - done;
        const bool held = !old && is_held(k, offset, &until);
        const bool may = !held && (old || may_be_written(k, offset, &until_others));
        if (!old && until - offset < n) {
            n = until - offset;
        }
        if (!old && !held && until_others - offset < n) {
            n = until_others - offset;
        }
        if (k->anywhere || (loose && !held)) {
            compared->unchecked += n;
            continue;
        }
        const char *expected = held || may ? wt_pattern_at(pattern, f->file->content, offset) : NULL;
        const int64_t wrong = first_wrong(buffer + done, expected, n, !held);
        if (wrong < n) {
            *where = offset + wrong;
            *found = (unsigned char)buffer[done + wrong];
            return held ? WRONG_PATTERN : may ? WRONG_EITHER : WRONG_ZERO;
        }
        *(held ? &compared->pattern : may ? &compared->either : &compared->zeros) += n;
    }
    return WRONG_NONE;
}
