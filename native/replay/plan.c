#include "plan.h"

#include "failure.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Where the parser is. Words are cut out of the text in place. */
struct parser {
    char *rest;
    char *line; /* rest of the current line's words; NULL at the end of the plan */
    int64_t number;
    int rank;
    struct plan *plan;
    int32_t capacity_steps;
};

#define BAD(p, ...) bad_plan((p)->number, __VA_ARGS__)

static _Noreturn void bad_plan(int64_t line, const char *what, const char *word) {
    fail(NULL, "the plan is damaged at line %lld: %s%s%s. Make it again from the kernel", (long long)line,
         what, *word ? " " : "", word);
}

char *plan_read_text(const char *path) {
    FILE *f = fopen(path, "rb");
    struct doing doing = {"open", path, -1, -1};
    if (!f)
        fail(&doing, "cannot read the plan: %s", strerror(errno));
    size_t length = 0, capacity = 1 << 16;
    char *text = must_alloc(capacity);
    for (size_t n; (n = fread(text + length, 1, capacity - length - 1, f)) > 0;) {
        length += n;
        if (capacity - length == 1)
            text = must_grow(text, capacity *= 2);
    }
    if (ferror(f))
        fail(&doing, "cannot read the plan: %s", strerror(errno));
    fclose(f);
    text[length] = '\0';
    return text;
}

static bool next_line(struct parser *p) {
    do {
        if (!*p->rest) {
            p->line = NULL;
            return false;
        }
        p->line = p->rest;
        p->number++;
        char *end = strchr(p->rest, '\n');
        if (end) {
            *end = '\0';
            p->rest = end + 1;
        } else {
            p->rest += strlen(p->rest);
        }
        p->line += strspn(p->line, " ");
    } while (!*p->line || *p->line == '#');
    return true;
}

static char *word(struct parser *p) {
    if (!p->line || !*p->line)
        BAD(p, "the line is too short", "");
    char *start = p->line, *end = start + strcspn(start, " ");
    if (*end) {
        *end = '\0';
        end += 1 + strspn(end + 1, " ");
    }
    p->line = end;
    return start;
}

static int64_t number(struct parser *p) {
    char *text = word(p), *end;
    if (strcmp(text, "-") == 0)
        return -1;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (errno || *end || end == text)
        BAD(p, "not a number:", text);
    return value;
}

static int64_t number_from(struct parser *p, int64_t low, int64_t high) {
    int64_t value = number(p);
    if (value < low || value > high)
        BAD(p, "a number is out of its range", "");
    return value;
}

static int32_t index_of_file(struct parser *p, int64_t id) {
    for (int32_t i = 0; i < p->plan->n_files; i++)
        if (p->plan->files[i].id == id)
            return i;
    BAD(p, "it names a file that the plan does not have", "");
}

static int32_t index_of_phase(struct parser *p, int64_t id) {
    /* Phases are numbered from 1 in their order, unless some are left out. */
    if (id >= 1 && id <= p->plan->n_phases && p->plan->phases[id - 1].id == id)
        return (int32_t)(id - 1);
    for (int32_t i = 0; i < p->plan->n_phases; i++)
        if (p->plan->phases[i].id == id)
            return i;
    BAD(p, "it names a phase that the plan does not have", "");
}

/* %XX to bytes, in place. */
static void unescape(char *text) {
    char *to = text;
    for (char *from = text; *from; from++) {
        if (from[0] == '%' && from[1] && from[2]) {
            char hex[3] = {from[1], from[2], '\0'};
            *to++ = (char)strtol(hex, NULL, 16);
            from += 2;
        } else {
            *to++ = *from;
        }
    }
    *to = '\0';
}

static void *grown(void *array, int32_t n, size_t size) {
    if ((n & (n - 1)) != 0) /* grows at powers of two */
        return array;
    return must_grow(array, (size_t)(n ? 2 * n : 1) * size);
}

static void parse_file(struct parser *p, const char *root) {
    struct plan *plan = p->plan;
    plan->files = grown(plan->files, plan->n_files, sizeof *plan->files);
    struct plan_file *f = &plan->files[plan->n_files++];
    f->id = (int32_t)number_from(p, 0, INT32_MAX);
    f->made_in_run = strcmp(word(p), "output") == 0;
    f->name = word(p);
    unescape(f->name);
    if (f->name[0] == '/' || !f->name[0] || strcmp(f->name, "..") == 0 || strncmp(f->name, "../", 3) == 0 ||
        strstr(f->name, "/../"))
        BAD(p, "a file's name leaves the root:", f->name);
    size_t length = strlen(root) + 1 + strlen(f->name) + 1;
    f->path = must_alloc(length);
    snprintf(f->path, length, "%s/%s", root, f->name);
}

