/* Performs the steps of a rank's program, once or again and again. Repeats are performed as they are stored:
 * no list of operations is ever made. */
#include "run/perform_parts.h"

#include "backends/kernel_copies.h"
#include "backends/refusals.h"
#include "failure.h"
#include "ranks/ranks.h"
#include "run/flush.h"
#include "run/members.h"
#include "verify/extent_check.h"
#include "verify/verify_state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void wt_replay_prepare(struct replay *r, const struct settings *settings, const struct plan *plan) {
    memset(r, 0, sizeof *r);
    r->settings = settings;
    r->plan = plan;
    r->stop_at_ns = INT64_MAX;
    r->phases = wt_must_alloc((size_t)plan->n_phases * sizeof *r->phases);
    for (int32_t i = 0; i < plan->n_phases; i++) {
        r->phases[i].phase = &plan->phases[i];
    }
    r->unflushed = wt_must_alloc((size_t)plan->n_files * sizeof *r->unflushed);
    wt_activity_clear(&r->activity);
    wt_copies_through_memory(settings->verify);
    int64_t largest = plan->largest_write, largest_read = plan->largest_read;
    if (settings->verify && plan->largest_copy > largest_read) {
        largest_read = plan->largest_copy;
    }
    if (settings->verify && largest_read > largest) {
        largest = largest_read;
    }
    wt_pattern_make(&r->pattern, largest);
    r->read_buffer = wt_aligned_buffer(largest_read);
    r->fill_buffer = settings->verify ? wt_aligned_buffer(plan->largest_write) : NULL;
    r->packed_buffer = settings->verify && plan->memory_has_gaps ? wt_aligned_buffer(largest) : NULL;
    wt_status->steps = plan->n_steps;
    wt_extent_start(plan);
    wt_backend_posix.start(plan);
    wt_backend_mpiio.start(plan);
}

/* ---- steps ---- */

/* A pause, cut where the run's time ends. */
static void perform_pause(struct replay *r, int64_t ns) {
    if (r->stop_at_ns != INT64_MAX) {
        int64_t left = r->stop_at_ns - wt_now_ns();
        if (left <= ns - (r->pacer.owed_ns < 0 ? -r->pacer.owed_ns : 0)) {
            r->stopped = true;
            ns = left > 0 ? left : 0;
        }
    }
    wt_status->state = RANK_PAUSES; /* after the call that it was in */
    wt_status->done++;
    int64_t start = wt_now_ns();
    wt_pause_for(&r->pacer, ns);
    wt_activity_waits(&r->activity, start, wt_now_ns());
}

static void end_sync(struct replay *r, int64_t start, int64_t n) {
    int64_t end = wt_now_ns();
    wt_activity_waits(&r->activity, start, end);
    r->sync_ns += end - start;
    r->syncs += n;
}

static void perform_sync(struct replay *r, const struct plan_step *step) {
    char on[64];
    snprintf(on, sizeof on, "communicator %d", step->communicator);
    wt_status_enter(RANK_WAITS, "barrier", on, -1, -1);
    int64_t start = wt_now_ns();
    for (int64_t n = 0; n < step->count; n++) {
        wt_ranks_barrier(step->communicator);
        wt_verify_meet(step->communicator); /* at each: other ranks' steps may be cut elsewhere */
        wt_status->done++;
    }
    end_sync(r, start, step->count);
}

static void perform_await(struct replay *r, const struct plan_step *step) {
    char whom[64];
    int n = snprintf(whom, sizeof whom, "rank %d", step->ranks[0]);
    if (step->n_ranks > 1) {
        snprintf(whom + n, sizeof whom - (size_t)n, " and %d more", step->n_ranks - 1);
    }
    wt_status_enter(RANK_WAITS, "wait for what was written", whom, -1, -1);
    int64_t start = wt_now_ns();
    wt_ranks_await(step->count, step->ranks, step->n_ranks);
    wt_verify_listen(step->ranks, step->n_ranks);
    end_sync(r, start, 1);
}

void wt_replay_wait_for_all(void) {
    wt_status_enter(RANK_WAITS, "end of its program", "", -1, -1);
    wt_ranks_wait_for_all();
}

/* Whether a step begins with the written side of a copy that has begun. */
static bool completes_copy(const struct replay *r, const struct plan_step *step) {
    if (step->kind == STEP_EMPTY) {
        return wt_is_copy(step->call) && !wt_starts_copy(step->call);
    }
    if (step->kind != STEP_DATA) {
        return step->kind == STEP_REPEAT; /* its first step is asked */
    }
    const struct phase_state *p = &r->phases[step->phase];
    enum call next = p->phase->members[p->next].call;
    return wt_is_copy(next) && !wt_starts_copy(next);
}

static void perform_steps(struct replay *r, int32_t from, int32_t to);

static void perform_repeat(struct replay *r, int32_t at) {
    const struct plan_step *repeat = &r->plan->steps[at];
    struct loop loop = {.first = at + 1, .end = repeat->end, .left = repeat->count, .around = r->loop};
    r->loop = &loop;
    while (loop.left > 0 && !r->stopped) {
        loop.left--;
        perform_steps(r, loop.first, loop.end);
    }
    r->loop = loop.around;
}

