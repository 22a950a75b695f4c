/* A plan's text from rank 0 to all: to each rank what concerns all of them, and the names of files that it
 * visits itself. So a rank's memory does not grow with the files of the others. */
#include "plan/plan.h"

#include "failure.h"
#include "ranks/ranks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Text that grows at its end. */
struct growing_text {
    char *bytes;
    size_t length, room;
};

static void add(struct growing_text *to, const char *bytes, size_t n) {
    if (to->length + n + 1 > to->room) {
        to->room = 2 * (to->length + n + 1);
        to->bytes = wt_must_grow(to->bytes, to->room);
    }
    memcpy(to->bytes + to->length, bytes, n);
    to->length += n;
    to->bytes[to->length] = '\0';
}

/* Lines are numbered as in the whole text. */
static void add_number(struct growing_text *to, int64_t line) {
    char text[32];
    add(to, text, (size_t)snprintf(text, sizeof text, "#@%lld\n", (long long)line));
}

static const char *line_end(const char *text) {
    const char *end = strchr(text, '\n');
    return end ? end + 1 : text + strlen(text);
}

/* The lines of visits of one rank, from text on; their number, 0 where the line is another one. */
static int64_t visits_at(const char *text, int32_t n_ranks, int32_t *rank, const char **end) {
    const size_t length = strlen("visits ");
    if (strncmp(text, "visits ", length) != 0) {
        return 0;
    }
    char *rest;
    (void)strtoll(text + length, &rest, 10); /* sscanf would go through all of the text */
    const long long whose = strtoll(rest, &rest, 10), members = strtoll(rest, &rest, 10);
    if (whose < 0 || whose >= n_ranks || members < 1) {
        return 0; /* the parser says what is wrong */
    }
    *rank = (int32_t)whose;
    *end = line_end(text);
    for (long long i = 0; i < members && **end; i++) {
        *end = line_end(*end);
    }
    return 1 + members;
}

char *wt_plan_share(char *text) {
    const int32_t n_ranks = wt_rank_count();
    if (n_ranks == 1) {
        return text;
    }
    struct growing_text common = {0}, *own = NULL;
    if (text) {
        own = wt_must_alloc((size_t)n_ranks * sizeof *own);
        int64_t number = 1;
        int32_t rank = 0;
        for (const char *line = text, *end; *line; line = end) {
            const int64_t n = visits_at(line, n_ranks, &rank, &end);
            if (n) {
                add_number(&own[rank], number);
                add(&own[rank], line, (size_t)(end - line));
                number += n;
                if (strncmp(end, "visits ", 7) != 0) {
                    add_number(&common, number);
                }
            } else {
                end = line_end(line);
                add(&common, line, (size_t)(end - line));
                number++;
            }
        }
        add(&common, "", 0);
        free(text);
    }
    common.bytes = wt_ranks_share_text(common.bytes);
    common.length = strlen(common.bytes);
    common.room = 0;
    for (int32_t rank = 0; rank < n_ranks; rank++) {
        size_t n = 0;
        char *mine = wt_ranks_hand_out(rank, own ? own[rank].bytes : NULL, own ? own[rank].length : 0, &n);
        if (mine) {
            add(&common, mine, n);
        }
        free(mine);
    }
    free(own);
    return common.bytes;
}
