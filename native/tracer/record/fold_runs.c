/* Folds repeated operations as they happen: an open row takes operations as long as they continue it. So a
 * run of any length is one row, and memory does not grow with it. Rows that have come together are folded
 * into loops (fold_loops.c), and coded when they do not fold.
 *
 * Why runs at once and loops in batches: most operations continue the open row, which a few comparisons tell.
 * To look for a loop at every operation costs more than an operation may. When a group of rows has come
 * together, one pass looks at all of them.
 *
 * Why what is left after folding waits for more, up to SETTLED rows: a loop that is not at its end would
 * otherwise be cut at every group.
 *
 * Why a distance must come twice before it makes a run, but where one operation follows the other at once:
 * any two operations are at some distance, and random ones would become runs of two. So the last distance is
 * kept by handle and operation. The table has a fixed size and is looked at in one step: two of one place
 * cost rows, and nothing else. */
#include "record/record.h"

#include <string.h>

_Atomic uint64_t wt_ticks;

#define STRIDES 256                 /* last displacement by handle, direct mapped */
#define SETTLED (WT_GROUP_ROWS / 4) /* rows that folding leaves stay up to here, to fold with more */

static uint64_t first_start; /* of the first operation of all, clock units */
static uint64_t last_tick, posix_since_tick;
static struct stride {
    int32_t handle;
    uint32_t op;
    int64_t last_offset, disp;
} strides[STRIDES];

static inline struct stride *stride_of(const struct wt_event *e) {
    return &strides[((unsigned)e->handle * 31u + e->op) % STRIDES];
}

static struct wt_row *row_at(unsigned i) {
    return wt_tail->rows[wt_tail->half] + i;
}

static struct wt_nest *nest_at(unsigned i) {
    return wt_tail->nests[wt_tail->half] + i;
}

void wt_runs_reset(void) {
    wt_tail->has_open = 0;
    wt_tail->n_rows = 0;
    wt_tail->seq_of_first = wt_n_recorded = 0;
    last_tick = posix_since_tick = 0;
    memset(strides, 0, sizeof strides);
}

static WT_COLD void write_rows(void) {
    struct wt_tail *tail = wt_tail;
    if (tail->n_rows == 0) {
        return;
    }
    wt_write_rows(row_at(0), nest_at(0), tail->n_rows, tail->seq_of_first, wt_n_recorded);
    if (tail->has_open) {
        *row_at(0) = *row_at(tail->n_rows);
        *nest_at(0) = *nest_at(tail->n_rows);
    }
    tail->n_rows = 0;
    tail->seq_of_first = wt_n_recorded;
}

/* Closed rows to loops, from one half of the tail to the other: a kill finds one of the two whole. */
static WT_COLD void fold_rows(void) {
    struct wt_tail *tail = wt_tail;
    if (wt_event_times || tail->has_open || tail->n_rows < 3) {
        return;
    }
    uint32_t half = 1 - tail->half;
    uint32_t n = wt_fold_loops(row_at(0), nest_at(0), tail->n_rows, tail->rows[half], tail->nests[half]);
    if (n < tail->n_rows) {
        wt_use_half(tail, n, half);
    }
}

/* A strided run is recognised at its second operation at the earliest, when its first is closed already. */
static bool continues(const struct wt_row *first, const struct wt_row *next) {
    return first->count == 1 && first->op == next->op && first->handle == next->handle &&
           first->file == next->file && first->view == next->view && first->size == next->size &&
           first->moved == first->size && first->error == 0 && next->error == 0 && first->arg == next->arg &&
           !next->paused && next->offset - first->offset == next->disp &&
           next->view_offset - first->view_offset == next->view_disp &&
           next->tick - first->tick == next->tick_step &&
           next->subtick - first->subtick == next->subtick_step;
}

/* What is to be done for a row of several operations when it is closed. True: it became part of the row
 * before it. */
static bool close_run(struct wt_row *row) {
    struct wt_tail *tail = wt_tail;
    if (row->size == 0) { /* nothing moved: the mean steps, rounded down */
        row->tick_step = (row->tick_last - row->tick) / (row->count - 1);
        row->subtick_step = row->subtick_last > row->subtick && row->tick_step == 0
                                ? (row->subtick_last - row->subtick) / (row->count - 1)
                                : 0;
    }
    if (tail->n_rows == 0 || (row - 1)->depth != 0 || !continues(row - 1, row)) {
        return false;
    }
    tail->has_open = 0;
    struct wt_row *first = row - 1;
    wt_n_recorded += row->count;
    row->count++;
    row->offset = first->offset;
    row->view_offset = first->view_offset;
    row->moved += first->moved;
    row->tick = first->tick;
    row->subtick = first->subtick;
    row->start = first->start;
    nest_at(tail->n_rows)->times[wt_bucket(first->busy)]++;
    row->busy += first->busy;
    row->paused = first->paused;
    *nest_at(tail->n_rows - 1) = *nest_at(tail->n_rows);
    *first = *row;
    return true;
}

