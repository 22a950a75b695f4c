/* Reads the steps of a rank's program. A repeat holds its end's index, so that a body is passed over without
 * being read. */
#include "plan/plan_text.h"

#include "failure.h"

#include <string.h>

static struct plan_step *add_step(struct parser *p, enum step_kind kind) {
    struct plan *plan = p->plan;
    plan->steps = wt_plan_grown(plan->steps, plan->n_steps, sizeof *plan->steps);
    struct plan_step *step = &plan->steps[plan->n_steps++];
    *step = (struct plan_step){.kind = kind,
                               .other = -1,
                               .info = -1,
                               .view = -1,
                               .communicator = -1,
                               .handle = -1,
                               .offset = -1,
                               .count = 1};
    return step;
}

/* Which of a file's names; of a family twice that number, and 1 more for the next member. */
static int32_t name_of_file(struct parser *p, int32_t file, bool *turns) {
    const struct plan_file *f = &p->plan->files[file];
    const int32_t number = (int32_t)wt_plan_number_from(p, 0, f->n_names * (f->family ? 2 : 1) - 1);
    *turns = f->family && number % 2 == 1;
    return f->family ? number / 2 : number;
}

/* do CALL FILE HANDLE ARG OFFSET VIEW COMMUNICATOR ERROR COUNT INFO NAME */
static void parse_do(struct parser *p) {
    struct plan_step *step = add_step(p, STEP_FILE);
    char *name = wt_plan_word(p);
    step->call = wt_call_named(name);
    if (step->call == N_CALLS || wt_calls[step->call].kind != KIND_FILE) {
        BAD(p, "this program does not know the call", name);
    }
    step->file = wt_plan_file(p, wt_plan_number(p));
    step->handle = wt_plan_number(p);
    step->arg = wt_plan_number(p);
    step->offset = wt_plan_number(p);
    step->view = wt_plan_optional_index(p, p->plan->n_views);
    step->communicator = wt_plan_optional_index(p, p->plan->n_communicators);
    step->error = (int32_t)wt_plan_number_from(p, 0, INT32_MAX);
    step->count = wt_plan_number_from(p, 1, INT64_MAX);
    step->info = wt_plan_optional_index(p, p->plan->n_infos);
    step->name = name_of_file(p, step->file, &step->turns);
    const bool of_two = step->call == CALL_RENAME || step->call == CALL_LINK || step->call == CALL_SYMLINK;
    if (of_two && !step->error) { /* one name is enough for a call that failed */
        BAD(p, "a call on two names has one:", name);
    }
}

/* pair CALL FROM NAME TO NAME ERROR: a call on two names */
static void parse_pair(struct parser *p) {
    struct plan_step *step = add_step(p, STEP_FILE);
    char *name = wt_plan_word(p);
    step->call = wt_call_named(name);
    if (step->call != CALL_RENAME && step->call != CALL_LINK && step->call != CALL_SYMLINK) {
        BAD(p, "this program does not know the call on two names", name);
    }
    step->file = wt_plan_file(p, wt_plan_number(p));
    step->name = name_of_file(p, step->file, &step->turns);
    step->other = wt_plan_file(p, wt_plan_number(p));
    bool other_turns;
    step->other_name = name_of_file(p, step->other, &other_turns);
    if (other_turns || (step->other != step->file && p->plan->files[step->other].family)) {
        BAD(p, "a call on two names is on two members:", name);
    }
    if (step->call == CALL_SYMLINK) {
        p->plan->files[step->other].names[step->other_name].symlink = true;
    }
    step->error = (int32_t)wt_plan_number_from(p, 0, INT32_MAX);
}

/* data PHASE COUNT HANDLE SINGLE NULL_SEEKS */
static void parse_data(struct parser *p) {
    struct plan_step *step = add_step(p, STEP_DATA);
    step->phase = wt_plan_phase(p, wt_plan_number(p));
    step->count = wt_plan_number_from(p, 1, INT64_MAX);
    step->handle = wt_plan_number(p);
    step->single = wt_plan_number_from(p, 0, 1) == 1;
    step->null_seeks = wt_plan_number_from(p, 0, INT64_MAX);
}

