/* Steps of a plan that move no data: calls on files, and data calls that moved nothing or failed in the
 * traced run. They are made as often as there, and belong to no phase: their time is that of metadata. */
#include "run/perform_parts.h"

#include "backends/refusals.h"
#include "failure.h"
#include "plan/views.h"
#include "ranks/ranks.h"
#include "run/flush.h"
#include "run/members.h"

#include <errno.h>

void wt_perform_file_step(struct replay *r, const struct plan_step *step) {
    const struct plan_file *file = &r->plan->files[step->file];
    struct file_action action = {.call = step->call,
                                 .file = file,
                                 .arg = step->arg,
                                 .offset = step->offset,
                                 .error = step->error,
                                 .view = step->view,
                                 .other = step->other < 0 ? NULL : &r->plan->files[step->other],
                                 .name = step->name,
                                 .other_name = step->other_name,
                                 .communicator = step->communicator,
                                 .info = step->info,
                                 .direct = r->settings->direct};
    bool opens = step->call == CALL_OPEN || step->call == CALL_M_OPEN;
    if (!step->turns) {
        wt_status_enter(RANK_WORKS, wt_calls[step->call].name, wt_name_of(&action)->name, step->offset, -1);
    }
    for (int64_t i = 0; i < step->count; i++) {
        if (step->turns) {
            wt_members_next(r, file);
            wt_status_enter(RANK_WORKS, wt_calls[step->call].name, wt_name_of(&action)->name, step->offset,
                            -1);
        }
        if (opens) {
            action.open = wt_slot_for(r, step->handle, file, wt_calls[step->call].layer);
        } else if (step->call == CALL_LINK) { /* of a file without a name, that is open */
            action.open = wt_find_open(r, file, LAYER_POSIX, -1, KIND_FILE);
        } else if (wt_needs_open_file(step->call)) {
            action.open = wt_find_open(r, file, wt_calls[step->call].layer, step->handle, KIND_FILE);
            if (!action.open) { /* closed already, or its open failed as in the traced run */
                return;
            }
        }
        const bool leads = wt_is_seek(step->call) && !step->error;
        if (leads && step->offset < 0 && i == 0) {
            action.offset = wt_next_position(r, step);
        }
        if (leads && action.offset < 0) { /* made when the next data call comes */
            action.open->pending_seeks += step->count;
            action.open->pending_whence = wt_origin(&action);
            return;
        }
        if (action.open && action.open->pending_seeks) {
            wt_make_pending_seeks(r, action.open, -1);
        }
        if ((step->call == CALL_M_SEEK || step->call == CALL_M_SEEK_SHARED) && step->offset >= 0) {
            /* the plan has the place in the file, MPI takes the position in the view */
            action.offset = wt_position_in_view(action.open->view, step->offset);
        }
        if (step->call == CALL_M_WAIT || step->call == CALL_M_END) {
            wt_perform_completion(r, &action);
            continue;
        }
        if (step->call == CALL_M_CLOSE) {
            wt_complete_all(r, action.open);
        }
        wt_act_on_file(r, &action, step->error);
    }
}

/* A data call that failed in the traced run. */
static void perform_failed_data(struct replay *r, const struct plan_step *step, struct open_file *f) {
    const struct call_facts *facts = &wt_calls[step->call];
    const bool posix = facts->layer == LAYER_POSIX;
    data_call issue = wt_backend_of(r, facts->layer)->data(step->call);
    for (int64_t i = 0; i < step->count; i++) {
        int64_t moved = -1, start = wt_now_ns();
        int error = 0;
        wt_status->done++;
        if (r->settings->null) {
            continue;
        }
        if (!posix && wt_completion_of(step->call) == COMPLETES_AT_ONCE) {
            moved = issue(f, r->read_buffer, step->size, step->offset < 0 ? 0 : step->offset);
        } else if (!posix || !wt_refused_data(step->call, f, step->size, step->offset, step->error, &moved)) {
            error = -1; /* left out */
        }
        if (error == 0 && moved < 0) {
            error = posix ? errno : wt_backend_of(r, facts->layer)->error();
        }
        int64_t end = wt_now_ns();
        wt_activity_calls(&r->activity, IO_METADATA, start, end);
        r->metadata_ns += end - start;
        r->metadata_operations += error >= 0;
        r->other_results += error != step->error;
        if (moved > 0 && facts->place == PLACE_POINTER) {
            f->position += moved;
        }
    }
}

/* A call that moved nothing in the traced run: at the end of a file, or of 0 bytes in a collective. */
void wt_perform_empty_step(struct replay *r, const struct plan_step *step) {
    const struct call_facts *facts = &wt_calls[step->call];
    struct open_file *f =
        wt_find_open(r, &r->plan->files[step->file], facts->layer, step->handle, facts->kind);
    if (!f) {
        return;
    }
    if (f->pending_seeks) {
        wt_make_pending_seeks(r, f, step->offset);
    }
    if (step->error) {
        perform_failed_data(r, step, f);
        return;
    }
    data_call issue = wt_backend_of(r, facts->layer)->data(step->call);
    const bool reads = facts->kind == KIND_READ;
    const bool meets = r->settings->verify && !reads && facts->layer == LAYER_MPIIO && facts->collective &&
                       wt_completion_of(step->call) == COMPLETES_AT_ONCE;
    int64_t position = step->offset;
    if (position < 0) { /* a copy without a place is where the one before it ended */
        position = wt_is_copy(step->call) ? f->copied_to : 0;
    }
    char *buffer = reads ? r->read_buffer : wt_pattern_at(&r->pattern, f->file->content, position);
    if (!reads) {
        wt_flush_expect(r, f);
    }
    wt_status_enter(RANK_WORKS, facts->name, f->file->name, step->offset, step->size);
    for (int64_t i = 0; i < step->count; i++) {
        wt_status->done++;
        if (wt_completion_of(step->call) != COMPLETES_AT_ONCE) {
            buffer = wt_take_buffer(r, step->size);
            wt_note_under_way(
                f, (struct under_way){.call = step->call, .buffer = buffer, .position = -1, .phase = -1});
        }
        int64_t start = wt_now_ns();
        int64_t moved = issue(f, buffer, step->size, position), end = wt_now_ns();
        wt_activity_calls(&r->activity, IO_METADATA, start, end);
        r->metadata_ns += end - start;
        r->metadata_operations++;
        if (r->settings->null) {
            continue;
        }
        if (moved < 0) {
            wt_fail(&(struct doing){facts->name, f->file->name, step->offset, step->size}, "%s",
                    wt_backend_of(r, facts->layer)->reason());
        }
        if (moved > 0 && facts->layer == LAYER_POSIX && reads) {
            r->long_reads++;
        }
        if (moved > 0 && r->settings->verify && !reads && step->offset >= 0) {
            wt_verify_wrote(f, NULL, position, moved, 0, 1, moved);
        }
        if (moved > 0 && !reads) {
            *f->unflushed_bytes += moved;
        }
        if (meets) {
            wt_verify_meet(f->communicator);
            wt_activity_waits(&r->activity, end, wt_now_ns());
        }
        f->position += facts->place == PLACE_POINTER ? moved : 0;
    }
}