static void parse_view(struct parser *p) {
    struct plan *plan = p->plan;
    plan->views = grown(plan->views, plan->n_views, sizeof *plan->views);
    struct plan_view *v = &plan->views[plan->n_views++];
    v->displacement = number_from(p, 0, INT64_MAX);
    v->etype_size = number_from(p, 1, INT64_MAX);
    v->extent = number_from(p, 0, INT64_MAX);
    v->n_runs = (int32_t)number_from(p, 0, INT32_MAX);
    v->run_offsets = must_alloc((size_t)v->n_runs * sizeof(int64_t));
    v->run_lengths = must_alloc((size_t)v->n_runs * sizeof(int64_t));
    v->visible = 0;
    for (int32_t i = 0; i < v->n_runs; i++) {
        v->run_offsets[i] = number(p);
        v->run_lengths[i] = number_from(p, 0, INT64_MAX);
        v->visible += v->run_lengths[i];
    }
}

static void parse_communicator(struct parser *p) {
    struct plan *plan = p->plan;
    plan->communicators = grown(plan->communicators, plan->n_communicators, sizeof *plan->communicators);
    struct plan_communicator *c = &plan->communicators[plan->n_communicators++];
    c->n_ranks = 0;
    c->ranks = NULL;
    if (strncmp(p->line, "all", 3) == 0)
        return;
    c->n_ranks = (int32_t)number_from(p, 1, plan->n_ranks);
    c->ranks = must_alloc((size_t)c->n_ranks * sizeof(int32_t));
    for (int32_t i = 0; i < c->n_ranks; i++)
        c->ranks[i] = (int32_t)number_from(p, 0, plan->n_ranks - 1);
}

bool plan_communicator_has(const struct plan_communicator *communicator, int rank) {
    for (int32_t i = 0; i < communicator->n_ranks; i++)
        if (communicator->ranks[i] == rank)
            return true;
    return communicator->n_ranks == 0;
}

static void parse_phase(struct parser *p) {
    struct plan *plan = p->plan;
    plan->phases = grown(plan->phases, plan->n_phases, sizeof *plan->phases);
    struct plan_phase *phase = &plan->phases[plan->n_phases++];
    memset(phase, 0, sizeof *phase);
    phase->id = (int32_t)number_from(p, 0, INT32_MAX);
    phase->file = index_of_file(p, number(p));
}

static void parse_call(struct parser *p) {
    if (p->plan->n_phases == 0)
        BAD(p, "a call comes before any phase", "");
    struct plan_phase *phase = &p->plan->phases[p->plan->n_phases - 1];
    phase->members = grown(phase->members, phase->n_members, sizeof *phase->members);
    struct plan_member *member = &phase->members[phase->n_members++];
    memset(member, 0, sizeof *member);
    char *name = word(p);
    member->call = call_named(name);
    if (member->call == N_CALLS || CALLS[member->call].kind == KIND_FILE)
        BAD(p, "this program does not know the data call", name);
    member->placed = strcmp(word(p), "placed") == 0;
    member->handle = number(p);
}

static void note_size(struct plan *plan, enum call call, int64_t size) {
    int64_t *largest = CALLS[call].kind == KIND_READ ? &plan->largest_read : &plan->largest_write;
    if (size > *largest)
        *largest = size;
}

static void add_run(struct parser *p, struct plan_member *member, struct plan_run run) {
    if (run.count < 1 || run.rs < 0 || run.moved_last < 0 || run.moved_last > run.rs)
        BAD(p, "a run's numbers contradict each other", "");
    member->runs = grown(member->runs, member->n_runs, sizeof *member->runs);
    member->runs[member->n_runs++] = run;
    note_size(p->plan, member->call, run.rs);
}

static struct plan_member *current_member(struct parser *p) {
    struct plan_phase *phase = p->plan->n_phases ? &p->plan->phases[p->plan->n_phases - 1] : NULL;
    if (!phase || !phase->n_members)
        BAD(p, "offsets come before any call", "");
    return &phase->members[phase->n_members - 1];
}