/* empty CALL FILE HANDLE OFFSET SIZE COUNT ERROR */
static void parse_empty(struct parser *p) {
    struct plan_step *step = add_step(p, STEP_EMPTY);
    char *name = wt_plan_word(p);
    step->call = wt_call_named(name);
    if (step->call == N_CALLS || wt_calls[step->call].kind == KIND_FILE) {
        BAD(p, "this program does not know the data call", name);
    }
    step->file = wt_plan_file(p, wt_plan_number(p));
    step->handle = wt_plan_number(p);
    step->offset = wt_plan_number(p);
    step->size = wt_plan_number_from(p, 0, INT64_MAX);
    step->count = wt_plan_number_from(p, 1, INT64_MAX);
    step->error = (int32_t)wt_plan_number_from(p, 0, INT32_MAX);
    wt_plan_note_size(p->plan, step->call, step->size);
}

/* signal NUMBER N_RANKS RANK ...; await NUMBER N_RANKS RANK ... */
static void parse_wait(struct parser *p, enum step_kind kind) {
    struct plan_step *step = add_step(p, kind);
    step->count = wt_plan_number_from(p, 0, INT64_MAX);
    step->n_ranks = (int32_t)wt_plan_number_from(p, 1, p->plan->n_ranks);
    step->ranks = wt_must_alloc((size_t)step->n_ranks * sizeof(int32_t));
    for (int32_t i = 0; i < step->n_ranks; i++) {
        step->ranks[i] = (int32_t)wt_plan_number_from(p, 0, p->plan->n_ranks - 1);
    }
}

void wt_plan_parse_steps(struct parser *p) {
    while (wt_plan_next_line(p)) {
        char *keyword = wt_plan_word(p);
        if (strcmp(keyword, "end") == 0) {
            return;
        }
        if (strcmp(keyword, "data") == 0) {
            parse_data(p);
        } else if (strcmp(keyword, "empty") == 0) {
            parse_empty(p);
        } else if (strcmp(keyword, "do") == 0) {
            parse_do(p);
        } else if (strcmp(keyword, "pair") == 0) {
            parse_pair(p);
        } else if (strcmp(keyword, "tick") == 0) {
            add_step(p, STEP_TICK);
        } else if (strcmp(keyword, "signal") == 0) {
            parse_wait(p, STEP_SIGNAL);
        } else if (strcmp(keyword, "await") == 0) {
            parse_wait(p, STEP_AWAIT);
        } else if (strcmp(keyword, "sync") == 0) {
            struct plan_step *step = add_step(p, STEP_SYNC);
            step->communicator = (int32_t)wt_plan_number_from(p, 0, p->plan->n_communicators - 1);
            step->count = wt_plan_number_from(p, 1, INT64_MAX);
        } else if (strcmp(keyword, "pause") == 0) {
            add_step(p, STEP_PAUSE)->count = wt_plan_number_from(p, 0, INT64_MAX);
        } else if (strcmp(keyword, "repeat") == 0) {
            struct plan_step *step = add_step(p, STEP_REPEAT);
            step->count = wt_plan_number_from(p, 0, INT64_MAX);
            int32_t self = p->plan->n_steps - 1;
            wt_plan_parse_steps(p);
            p->plan->steps[self].end = p->plan->n_steps;
        } else {
            BAD(p, "unknown step", keyword);
        }
    }
    BAD(p, "a program or a repeat has no end; the plan is cut short", "");
}

void wt_plan_skip_steps(struct parser *p) {
    for (int depth = 1; depth > 0;) {
        if (!wt_plan_next_line(p)) {
            BAD(p, "a program has no end; the plan is cut short", "");
        }
        depth += strncmp(p->line, "repeat ", 7) == 0;
        depth -= strcmp(p->line, "end") == 0;
    }
}
