/* Reads the tables of a plan: files, views, communicators, hints, phases. What concerns other ranks is passed
 * over, so that a rank's memory does not grow with their number. */
#include "plan/plan_text.h"

#include "failure.h"
#include "plan/views.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool leaves_root(const char *name) {
    const size_t length = strlen(name);
    return name[0] == '/' || !length || strcmp(name, "..") == 0 || strncmp(name, "../", 3) == 0 ||
           strstr(name, "/../") || (length > 2 && strcmp(name + length - 3, "/..") == 0);
}

static void add_name(struct parser *p, struct plan_file *f, const char *root) {
    f->names = wt_plan_grown(f->names, f->n_names, sizeof *f->names);
    struct plan_name *added = &f->names[f->n_names++];
    added->symlink = false;
    char *name = added->name = wt_plan_word(p);
    wt_plan_unescape(name);
    if (leaves_root(name)) {
        BAD(p, "a file's name leaves the root:", name);
    }
    size_t length = strlen(root) + 1 + strlen(name) + 1;
    added->path = wt_must_alloc(length);
    snprintf(added->path, length, "%s/%s", root, name);
    f->name = f->names[0].name;
    f->path = f->names[0].path;
}

static void parse_file(struct parser *p, const char *root) {
    struct plan *plan = p->plan;
    plan->files = wt_plan_grown(plan->files, plan->n_files, sizeof *plan->files);
    struct plan_file *f = &plan->files[plan->n_files++];
    f->id = (int32_t)wt_plan_number_from(p, 0, INT32_MAX);
    f->content = (int32_t)wt_plan_number_from(p, 0, INT32_MAX);
    const char *role = wt_plan_word(p);
    f->made_in_run = strcmp(role, "output") == 0;
    f->never_there = strcmp(role, "none") == 0;
    f->prepared = wt_plan_number_from(p, 0, INT64_MAX);
    f->names = NULL;
    f->family = NULL;
    f->n_names = 0;
    add_name(p, f, root);
}

/* name FILE NAME: a further name */
static void parse_name(struct parser *p, const char *root) {
    int32_t file = wt_plan_file(p, wt_plan_number(p));
    add_name(p, &p->plan->files[file], root);
}

static struct plan_file *file_with_members(struct parser *p) {
    struct plan_file *f = &p->plan->files[wt_plan_file(p, wt_plan_number(p))];
    if (!f->family) {
        BAD(p, "it names a file without members", "");
    }
    return f;
}

/* members FILE N folder|tree: files that take turns at being that file, in a folder of its name or below the
 * root */
static void parse_members(struct parser *p, const char *root) {
    struct plan_file *f = &p->plan->files[wt_plan_file(p, wt_plan_number(p))];
    if (f->family) {
        BAD(p, "a file has members twice", "");
    }
    struct plan_family *family = f->family = wt_must_alloc(sizeof *family);
    (void)wt_plan_number_from(p, 1, INT32_MAX); /* of all ranks */
    const char *where = wt_plan_word(p);
    if (strcmp(where, "folder") != 0 && strcmp(where, "tree") != 0) {
        BAD(p, "members lie in no", where);
    }
    family->at_hand = -1;
    family->root_length = strlen(root) + 1;
    family->folder_length = strcmp(where, "tree") == 0 ? family->root_length : strlen(f->path) + 1;
    family->paths = wt_must_alloc((size_t)f->n_names * sizeof *family->paths);
    for (int32_t k = 0; k < f->n_names; k++) {
        family->paths[k] = wt_must_alloc(family->folder_length + 1);
        snprintf(family->paths[k], family->folder_length + 1, "%s/", f->path);
        family->paths[k][family->folder_length - 1] = '/';
    }
}

/* One of the members that a rank visits: member PREPARED NAME ... */
static void parse_member(struct parser *p, struct plan_family *family, int32_t n_names, int32_t number) {
    if (!wt_plan_next_line(p) || strcmp(wt_plan_word(p), "member") != 0) {
        BAD(p, "a rank has fewer members than it says", "");
    }
    family->members[number].prepared = wt_plan_number_from(p, 0, INT64_MAX);
    char **names = family->members[number].names = wt_must_alloc((size_t)n_names * sizeof *names);
    for (int32_t k = 0; k < n_names; k++) {
        char *name = names[k] = wt_plan_word(p);
        wt_plan_unescape(name);
        if (leaves_root(name)) {
            BAD(p, "a member's name leaves its folder:", name);
        }
        const size_t length = strlen(name);
        if (length > family->longest) {
            family->longest = length;
        }
    }
}

