/* Data calls that are completed later: nonblocking ones and the first halves of split collective ones. Each
 * has a buffer of its own until then, as another call must not change what it moves. What their completion
 * takes is I/O time of the phase that began them. */
#include "run/perform_parts.h"

#include "failure.h"
#include "plan/views.h"
#include "verify/verify_state.h"

#include <string.h>

void wt_verify_read(struct replay *r, const struct open_file *f, const char *buffer, int64_t position,
                    int64_t size, enum call call) {
    int64_t where = -1;
    unsigned char found = 0;
    const enum wrong wrong =
        wt_verify_compare(&r->pattern, f, buffer, position, size, &r->compared, &where, &found);
    if (wrong == WRONG_NONE) {
        return;
    }
    const struct doing doing = {wt_calls[call].name, f->file->name, where, size};
    if (wrong == WRONG_ZERO) {
        wt_fail(&doing,
                "a byte that was never written is not zero, at offset %lld of the file (it is 0x%02x)",
                (long long)where, found);
    }
    wt_fail(&doing, "a wrong byte was read at offset %lld of the file%s", (long long)where,
            found == 0 ? " (a zero: what was written is lost)" : "");
}

const char *wt_packed(const struct replay *r, const struct plan_view *memory, const char *buffer,
                      int64_t size) {
    if (!memory) {
        return buffer;
    }
    wt_memory_take(memory, r->packed_buffer, buffer, size);
    return r->packed_buffer;
}

char *wt_take_buffer(struct replay *r, int64_t size) {
    for (int32_t i = 0; i < r->n_buffers; i++) {
        if (!r->buffers[i].used && r->buffers[i].size >= size) {
            r->buffers[i].used = true;
            return r->buffers[i].bytes;
        }
    }
    r->buffers = wt_must_grow(r->buffers, (size_t)(r->n_buffers + 1) * sizeof *r->buffers);
    r->buffers[r->n_buffers++] = (struct spare_buffer){wt_aligned_buffer(size), size, true};
    return r->buffers[r->n_buffers - 1].bytes;
}

static void give_back(struct replay *r, const char *bytes) {
    for (int32_t i = 0; i < r->n_buffers; i++) {
        if (r->buffers[i].bytes == bytes) {
            r->buffers[i].used = false;
        }
    }
}

void wt_note_under_way(struct open_file *f, struct under_way call) {
    f->under_way = wt_must_grow(f->under_way, (size_t)(f->n_under_way + 1) * sizeof *f->under_way);
    f->under_way[f->n_under_way++] = call;
}

/* Complete calls under way on a file; what it takes is I/O time of their phase, which lasts until then. */
void wt_perform_completion(struct replay *r, const struct file_action *action) {
    struct open_file *f = action->open;
    if (f->n_under_way == 0) {
        return;
    }
    const struct backend *backend = wt_backend_of(r, LAYER_MPIIO);
    int64_t start = wt_now_ns();
    if (r->settings->null) {
        f->n_completed = wt_completes_all(action->call, action->arg) ? f->n_under_way : 1;
    } else if (!backend->act(action)) {
        wt_fail(&(struct doing){wt_calls[action->call].name, f->file->name, f->under_way[0].position,
                                f->under_way[0].size},
                "%s", backend->reason());
    }
    int64_t end = wt_now_ns();
    wt_activity_calls(&r->activity, f->under_way[0].phase < 0 ? IO_METADATA : IO_DATA, start, end);
    if (f->under_way[0].phase < 0) {
        r->metadata_ns += end - start;
    } else {
        r->phases[f->under_way[0].phase].io_ns += end - start;
    }
    for (int32_t i = 0; i < f->n_completed; i++) {
        const struct under_way *call = &f->under_way[i];
        if (call->phase >= 0) {
            r->phases[call->phase].last_ns = end;
        }
        if (r->settings->verify && wt_calls[call->call].kind == KIND_READ && call->position >= 0) {
            wt_verify_read(r, f, wt_packed(r, call->memory, call->buffer, call->size), call->position,
                           call->size, call->call);
        }
        if (r->settings->verify && wt_calls[call->call].kind == KIND_WRITE && call->position >= 0) {
            wt_verify_wrote(f, NULL, call->position, call->size, 0, 1, call->size);
        }
        if (r->settings->verify && wt_calls[call->call].kind == KIND_WRITE && action->call == CALL_M_END) {
            wt_verify_meet(f->communicator);
        }
        give_back(r, call->buffer);
    }
    f->n_under_way -= f->n_completed;
    memmove(f->under_way, f->under_way + f->n_completed, (size_t)f->n_under_way * sizeof *f->under_way);
    f->n_completed = 0;
    if (r->settings->verify) {
        wt_activity_waits(&r->activity, end, wt_now_ns());
    }
}

/* Before a file is closed nothing may be under way on it. */
void wt_complete_all(struct replay *r, struct open_file *f) {
    while (f->n_under_way > 0) {
        bool split = wt_completion_of(f->under_way[0].call) == COMPLETES_BY_END;
        wt_perform_completion(
            r, &(struct file_action){
                   .call = split ? CALL_M_END : CALL_M_WAIT, .arg = 1, .file = f->file, .open = f});
    }
}
