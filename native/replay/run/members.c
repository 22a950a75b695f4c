/* Turns the one file of a plan that stands for many into the next of them: names, prepared bytes and count
 * are put into the plan's file, so that nothing else of the program knows of members. */
#include "run/members.h"

#include "failure.h"
#include "verify/verify_state.h"

#include <stdlib.h>
#include <string.h>

static struct unflushed *count_of(struct replay *r, const struct plan_file *file) {
    return &r->unflushed[file - r->plan->files];
}

/* Keep the count of the member at hand. */
static void leave(struct replay *r, const struct plan_file *file) {
    struct plan_family *family = file->family;
    struct unflushed *count = count_of(r, file);
    if (family->at_hand >= 0 && (count->waits || count->bytes || family->counts)) {
        if (!family->counts) {
            family->counts = wt_must_alloc((size_t)family->n_members * sizeof *family->counts);
        }
        family->counts[family->at_hand] = *count;
    }
    *count = (struct unflushed){0};
    family->at_hand = -1;
}

static void enter(struct replay *r, const struct plan_file *file, int32_t member) {
    struct plan_family *family = file->family;
    const struct plan_member_file *found = &family->members[member];
    struct plan_file *changed = &r->plan->files[file - r->plan->files];
    for (int32_t k = 0; k < file->n_names; k++) {
        char *path = family->paths[k];
        strcpy(path + family->folder_length, found->names[k]);
        changed->names[k].path = path;
        changed->names[k].name = path + family->root_length;
    }
    changed->path = changed->names[0].path;
    changed->name = changed->names[0].name;
    changed->prepared = found->prepared;
    if (family->counts) {
        *count_of(r, file) = family->counts[member];
    }
    family->at_hand = member;
}

void wt_members_next(struct replay *r, const struct plan_file *file) {
    struct plan_family *family = file->family;
    leave(r, file);
    if (family->next >= family->n_visits) {
        wt_fail(NULL, "the plan asks for more members of %s than this rank visits (%lld)", file->name,
                (long long)family->n_visits);
    }
    enter(r, file, family->visits[family->next++]);
    wt_verify_turned((int32_t)(file - r->plan->files));
}

void wt_members_rewind(struct replay *r) {
    for (int32_t i = 0; i < r->plan->n_files; i++) {
        if (r->plan->files[i].family) {
            r->plan->files[i].family->next = 0;
        }
    }
}

void wt_members_renew(struct replay *r) {
    wt_members_rewind(r);
    for (int32_t i = 0; i < r->plan->n_files; i++) {
        struct plan_family *family = r->plan->files[i].family;
        if (!family) {
            continue;
        }
        free(family->counts);
        family->counts = NULL;
        family->at_hand = -1;
    }
}

void wt_members_each_written(struct replay *r,
                             void (*tell)(void *to, struct replay *r, struct plan_file *file), void *to) {
    for (int32_t i = 0; i < r->plan->n_files; i++) {
        struct plan_file *file = &r->plan->files[i];
        if (!file->family) {
            continue;
        }
        leave(r, file);
        for (int32_t m = 0; file->family->counts && m < file->family->n_members; m++) {
            if (!file->family->counts[m].waits && !file->family->counts[m].bytes) {
                continue;
            }
            enter(r, file, m);
            tell(to, r, file);
            leave(r, file);
        }
    }
}
