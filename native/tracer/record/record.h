/* Operations become rows, rows become columns of the trace. fold_runs.c takes operations, fold_loops.c folds
 * rows, columns.c codes them, writer.c puts them into the part. */
#ifndef WT_RECORD_H
#define WT_RECORD_H

#include "clock.h"

#pragma GCC visibility push(hidden) /* what is declared here is in this library: it is reached directly */

struct wt_ofd { /* an open file description: descriptors made by dup share one */
    int64_t position;
    int32_t file;
    int32_t handle;
    uint32_t references;
    bool append;
    bool unsure; /* another process may move the position: ask before relying on it */
};

/* ---- fold_runs.c: folding ---- */
struct wt_event {
    uint32_t op;
    int32_t file, handle, view;
    int64_t size, moved, offset, view_offset, arg;
    int32_t error;
    uint64_t tick, subtick; /* of MPI calls: taken at their start */
    uint64_t start, end;    /* clock units */
};
extern _Atomic uint64_t wt_ticks;             /* MPI calls so far */
void wt_record_posix(struct wt_event *event); /* takes the lock, and stamps the event with the clocks */
/* An operation that moves nothing; error is 0 when it succeeded. */
void wt_record_plain(uint32_t op, int32_t file, int32_t handle, int64_t offset, int64_t arg, int error,
                     uint64_t t0, uint64_t t1);
void wt_record_at_position(struct wt_ofd *ofd, struct wt_event *event); /* offset and new position by ofd */
uint64_t wt_record_mpi(const struct wt_event *event); /* its number within the process, from 0 */
bool wt_watch_start(int32_t file);                    /* false: another call watches already */
int64_t wt_watch_end(void); /* offset of the thread's first POSIX operation on the file that moved data */
void wt_subtick_now(uint64_t *tick, uint64_t *subtick); /* counts a tick; clocks before it */
void wt_runs_flush(bool close_open_run);                /* under the lock */
/* Under the lock: what is recorded up to here is coded at exact times and not folded with later rows; those
 * are too where they are `exact`. */
void wt_runs_part(bool exact);
void wt_runs_reset(void);

/* ---- fold_loops.c ---- */
/* Rows to fewer rows with loops, in other memory; returns how many, n where nothing was folded or put there.
 */
unsigned wt_fold_loops(struct wt_row *rows, struct wt_nest *nests, unsigned n, struct wt_row *out,
                       struct wt_nest *out_nests);

/* ---- repetitions.c ---- */
#define WT_REPETITIONS 3 /* that make a loop */
#define WT_NEAR 16       /* bodies of up to this many rows are looked for at every row; 32 at most */
/* For which bodies, bit n - 1 for n rows, the last of n_rows may end the third repetition. keys: hashes of
 * what must be the same in every repetition; ends: the lowest bits of offsets. */
uint32_t wt_near_bodies(const uint32_t *keys, const uint32_t *ends, unsigned n_rows);
bool wt_may_repeat(const uint32_t *keys, const uint32_t *ends, unsigned n_rows, unsigned body);

/* ---- loop_codes.c: loops and times of a group ---- */
uint8_t *wt_loops_encode(const struct wt_row *rows, const struct wt_nest *nests, unsigned n, uint8_t *out);
uint8_t *wt_times_encode(const struct wt_row *rows, const struct wt_nest *nests, unsigned n, uint8_t *out);
uint64_t wt_loops_span(const struct wt_row *row, const struct wt_nest *nest); /* ns from first to last end */

/* ---- columns.c: columns ---- */
extern bool wt_exact_times; /* of the rows that are coded next */
size_t wt_group_encode(const struct wt_row *rows, const struct wt_nest *nests, unsigned n_rows,
                       uint64_t base_seq, uint8_t *out);
_Static_assert(WT_N_COLUMNS == 17, "WT_GROUP_MAX_BYTES counts the columns");

/* ---- writer.c: blocks, and what describes rows ---- */
void wt_open_part(void); /* once, when the first row comes: the part, and the tail beside it */
extern bool wt_part_is_open;
/* base_seq, end_seq: numbers of the first operation of the rows and of the first behind them. */
void wt_write_rows(const struct wt_row *rows, const struct wt_nest *nests, unsigned n_rows, uint64_t base_seq,
                   uint64_t end_seq);
void wt_meta_begin(enum wt_meta type);
void wt_meta_number(uint64_t value);
void wt_meta_signed(int64_t value);
void wt_meta_string(const char *text);
void wt_meta_bytes(const void *bytes, size_t n);
void wt_meta_end(void);
void wt_writer_flush(void); /* blocks to the part */
void wt_writer_reset(void);
void wt_writer_end(void);                  /* the tail goes */
extern uint64_t *wt_not_written;           /* where operations are counted that are not written */
void wt_stop(const char *what, int error); /* a fault in the tracer: say so, stop tracing */
extern bool wt_part_wanted;                /* leave a part even if nothing happens: this is a rank */

/* Number and half of the tail's rows in one store. */
static inline void wt_use_half(struct wt_tail *tail, uint32_t n_rows, uint32_t half) {
    union {
        struct {
            uint32_t n_rows, half;
        } parts;
        uint64_t both;
    } value = {.parts = {n_rows, half}};
    _Static_assert(offsetof(struct wt_tail, n_rows) % 8 == 0, "one store");
    _Static_assert(offsetof(struct wt_tail, half) == offsetof(struct wt_tail, n_rows) + 4, "one store");
    __atomic_store_n((uint64_t *)(void *)&tail->n_rows, value.both, __ATOMIC_RELEASE);
}

/* Eight bytes, the lowest first: one load or store. */
static inline uint64_t wt_as_stored(uint64_t word) {
    return __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? __builtin_bswap64(word) : word;
}
static inline uint64_t wt_get_word(const uint8_t *at) {
    uint64_t word;
    __builtin_memcpy(&word, at, sizeof word);
    return wt_as_stored(word);
}
static inline uint8_t *wt_put_word(uint8_t *at, uint64_t word) {
    word = wt_as_stored(word);
    __builtin_memcpy(at, &word, sizeof word);
    return at + sizeof word;
}

static inline uint8_t *wt_put_varint(uint8_t *at, uint64_t value) {
    while (value >= 0x80) {
        *at++ = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    *at++ = (uint8_t)value;
    return at;
}
static inline uint64_t wt_zigzag(int64_t value) {
    return ((uint64_t)value << 1) ^ (uint64_t)(value >> 63);
}

#pragma GCC visibility pop

#endif
