/* Folds repeated operations as they happen: an open row takes operations as long as they continue it. Rows
 * that have come together are folded into loops (loops.c), and coded when they do not fold. */
#include "tracer.h"

#include <string.h>

_Atomic uint64_t wt_ticks;

#define STRIDES 256                 /* last displacement by handle, direct mapped */
#define SETTLED (WT_GROUP_ROWS / 4) /* rows that folding leaves stay up to here, to fold with more */

static uint64_t n_recorded;  /* operations in closed rows */
static uint64_t first_start; /* of the first operation of all, clock units */
static uint64_t last_tick, posix_since_tick;
static struct {
    int32_t handle;
    uint32_t op;
    int64_t last_offset, disp;
} strides[STRIDES];

static struct wt_row *row_at(unsigned i) {
    return &wt_tail->rows[wt_tail->half][i];
}

static struct wt_nest *nest_at(unsigned i) {
    return &wt_tail->nests[wt_tail->half][i];
}

void wt_runs_reset(void) {
    wt_tail->has_open = 0;
    wt_tail->n_rows = 0;
    wt_tail->seq_of_first = n_recorded = 0;
    last_tick = posix_since_tick = 0;
    memset(strides, 0, sizeof strides);
}

static WT_COLD void write_rows(void) {
    struct wt_tail *tail = wt_tail;
    if (tail->n_rows == 0) {
        return;
    }
    wt_write_rows(row_at(0), nest_at(0), tail->n_rows, tail->seq_of_first, n_recorded);
    if (tail->has_open) {
        *row_at(0) = *row_at(tail->n_rows);
        *nest_at(0) = *nest_at(tail->n_rows);
    }
    tail->n_rows = 0;
    tail->seq_of_first = n_recorded;
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
    return first->count == 1 && next->count > 1 && first->op == next->op && first->handle == next->handle &&
           first->file == next->file && first->view == next->view && first->size == next->size &&
           first->moved == first->size && first->error == 0 && next->error == 0 && first->arg == next->arg &&
           !next->paused && next->offset - first->offset == next->disp &&
           next->view_offset - first->view_offset == next->view_disp &&
           next->tick - first->tick == next->tick_step &&
           next->subtick - first->subtick == next->subtick_step;
}

static void close_row(void) {
    struct wt_tail *tail = wt_tail;
    if (!tail->has_open) {
        return;
    }
    struct wt_row *row = row_at(tail->n_rows);
    if (row->size == 0 && row->count > 1) { /* nothing moved: the mean steps, rounded down */
        row->tick_step = (row->tick_last - row->tick) / (row->count - 1);
        row->subtick_step = row->subtick_last > row->subtick && row->tick_step == 0
                                ? (row->subtick_last - row->subtick) / (row->count - 1)
                                : 0;
    }
    tail->has_open = 0;
    n_recorded += row->count;
    if (tail->n_rows > 0 && row_at(tail->n_rows - 1)->depth == 0 && continues(row - 1, row)) {
        struct wt_row *first = row - 1;
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
        return;
    }
    if (++tail->n_rows == WT_GROUP_ROWS) {
        fold_rows();
        if (tail->n_rows > SETTLED) {
            write_rows();
        }
    }
}

static void open_with(const struct wt_event *e, bool rested) {
    struct wt_row *row = row_at(wt_tail->n_rows);
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
    unsigned slot = ((unsigned)e->handle * 31u + e->op) % STRIDES;
    return strides[slot].handle == e->handle && strides[slot].op == e->op && strides[slot].disp == disp;
}

/* Whether a long pause lies between the open row's last operation and this one: WT_PAUSE_NS, or enough of the
 * time since the first operation to be seen in a plot. At most WT_PAUSE_SHARE such pauses double that time,
 * so that they add few rows however long a program runs. */
static bool paused(const struct wt_row *row, const struct wt_event *e) {
    int64_t units = (int64_t)(e->start - row->end), long_units = (int64_t)wt_pause_units;
    return WT_UNLIKELY(units > long_units / (WT_PAUSE_NS / WT_PAUSE_SEEN_NS)) &&
           (units > long_units || (uint64_t)units > (e->start - first_start) / WT_PAUSE_SHARE);
}

static bool take(struct wt_row *row, const struct wt_event *e) {
    if (row->op != e->op || row->handle != e->handle || row->size != e->size || row->file != e->file ||
        row->view != e->view || row->arg != e->arg || row->error != e->error ||
        row->moved != row->size * (int64_t)row->count || wt_event_times || row->count == UINT32_MAX ||
        paused(row, e)) {
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

uint64_t wt_runs_operations(void) {
    return n_recorded + (wt_tail->has_open ? row_at(wt_tail->n_rows)->count : 0);
}

static void record(const struct wt_event *e) {
    struct wt_tail *tail = wt_tail;
    if (WT_UNLIKELY(wt_counting)) { /* nothing can be written any more */
        (*wt_not_written)++;
        return;
    }
    if (WT_LIKELY(tail->has_open && take(row_at(tail->n_rows), e))) {
        return;
    }
    if (WT_UNLIKELY(!wt_part_is_open)) {
        wt_open_part();
    }
    unsigned slot = ((unsigned)e->handle * 31u + e->op) % STRIDES;
    bool known = strides[slot].handle == e->handle && strides[slot].op == e->op;
    bool rested = tail->has_open && paused(row_at(tail->n_rows), e);
    close_row();
    if (WT_UNLIKELY(wt_counting)) { /* since now */
        (*wt_not_written)++;
        return;
    }
    strides[slot].disp = known ? e->offset - strides[slot].last_offset : 0;
    strides[slot].handle = e->handle;
    strides[slot].op = e->op;
    strides[slot].last_offset = e->offset;
    open_with(e, rested);
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
    watched.file = WT_UNKNOWN;
    wt_unlock();
    return watched.offset;
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

void wt_record_posix(struct wt_event *event) {
    wt_lock();
    stamp_posix(event);
    record(event);
    wt_unlock();
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
    wt_lock();
    e->offset = e->view_offset = ofd->position;
    ofd->position += e->moved;
    e->file = ofd->file;
    e->handle = ofd->handle;
    stamp_posix(e);
    record(e);
    wt_unlock();
}

uint64_t wt_record_mpi(const struct wt_event *event) {
    wt_lock();
    record(event);
    uint64_t number = n_recorded + row_at(wt_tail->n_rows)->count - 1;
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

void wt_runs_part(void) {
    if (!wt_active || wt_counting) {
        return;
    }
    close_row();
    fold_rows();
    wt_exact_times = true;
    write_rows();
    wt_exact_times = wt_children_run();
}