/* visits FILE RANK MEMBERS VISITS NUMBER ...: the members that a rank turns to, a line each; and their order
 * by number, from 0, of which nothing is said where each is visited once, in the order of the lines */
static void parse_visits(struct parser *p) {
    const struct plan_file *f = file_with_members(p);
    struct plan_family *family = f->family;
    const bool mine = wt_plan_number(p) == p->rank;
    const int32_t n_members = (int32_t)wt_plan_number_from(p, 1, INT32_MAX);
    if (!mine) {
        for (int32_t i = 0; i < n_members; i++) {
            if (!wt_plan_next_line(p)) {
                BAD(p, "a rank has fewer members than it says", "");
            }
        }
        return;
    }
    if (family->visits) {
        BAD(p, "a rank visits members twice", "");
    }
    family->n_members = n_members;
    family->n_visits = wt_plan_number_from(p, 1, INT64_MAX / 8);
    family->visits = wt_must_alloc((size_t)family->n_visits * sizeof *family->visits);
    const bool in_order = !*p->line;
    if (in_order && family->n_visits != n_members) {
        BAD(p, "a rank's visits have no order", "");
    }
    for (int64_t i = 0; i < family->n_visits; i++) {
        family->visits[i] = in_order ? (int32_t)i : (int32_t)wt_plan_number_from(p, 0, n_members - 1);
    }
    family->members = wt_must_alloc((size_t)n_members * sizeof *family->members);
    for (int32_t i = 0; i < n_members; i++) {
        parse_member(p, family, f->n_names, i);
    }
    for (int32_t k = 0; k < f->n_names; k++) {
        family->paths[k] = wt_must_grow(family->paths[k], family->folder_length + family->longest + 1);
    }
}

static void parse_view(struct parser *p) {
    struct plan *plan = p->plan;
    if (plan->n_phases > 0) { /* which point to them */
        BAD(p, "a view comes behind a phase", "");
    }
    plan->views = wt_plan_grown(plan->views, plan->n_views, sizeof *plan->views);
    struct plan_view *v = &plan->views[plan->n_views++];
    v->displacement = wt_plan_number_from(p, 0, INT64_MAX);
    v->etype_size = wt_plan_number_from(p, 1, INT64_MAX);
    v->extent = wt_plan_number_from(p, 0, INT64_MAX);
    v->n_runs = (int32_t)wt_plan_number_from(p, 0, INT32_MAX);
    v->run_offsets = wt_must_alloc((size_t)v->n_runs * sizeof(int64_t));
    v->run_lengths = wt_must_alloc((size_t)v->n_runs * sizeof(int64_t));
    v->visible = v->reach = 0;
    for (int32_t i = 0; i < v->n_runs; i++) {
        v->run_offsets[i] = wt_plan_number(p);
        v->run_lengths[i] = wt_plan_number_from(p, 0, INT64_MAX);
        v->visible += v->run_lengths[i];
        const int64_t end = v->run_offsets[i] + v->run_lengths[i];
        v->reach = end > v->reach ? end : v->reach;
    }
}

static void parse_communicator(struct parser *p) {
    struct plan *plan = p->plan;
    plan->communicators =
        wt_plan_grown(plan->communicators, plan->n_communicators, sizeof *plan->communicators);
    struct plan_communicator *c = &plan->communicators[plan->n_communicators++];
    c->n_ranks = 0;
    c->ranks = NULL;
    if (strncmp(p->line, "all", 3) == 0) {
        return;
    }
    c->n_ranks = (int32_t)wt_plan_number_from(p, 1, plan->n_ranks);
    c->ranks = wt_must_alloc((size_t)c->n_ranks * sizeof(int32_t));
    for (int32_t i = 0; i < c->n_ranks; i++) {
        c->ranks[i] = (int32_t)wt_plan_number_from(p, 0, plan->n_ranks - 1);
    }
}

