/* Ending a replay that cannot go on: one line that says which rank, file, offset and call, and all ranks end.
 */
#ifndef WAVETANK_REPLAY_FAILURE_H
#define WAVETANK_REPLAY_FAILURE_H

#include <stddef.h>
#include <stdint.h>

/* Marks the line of standard output that carries a failure, as one JSON object. */
#define FAILURE_MARK "wavetank-replay-failure "

/* What a rank was doing; NULL and -1 where there is nothing to say. */
struct doing {
    const char *call;
    const char *file;
    int64_t offset; /* bytes */
    int64_t size;   /* bytes */
};

_Noreturn void wt_fail(const struct doing *doing, const char *reason, ...)
    __attribute__((format(printf, 2, 3)));

/* What ends the other ranks too; until then this process alone. */
void wt_fail_ends(void (*all)(void));

/* Zeroed memory, or wt_fail(). */
void *wt_must_alloc(size_t size);
void *wt_must_grow(void *old, size_t size);

/* Write text as a JSON string with its quotes. */
void wt_print_json_string(const char *text);

#endif
