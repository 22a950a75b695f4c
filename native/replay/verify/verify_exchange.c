#include "verify/verify_internal.h"

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
    k->cutters = must_grow(k->cutters, (size_t)(k->n_cutters + 1) * sizeof *k->cutters);
    k->cutters[k->n_cutters] = (struct cutter){.rank = rank};
    return &k->cutters[k->n_cutters++];
}

/* Of the plan, before the run. */
static void hear_plan(const struct note *note, bool mine) {
    struct knowledge *k = knowledge_of(note->file);
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
            ranges_add(&k->others, note->band);
        }
    }
    if (note->kind == NOTE_CUTS && !mine) {
        cutter_of(k, note->rank)->total = in_session ? INT64_MAX : note->band.count;
        k->renews |= note->band.length > 0;
        ranges_cut(&k->holds, note->band.start);
        ranges_add(&k->others, one_piece(0, all_known.plan->files[note->file].prepared));
    }
}

static void hear_cut(const struct note *note) {
    struct knowledge *k = knowledge_of(note->file);
    struct cutter *cutter = cutter_of(k, note->rank);
    if (note->band.count <= cutter->done) {
        return;
    }
    cutter->done = note->band.count;
    k->epoch += k->renews;
    notes_add(&all_known.log, *note);
}

static void hear_written(const struct note *note) {
    struct knowledge *k = knowledge_of(note->file);
    if (note->band.length <= 0 || k->anywhere || is_pending(k) || ranges_hold_all(&k->holds, note->band)) {
        return;
    }
    ranges_add(&k->holds, note->band);
    notes_add(&all_known.log, *note);
}

static void hear(const struct note *notes, int64_t n) {
    const int32_t me = rank_number();
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
    notes_add(&all_known.log, (struct note){NOTE_WROTE, *(const int32_t *)to, rank_number(), band});
}

static void log_fresh(void) {
    for (int32_t i = 0; i < all_known.plan->n_files; i++) {
        if (!all_known.shared[i] || !all_known.files[i]) {
            continue;
        }
        settle_growing(i);
        ranges_each(&all_known.files[i]->fresh, log_written, &i);
        ranges_clear(&all_known.files[i]->fresh);
    }
    if (all_known.log.n > MOST_IN_LOG) {
        const int64_t half = all_known.log.n / 2;
        memmove(all_known.log.notes, all_known.log.notes + half,
                (size_t)(all_known.log.n - half) * sizeof(struct note));
        all_known.log.n -= half;
        n_dropped += half;
    }
}

struct telling {
    struct notes *notes;
    int32_t file;
};

static void tell_held(void *to, struct band band) {
    struct telling *telling = to;
    notes_add(telling->notes, (struct note){NOTE_WROTE, telling->file, -1, band});
}

/* All that is known: for who has missed what the log does not have any more. */
static void tell_all(struct notes *notes) {
    for (int32_t i = 0; i < all_known.plan->n_files; i++) {
        if (!all_known.shared[i] || !all_known.files[i]) {
            continue;
        }
        notes_add(notes, (struct note){NOTE_CUT, i, rank_number(), {.count = all_known.files[i]->own_cuts}});
        for (int32_t k = 0; k < all_known.files[i]->n_cutters; k++) {
            notes_add(notes, (struct note){NOTE_CUT,
                                           i,
                                           all_known.files[i]->cutters[k].rank,
                                           {.count = all_known.files[i]->cutters[k].done}});
        }
        ranges_each(&all_known.files[i]->holds, tell_held, &(struct telling){notes, i});
    }
}

/* What has come since *told; the caller frees what is in it. */
static struct notes since(int64_t *told) {
    struct notes news = {0};
    log_fresh();
    if (*told < n_dropped) {
        tell_all(&news);
    }
    for (int64_t i = *told < n_dropped ? all_known.log.n : *told - n_dropped; i < all_known.log.n; i++) {
        notes_add(&news, all_known.log.notes[i]);
    }
    *told = n_dropped + all_known.log.n;
    return news;
}