/* linear COUNT RS A B C MOVED_LAST: offset = A*rank + B*i + C, for every rank that performs the phase */
static void parse_linear(struct parser *p) {
    struct plan_member *member = current_member(p);
    struct plan_run run = {.count = number(p)};
    run.rs = number(p);
    int64_t a = number(p);
    run.disp = number(p);
    int64_t c = number(p);
    run.moved_last = number(p);
    if (__builtin_mul_overflow(a, (int64_t)p->rank, &run.offset) ||
        __builtin_add_overflow(run.offset, c, &run.offset))
        BAD(p, "an offset is larger than 63 bits", "");
    add_run(p, member, run);
}

/* run RANK COUNT RS OFFSET DISP MOVED_LAST */
static void parse_run(struct parser *p) {
    struct plan_member *member = current_member(p);
    if (number(p) != p->rank)
        return;
    struct plan_run run = {.count = number(p)};
    run.rs = number(p);
    run.offset = number(p);
    run.disp = number(p);
    run.moved_last = number(p);
    add_run(p, member, run);
}

static struct plan_step *add_step(struct parser *p, enum step_kind kind) {
    struct plan *plan = p->plan;
    plan->steps = grown(plan->steps, plan->n_steps, sizeof *plan->steps);
    struct plan_step *step = &plan->steps[plan->n_steps++];
    *step = (struct plan_step){
        .kind = kind, .view = -1, .communicator = -1, .handle = -1, .offset = -1, .count = 1};
    return step;
}

static int32_t optional_index(struct parser *p, int32_t n) {
    return (int32_t)number_from(p, -1, n - 1);
}

/* do CALL FILE HANDLE ARG OFFSET VIEW COMMUNICATOR ERROR COUNT */
static void parse_do(struct parser *p) {
    struct plan_step *step = add_step(p, STEP_FILE);
    char *name = word(p);
    step->call = call_named(name);
    if (step->call == N_CALLS || CALLS[step->call].kind != KIND_FILE)
        BAD(p, "this program does not know the call", name);
    step->file = index_of_file(p, number(p));
    step->handle = number(p);
    step->arg = number(p);
    step->offset = number(p);
    step->view = optional_index(p, p->plan->n_views);
    step->communicator = optional_index(p, p->plan->n_communicators);
    step->error = (int32_t)number_from(p, 0, INT32_MAX);
    step->count = number_from(p, 1, INT64_MAX);
}

/* data PHASE COUNT HANDLE SINGLE NULL_SEEKS */
static void parse_data(struct parser *p) {
    struct plan_step *step = add_step(p, STEP_DATA);
    step->phase = index_of_phase(p, number(p));
    step->count = number_from(p, 1, INT64_MAX);
    step->handle = number(p);
    step->single = number_from(p, 0, 1) == 1;
    step->null_seeks = number_from(p, 0, INT64_MAX);
}

/* empty CALL FILE HANDLE OFFSET SIZE COUNT */
static void parse_empty(struct parser *p) {
    struct plan_step *step = add_step(p, STEP_EMPTY);
    char *name = word(p);
    step->call = call_named(name);
    if (step->call == N_CALLS || CALLS[step->call].kind == KIND_FILE)
        BAD(p, "this program does not know the data call", name);
    step->file = index_of_file(p, number(p));
    step->handle = number(p);
    step->offset = number(p);
    step->size = number_from(p, 0, INT64_MAX);
    step->count = number_from(p, 1, INT64_MAX);
    note_size(p->plan, step->call, step->size);
}

/* signal NUMBER N_RANKS RANK ...; await NUMBER N_RANKS RANK ... */
static void parse_wait(struct parser *p, enum step_kind kind) {
    struct plan_step *step = add_step(p, kind);
    step->count = number_from(p, 0, INT64_MAX);
    step->n_ranks = (int32_t)number_from(p, 1, p->plan->n_ranks);
    step->ranks = must_alloc((size_t)step->n_ranks * sizeof(int32_t));
    for (int32_t i = 0; i < step->n_ranks; i++)
        step->ranks[i] = (int32_t)number_from(p, 0, p->plan->n_ranks - 1);
}

