/* Ends a replay that cannot go on. Knows no ranks but this one's number, so that everything may fail: what
 * ends the others is handed in when they are there. */
#include "failure.h"

#include "clock.h"
#include "rank_status.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void alone(void) {}

static void (*end_all)(void) = alone;

void wt_fail_ends(void (*all)(void)) {
    end_all = all;
}

void wt_print_json_string(const char *text) {
    putchar('"');
    for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
        if (*c == '"' || *c == '\\') {
            printf("\\%c", *c);
        } else if (*c < 0x20 || *c == 0x7f) {
            printf("\\u%04x", *c);
        } else {
            putchar(*c);
        }
    }
    putchar('"');
}

_Noreturn void wt_fail(const struct doing *doing, const char *reason, ...) {
    char text[1024];
    va_list args;
    va_start(args, reason);
    vsnprintf(text, sizeof text, reason, args);
    va_end(args);
    const int64_t at_ns = wt_now_ns();
    wt_status->state = RANK_ENDED; /* its watching process has nothing to add */
    /* Ranks often fail together, and a launcher may mix their lines (MPICH's does): one after the other. */
    const int rank = wt_status->rank < 0 ? 0 : wt_status->rank;
    const int turn = rank < 16 ? rank : 16;
    nanosleep(&(struct timespec){.tv_nsec = turn * 30000000}, NULL);
    /* Not at the start of a line already begun by another rank: the reader searches for the mark. */
    printf("\n" FAILURE_MARK "{\"rank\": %d, \"call\": ", rank);
    wt_print_json_string(doing && doing->call ? doing->call : "");
    printf(", \"file\": ");
    wt_print_json_string(doing && doing->file ? doing->file : "");
    printf(", \"offset\": %lld, \"size\": %lld, \"at_ns\": %lld, \"reason\": ",
           doing ? (long long)doing->offset : -1LL, doing ? (long long)doing->size : -1LL, (long long)at_ns);
    wt_print_json_string(text);
    printf("}\n");
    fflush(stdout);
    /* The launcher forwards output and kills on abort by different ways; give the line time to get out, also
     * on a busy machine (100 ms was lost once in many runs under load). */
    nanosleep(&(struct timespec){.tv_nsec = 500000000}, NULL);
    end_all();
    _Exit(1);
}

void *wt_must_alloc(size_t size) {
    void *p = calloc(1, size ? size : 1);
    if (!p) {
        wt_fail(NULL, "out of memory (%zu bytes)", size);
    }
    return p;
}

void *wt_must_grow(void *old, size_t size) {
    void *p = realloc(old, size ? size : 1);
    if (!p) {
        wt_fail(NULL, "out of memory (%zu bytes)", size);
    }
    return p;
}
