/* What ranks tell each other of the bytes of files. They tell it where the plan lets them meet or wait, and
 * only there: a message more would order calls that the application left unordered. */
#include "verify/known_bytes.h"

#include "failure.h"
#include "ranks/ranks.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_IN_LOG = 1 << 16 };

static bool in_session;
/* What has come into the log since a communicator, or a rank, was told the last time: up to which note it
 * was. */
static int64_t *told_communicators, *told_ranks;
static int64_t n_dropped; /* from the log's beginning */

/* ---- what others say ---- */

static struct cutter *cutter_of(struct knowledge *k, int32_t rank) {
    for (int32_t i = 0; i < k->n_cutters; i++) {
        if (k->cutters[i].rank == rank) {
            return &k->cutters[i];
        }
    }
    k->cutters = wt_must_grow(k->cutters, (size_t)(k->n_cutters + 1) * sizeof *k->cutters);
    k->cutters[k->n_cutters] = (struct cutter){.rank = rank};
    return &k->cutters[k->n_cutters++];
}

/* Of the plan, before the run. */
static void hear_plan(const struct note *note, bool mine) {
    struct knowledge *k = wt_verify_file(note->file);
    if (note->kind == NOTE_APPENDS) {
        k->n_appenders++;
    }
    if (note->kind == NOTE_ANYWHERE) {
        k->anywhere = true;
    }
    if (note->kind == NOTE_MAY) {
        k->n_writers += note->rank != k->latest_writer;
        k->latest_writer = note->rank;
        if (!mine) {
            wt_ranges_add(&k->others, note->band);
        }
    }
    if (note->kind == NOTE_CUTS && !mine) {
        cutter_of(k, note->rank)->total = in_session ? INT64_MAX : note->band.count;
        k->renews |= note->band.length > 0;
        wt_ranges_cut(&k->holds, note->band.start);
        wt_ranges_add(&k->others, wt_one_piece(0, wt_verify.plan->files[note->file].prepared));
    }
}

static void hear_cut(const struct note *note) {
    struct knowledge *k = wt_verify_file(note->file);
    struct cutter *cutter = cutter_of(k, note->rank);
    if (note->band.count <= cutter->done) {
        return;
    }
    cutter->done = note->band.count;
    k->epoch += k->renews;
    wt_log_add(&wt_verify.log, *note);
}

static void hear_written(const struct note *note) {
    struct knowledge *k = wt_verify_file(note->file);
    if (note->band.length <= 0 || k->anywhere || wt_verify_is_pending(k) ||
        wt_ranges_hold_all(&k->holds, note->band)) {
        return;
    }
    wt_ranges_add(&k->holds, note->band);
    wt_log_add(&wt_verify.log, *note);
}

static void hear(const struct note *notes, int64_t n) {
    const int32_t me = wt_rank_number();
    for (int64_t i = 0; i < n; i++) { /* what is done to files goes before what was written since */
        if (notes[i].kind == NOTE_CUT && notes[i].rank != me) {
            hear_cut(&notes[i]);
        }
    }
    for (int64_t i = 0; i < n; i++) {
        if (notes[i].kind == NOTE_WROTE && notes[i].rank != me) {
            hear_written(&notes[i]);
        }
    }
}

/* ---- telling ---- */

static void log_written(void *to, struct band band) {
    wt_log_add(&wt_verify.log, (struct note){NOTE_WROTE, *(const int32_t *)to, wt_rank_number(), band});
}

static void log_fresh(void) {
    for (int32_t i = 0; i < wt_verify.plan->n_files; i++) {
        if (!wt_verify.shared[i] || !wt_verify.files[i]) {
            continue;
        }
        wt_verify_settle(i);
        wt_ranges_each(&wt_verify.files[i]->fresh, log_written, &i);
        wt_ranges_clear(&wt_verify.files[i]->fresh);
    }
    if (wt_verify.log.n > MOST_IN_LOG) {
        const int64_t half = wt_verify.log.n / 2;
        memmove(wt_verify.log.notes, wt_verify.log.notes + half,
                (size_t)(wt_verify.log.n - half) * sizeof(struct note));
        wt_verify.log.n -= half;
        n_dropped += half;
    }
}

struct telling {
    struct notes *notes;
    int32_t file;
};

static void tell_held(void *to, struct band band) {
    struct telling *telling = to;
    wt_log_add(telling->notes, (struct note){NOTE_WROTE, telling->file, -1, band});
}

/* All that is known: for who has missed what the log does not have any more. */
static void tell_all(struct notes *notes) {
    for (int32_t i = 0; i < wt_verify.plan->n_files; i++) {
        if (!wt_verify.shared[i] || !wt_verify.files[i]) {
            continue;
        }
        wt_log_add(notes,
                   (struct note){NOTE_CUT, i, wt_rank_number(), {.count = wt_verify.files[i]->own_cuts}});
        for (int32_t k = 0; k < wt_verify.files[i]->n_cutters; k++) {
            wt_log_add(notes, (struct note){NOTE_CUT,
                                            i,
                                            wt_verify.files[i]->cutters[k].rank,
                                            {.count = wt_verify.files[i]->cutters[k].done}});
        }
        wt_ranges_each(&wt_verify.files[i]->holds, tell_held, &(struct telling){notes, i});
    }
}

