/* Words and numbers of a plan's text. Each number is checked where it is read: a damaged plan is refused with
 * its line, before anything is performed. */
#include "plan/plan_text.h"

#include "failure.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *wt_plan_read_text(const char *path) {
    FILE *f = fopen(path, "rb");
    struct doing doing = {"open", path, -1, -1};
    if (!f) {
        wt_fail(&doing, "cannot read the plan: %s", strerror(errno));
    }
    size_t length = 0, capacity = 1 << 16;
    char *text = wt_must_alloc(capacity);
    for (size_t n; (n = fread(text + length, 1, capacity - length - 1, f)) > 0;) {
        length += n;
        if (capacity - length == 1) {
            text = wt_must_grow(text, capacity *= 2);
        }
    }
    if (ferror(f)) {
        wt_fail(&doing, "cannot read the plan: %s", strerror(errno));
    }
    fclose(f);
    text[length] = '\0';
    return text;
}

_Noreturn void wt_plan_bad(int64_t line, const char *what, const char *word) {
    wt_fail(NULL, "the plan is damaged at line %lld: %s%s%s. Make it again from the kernel", (long long)line,
            what, *word ? " " : "", word);
}

bool wt_plan_next_line(struct parser *p) {
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
        if (strncmp(p->line, "#@", 2) ==
            0) { /* wt_plan_share: the number of the next line in the whole text */
            p->number = strtoll(p->line + 2, NULL, 10) - 1;
        }
    } while (!*p->line || *p->line == '#');
    return true;
}

char *wt_plan_word(struct parser *p) {
    if (!p->line || !*p->line) {
        BAD(p, "the line is too short", "");
    }
    char *start = p->line, *end = start + strcspn(start, " ");
    if (*end) {
        *end = '\0';
        end += 1 + strspn(end + 1, " ");
    }
    p->line = end;
    return start;
}

int64_t wt_plan_number(struct parser *p) {
    char *text = wt_plan_word(p), *end;
    if (strcmp(text, "-") == 0) {
        return -1;
    }
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (errno || *end || end == text) {
        BAD(p, "not a number:", text);
    }
    return value;
}

int64_t wt_plan_number_from(struct parser *p, int64_t low, int64_t high) {
    int64_t value = wt_plan_number(p);
    if (value < low || value > high) {
        BAD(p, "a number is out of its range", "");
    }
    return value;
}

int32_t wt_plan_optional_index(struct parser *p, int32_t n) {
    return (int32_t)wt_plan_number_from(p, -1, n - 1);
}

int32_t wt_plan_file(struct parser *p, int64_t id) {
    int32_t low = 0,
            high = p->plan->n_files; /* their numbers ascend, unless a person has edited the kernel */
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        if (p->plan->files[middle].id < id) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low < p->plan->n_files && p->plan->files[low].id == id) {
        return low;
    }
    for (int32_t i = 0; i < p->plan->n_files; i++) {
        if (p->plan->files[i].id == id) {
            return i;
        }
    }
    BAD(p, "it names a file that the plan does not have", "");
}

int32_t wt_plan_phase(struct parser *p, int64_t id) {
    /* Phases are numbered from 1 in their order, unless some are left out. */
    if (id >= 1 && id <= p->plan->n_phases && p->plan->phases[id - 1].id == id) {
        return (int32_t)(id - 1);
    }
    for (int32_t i = 0; i < p->plan->n_phases; i++) {
        if (p->plan->phases[i].id == id) {
            return i;
        }
    }
    BAD(p, "it names a phase that the plan does not have", "");
}

void wt_plan_unescape(char *text) {
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

void *wt_plan_grown(void *array, int32_t n, size_t size) {
    if ((n & (n - 1)) != 0) {
        return array;
    }
    return wt_must_grow(array, (size_t)(n ? 2 * n : 1) * size);
}

void wt_plan_note_size(struct plan *plan, enum call call, int64_t size) {
    if (wt_is_copy(call)) { /* inside of the kernel, unless bytes are verified */
        if (size > plan->largest_copy) {
            plan->largest_copy = size;
        }
        return;
    }
    int64_t *largest = wt_calls[call].kind == KIND_READ ? &plan->largest_read : &plan->largest_write;
    if (size > *largest) {
        *largest = size;
    }
}

bool wt_plan_ranks_hold(struct parser *p, const char *text, int rank) {
    while (*text) {
        char *end;
        long low = strtol(text, &end, 10), high = low;
        if (end == text) {
            BAD(p, "not a list of ranks", "");
        }
        if (*end == '-') {
            const char *after = end + 1;
            high = strtol(after, &end, 10);
            if (end == after) {
                BAD(p, "not a list of ranks", "");
            }
        }
        if (rank >= low && rank <= high) {
            return true;
        }
        text = *end == ',' ? end + 1 : end;
        if (*end && *end != ',') {
            BAD(p, "not a list of ranks", "");
        }
    }
    return false;
}
