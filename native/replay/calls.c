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

static const char *const op_names[] = {
#define X(code, NAME, name, level, kind, collective) [WT_OP_##NAME] = name,
    WT_OPS(X)
#undef X
};

static const struct {
    enum wt_op op;
    enum wt_given_what what;
} arguments[] = {
#define X(NAME, what) {WT_OP_##NAME, WT_GIVEN_##what},
    WT_ARGUMENTS(X)
#undef X
};

/* The shared table is by the operations of traces, which have the names of our calls: by call it is made
 * once. */
int64_t wt_given(enum call call, enum wt_given_what what, int64_t arg) {
    static enum wt_given_what of_call[N_CALLS];
    static bool ready;
    if (!ready) {
        for (size_t i = 0; i < sizeof arguments / sizeof *arguments; i++) {
            enum call found = wt_call_named(op_names[arguments[i].op]);
            if (found != N_CALLS) {
                of_call[found] = arguments[i].what;
            }
        }
        ready = true;
    }
    return of_call[call] == what ? arg : 0;
}

bool wt_completes_all(enum call call, int64_t arg) {
    return call == CALL_M_WAIT && arg == 0;
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

bool wt_goes_by_name(enum call call) {
    switch (call) {
    case CALL_STAT:
    case CALL_ACCESS:
    case CALL_UNLINK:
    case CALL_TRUNCATE:
    case CALL_RENAME:
    case CALL_LINK:
    case CALL_SYMLINK:
    case CALL_MKDIR:
    case CALL_RMDIR:
    case CALL_MKNOD:
    case CALL_READLINK:
    case CALL_CHMOD:
    case CALL_CHOWN:
    case CALL_UTIME:
    case CALL_M_DELETE:
        return true;
    default:
        return false;
    }
}

bool wt_needs_open_file(enum call call) {
    /* a mapping outlives its file's close */
    return !wt_goes_by_name(call) && call != CALL_MUNMAP && call != CALL_MSYNC;
}

bool wt_starts_copy(enum call call) {
    return call == CALL_COPY_FROM || call == CALL_SENDFILE_FROM;
}

bool wt_is_copy(enum call call) {
    return wt_starts_copy(call) || call == CALL_COPY_TO || call == CALL_SENDFILE_TO;
}
