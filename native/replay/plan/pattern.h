/* What is in the files: byte o of file f is PATTERN[(o + 28672*f) mod 249856], so that a wrong, misplaced or
 * foreign byte is seen. src/wavetank/kernel/preparation/pattern.py makes the same bytes.
 *
 * The period is a multiple of 4096 (a write by O_DIRECT takes its bytes from an aligned place) by a prime
 * (blocks of a power of two do not repeat at once); it fits a second-level cache, so that writing costs no
 * more than from one buffer. */
#ifndef WAVETANK_REPLAY_PATTERN_H
#define WAVETANK_REPLAY_PATTERN_H

#include <stddef.h>
#include <stdint.h>

struct plan_view;

enum { PATTERN_PERIOD = 4096 * 61, PATTERN_FILE_STEP = 4096 * 7, PATTERN_ALIGNMENT = 4096 };

/* A source from which any write of up to largest bytes can be taken. */
struct pattern {
    char *bytes; /* PATTERN_PERIOD + largest, aligned */
};

void wt_pattern_make(struct pattern *pattern, int64_t largest);

static inline char *wt_pattern_at(const struct pattern *pattern, int32_t file_id, int64_t offset) {
    return pattern->bytes + (uint64_t)(offset + (int64_t)file_id * PATTERN_FILE_STEP) % PATTERN_PERIOD;
}

/* Fill a buffer for a write through a view. */
void wt_pattern_fill(const struct pattern *pattern, int32_t file_id, const struct plan_view *view,
                     char *buffer, int64_t position, int64_t size);

/* A buffer of pages that are there already, aligned for O_DIRECT. */
char *wt_aligned_buffer(int64_t size);

#endif