/* What has come since *told; the caller frees what is in it. */
static struct notes since(int64_t *told) {
    struct notes news = {0};
    log_fresh();
    if (*told < n_dropped) {
        tell_all(&news);
    }
    for (int64_t i = *told < n_dropped ? wt_verify.log.n : *told - n_dropped; i < wt_verify.log.n; i++) {
        wt_log_add(&news, wt_verify.log.notes[i]);
    }
    *told = n_dropped + wt_verify.log.n;
    return news;
}

void wt_verify_meet(int32_t communicator) {
    if (!wt_verify.is_on || communicator < 0) {
        return;
    }
    struct notes news = since(&told_communicators[communicator]);
    size_t n = 0;
    struct note *all = wt_ranks_gather(communicator, news.notes, (size_t)news.n, sizeof *all, &n);
    hear(all, (int64_t)n);
    told_communicators[communicator] = n_dropped + wt_verify.log.n; /* what they said they know */
    free(all);
    free(news.notes);
}

void wt_verify_tell(const int32_t *ranks, int32_t n_ranks) {
    for (int32_t i = 0; wt_verify.is_on && i < n_ranks; i++) {
        if (ranks[i] == wt_rank_number()) {
            continue;
        }
        struct notes news = since(&told_ranks[ranks[i]]);
        wt_ranks_send(ranks[i], news.notes, (size_t)news.n, sizeof(struct note));
        free(news.notes);
    }
}

void wt_verify_listen(const int32_t *ranks, int32_t n_ranks) {
    for (int32_t i = 0; wt_verify.is_on && i < n_ranks; i++) {
        size_t n = 0;
        if (ranks[i] == wt_rank_number()) {
            continue;
        }
        struct note *notes = wt_ranks_receive(ranks[i], sizeof *notes, &n);
        hear(notes, (int64_t)n);
        free(notes);
    }
}

/* ---- before the run ---- */

/* Count in how many ranks' steps each file is, and look what is there of those of this rank. */
static void find_shared(void) {
    int64_t *users = wt_must_alloc((size_t)wt_verify.plan->n_files * sizeof *users);
    for (int32_t i = 0; i < wt_verify.plan->n_steps; i++) {
        const struct plan_step *step = &wt_verify.plan->steps[i];
        if (step->kind == STEP_DATA) {
            users[wt_verify.plan->phases[step->phase].file] = 1;
        }
        if (step->kind == STEP_FILE || step->kind == STEP_EMPTY) {
            users[step->file] = 1;
        }
        if (step->kind == STEP_FILE && step->other >= 0) {
            users[step->other] = 1;
        }
    }
    for (int32_t i = 0; i < wt_verify.plan->n_files; i++) {
        const struct plan_file *file = &wt_verify.plan->files[i];
        struct raw_facts found;
        if (users[i] && wt_raw_look(-1, file->path, &found) && found.size > file->prepared) {
            wt_ranges_add(&wt_verify_file(i)->others, wt_one_piece(file->prepared, found.size));
        }
    }
    wt_ranks_add_up(users, wt_verify.plan->n_files);
    for (int32_t i = 0; i < wt_verify.plan->n_files; i++) {
        wt_verify.shared[i] =
            users[i] > 1 && !wt_verify.plan->files[i].family; /* each rank is at another member */
    }
    free(users);
}

void wt_verify_start(const struct plan *plan, bool loops) {
    wt_verify.is_on = true;
    in_session = loops;
    wt_verify.plan = plan;
    wt_verify.files = wt_must_alloc((size_t)plan->n_files * sizeof(struct knowledge *));
    wt_verify.shared = wt_must_alloc((size_t)plan->n_files * sizeof *wt_verify.shared);
    told_communicators = wt_must_alloc((size_t)plan->n_communicators * sizeof *told_communicators);
    told_ranks = wt_must_alloc((size_t)wt_rank_count() * sizeof *told_ranks);
    find_shared();
    struct notes own = {0}, sent = {0};
    wt_log_of_plan(plan, wt_rank_number(), &own);
    for (int64_t i = 0; i < own.n; i++) {
        if (wt_verify.shared[own.notes[i].file]) {
            wt_log_add(&sent, own.notes[i]);
        } else if (own.notes[i].kind == NOTE_ANYWHERE) {
            wt_verify_file(own.notes[i].file)->anywhere = true;
        }
    }
    size_t n = 0;
    struct note *all = wt_ranks_gather(-1, sent.notes, (size_t)sent.n, sizeof *all, &n);
    for (size_t i = 0; i < n; i++) {
        hear_plan(&all[i], all[i].rank == wt_rank_number());
    }
    for (int64_t i = 0; i < sent.n; i++) { /* where others cut a file, own writes may be gone as well */
        if (sent.notes[i].kind == NOTE_MAY && wt_verify_file(sent.notes[i].file)->n_cutters > 0) {
            wt_ranges_add(&wt_verify_file(sent.notes[i].file)->others, sent.notes[i].band);
        }
    }
    free(all);
    free(sent.notes);
    free(own.notes);
}