static WT_COLD void settle_rows(void) {
    fold_rows();
    if (wt_tail->n_rows > SETTLED) {
        write_rows();
    }
}

/* Returns the place of the next row. */
static inline struct wt_row *close_open(struct wt_tail *tail, struct wt_row *row) {
    if (row->count > 1 && close_run(row)) {
        return row;
    }
    tail->has_open = 0;
    wt_n_recorded += row->count;
    if (WT_UNLIKELY(++tail->n_rows == WT_GROUP_ROWS)) {
        settle_rows();
        return row_at(wt_tail->n_rows);
    }
    return row + 1;
}

static void close_row(void) {
    if (wt_tail->has_open) {
        close_open(wt_tail, row_at(wt_tail->n_rows));
    }
}

static inline void open_with(struct wt_row *row, const struct wt_event *e, bool rested) {
    if (WT_UNLIKELY(first_start == 0)) {
        first_start = e->start;
    }
    wt_tail->has_open = 0; /* a kill meanwhile leaves it out */
    row->depth = 0;
    row->paused = rested;
    row->op = e->op;
    row->file = e->file;
    row->handle = e->handle;
    row->view = e->view;
    row->error = e->error;
    row->count = 1;
    row->size = e->size;
    row->moved = e->moved;
    row->offset = e->offset;
    row->view_offset = e->view_offset;
    row->arg = e->arg;
    row->disp = row->view_disp = 0;
    row->tick = row->tick_last = e->tick;
    row->subtick = row->subtick_last = e->subtick;
    row->tick_step = row->subtick_step = 0;
    row->start = e->start;
    row->end = e->end;
    row->busy = e->end - e->start;
    wt_tail->has_open = 1;
}

/* Whether the second operation of a row may define its displacement: it follows the first at once, or at the
 * distance that this handle's last two operations of the kind had. */
static bool plausible_stride(const struct wt_row *row, const struct wt_event *e) {
    int64_t disp = e->offset - row->offset;
    if (disp == e->size || e->view_offset - row->view_offset == e->size) {
        return true;
    }
    const struct stride *stride = stride_of(e);
    return stride->handle == e->handle && stride->op == e->op && stride->disp == disp;
}

/* Whether a long pause lies between the open row's last operation and this one: WT_PAUSE_NS, or enough of the
 * time since the first operation to be seen in a plot. At most WT_PAUSE_SHARE such pauses double that time,
 * so that they add few rows however long a program runs. */
static inline bool paused(const struct wt_row *row, const struct wt_event *e) {
    int64_t units = (int64_t)(e->start - row->end);
    return WT_UNLIKELY(units > wt_pause_seen_units) &&
           (units > wt_pause_units || (uint64_t)units > (e->start - first_start) / WT_PAUSE_SHARE);
}

static inline bool same_kind(const struct wt_row *row, const struct wt_event *e) {
    return row->op == e->op && row->handle == e->handle && row->size == e->size;
}

/* Whether the open row goes on with an operation of the same kind, before which was no pause. */
static bool take(struct wt_row *row, const struct wt_event *e) {
    if (row->file != e->file || row->view != e->view || row->arg != e->arg || row->error != e->error ||
        row->moved != row->size * (int64_t)row->count || wt_event_times || row->count == UINT32_MAX) {
        return false;
    }
    uint64_t tick_step = e->tick - row->tick_last;
    uint64_t subtick_step = e->subtick - row->subtick_last;
    if (row->count == 1) {
        if (!plausible_stride(row, e)) {
            return false;
        }
        uint32_t *times = nest_at(wt_tail->n_rows)->times;
        memset(times, 0, WT_TIMES_BUCKETS * sizeof *times);
        times[wt_bucket(row->busy)] = 1;
        row->disp = e->offset - row->offset;
        row->view_disp = e->view_offset - row->view_offset;
        row->tick_step = tick_step;
        row->subtick_step = subtick_step;
    } else if (e->offset != row->offset + (int64_t)row->count * row->disp ||
               e->view_offset != row->view_offset + (int64_t)row->count * row->view_disp ||
               (e->size != 0 && (tick_step != row->tick_step || subtick_step != row->subtick_step))) {
        return false;
    }
    row->count++;
    row->moved += e->moved;
    row->tick_last = e->tick;
    row->subtick_last = e->subtick;
    row->end = e->end;
    row->busy += e->end - e->start;
    nest_at(wt_tail->n_rows)->times[wt_bucket(e->end - e->start)]++;
    return true;
}

