/* The list of what ranks tell each other, and what a plan will do to files that others use. It is derived
 * from the plan before the run: a rank knows then of whom it has to wait for word. */
#define _GNU_SOURCE
#include "verify/write_log.h"

#include "failure.h"
#include "plan/views.h"

#include <fcntl.h>
#include <stdlib.h>

void wt_log_add(struct notes *notes, struct note note) {
    if (notes->n == notes->room) {
        notes->room = notes->room ? 2 * notes->room : 64;
        notes->notes = wt_must_grow(notes->notes, (size_t)notes->room * sizeof note);
    }
    notes->notes[notes->n++] = note;
}

bool wt_cuts_file(enum call call, int32_t file, int32_t other, int64_t arg, int32_t *which, int64_t *size) {
    *which = file;
    *size = 0;
    switch (call) {
    case CALL_OPEN:
        return (wt_given(call, WT_GIVEN_FLAGS, arg) & O_TRUNC) != 0;
    case CALL_UNLINK:
    case CALL_M_DELETE:
        return true;
    case CALL_TRUNCATE:
    case CALL_FTRUNCATE:
    case CALL_M_SET_SIZE:
        *size = wt_given(call, WT_GIVEN_NEW_SIZE, arg);
        return true;
    case CALL_RENAME: /* the other loses its name */
        *which = other;
        return other >= 0 && other != file;
    default:
        return false;
    }
}

/* ---- what the plan will do ---- */

/* The view through which each open of a file goes, as the plan's steps set it. */
struct viewed {
    int32_t file, view;
    int64_t handle;
};

struct reader {
    const struct plan *plan;
    struct notes *notes;
    int32_t rank;
    struct viewed *opens; /* the newest last */
    int32_t n_opens;
    struct { /* a phase's calls, and views with which they were found: they are told once for each */
        int32_t *keys;
        int32_t n;
    } * told; /* by phase */
    bool *appends, *writes, *anywhere, *renews;
    int64_t *cuts, *least; /* by file */
    int32_t file;          /* that bands are told of */
};

static void tell_may(void *to, struct band band) {
    struct reader *r = to;
    wt_log_add(r->notes, (struct note){NOTE_MAY, r->file, r->rank, band});
}

static int32_t view_of(const struct reader *r, int32_t file, int64_t handle) {
    int32_t latest = -1;
    for (int32_t i = r->n_opens - 1; i >= 0; i--) {
        if (r->opens[i].file != file) {
            continue;
        }
        if (r->opens[i].handle == handle) {
            return r->opens[i].view;
        }
        if (latest < 0) {
            latest = i;
        }
    }
    return latest < 0 ? -1 : r->opens[latest].view;
}

static void set_view(struct reader *r, const struct plan_step *step, int32_t view) {
    for (int32_t i = 0; i < r->n_opens; i++) {
        if (r->opens[i].file == step->file && r->opens[i].handle == step->handle) {
            r->opens[i].view = view;
            return;
        }
    }
    r->opens = wt_must_grow(r->opens, (size_t)(r->n_opens + 1) * sizeof *r->opens);
    r->opens[r->n_opens++] = (struct viewed){step->file, view, step->handle};
}

static bool is_new(struct reader *r, int32_t phase, int32_t member, int32_t view) {
    const int32_t key = member * (r->plan->n_views + 1) + view + 1;
    for (int32_t i = 0; i < r->told[phase].n; i++) {
        if (r->told[phase].keys[i] == key) {
            return false;
        }
    }
    r->told[phase].keys = wt_must_grow(r->told[phase].keys, (size_t)(r->told[phase].n + 1) * sizeof(int32_t));
    r->told[phase].keys[r->told[phase].n++] = key;
    return true;
}

