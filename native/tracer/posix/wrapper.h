/* A wrapper that lets a call be, and looks at it. */
#ifndef WT_WRAPPER_H
#define WT_WRAPPER_H

#include "clock.h"
#include "symbols.h"

/* `before` and `seen` are statements. `seen` has the result,
 * when the call began and ended, and errno as the call left it, which it keeps. */
#define WT_SEEN(name, parameters, arguments, before, seen)                                                   \
    WT_EXPORT int name parameters {                                                                          \
        WT_REAL(name);                                                                                       \
        if (!wt_may_trace()) {                                                                               \
            return real_##name arguments;                                                                    \
        }                                                                                                    \
        before;                                                                                              \
        uint64_t t0 = wt_now();                                                                              \
        int result = real_##name arguments;                                                                  \
        uint64_t t1 = wt_now();                                                                              \
        seen;                                                                                                \
        return result;                                                                                       \
    }

#endif
