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

void replay_prepare(struct replay *r, const struct settings *settings, const struct plan *plan) {
    memset(r, 0, sizeof *r);
    r->settings = settings;
    r->plan = plan;
    r->stop_at_ns = INT64_MAX;
    r->phases = must_alloc((size_t)plan->n_phases * sizeof *r->phases);
    for (int32_t i = 0; i < plan->n_phases; i++) {
        r->phases[i].phase = &plan->phases[i];
    }
    r->unflushed = must_alloc((size_t)plan->n_files * sizeof *r->unflushed);
    activity_clear(&r->activity);
    copies_through_memory(settings->verify);
    int64_t largest = plan->largest_write, largest_read = plan->largest_read;
    if (settings->verify && plan->largest_copy > largest_read) {
        largest_read = plan->largest_copy;
    }
    if (settings->verify && largest_read > largest) {
        largest = largest_read;
    }
    pattern_make(&r->pattern, largest);
    r->read_buffer = aligned_buffer(largest_read);
    r->fill_buffer = settings->verify ? aligned_buffer(plan->largest_write) : NULL;
    whereabouts->steps = plan->n_steps;
    reach_start(plan);
    BACKEND_POSIX.start(plan);
    BACKEND_MPIIO.start(plan);
}

/* ---- steps ---- */

/* A pause, cut where the run's time ends. */
static void perform_pause(struct replay *r, int64_t ns) {
    if (r->stop_at_ns != INT64_MAX) {
        int64_t left = r->stop_at_ns - now_ns();
        if (left <= ns - (r->pacer.owed_ns < 0 ? -r->pacer.owed_ns : 0)) {
            r->stopped = true;
            ns = left > 0 ? left : 0;
        }
    }
    whereabouts->state = RANK_PAUSES; /* after the call that it was in */
    whereabouts->done++;
    int64_t start = now_ns();
    pause_for(&r->pacer, ns);
    activity_waits(&r->activity, start, now_ns());
}

static void end_sync(struct replay *r, int64_t start, int64_t n) {
    int64_t end = now_ns();
    activity_waits(&r->activity, start, end);
    r->sync_ns += end - start;
    r->syncs += n;
}

static void perform_sync(struct replay *r, const struct plan_step *step) {
    char on[64];
    snprintf(on, sizeof on, "communicator %d", step->communicator);
    whereabouts_enter(RANK_WAITS, "barrier", on, -1, -1);
    int64_t start = now_ns();
    for (int64_t n = 0; n < step->count; n++) {
        ranks_barrier(step->communicator);
        known_meet(step->communicator); /* at each: other ranks' steps may be cut elsewhere */
        whereabouts->done++;
    }
    end_sync(r, start, step->count);
}

static void perform_await(struct replay *r, const struct plan_step *step) {
    char whom[64];
    int n = snprintf(whom, sizeof whom, "rank %d", step->ranks[0]);
    if (step->n_ranks > 1) {
        snprintf(whom + n, sizeof whom - (size_t)n, " and %d more", step->n_ranks - 1);
    }
    whereabouts_enter(RANK_WAITS, "wait for what was written", whom, -1, -1);
    int64_t start = now_ns();
    ranks_await(step->count, step->ranks, step->n_ranks);
    known_listen(step->ranks, step->n_ranks);
    end_sync(r, start, 1);
}

void replay_wait_for_all(void) {
    whereabouts_enter(RANK_WAITS, "end of its program", "", -1, -1);
    ranks_wait_for_all();
}