static void read_data(struct reader *r, const struct plan_step *step) {
    const struct plan_phase *phase = &r->plan->phases[step->phase];
    r->file = phase->file;
    for (int32_t i = 0; i < phase->n_members; i++) {
        const struct plan_member *m = &phase->members[i];
        const bool viewed = wt_calls[m->call].layer == LAYER_MPIIO;
        const int32_t view =
            viewed ? view_of(r, phase->file, step->handle >= 0 ? step->handle : m->handle) : -1;
        if (wt_calls[m->call].kind != KIND_WRITE || !is_new(r, step->phase, i, view)) {
            continue;
        }
        r->writes[phase->file] = true;
        r->anywhere[phase->file] |= !m->placed;
        for (int32_t k = 0; m->placed && k < m->n_runs; k++) {
            wt_bands_in_file(
                view < 0 ? NULL : &r->plan->views[view],
                (struct band){m->runs[k].offset, m->runs[k].rs, m->runs[k].disp, m->runs[k].count}, tell_may,
                r);
        }
    }
}

static void read_file(struct reader *r, const struct plan_step *step, int64_t times) {
    int32_t which;
    int64_t size;
    if (step->call == CALL_M_OPEN) {
        set_view(r, step, -1);
    }
    if (step->call == CALL_M_SET_VIEW) {
        set_view(r, step, step->view);
    }
    r->appends[step->file] |= (wt_given(step->call, WT_GIVEN_FLAGS, step->arg) & O_APPEND) != 0;
    if (step->error == 0 && wt_cuts_file(step->call, step->file, step->other, step->arg, &which, &size)) {
        r->renews[which] |=
            step->call == CALL_UNLINK || step->call == CALL_RENAME || step->call == CALL_M_DELETE;
        if (r->cuts[which] == 0 || size < r->least[which]) {
            r->least[which] = size;
        }
        r->cuts[which] += times * step->count;
    }
}

/* times: 0 for a second look at the body of a repeat, which may come back to another view. */
static void read_steps(struct reader *r, int32_t from, int32_t to, int64_t times) {
    for (int32_t i = from; i < to; i++) {
        const struct plan_step *step = &r->plan->steps[i];
        if (step->kind == STEP_DATA) {
            read_data(r, step);
        } else if (step->kind == STEP_FILE) {
            read_file(r, step, times);
        } else if (step->kind == STEP_EMPTY && wt_calls[step->call].kind == KIND_WRITE && step->offset >= 0) {
            r->file = step->file;
            tell_may(r, (struct band){step->offset, step->size, 0, 1});
        } else if (step->kind == STEP_REPEAT) {
            read_steps(r, i + 1, step->end, times * step->count);
            read_steps(r, i + 1, step->end, 0);
            i = step->end - 1;
        }
    }
}

void wt_log_of_plan(const struct plan *plan, int rank, struct notes *notes) {
    const size_t n = (size_t)plan->n_files;
    struct reader r = {.plan = plan, .notes = notes, .rank = rank};
    r.told = wt_must_alloc((size_t)plan->n_phases * sizeof *r.told);
    r.appends = wt_must_alloc(n * sizeof(bool));
    r.writes = wt_must_alloc(n * sizeof(bool));
    r.anywhere = wt_must_alloc(n * sizeof(bool));
    r.renews = wt_must_alloc(n * sizeof(bool));
    r.cuts = wt_must_alloc(n * sizeof(int64_t));
    r.least = wt_must_alloc(n * sizeof(int64_t));
    read_steps(&r, 0, plan->n_steps, 1);
    for (int32_t i = 0; i < plan->n_files; i++) {
        if (r.cuts[i] > 0) {
            wt_log_add(notes, (struct note){NOTE_CUTS, i, rank, {r.least[i], r.renews[i], 0, r.cuts[i]}});
        }
        if (r.anywhere[i]) {
            wt_log_add(notes, (struct note){NOTE_ANYWHERE, i, rank, {0}});
        }
        if (r.appends[i] && r.writes[i]) {
            wt_log_add(notes, (struct note){NOTE_APPENDS, i, rank, {0}});
        }
    }
    for (int32_t i = 0; i < plan->n_phases; i++) {
        free(r.told[i].keys);
    }
    free(r.told);
    free(r.appends);
    free(r.writes);
    free(r.anywhere);
    free(r.renews);
    free(r.cuts);
    free(r.least);
    free(r.opens);
}
