#include "calls.h"

#include <string.h>

const struct call_facts CALLS[N_CALLS] = {
#define X(id, name, layer, kind, place, collective) {name, layer, kind, place, collective},
    REPLAY_CALLS(X)
#undef X
};

enum call call_named(const char *name) {
    for (int i = 0; i < N_CALLS; i++) {
        if (strcmp(CALLS[i].name, name) == 0) {
            return (enum call)i;
        }
    }
    return N_CALLS;
}

enum completion completion_of(enum call call) {
    if (call >= CALL_M_IREAD && call <= CALL_M_IWRITE_SHARED) {
        return COMPLETES_BY_WAIT;
    }
    if (call >= CALL_M_READ_ALL_BEGIN && call <= CALL_M_WRITE_ORDERED_BEGIN) {
        return COMPLETES_BY_END;
    }
    return COMPLETES_AT_ONCE;
}

bool starts_copy(enum call call) {
    return call == CALL_COPY_FROM || call == CALL_SENDFILE_FROM;
}

bool is_copy(enum call call) {
    return starts_copy(call) || call == CALL_COPY_TO || call == CALL_SENDFILE_TO;
}
