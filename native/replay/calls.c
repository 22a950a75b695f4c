#include "calls.h"

#include <string.h>

const struct call_facts CALLS[N_CALLS] = {
#define X(id, name, layer, kind, place, collective) {name, layer, kind, place, collective},
    REPLAY_CALLS(X)
#undef X
};

enum call call_named(const char *name) {
    for (int i = 0; i < N_CALLS; i++)
        if (strcmp(CALLS[i].name, name) == 0)
            return (enum call)i;
    return N_CALLS;
}