/* Whether a step begins with the written side of a copy that has begun. */
static bool completes_copy(const struct replay *r, const struct plan_step *step) {
    if (step->kind == STEP_EMPTY) {
        return is_copy(step->call) && !starts_copy(step->call);
    }
    if (step->kind != STEP_DATA) {
        return step->kind == STEP_REPEAT; /* its first step is asked */
    }
    const struct phase_state *p = &r->phases[step->phase];
    enum call next = p->phase->members[p->next].call;
    return is_copy(next) && !starts_copy(next);
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
        if (__builtin_expect(copies_waiting(), 0) && !completes_copy(r, step)) {
            finish_copy(r);
        }
        whereabouts->step = i + 1;
        switch (step->kind) {
        case STEP_DATA:
            perform_data_step(r, step);
            break;
        case STEP_FILE:
            perform_file_step(r, step);
            break;
        case STEP_EMPTY:
            perform_empty_step(r, step);
            break;
        case STEP_SYNC:
            perform_sync(r, step);
            break;
        case STEP_TICK:
            ranks_tick();
            break;
        case STEP_SIGNAL:
            known_tell(step->ranks, step->n_ranks);
            ranks_signal(step->count, step->ranks, step->n_ranks);
            break;
        case STEP_AWAIT:
            perform_await(r, step);
            break;
        case STEP_PAUSE:
            if (r->settings->pauses == PAUSES_KEEP) {
                perform_pause(r, (int64_t)((double)step->count * r->settings->pause_factor));
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
    const struct backend *backend = posix ? &BACKEND_POSIX : &BACKEND_MPIIO;
    backend->act(
        &(struct file_action){.call = posix ? CALL_CLOSE : CALL_M_CLOSE, .file = f->file, .open = f});
}

/* What the backends made is freed; outside of all times. POSIX files that the traced run left open end with
 * the process, as they did there; MPI wants its files closed. */
void replay_end(struct replay *r) {
    for (int32_t i = 0; i < r->n_open_files; i++) {
        struct open_file *f = r->open_files[i];
        if (f->is_open && f->layer == LAYER_MPIIO && !r->settings->null) {
            complete_all(r, f);
            close_file(f);
        }
    }
    BACKEND_POSIX.end();
    BACKEND_MPIIO.end();
}

void replay_perform(struct replay *r, int64_t start_ns) {
    r->start_ns = start_ns;
    perform_steps(r, 0, r->plan->n_steps);
    finish_copy(r);
    if (r->settings->flush != FLUSH_NONE && !r->settings->null) {
        flush_all(r);
    }
    r->end_ns = now_ns();
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
            complete_all(r, f);
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
    members_rewind(r);
}

void replay_renew(struct replay *r) {
    for (int32_t i = 0; i < r->plan->n_phases; i++) {
        struct phase_state *p = &r->phases[i];
        free(p->members);
        for (int block = 0; block < LATENCY_BLOCKS; block++) {
            free(p->latencies.block[block]);
        }
        *p = (struct phase_state){.phase = p->phase};
    }
    r->pacer = (struct pacer){0};
    activity_clear(&r->activity);
    memset(r->unflushed, 0, (size_t)r->plan->n_files * sizeof *r->unflushed);
    members_renew(r);
    r->metadata_ns = r->metadata_operations = r->sync_ns = r->syncs = 0;
    r->extra_seeks = r->waited_opens = r->waited_reads = r->long_reads = r->other_results = 0;
    r->compared = (struct compared){0};
    progress_clear(r->progress);
}

static bool is_time_over(const struct replay *r, int64_t end_ns) {
    if (end_ns == INT64_MAX) {
        return false;
    }
    bool mine = now_ns() >= end_ns;
    return r->independent ? mine : ranks_agree(mine);
}

void replay_loop(struct replay *r, int64_t start_ns, int64_t for_ns, int64_t loops) {
    const int64_t end_ns = for_ns < 0 ? INT64_MAX : start_ns + for_ns;
    r->start_ns = start_ns;
    r->stop_at_ns = r->independent ? end_ns : INT64_MAX;
    r->stopped = false;
    r->begun_ns = now_ns();
    for (int64_t from = r->begun_ns, n = 1;; n++) {
        perform_steps(r, 0, r->plan->n_steps);
        finish_copy(r);
        if (r->stopped) {
            break;
        }
        close_files(r, false);
        int64_t to = now_ns();
        progress_add_loop(r->progress, from - start_ns, to - start_ns);
        if (n == loops || is_time_over(r, end_ns)) {
            break;
        }
        rewind_phases(r);
        from = to;
    }
    r->end_ns = now_ns();
    close_files(r, true);
}