/* info N KEY VALUE ...; an empty value is "-" */
static void parse_info(struct parser *p) {
    struct plan *plan = p->plan;
    plan->infos = wt_plan_grown(plan->infos, plan->n_infos, sizeof *plan->infos);
    struct plan_info *info = &plan->infos[plan->n_infos++];
    info->n = (int32_t)wt_plan_number_from(p, 0, INT32_MAX);
    info->keys = wt_must_alloc((size_t)info->n * sizeof(char *));
    info->values = wt_must_alloc((size_t)info->n * sizeof(char *));
    for (int32_t i = 0; i < info->n; i++) {
        wt_plan_unescape(info->keys[i] = wt_plan_word(p));
        info->values[i] = wt_plan_word(p);
        if (strcmp(info->values[i], "-") == 0) {
            info->values[i] = "";
        } else {
            wt_plan_unescape(info->values[i]);
        }
    }
}

bool wt_plan_communicator_has(const struct plan_communicator *communicator, int rank) {
    for (int32_t i = 0; i < communicator->n_ranks; i++) {
        if (communicator->ranks[i] == rank) {
            return true;
        }
    }
    return communicator->n_ranks == 0;
}

static void parse_phase(struct parser *p) {
    struct plan *plan = p->plan;
    plan->phases = wt_plan_grown(plan->phases, plan->n_phases, sizeof *plan->phases);
    struct plan_phase *phase = &plan->phases[plan->n_phases++];
    memset(phase, 0, sizeof *phase);
    phase->id = (int32_t)wt_plan_number_from(p, 0, INT32_MAX);
    phase->file = wt_plan_file(p, wt_plan_number(p));
}

static void parse_call(struct parser *p) {
    if (p->plan->n_phases == 0) {
        BAD(p, "a call comes before any phase", "");
    }
    struct plan_phase *phase = &p->plan->phases[p->plan->n_phases - 1];
    phase->members = wt_plan_grown(phase->members, phase->n_members, sizeof *phase->members);
    struct plan_member *member = &phase->members[phase->n_members++];
    memset(member, 0, sizeof *member);
    char *name = wt_plan_word(p);
    member->call = wt_call_named(name);
    if (member->call == N_CALLS || wt_calls[member->call].kind == KIND_FILE) {
        BAD(p, "this program does not know the data call", name);
    }
    member->placed = strcmp(wt_plan_word(p), "placed") == 0;
    if (p->plan->files[phase->file].family && wt_calls[member->call].kind == KIND_WRITE) {
        p->plan->files[phase->file].family->written = true;
    }
    member->handle = wt_plan_number(p);
}

static void add_run(struct parser *p, struct plan_member *member, struct plan_run run) {
    if (run.count < 1 || run.rs < 0 || run.moved_last < 0 || run.moved_last > run.rs) {
        BAD(p, "a run's numbers contradict each other", "");
    }
    const struct plan_view *memory = member->memory;
    if (memory && (run.rs % memory->visible || run.rs / memory->visible > INT32_MAX)) {
        BAD(p, "a call's bytes do not fill its memory", "");
    }
    const int64_t span = memory ? wt_memory_span(memory, run.rs) : run.rs;
    if (span < 0) {
        BAD(p, "a call's memory is larger than 63 bits", "");
    }
    member->runs = wt_plan_grown(member->runs, member->n_runs, sizeof *member->runs);
    member->runs[member->n_runs++] = run;
    wt_plan_note_size(p->plan, member->call, span > run.rs ? span : run.rs);
}

static struct plan_member *current_member(struct parser *p) {
    struct plan_phase *phase = p->plan->n_phases ? &p->plan->phases[p->plan->n_phases - 1] : NULL;
    if (!phase || !phase->n_members) {
        BAD(p, "offsets come before any call", "");
    }
    return &phase->members[phase->n_members - 1];
}

/* memory RANKS VIEW: the calls' bytes lie in memory as that view shows them */
static void parse_memory(struct parser *p) {
    struct plan_member *member = current_member(p);
    const bool mine = wt_plan_ranks_hold(p, wt_plan_word(p), p->rank);
    const struct plan_view *view = &p->plan->views[wt_plan_number_from(p, 0, p->plan->n_views - 1)];
    if (view->visible == 0 || view->displacement != 0 || view->etype_size != 1) {
        BAD(p, "memory does not begin at 0 in bytes", "");
    }
    for (int32_t i = 0; i < view->n_runs; i++) {
        if (view->run_offsets[i] < 0 || view->run_lengths[i] > INT32_MAX) {
            BAD(p, "memory has a piece that is too long, or lies before its start", "");
        }
    }
    if (mine) {
        member->memory = view;
        p->plan->memory_has_gaps = true;
    }
}