void known_meet(int32_t communicator) {
    if (!all_known.is_on || communicator < 0) {
        return;
    }
    struct notes news = since(&told_communicators[communicator]);
    size_t n = 0;
    struct note *all = ranks_gather(communicator, news.notes, (size_t)news.n, sizeof *all, &n);
    hear(all, (int64_t)n);
    told_communicators[communicator] = n_dropped + all_known.log.n; /* what they said they know */
    free(all);
    free(news.notes);
}

void known_tell(const int32_t *ranks, int32_t n_ranks) {
    for (int32_t i = 0; all_known.is_on && i < n_ranks; i++) {
        if (ranks[i] == rank_number()) {
            continue;
        }
        struct notes news = since(&told_ranks[ranks[i]]);
        ranks_send(ranks[i], news.notes, (size_t)news.n, sizeof(struct note));
        free(news.notes);
    }
}

void known_listen(const int32_t *ranks, int32_t n_ranks) {
    for (int32_t i = 0; all_known.is_on && i < n_ranks; i++) {
        size_t n = 0;
        if (ranks[i] == rank_number()) {
            continue;
        }
        struct note *notes = ranks_receive(ranks[i], sizeof *notes, &n);
        hear(notes, (int64_t)n);
        free(notes);
    }
}

/* ---- before the run ---- */

/* Count in how many ranks' steps each file is, and look what is there of those of this rank. */
static void find_shared(void) {
    int64_t *users = must_alloc((size_t)all_known.plan->n_files * sizeof *users);
    for (int32_t i = 0; i < all_known.plan->n_steps; i++) {
        const struct plan_step *step = &all_known.plan->steps[i];
        if (step->kind == STEP_DATA) {
            users[all_known.plan->phases[step->phase].file] = 1;
        }
        if (step->kind == STEP_FILE || step->kind == STEP_EMPTY) {
            users[step->file] = 1;
        }
        if (step->kind == STEP_FILE && step->other >= 0) {
            users[step->other] = 1;
        }
    }
    for (int32_t i = 0; i < all_known.plan->n_files; i++) {
        const struct plan_file *file = &all_known.plan->files[i];
        struct unseen_facts found;
        if (users[i] && unseen_look(-1, file->path, &found) && found.size > file->prepared) {
            ranges_add(&knowledge_of(i)->others, one_piece(file->prepared, found.size));
        }
    }
    ranks_add_up(users, all_known.plan->n_files);
    for (int32_t i = 0; i < all_known.plan->n_files; i++) {
        all_known.shared[i] =
            users[i] > 1 && !all_known.plan->files[i].family; /* each rank is at another member */
    }
    free(users);
}

void known_start(const struct plan *plan, bool loops) {
    all_known.is_on = true;
    in_session = loops;
    all_known.plan = plan;
    all_known.files = must_alloc((size_t)plan->n_files * sizeof(struct knowledge *));
    all_known.shared = must_alloc((size_t)plan->n_files * sizeof *all_known.shared);
    told_communicators = must_alloc((size_t)plan->n_communicators * sizeof *told_communicators);
    told_ranks = must_alloc((size_t)rank_count() * sizeof *told_ranks);
    find_shared();
    struct notes own = {0}, sent = {0};
    notes_of_plan(plan, rank_number(), &own);
    for (int64_t i = 0; i < own.n; i++) {
        if (all_known.shared[own.notes[i].file]) {
            notes_add(&sent, own.notes[i]);
        } else if (own.notes[i].kind == NOTE_ANYWHERE) {
            knowledge_of(own.notes[i].file)->anywhere = true;
        }
    }
    size_t n = 0;
    struct note *all = ranks_gather(-1, sent.notes, (size_t)sent.n, sizeof *all, &n);
    for (size_t i = 0; i < n; i++) {
        hear_plan(&all[i], all[i].rank == rank_number());
    }
    for (int64_t i = 0; i < sent.n; i++) { /* where others cut a file, own writes may be gone as well */
        if (sent.notes[i].kind == NOTE_MAY && knowledge_of(sent.notes[i].file)->n_cutters > 0) {
            ranges_add(&knowledge_of(sent.notes[i].file)->others, sent.notes[i].band);
        }
    }
    free(all);
    free(sent.notes);
    free(own.notes);
}
