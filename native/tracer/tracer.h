/* What the files of the tracer share. One state per process, guarded by one spin lock that only the tracer
 * takes, and never while application code runs. Nothing here calls malloc or stdio. */
#ifndef WT_TRACER_H
#define WT_TRACER_H

#include "wavetank_trace.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/single_threaded.h>
#include <sys/stat.h>
#include <sys/types.h>

#define WT_EXPORT __attribute__((visibility("default")))
#pragma GCC visibility push(hidden) /* what is declared here is in this library: it is reached directly */
#define WT_LIKELY(x) __builtin_expect(!!(x), 1)
#define WT_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define WT_COLD __attribute__((cold, noinline))
#define WT_UNKNOWN (-1)
#define WT_PATH_BYTES 4096

/* ---- clock.c: times are in clock units until they are written (time-stamp counter, or ns) ---- */
extern bool wt_clock_is_tsc;
void wt_clock_start(void);
uint64_t wt_clock_slow(void);
uint64_t wt_clock_ns(uint64_t units); /* ns since tracer start; exact at anchors, linear between */
void wt_clock_anchor(void);           /* called before a group is coded */
extern uint64_t wt_ns_of_units;       /* ns in a clock unit, times 2^32: for rough times */
extern int64_t wt_pause_units,
    wt_pause_seen_units; /* WT_PAUSE_NS, WT_PAUSE_SEEN_NS in clock units, roughly */
extern uint64_t wt_start_utc_ns, wt_start_mono_ns;

/* How clock units become ns, until the next anchor. */
struct wt_rate {
    uint64_t units; /* at ns since tracer start */
    int64_t ns;
    double ns_of_a_unit;
};
struct wt_rate wt_clock_rate(void);

static inline uint64_t wt_ns_at(const struct wt_rate *rate, uint64_t units) {
    double ns = (double)(int64_t)(units - rate->units) * rate->ns_of_a_unit;
    int64_t since_start = rate->ns + (int64_t)ns;
    return since_start > 0 ? (uint64_t)since_start : 0;
}

static inline uint64_t wt_now(void) {
#if defined(__x86_64__)
    if (WT_LIKELY(wt_clock_is_tsc)) {
        return __builtin_ia32_rdtsc();
    }
#endif
    return wt_clock_slow();
}

static inline unsigned wt_bucket(uint64_t units) { /* of times: the logarithm of ns */
    uint64_t ns = (uint64_t)(((unsigned __int128)units * wt_ns_of_units) >> 32);
    unsigned b = 63u - (unsigned)__builtin_clzll(ns | 1);
    return b < WT_TIMES_BUCKETS ? b : WT_TIMES_BUCKETS - 1;
}

/* ---- init.c: life of the process ---- */
extern bool wt_active;             /* false: every wrapper passes through */
extern bool wt_claimed;            /* this library traces the process, or did until a fault */
extern bool wt_counting;           /* the trace cannot be written any more: operations are counted only */
extern bool wt_stopping;           /* it is being said that it cannot */
extern __thread int wt_inside;     /* > 0: this thread is in the tracer */
extern _Atomic uint64_t wt_missed; /* operations met while wt_inside */
extern bool wt_level_posix, wt_level_mpiio, wt_level_mpi, wt_event_times, wt_standard_streams;
extern char wt_directory[WT_PATH_BYTES];
extern int wt_pid;
void wt_start(void); /* once; by the constructor, or by a wrapper that is called before it */
void wt_stop(const char *what, int error); /* a fault in the tracer: say so, stop tracing */
void wt_finish(enum wt_end reason);
void wt_after_fork_in_child(void);
bool wt_may_trace(void);     /* recording, not inside the tracer, and not in a vfork's child */
bool wt_other_process(void); /* true in the child of a vfork, which runs in its parent's memory */
extern atomic_bool wt_locked;
void wt_wait_for_lock(void);
extern bool wt_finished; /* the destructor has run: what comes now is written at once */

/* ---- unseen.c: what is not recorded, so that it can be said ---- */
void wt_unseen_start(void);
void wt_bypass_start(void);
void wt_note_unseen(void); /* under the lock, at the end of the process */

/* ---- started.c: programs that are about to be started, and may not load this library ---- */
void wt_note_program(const char *file, char *const env[]);
/* As execveat names them: `name` in `directory`; NULL or "": `directory` is the program. */
void wt_note_program_of(int directory, const char *name, char *const env[]);

/* ---- program.c: what the process runs ---- */
extern char wt_arguments[];
extern unsigned wt_argc;
void wt_program_start(void);
bool wt_is_python(void);
bool wt_is_launcher(void);
void wt_program_leave_out(void);

