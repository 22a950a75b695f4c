/* What performing a plan is made of: open files (open_files.c), seeks (seeks.c), data operations (data_ops.c)
 * and calls that are completed later (nonblocking.c).
 */
#ifndef WAVETANK_REPLAY_PERFORM_PARTS_H
#define WAVETANK_REPLAY_PERFORM_PARTS_H

#include "run/perform.h"

static inline const struct backend *wt_backend_of(const struct replay *r, enum call_layer layer) {
    if (r->settings->null) {
        return &wt_backend_null;
    }
    return layer == LAYER_POSIX ? &wt_backend_posix : &wt_backend_mpiio;
}

/* ---- open_files.c ---- */

struct open_file *wt_slot_for(struct replay *r, int64_t handle, const struct plan_file *file,
                              enum call_layer layer);
struct open_file *wt_find_open(const struct replay *r, const struct plan_file *file, enum call_layer layer,
                               int64_t handle, enum call_kind kind);
void wt_act_on_file(struct replay *r, const struct file_action *action, int32_t traced_error);
struct open_file *wt_open_unasked(struct replay *r, const struct plan_file *file, enum call_kind kind);

/* ---- phase_entry.c ---- */

struct phase_state *wt_enter_phase(struct replay *r, int32_t index);

/* ---- seeks.c ---- */

bool wt_is_seek(enum call call);
int64_t wt_next_position(struct replay *r, const struct plan_step *seek);
void wt_make_pending_seeks(struct replay *r, struct open_file *f, int64_t position);
void wt_make_null_seeks(struct replay *r, struct open_file *f, int64_t n);
void wt_place_pointer(struct replay *r, struct open_file *f, int64_t position);

/* How long a rank waits for a file, or for bytes of it, that another rank is to write. */
#define PATIENCE_NS 30000000000

/* ---- data_ops.c ---- */

void wt_perform_data_step(struct replay *r, const struct plan_step *step);
void wt_finish_copy(struct replay *r); /* that no written side follows */

/* ---- file_steps.c ---- */

void wt_perform_file_step(struct replay *r, const struct plan_step *step);
void wt_perform_empty_step(struct replay *r, const struct plan_step *step);

/* ---- nonblocking.c ---- */

void wt_verify_read(struct replay *r, const struct open_file *f, const char *buffer, int64_t position,
                    int64_t size, enum call call);
/* What was read, byte after byte: where memory has gaps, until the next call of this. */
const char *wt_packed(const struct replay *r, const struct plan_view *memory, const char *buffer,
                      int64_t size);
char *wt_take_buffer(struct replay *r, int64_t size);
void wt_note_under_way(struct open_file *f, struct under_way call);
void wt_perform_completion(struct replay *r, const struct file_action *action);
void wt_complete_all(struct replay *r, struct open_file *f);

#endif