/* linear COUNT RS A B C MOVED_LAST: offset = A*rank + B*i + C, for every rank that performs the phase */
static void parse_linear(struct parser *p) {
    struct plan_member *member = current_member(p);
    struct plan_run run = {.count = wt_plan_number(p)};
    run.rs = wt_plan_number(p);
    int64_t a = wt_plan_number(p);
    run.disp = wt_plan_number(p);
    int64_t c = wt_plan_number(p);
    run.moved_last = wt_plan_number(p);
    if (__builtin_mul_overflow(a, (int64_t)p->rank, &run.offset) ||
        __builtin_add_overflow(run.offset, c, &run.offset)) {
        BAD(p, "an offset is larger than 63 bits", "");
    }
    add_run(p, member, run);
}

/* run RANK COUNT RS OFFSET DISP MOVED_LAST */
static void parse_run(struct parser *p) {
    struct plan_member *member = current_member(p);
    if (wt_plan_number(p) != p->rank) {
        return;
    }
    struct plan_run run = {.count = wt_plan_number(p)};
    run.rs = wt_plan_number(p);
    run.offset = wt_plan_number(p);
    run.disp = wt_plan_number(p);
    run.moved_last = wt_plan_number(p);
    add_run(p, member, run);
}

static void check_header(struct parser *p) {
    if (!wt_plan_next_line(p) || strcmp(wt_plan_word(p), "wavetank-plan") != 0) {
        BAD(p, "it does not begin with wavetank-plan", "");
    }
    int64_t version = wt_plan_number(p);
    if (version != PLAN_VERSION) {
        wt_fail(NULL,
                "the plan has version %lld, this program reads version %d. Build both from the same source",
                (long long)version, PLAN_VERSION);
    }
    if (!wt_plan_next_line(p) || strcmp(wt_plan_word(p), "ranks") != 0) {
        BAD(p, "the number of ranks is missing", "");
    }
    p->plan->n_ranks = (int32_t)wt_plan_number_from(p, 1, INT32_MAX);
}

struct plan *wt_plan_parse(char *text, const char *root, int rank) {
    struct parser p = {.rest = text, .rank = rank, .plan = wt_must_alloc(sizeof(struct plan))};
    check_header(&p);
    bool ended = false, mine = false;
    while (wt_plan_next_line(&p)) {
        char *keyword = wt_plan_word(&p);
        if (strcmp(keyword, "file") == 0) {
            parse_file(&p, root);
        } else if (strcmp(keyword, "name") == 0) {
            parse_name(&p, root);
        } else if (strcmp(keyword, "members") == 0) {
            parse_members(&p, root);
        } else if (strcmp(keyword, "visits") == 0) {
            parse_visits(&p);
        } else if (strcmp(keyword, "view") == 0) {
            parse_view(&p);
        } else if (strcmp(keyword, "info") == 0) {
            parse_info(&p);
        } else if (strcmp(keyword, "communicator") == 0) {
            parse_communicator(&p);
        } else if (strcmp(keyword, "phase") == 0) {
            parse_phase(&p);
        } else if (strcmp(keyword, "call") == 0) {
            parse_call(&p);
        } else if (strcmp(keyword, "memory") == 0) {
            parse_memory(&p);
        } else if (strcmp(keyword, "linear") == 0) {
            parse_linear(&p);
        } else if (strcmp(keyword, "run") == 0) {
            parse_run(&p);
        } else if (strcmp(keyword, "program") == 0) {
            if (!wt_plan_ranks_hold(&p, wt_plan_word(&p), rank)) {
                wt_plan_skip_steps(&p);
            } else if (mine) {
                BAD(&p, "a rank has two programs", "");
            } else {
                mine = true;
                wt_plan_parse_steps(&p);
            }
        } else if (strcmp(keyword, "plan-end") == 0) {
            ended = true;
        } else {
            BAD(&p, "unknown word", keyword);
        }
    }
    if (!ended) {
        BAD(&p, "the plan is cut short", "");
    }
    return p.plan;
}
