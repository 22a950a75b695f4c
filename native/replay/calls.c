/* The table of calls that a kernel can hold, and what follows from a call alone. Made from one list
 * (calls.h), so that a call is added in one place. */
#include "calls.h"

#include <string.h>

const struct call_facts wt_calls[N_CALLS] = {
#define X(id, name, layer, kind, place, collective) {name, layer, kind, place, collective},
    REPLAY_CALLS(X)
#undef X
};

enum call wt_call_named(const char *name) {
    for (int i = 0; i < N_CALLS; i++) {
        if (strcmp(wt_calls[i].name, name) == 0) {
            return (enum call)i;
        }
    }
    return N_CALLS;
}

enum completion wt_completion_of(enum call call) {
    if (call >= CALL_M_IREAD && call <= CALL_M_IWRITE_SHARED) {
        return COMPLETES_BY_WAIT;
    }
    if (call >= CALL_M_READ_ALL_BEGIN && call <= CALL_M_WRITE_ORDERED_BEGIN) {
        return COMPLETES_BY_END;
    }
    return COMPLETES_AT_ONCE;
}

bool wt_starts_copy(enum call call) {
    return call == CALL_COPY_FROM || call == CALL_SENDFILE_FROM;
}

bool wt_is_copy(enum call call) {
    return wt_starts_copy(call) || call == CALL_COPY_TO || call == CALL_SENDFILE_TO;
}