/* ---- real.c: the functions behind the wrappers ---- */
void *wt_next(const char *name);
#define WT_REAL(name)                                                                                        \
    static __typeof__(name) *real_##name;                                                                    \
    if (WT_UNLIKELY(real_##name == NULL)) {                                                                  \
        real_##name = (__typeof__(name) *)wt_next(#name);                                                    \
    }

/* A wrapper that lets a call be, and looks at it: `before` and `seen` are statements. `seen` has the result,
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

/* ---- names.c: names, and which file they lead to ---- */
struct wt_facts { /* of a file; device, inode and birth are its identity */
    unsigned mode;
    int64_t size;
    uint64_t device, inode; /* inode 0: not known */
    uint64_t born_ns;       /* since 1970; 0: the file system does not say */
    dev_t real_device;
    bool made; /* just now, by an open that was seen */
};
/* more: further bits of statx's mask; path "" with AT_EMPTY_PATH: dirfd itself. */
bool wt_look(int dirfd, const char *path, int flags, unsigned more, struct wt_facts *facts);
size_t wt_absolute(int dirfd, const char *path, char *out); /* lexically; 0: cannot be named */
size_t wt_path_of_fd(int fd, char *out);
size_t wt_name(int dirfd, const char *path,
               char *out); /* absolute, links to folders followed; under the lock */
size_t wt_name_behind(const char *link, const char *target, char *out); /* where a symbolic link leads */
bool wt_links_to(const char *path, char *out); /* a symbolic link: the file at its end */
void wt_folder_is_plain(const char *path);     /* the folder of this path has no link in it */

/* ---- path.c: calls on names ---- */
/* The number of a name's file. only_known: UNKNOWN where it has none yet. facts: of the file that the name
 * led to; NULL: they are found, if the name is there and new. size_kept: the call has not changed the file's
 * size. */
int32_t wt_number_of_name(int dirfd, const char *path, bool only_known, const struct wt_facts *facts,
                          bool size_kept);

/* ---- folders.c: directories that are listed or looked at ---- */
bool wt_folder_counts(int dirfd, const char *path); /* a look at it is worth a row */

/* ---- numbers.c: names to file numbers ---- */
uint64_t wt_hash(const char *text, size_t n);
/* Of a name, and of the file that it led to where facts are given (NULL: whichever was met last). UNKNOWN:
 * left out. */
void wt_file_made(struct wt_facts *facts);
int32_t wt_file_of_path(const char *path, const struct wt_facts *facts, int64_t size_before, bool size_known);
/* The same of a symbolic link's name; facts are those of the file behind it. */
int32_t wt_file_of_link(const char *link, const char *target, const struct wt_facts *facts,
                        int64_t size_before, bool size_known);
bool wt_file_is_known(const char *path); /* it has a number already */
/* The number that a name has, if it leads to the same file still; UNKNOWN: it has none, or to another one. */
int32_t wt_file_if_same(const char *path, const struct wt_facts *facts);
void wt_files_start(void);
void wt_files_reset(void);

/* ---- files.c: what is left out, and where the rest is ---- */
int32_t wt_mount_of(const char *path); /* describes it when it is new; UNKNOWN: none found */
void wt_mounts_reset(void);
void wt_describe_striping(int32_t file, int32_t mount, const char *path); /* of Lustre */
bool wt_path_kept(const char *path);
bool wt_path_included(const char *path); /* --include names it */
void wt_filter_start(const char *include, const char *exclude);
void wt_leave_out(const char *path); /* this file, whatever name it is opened by */

/* ---- fds.c: descriptors ---- */
struct wt_ofd { /* an open file description: descriptors made by dup share one */
    int64_t position;
    int32_t file;
    int32_t handle;
    uint32_t references;
    bool append;
    bool unsure; /* another process may move the position: ask before relying on it */
};
struct wt_ofd *wt_ofd_slow(int fd);
extern int32_t *wt_fd_table; /* 0 not known, -1 left out, else index into wt_ofds */
extern struct wt_ofd *wt_ofds;
extern unsigned wt_fd_limit;
void *wt_reserve(size_t bytes); /* zeros; NULL: there is no memory */
void wt_fds_start(void);
void wt_streams_start(const char *streams);
void wt_fds_after_fork(void); /* in the child */
void wt_fds_shared(void);     /* in the parent */
/* path: the name that it was opened by, NULL where it is the file's own */
void wt_fd_opened(int fd, int dirfd, const char *path, int flags, int64_t size_before, bool size_known,
                  uint64_t t0, uint64_t t1);
void wt_fd_closed(int fd, int result, int error, uint64_t t0, uint64_t t1);
void wt_fd_forget(int fd);
void wt_fd_duplicated(int from, int to, uint64_t t0, uint64_t t1);
int32_t wt_new_handle(void);

static inline struct wt_ofd *wt_ofd_of(int fd) {
    if (WT_UNLIKELY(!wt_active || !wt_level_posix)) {
        return NULL;
    }
    if (WT_UNLIKELY(wt_inside != 0)) {
        if ((unsigned)fd < wt_fd_limit && wt_fd_table[fd] > 0) {
            atomic_fetch_add_explicit(&wt_missed, 1, memory_order_relaxed);
        }
        return NULL;
    }
    if (WT_UNLIKELY((unsigned)fd >= wt_fd_limit)) {
        return NULL;
    }
    int32_t index = wt_fd_table[fd];
    if (WT_LIKELY(index > 0)) {
        return &wt_ofds[index];
    }
    return index < 0 ? NULL : wt_ofd_slow(fd);
}

/* ---- runs.c: folding ---- */
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
uint64_t wt_runs_operations(void);                      /* recorded so far */
void wt_runs_part(void); /* under the lock: at exact times, not folded with later rows */
void wt_runs_reset(void);

/* ---- children.c: where other processes begin and end among the rows ---- */
extern bool wt_exact_times;       /* of the rows that are coded next */
bool wt_children_run(void);       /* some that were started have not been waited for */
void wt_child_starts(void);       /* before fork */
void wt_vfork_child_starts(void); /* in the child, before exec */
void wt_children_reset(void);     /* in a child after fork */

/* ---- loops.c ---- */
/* Rows to fewer rows with loops, in other memory; returns how many, n where nothing was folded or put there.
 */
unsigned wt_fold_loops(struct wt_row *rows, struct wt_nest *nests, unsigned n, struct wt_row *out,
                       struct wt_nest *out_nests);
uint64_t wt_operations(const struct wt_row *row, const struct wt_nest *nest); /* of all repetitions */

/* ---- repetitions.c ---- */
#define WT_REPETITIONS 3 /* that make a loop */
#define WT_NEAR 16       /* bodies of up to this many rows are looked for at every row; 32 at most */
/* For which bodies, bit n - 1 for n rows, the last of n_rows may end the third repetition. keys: hashes of
 * what must be the same in every repetition; ends: the lowest bits of offsets. */
uint32_t wt_near_bodies(const uint32_t *keys, const uint32_t *ends, unsigned n_rows);
bool wt_may_repeat(const uint32_t *keys, const uint32_t *ends, unsigned n_rows, unsigned body);

/* ---- nests.c: loops and times of a group ---- */
uint8_t *wt_loops_encode(const struct wt_row *rows, const struct wt_nest *nests, unsigned n, uint8_t *out);
uint8_t *wt_times_encode(const struct wt_row *rows, const struct wt_nest *nests, unsigned n, uint8_t *out);
uint64_t wt_loops_span(const struct wt_row *row, const struct wt_nest *nest); /* ns from first to last end */

/* ---- group.c: columns ---- */
size_t wt_group_encode(const struct wt_row *rows, const struct wt_nest *nests, unsigned n_rows,
                       uint64_t base_seq, uint8_t *out);
_Static_assert(WT_N_COLUMNS == 17, "WT_GROUP_MAX_BYTES counts the columns");

/* ---- writer.c: blocks ---- */
extern struct wt_tail *wt_tail; /* what is not in the part yet; see wavetank_trace.h */
void wt_open_part(void);        /* once, when the first row comes: the part, and the tail beside it */
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
void wt_writer_end(void);        /* the tail goes */
extern uint64_t *wt_not_written; /* where operations are counted that are not written */
/* The part is as long as it gets. note: the record of why, in the tail; n_operations: so far. False: no file
 * keeps a count. */
bool wt_writer_stopped(const uint8_t *note, size_t n, uint64_t n_operations);
extern bool wt_part_wanted; /* leave a part even if nothing happens: this is a rank */

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

/* ---- the lock (init.c) ---- */
static inline void wt_lock(void) {
    wt_inside++;
    if (WT_LIKELY(__libc_single_threaded)) { /* no second thread can come while this one is here */
        atomic_store_explicit(&wt_locked, true, memory_order_relaxed);
    } else if (WT_UNLIKELY(atomic_exchange_explicit(&wt_locked, true, memory_order_acquire))) {
        wt_wait_for_lock();
    }
}

static inline void wt_unlock(void) {
    if (WT_UNLIKELY(wt_finished)) {
        wt_runs_flush(true);
    }
    atomic_store_explicit(&wt_locked, false, memory_order_release);
    wt_inside--;
}

/* ---- mpi_ticks.c ---- */
void wt_mpi_describe_from_environment(void);

#pragma GCC visibility pop

#endif
