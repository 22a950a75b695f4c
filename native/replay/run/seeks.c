/* Seeks: where they lead, and those that the plan leaves to the next data call. A seek to where the next
 * operation starts has no place in the plan, so that it is one step however often it is repeated. Its place
 * is found from the steps that come. */
#include "run/perform_parts.h"

#include <unistd.h>

bool wt_is_seek(enum call call) {
    return call == CALL_LSEEK || call == CALL_M_SEEK;
}

/* The first call of a step's data through an open of the file; NULL where there is none. */
static const struct member_state *next_through(struct replay *r, const struct plan_step *step,
                                               int64_t handle) {
    const struct phase_state *p = wt_enter_phase(r, step->phase);
    const int32_t n = p->phase->n_members;
    const int64_t calls = step->single ? step->count : step->count * n;
    for (int32_t k = 0; k < n && k < calls; k++) {
        const struct member_state *m = &p->members[(p->next + k) % n];
        if ((step->handle >= 0 ? step->handle : m->member->handle) == handle) {
            return m;
        }
    }
    return NULL;
}

/* Whether a seek's target is told by steps from one on and before another: *position, -1 where the pointer is
 * moved, or a call by the file's name comes, before a data call: an open gives the handle's number again. A
 * call that moved nothing tells nothing. */
static bool tells_position(struct replay *r, const struct plan_step *seek, int32_t from, int32_t to,
                           int64_t *position) {
    *position = -1;
    for (int32_t i = from; i < to; i++) {
        const struct plan_step *step = &r->plan->steps[i];
        bool same = step->file == seek->file && step->handle == seek->handle;
        if (step->kind == STEP_REPEAT && step->count == 0) {
            i = step->end - 1;
        }
        if (step->kind == STEP_FILE && same && (wt_is_seek(step->call) || !wt_needs_open_file(step->call))) {
            if (step->call == CALL_LSEEK && wt_given(step->call, WT_GIVEN_ORIGIN, step->arg) ==
                                                SEEK_CUR) { /* it asks where the pointer is */
                *position = step->offset;
            }
            return true;
        }
        if (step->kind != STEP_DATA || r->plan->phases[step->phase].file != seek->file) {
            continue;
        }
        const struct member_state *m = next_through(r, step, seek->handle);
        if (!m) {
            continue;
        }
        if (m->member->placed && m->run < m->member->n_runs) {
            *position = m->member->runs[m->run].offset + m->i * m->member->runs[m->run].disp;
        }
        return true;
    }
    return false;
}

/* Where a seek leads of which the plan says that the next data call starts there; -1 when there is none. At
 * the end of a repeat the next repetition comes, and what is behind the repeat only after the last one. */
int64_t wt_next_position(struct replay *r, const struct plan_step *seek) {
    int64_t position;
    const int32_t behind = (int32_t)(seek - r->plan->steps) + 1;
    int32_t from = behind;
    for (const struct loop *loop = r->loop; loop; loop = loop->around) {
        if (tells_position(r, seek, from, loop->end, &position) ||
            (loop->left > 0 && tells_position(r, seek, loop->first, behind, &position))) {
            return position;
        }
        from = loop->end;
    }
    tells_position(r, seek, from, r->plan->n_steps, &position);
    return position;
}

/* Seeks whose target the plan leaves to the next data call: position, or -1 when none comes. */
void wt_make_pending_seeks(struct replay *r, struct open_file *f, int64_t position) {
    struct file_action action = {.call = f->layer == LAYER_POSIX ? CALL_LSEEK : CALL_M_SEEK,
                                 .file = f->file,
                                 .open = f,
                                 .arg = f->pending_whence,
                                 .offset = position < 0 ? f->position : position};
    for (; f->pending_seeks > 0; f->pending_seeks--) {
        wt_act_on_file(r, &action, 0);
    }
}

void wt_make_null_seeks(struct replay *r, struct open_file *f, int64_t n) {
    struct file_action action = {
        .call = CALL_LSEEK, .file = f->file, .open = f, .arg = SEEK_CUR, .offset = f->position};
    int64_t start = wt_now_ns();
    for (int64_t i = 0; i < n; i++) {
        if (!wt_backend_of(r, LAYER_POSIX)->act(&action)) {
            wt_act_on_file(r, &action, 0); /* says why */
        }
    }
    int64_t end = wt_now_ns();
    wt_activity_calls(&r->activity, IO_METADATA, start, end);
    r->metadata_ns += end - start;
    r->metadata_operations += n;
}

void wt_place_pointer(struct replay *r, struct open_file *f, int64_t position) {
    wt_act_on_file(r,
                   &(struct file_action){.call = f->layer == LAYER_POSIX ? CALL_LSEEK : CALL_M_SEEK,
                                         .file = f->file,
                                         .open = f,
                                         .arg = SEEK_SET,
                                         .offset = position},
                   0);
    f->position = position;
    r->extra_seeks++;
}
