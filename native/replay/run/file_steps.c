/* Steps of a plan that move no data: calls on files, and data calls that moved nothing or failed in the
 * traced run. They are made as often as there, and belong to no phase: their time is that of metadata. */
#include "run/perform_parts.h"

#include "backends/refusals.h"
#include "failure.h"
#include "ranks/ranks.h"
#include "run/flush.h"
#include "run/members.h"

#include <errno.h>

void perform_file_step(struct replay *r, const struct plan_step *step) {
    const struct plan_file *file = &r->plan->files[step->file];
    struct file_action action = {.call = step->call,
                                 .file = file,
                                 .arg = step->arg,
                                 .offset = step->offset,
                                 .error = step->error,
                                 .view = step->view,
                                 .other = step->other < 0 ? NULL : &r->plan->files[step->other],
                                 .name = file->family ? 0 : step->name,
                                 .other_name = step->other_name,
                                 .communicator = step->communicator,
                                 .info = step->info,
                                 .direct = r->settings->direct};
    bool opens = step->call == CALL_OPEN || step->call == CALL_M_OPEN;
    const bool turns = file->family && step->name;
    if (!turns) {
        whereabouts_enter(RANK_WORKS, CALLS[step->call].name, name_of(&action)->name, step->offset, -1);
    }
    for (int64_t i = 0; i < step->count; i++) {
        if (turns) {
            members_next(r, file);
            whereabouts_enter(RANK_WORKS, CALLS[step->call].name, file->name, step->offset, -1);
        }
        if (opens) {
            action.open = slot_for(r, step->handle, file, CALLS[step->call].layer);
        } else if (step->call == CALL_LINK) { /* of a file without a name, that is open */
            action.open = find_open(r, file, LAYER_POSIX, -1, KIND_FILE);
        } else if (needs_open_file(step->call)) {
            action.open = find_open(r, file, CALLS[step->call].layer, step->handle, KIND_FILE);
            if (!action.open) { /* closed already, or its open failed as in the traced run */
                return;
            }
        }
        const bool leads = is_seek(step->call) && !step->error;
        if (leads && step->offset < 0 && i == 0) {
            action.offset = next_position(r, step);
        }
        if (leads && action.offset < 0) { /* made when the next data call comes */
            action.open->pending_seeks += step->count;
            action.open->pending_whence = step->arg;
            return;
        }
        if (action.open && action.open->pending_seeks) {
            make_pending_seeks(r, action.open, -1);
        }
        if (step->call == CALL_M_WAIT || step->call == CALL_M_END) {
            perform_completion(r, &action);
            continue;
        }
        if (step->call == CALL_M_CLOSE) {
            complete_all(r, action.open);
        }
        act(r, &action, step->error);
    }
}

/* A data call that failed in the traced run. */
static void perform_failed_data(struct replay *r, const struct plan_step *step, struct open_file *f) {
    const struct call_facts *facts = &CALLS[step->call];
    const bool posix = facts->layer == LAYER_POSIX;
    data_call issue = backend_of(r, facts->layer)->data(step->call);
    for (int64_t i = 0; i < step->count; i++) {
        int64_t moved = -1, start = now_ns();
        int error = 0;
        whereabouts->done++;
        if (r->settings->null) {
            continue;
        }
        if (!posix && completion_of(step->call) == COMPLETES_AT_ONCE) {
            moved = issue(f, r->read_buffer, step->size, step->offset < 0 ? 0 : step->offset);
        } else if (!posix || !refused_data(step->call, f, step->size, step->offset, step->error, &moved)) {
            error = -1; /* left out */
        }
        if (error == 0 && moved < 0) {
            error = posix ? errno : backend_of(r, facts->layer)->error();
        }
        int64_t end = now_ns();
        activity_calls(&r->activity, IO_METADATA, start, end);
        r->metadata_ns += end - start;
        r->metadata_operations += error >= 0;
        r->other_results += error != step->error;
        if (moved > 0 && facts->place == PLACE_POINTER) {
            f->position += moved;
        }
    }
}

/* A call that moved nothing in the traced run: at the end of a file, or of 0 bytes in a collective. */
void perform_empty_step(struct replay *r, const struct plan_step *step) {
    const struct call_facts *facts = &CALLS[step->call];
    struct open_file *f = find_open(r, &r->plan->files[step->file], facts->layer, step->handle, facts->kind);
    if (!f) {
        return;
    }
    if (f->pending_seeks) {
        make_pending_seeks(r, f, step->offset);
    }
    if (step->error) {
        perform_failed_data(r, step, f);
        return;
    }
    data_call issue = backend_of(r, facts->layer)->data(step->call);
    const bool reads = facts->kind == KIND_READ;
    const bool meets = r->settings->verify && !reads && facts->layer == LAYER_MPIIO && facts->collective &&
                       completion_of(step->call) == COMPLETES_AT_ONCE;
    int64_t position = step->offset < 0 ? 0 : step->offset;
    char *buffer = reads ? r->read_buffer : pattern_at(&r->pattern, f->file->content, position);
    if (!reads) {
        flush_expect(r, f);
    }
    whereabouts_enter(RANK_WORKS, facts->name, f->file->name, step->offset, step->size);
    for (int64_t i = 0; i < step->count; i++) {
        whereabouts->done++;
        if (completion_of(step->call) != COMPLETES_AT_ONCE) {
            buffer = take_buffer(r, step->size);
            note_under_way(
                f, (struct under_way){.call = step->call, .buffer = buffer, .position = -1, .phase = -1});
        }
        int64_t start = now_ns();
        int64_t moved = issue(f, buffer, step->size, position), end = now_ns();
        activity_calls(&r->activity, IO_METADATA, start, end);
        r->metadata_ns += end - start;
        r->metadata_operations++;
        if (r->settings->null) {
            continue;
        }
        if (moved < 0) {
            fail(&(struct doing){facts->name, f->file->name, step->offset, step->size}, "%s",
                 backend_of(r, facts->layer)->reason());
        }
        if (moved > 0 && facts->layer == LAYER_POSIX && reads) {
            r->long_reads++;
        }
        if (moved > 0 && r->settings->verify && !reads && step->offset >= 0) {
            known_wrote(f, NULL, position, moved, 0, 1, moved);
        }
        if (moved > 0 && !reads) {
            *f->unflushed_bytes += moved;
        }
        if (meets) {
            known_meet(f->communicator);
            activity_waits(&r->activity, end, now_ns());
        }
        f->position += facts->place == PLACE_POINTER ? moved : 0;
    }
}