static void parse_steps(struct parser *p) {
    while (next_line(p)) {
        char *keyword = word(p);
        if (strcmp(keyword, "end") == 0)
            return;
        if (strcmp(keyword, "data") == 0) {
            parse_data(p);
        } else if (strcmp(keyword, "empty") == 0) {
            parse_empty(p);
        } else if (strcmp(keyword, "do") == 0) {
            parse_do(p);
        } else if (strcmp(keyword, "signal") == 0) {
            parse_wait(p, STEP_SIGNAL);
        } else if (strcmp(keyword, "await") == 0) {
            parse_wait(p, STEP_AWAIT);
        } else if (strcmp(keyword, "sync") == 0) {
            struct plan_step *step = add_step(p, STEP_SYNC);
            step->communicator = (int32_t)number_from(p, 0, p->plan->n_communicators - 1);
            step->count = number_from(p, 1, INT64_MAX);
        } else if (strcmp(keyword, "pause") == 0) {
            add_step(p, STEP_PAUSE)->count = number_from(p, 0, INT64_MAX);
        } else if (strcmp(keyword, "repeat") == 0) {
            struct plan_step *step = add_step(p, STEP_REPEAT);
            step->count = number_from(p, 0, INT64_MAX);
            int32_t self = p->plan->n_steps - 1;
            parse_steps(p);
            p->plan->steps[self].end = p->plan->n_steps;
        } else {
            BAD(p, "unknown step", keyword);
        }
    }
    BAD(p, "a program or a repeat has no end; the plan is cut short", "");
}

/* "0-3,7" */
static bool ranks_hold(struct parser *p, const char *text, int rank) {
    while (*text) {
        char *end;
        long low = strtol(text, &end, 10), high = low;
        if (end == text)
            BAD(p, "not a list of ranks", "");
        if (*end == '-') {
            const char *after = end + 1;
            high = strtol(after, &end, 10);
            if (end == after)
                BAD(p, "not a list of ranks", "");
        }
        if (rank >= low && rank <= high)
            return true;
        text = *end == ',' ? end + 1 : end;
        if (*end && *end != ',')
            BAD(p, "not a list of ranks", "");
    }
    return false;
}

static void skip_program(struct parser *p) {
    for (int depth = 1; depth > 0;) {
        if (!next_line(p))
            BAD(p, "a program has no end; the plan is cut short", "");
        depth += strncmp(p->line, "repeat ", 7) == 0;
        depth -= strcmp(p->line, "end") == 0;
    }
}

static void check_header(struct parser *p) {
    if (!next_line(p) || strcmp(word(p), "wavetank-plan") != 0)
        BAD(p, "it does not begin with wavetank-plan", "");
    int64_t version = number(p);
    if (version != PLAN_VERSION)
        fail(NULL,
             "the plan has version %lld, this program reads version %d. Build both from the same source",
             (long long)version, PLAN_VERSION);
    if (!next_line(p) || strcmp(word(p), "ranks") != 0)
        BAD(p, "the number of ranks is missing", "");
    p->plan->n_ranks = (int32_t)number_from(p, 1, INT32_MAX);
}

struct plan *plan_parse(char *text, const char *root, int rank) {
    struct parser p = {.rest = text, .rank = rank, .plan = must_alloc(sizeof(struct plan))};
    check_header(&p);
    bool ended = false, mine = false;
    while (next_line(&p)) {
        char *keyword = word(&p);
        if (strcmp(keyword, "file") == 0) {
            parse_file(&p, root);
        } else if (strcmp(keyword, "view") == 0) {
            parse_view(&p);
        } else if (strcmp(keyword, "communicator") == 0) {
            parse_communicator(&p);
        } else if (strcmp(keyword, "phase") == 0) {
            parse_phase(&p);
        } else if (strcmp(keyword, "call") == 0) {
            parse_call(&p);
        } else if (strcmp(keyword, "linear") == 0) {
            parse_linear(&p);
        } else if (strcmp(keyword, "run") == 0) {
            parse_run(&p);
        } else if (strcmp(keyword, "program") == 0) {
            if (!ranks_hold(&p, word(&p), rank)) {
                skip_program(&p);
            } else if (mine) {
                BAD(&p, "a rank has two programs", "");
            } else {
                mine = true;
                parse_steps(&p);
            }
        } else if (strcmp(keyword, "plan-end") == 0) {
            ended = true;
        } else {
            BAD(&p, "unknown word", keyword);
        }
    }
    if (!ended)
        BAD(&p, "the plan is cut short", "");
    return p.plan;
}
