/* What this rank is at, in one record that its watchdog can read. Names are copied and cut, not pointed to:
 * another process reads them, also when this one is gone. */
#include "rank_status.h"

#include <string.h>

static struct rank_status in_memory = {.rank = -1, .offset = -1, .size = -1};
struct rank_status *wt_status = &in_memory;

static void put(char *to, size_t capacity, const char *text) {
    size_t n = strnlen(text, capacity - 1);
    memcpy(to, text, n);
    to[n] = '\0';
}

void wt_status_enter(enum rank_state state, const char *call, const char *file, int64_t offset,
                     int64_t size) {
    struct rank_status *w = wt_status;
    put(w->call, sizeof w->call, call);
    put(w->file, sizeof w->file, file);
    w->offset = offset;
    w->size = size;
    w->state = state;
    w->done++;
}