static inline void record(const struct wt_event *e) {
    struct wt_tail *tail = wt_tail;
    if (WT_UNLIKELY(wt_counting)) { /* nothing can be written any more */
        (*wt_not_written)++;
        return;
    }
    struct wt_row *row = row_at(tail->n_rows);
    bool rested = false;
    if (WT_LIKELY(tail->has_open)) {
        rested = paused(row, e);
        if (!rested && same_kind(row, e) && WT_LIKELY(take(row, e))) {
            return;
        }
        row = close_open(tail, row);
    } else if (WT_UNLIKELY(!wt_part_is_open)) {
        wt_open_part();
        row = row_at(wt_tail->n_rows);
    }
    if (WT_UNLIKELY(wt_counting)) { /* since now */
        (*wt_not_written)++;
        return;
    }
    struct stride *stride = stride_of(e);
    bool known = stride->handle == e->handle && stride->op == e->op;
    stride->disp = known ? e->offset - stride->last_offset : 0;
    stride->handle = e->handle;
    stride->op = e->op;
    stride->last_offset = e->offset;
    open_with(row, e, rested);
}

/* An MPI-IO call that does not know its own offset watches for the first POSIX operation that moves its
 * data: one call of the process at a time. */
static struct {
    int32_t file; /* UNKNOWN: nobody watches */
    const void *thread;
    int64_t offset;
} watched = {.file = WT_UNKNOWN};

bool wt_watch_start(int32_t file) {
    wt_lock();
    bool mine = watched.file == WT_UNKNOWN;
    if (mine) {
        watched.file = file;
        watched.thread = &wt_inside;
        watched.offset = WT_UNKNOWN;
    }
    wt_unlock();
    return mine;
}

int64_t wt_watch_end(void) {
    wt_lock();
    const int64_t offset = watched.offset; /* another thread's call may watch as soon as the lock is free */
    watched.file = WT_UNKNOWN;
    wt_unlock();
    return offset;
}

static WT_COLD void watch(const struct wt_event *e) {
    if (e->file == watched.file && e->size > 0 && watched.offset == WT_UNKNOWN &&
        watched.thread == &wt_inside) {
        watched.offset = e->offset;
    }
}

static void stamp_posix(struct wt_event *e) {
    if (WT_UNLIKELY(watched.file != WT_UNKNOWN)) {
        watch(e);
    }
    e->tick = atomic_load_explicit(&wt_ticks, memory_order_relaxed);
    if (e->tick != last_tick) {
        last_tick = e->tick;
        posix_since_tick = 0;
    }
    e->subtick = posix_since_tick++;
}

/* ofd: the operation is at its position; NULL: the event knows where it is. */
static void record_posix(struct wt_event *e, struct wt_ofd *ofd) {
    wt_lock();
    if (ofd != NULL) {
        e->offset = e->view_offset = ofd->position;
        ofd->position += e->moved;
        e->file = ofd->file;
        e->handle = ofd->handle;
    }
    stamp_posix(e);
    record(e);
    wt_unlock();
}

void wt_record_posix(struct wt_event *event) {
    record_posix(event, NULL);
}

void wt_record_plain(uint32_t op, int32_t file, int32_t handle, int64_t offset, int64_t arg, int error,
                     uint64_t t0, uint64_t t1) {
    struct wt_event event = {.op = op,
                             .file = file,
                             .handle = handle,
                             .view = WT_UNKNOWN,
                             .offset = offset,
                             .view_offset = offset,
                             .arg = arg,
                             .error = error,
                             .start = t0,
                             .end = t1};
    wt_record_posix(&event);
}

void wt_record_at_position(struct wt_ofd *ofd, struct wt_event *e) {
    record_posix(e, ofd);
}

uint64_t wt_record_mpi(const struct wt_event *event) {
    wt_lock();
    record(event);
    uint64_t number = wt_n_recorded + row_at(wt_tail->n_rows)->count - 1;
    wt_unlock();
    return number;
}

void wt_subtick_now(uint64_t *tick, uint64_t *subtick) {
    *tick = atomic_fetch_add_explicit(&wt_ticks, 1, memory_order_relaxed);
    *subtick = *tick == last_tick ? posix_since_tick : 0;
}

void wt_runs_flush(bool close_open_run) {
    if (wt_counting) {
        return;
    }
    if (close_open_run) {
        close_row();
        fold_rows();
    }
    write_rows();
    wt_writer_flush();
}

void wt_runs_part(bool exact) {
    if (!wt_active || wt_counting) {
        return;
    }
    close_row();
    fold_rows();
    wt_exact_times = true;
    write_rows();
    wt_exact_times = exact;
}
