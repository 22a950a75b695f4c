/* Shared by the parts of the survey; not by who calls it. */
#ifndef WT_SURVEY_H
#define WT_SURVEY_H

#include "model.h"

/* Loops over columns are built for what the processor can do, where compiler and system choose between builds
 * at the start; not with sanitizers, which are not ready that early. */
#if defined(__x86_64__) && defined(__gnu_linux__) && defined(__GNUC__) && !defined(__clang__) &&             \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define WT_WIDE __attribute__((target_clones("avx2", "default")))
#else
#define WT_WIDE
#endif
#define WT_INLINE static inline __attribute__((always_inline))

WT_INLINE uint64_t wt_mixed(uint64_t value) {
    value *= 0x9E3779B97F4A7C15u;
    return value ^ (value >> 29);
}

WT_INLINE uint64_t wt_signature(uint32_t code, int64_t size) {
    return wt_mixed(((uint64_t)code << 32) ^ (uint64_t)size);
}

/* The run at regular distance that goes on while rows are passed, from row `first`; -1: none. */
struct wt_run {
    int64_t first;
    int64_t least; /* steps */
};

/* Runs: neighbouring ones share an operation, which belongs to the first of them. */
WT_INLINE void wt_close_run(struct wt_survey *out, int64_t first, int64_t last) {
    int64_t n = out->n_runs;
    out->begin[n] = n && out->end[n - 1] == first ? first + 1 : first;
    out->end[n] = last;
    out->n_runs = n + 1;
}

/* What else separates operations. */
struct wt_separating {
    const uint8_t *apart;
    bool has_gap;
    int64_t gap_ns;
};

enum { WT_MOST_PERIOD = 64, WT_STEADY_ROWS = 1024 };

/* After how many rows the codes before row `low` come again, 0 if they do not. */
int64_t wt_code_period(const uint32_t *code, int64_t low);

/* Surveys rows [low, high) if each is, but for its place and size, as the one `period` rows before it:
 * what is known of those is known of these. Rows before `low` are surveyed; more than `period` of them. */
bool wt_survey_steady(const struct wt_table *t, const struct wt_kinds *kinds,
                      const struct wt_separating *separating, int64_t low, int64_t high, int64_t period,
                      struct wt_run *run, struct wt_survey *out);

#endif
