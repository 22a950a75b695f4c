/* Positions of an MPI file view as places in the file, by arithmetic on one tile: a view repeats its tile,
 * and no list of places is made. */
#include "plan/views.h"

#include <string.h>

static bool has_pieces(const struct plan_view *view) {
    return view && view->visible > 0;
}

int64_t wt_piece_in_file(const struct plan_view *view, int64_t position, int64_t *length) {
    if (!has_pieces(view)) {
        *length = INT64_MAX - position;
        return position;
    }
    int64_t rest = position % view->visible;
    int64_t tile = view->displacement + position / view->visible * view->extent;
    int32_t i = 0;
    while (rest >= view->run_lengths[i]) {
        rest -= view->run_lengths[i++];
    }
    *length = view->run_lengths[i] - rest;
    return tile + view->run_offsets[i] + rest;
}

static int64_t place_in_file(const struct plan_view *view, int64_t position) {
    int64_t length;
    return wt_piece_in_file(view, position, &length);
}

int64_t wt_end_in_file(const struct plan_view *view, int64_t position, int64_t size) {
    const int64_t last = position + size - 1, end = place_in_file(view, last) + 1;
    const int64_t tile = has_pieces(view) ? last / view->visible * view->visible : 0;
    if (position >= tile) {
        return end;
    }
    const int64_t before = place_in_file(view, tile - 1) + 1;
    return before > end ? before : end;
}

int64_t wt_position_in_view(const struct plan_view *view, int64_t offset) {
    if (!has_pieces(view)) {
        return offset;
    }
    int64_t before = 0, found = -1;
    for (int32_t i = 0; i < view->n_runs; before += view->run_lengths[i++]) {
        const int64_t length = view->run_lengths[i];
        int64_t place = offset - view->displacement - view->run_offsets[i];
        /* the first tile whose run reaches the byte: one that is longer than the extent lies over others */
        int64_t tile = place < length || view->extent <= 0 ? 0 : (place - length) / view->extent + 1;
        int64_t rest = place - tile * view->extent, position = tile * view->visible + before + rest;
        if (rest >= 0 && rest < length && (found < 0 || position < found)) {
            found = position;
        }
    }
    return found < 0 ? offset : found;
}

/* The pieces of one operation, each repeated as the operations are. */
static void tell_pieces(const struct plan_view *view, int64_t position, int64_t end, int64_t stride,
                        int64_t count, void (*tell)(void *to, struct band band), void *to) {
    while (position < end) {
        int64_t length, start = wt_piece_in_file(view, position, &length);
        if (length > end - position) {
            length = end - position;
        }
        tell(to, (struct band){start, length, stride, count});
        position += length;
    }
}

/* One operation: whole tiles of the view are bands. */
static void tell_tiles(const struct plan_view *view, int64_t position, int64_t end,
                       void (*tell)(void *to, struct band band), void *to) {
    const int64_t first = (position + view->visible - 1) / view->visible, last = end / view->visible;
    if (last - first < 2) {
        tell_pieces(view, position, end, 0, 1, tell, to);
        return;
    }
    tell_pieces(view, position, first * view->visible, 0, 1, tell, to);
    for (int32_t i = 0; i < view->n_runs; i++) {
        tell(to, (struct band){view->displacement + first * view->extent + view->run_offsets[i],
                               view->run_lengths[i], view->extent, last - first});
    }
    tell_pieces(view, last * view->visible, end, 0, 1, tell, to);
}

void wt_bands_in_file(const struct plan_view *view, struct band b, void (*tell)(void *to, struct band band),
                      void *to) {
    if (b.length <= 0 || b.count <= 0) {
        return;
    }
    if (!has_pieces(view)) {
        tell(to, b);
    } else if (b.count == 1 || b.stride == b.length) {
        tell_tiles(view, b.start, b.start + b.count * b.length, tell, to);
    } else if (b.stride % view->visible == 0 && b.stride >= 0) {
        tell_pieces(view, b.start, b.start + b.length, b.stride / view->visible * view->extent, b.count, tell,
                    to);
    } else {
        for (int64_t i = 0; i < b.count; i++) {
            tell_tiles(view, b.start + i * b.stride, b.start + i * b.stride + b.length, tell, to);
        }
    }
}

int64_t wt_memory_span(const struct plan_view *memory, int64_t size) {
    int64_t span;
    if (size <= 0) {
        return 0;
    }
    if (__builtin_mul_overflow((size - 1) / memory->visible, memory->extent, &span) ||
        __builtin_add_overflow(span, memory->reach, &span)) {
        return -1;
    }
    return span;
}

void wt_memory_put(const struct plan_view *memory, char *with_gaps, const char *bytes, int64_t size) {
    for (int64_t done = 0; done < size; with_gaps += memory->extent) {
        for (int32_t i = 0; i < memory->n_runs && done < size; i++) {
            int64_t n = memory->run_lengths[i] < size - done ? memory->run_lengths[i] : size - done;
            memcpy(with_gaps + memory->run_offsets[i], bytes + done, (size_t)n);
            done += n;
        }
    }
}

void wt_memory_take(const struct plan_view *memory, char *bytes, const char *with_gaps, int64_t size) {
    for (int64_t done = 0; done < size; with_gaps += memory->extent) {
        for (int32_t i = 0; i < memory->n_runs && done < size; i++) {
            int64_t n = memory->run_lengths[i] < size - done ? memory->run_lengths[i] : size - done;
            memcpy(bytes + done, with_gaps + memory->run_offsets[i], (size_t)n);
            done += n;
        }
    }
}