static void perform_steps(struct replay *r, int32_t from, int32_t to) {
    for (int32_t i = from; i < to && !r->stopped; i++) {
        const struct plan_step *step = &r->plan->steps[i];
        if (__builtin_expect(wt_copies_waiting(), 0) && !completes_copy(r, step)) {
            wt_finish_copy(r);
        }
        wt_status->step = i + 1;
        switch (step->kind) {
        case STEP_DATA:
            wt_perform_data_step(r, step);
            break;
        case STEP_FILE:
            wt_perform_file_step(r, step);
            break;
        case STEP_EMPTY:
            wt_perform_empty_step(r, step);
            break;
        case STEP_SYNC:
            perform_sync(r, step);
            break;
        case STEP_TICK:
            wt_ranks_tick();
            break;
        case STEP_SIGNAL:
            wt_verify_tell(step->ranks, step->n_ranks);
            wt_ranks_signal(step->count, step->ranks, step->n_ranks);
            break;
        case STEP_AWAIT:
            perform_await(r, step);
            break;
        case STEP_PAUSE:
            if (r->settings->pauses == PAUSES_KEEP) {
                double ns = (double)step->count * r->settings->pause_factor;
                double longest = r->settings->longest_pause_ns;
                perform_pause(r, (int64_t)(ns < longest ? ns : longest));
            }
            break;
        case STEP_REPEAT:
            perform_repeat(r, i);
            i = step->end - 1;
            break;
        }
    }
}

static void close_file(struct open_file *f) {
    bool posix = f->layer == LAYER_POSIX;
    const struct backend *backend = posix ? &wt_backend_posix : &wt_backend_mpiio;
    backend->act(
        &(struct file_action){.call = posix ? CALL_CLOSE : CALL_M_CLOSE, .file = f->file, .open = f});
}

/* What the backends made is freed; outside of all times. POSIX files that the traced run left open end with
 * the process, as they did there; MPI wants its files closed. */
void wt_replay_end(struct replay *r) {
    for (int32_t i = 0; i < r->n_open_files; i++) {
        struct open_file *f = r->open_files[i];
        if (f->is_open && f->layer == LAYER_MPIIO && !r->settings->null) {
            wt_complete_all(r, f);
            close_file(f);
        }
    }
    wt_backend_posix.end();
    wt_backend_mpiio.end();
}

void wt_replay_perform(struct replay *r, int64_t start_ns) {
    r->start_ns = start_ns;
    perform_steps(r, 0, r->plan->n_steps);
    wt_finish_copy(r);
    if (r->settings->flush != FLUSH_NONE && !r->settings->null) {
        wt_flush_all(r);
    }
    r->end_ns = wt_now_ns();
}

/* ---- several runs ---- */

/* Close the rank's files; between two loops not those that no step of the plan opened: no step closes them.
 */
static void close_files(struct replay *r, bool all) {
    for (int32_t i = 0; i < r->n_open_files; i++) {
        struct open_file *f = r->open_files[i];
        if (!f->is_open || (f->handle < 0 && !all)) {
            continue;
        }
        if (f->layer == LAYER_MPIIO) {
            wt_complete_all(r, f);
        }
        close_file(f);
    }
}

/* Go back to the start of every phase. */
static void rewind_phases(struct replay *r) {
    for (int32_t i = 0; i < r->plan->n_phases; i++) {
        struct phase_state *p = &r->phases[i];
        p->next = 0;
        for (int32_t k = 0; p->members && k < p->phase->n_members; k++) {
            p->members[k].run = 0, p->members[k].i = 0;
        }
    }
    wt_members_rewind(r);
}

void wt_replay_renew(struct replay *r) {
    for (int32_t i = 0; i < r->plan->n_phases; i++) {
        struct phase_state *p = &r->phases[i];
        free(p->members);
        for (int block = 0; block < LATENCY_BLOCKS; block++) {
            free(p->latencies.block[block]);
        }
        *p = (struct phase_state){.phase = p->phase};
    }
    r->pacer = (struct pacer){0};
    wt_activity_clear(&r->activity);
    memset(r->unflushed, 0, (size_t)r->plan->n_files * sizeof *r->unflushed);
    wt_members_renew(r);
    r->metadata_ns = r->metadata_operations = r->sync_ns = r->syncs = 0;
    r->extra_seeks = r->waited_opens = r->opens_again = r->waited_reads = r->long_reads = r->other_results =
        0;
    r->compared = (struct compared){0};
    wt_progress_clear(r->progress);
}

static bool is_time_over(const struct replay *r, int64_t end_ns) {
    if (end_ns == INT64_MAX) {
        return false;
    }
    bool mine = wt_now_ns() >= end_ns;
    return r->independent ? mine : wt_ranks_agree(mine);
}

void wt_replay_loop(struct replay *r, int64_t start_ns, int64_t for_ns, int64_t loops) {
    const int64_t end_ns = for_ns < 0 ? INT64_MAX : start_ns + for_ns;
    r->start_ns = start_ns;
    r->stop_at_ns = r->independent ? end_ns : INT64_MAX;
    r->stopped = false;
    r->begun_ns = wt_now_ns();
    for (int64_t from = r->begun_ns, n = 1;; n++) {
        perform_steps(r, 0, r->plan->n_steps);
        wt_finish_copy(r);
        if (r->stopped) {
            break;
        }
        close_files(r, false);
        int64_t to = wt_now_ns();
        wt_progress_add_loop(r->progress, from - start_ns, to - start_ns);
        if (n == loops || is_time_over(r, end_ns)) {
            break;
        }
        rewind_phases(r);
        from = to;
    }
    r->end_ns = wt_now_ns();
    close_files(r, true);
}
