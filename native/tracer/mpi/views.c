/* File views: file types as runs of bytes, and places in the view and in the file. A reader has no MPI
 * library to ask which bytes a type shows, so that the trace says it; of equal views once. Runs of file types
 * are kept, as each later call is mapped through them. */
#include "mpi/views.h"
#include "mpi/datatypes.h"

#define RUNS_OF_A_VIEW (1u << 16) /* as many as fit into one record */
#define VIEWS_MAX 4096
#define MEMORY_VIEWS_MAX 2048      /* the first of them; the others are left to files */
#define MEMORY_RUNS_MAX (1u << 18) /* of all types of memory that are described: at most 3.6 MB of a part */

struct view {
    int64_t displacement, etype_size, extent, size;
    uint32_t first, n; /* its runs, where they are kept: of what has been a file's view */
    uint64_t hash;
    bool kept;
};

static struct view views[VIEWS_MAX];
static int32_t n_views;
static uint32_t n_memory_runs;

static uint64_t hash_of(const struct view *view) {
    uint64_t hash = 0xcbf29ce484222325u;
    const int64_t head[3] = {view->displacement, view->etype_size, view->extent};
    for (size_t i = 0; i < 3; i++) {
        hash = (hash ^ (uint64_t)head[i]) * 0x100000001b3u;
    }
    for (uint32_t i = 0; i < view->n; i++) {
        hash = (hash ^ (uint64_t)wt_type_runs[view->first + i].offset) * 0x100000001b3u;
        hash = (hash ^ (uint64_t)wt_type_runs[view->first + i].length) * 0x100000001b3u;
        hash ^= hash >> 29;
    }
    return hash;
}

static void describe(int32_t number, const struct view *view) {
    wt_lock();
    wt_meta_begin(WT_META_VIEW);
    wt_meta_number((uint64_t)number);
    wt_meta_number((uint64_t)view->displacement);
    wt_meta_number((uint64_t)view->etype_size);
    wt_meta_number((uint64_t)view->extent);
    wt_meta_number(view->n);
    int64_t end = 0;
    for (uint32_t i = 0; i < view->n; i++) {
        const struct wt_run *run = &wt_type_runs[view->first + i];
        wt_meta_signed(run->offset - end);
        wt_meta_number((uint64_t)run->length);
        end = run->offset + run->length;
    }
    wt_meta_end();
    wt_unlock();
}

/* Decodes the type of a view's tiles; its runs are the last ones then. false: it cannot be described. */
static bool decode_tile(struct view *view, MPI_Datatype type) {
    view->extent = wt_type_extent(type);
    view->first = wt_n_type_runs;
    bool known = wt_type_decode(type);
    view->n = wt_n_type_runs - view->first;
    for (uint32_t i = 0; i < view->n; i++) {
        wt_type_runs[view->first + i].before = view->size;
        view->size += wt_type_runs[view->first + i].length;
    }
    view->hash = hash_of(view);
    return known && view->n <= RUNS_OF_A_VIEW;
}

/* The number of a view: of the same one before, else a new one if there may be. */
static int32_t number_of(const struct view *view, bool new_too) {
    for (int32_t i = 0; i < n_views; i++) {
        if (views[i].hash == view->hash && views[i].n == view->n && views[i].size == view->size) {
            return i;
        }
    }
    if (!new_too || n_views == VIEWS_MAX) {
        return WT_VIEW_UNKNOWN;
    }
    views[n_views] = *view;
    describe(n_views, view);
    return n_views++;
}

int32_t wt_view_make(MPI_Offset displacement, MPI_Datatype etype, MPI_Datatype filetype) {
    wt_types_start();
    struct view view = {.displacement = displacement, .etype_size = wt_type_size(etype)};
    wt_mpi_lock();
    int32_t number = WT_VIEW_UNKNOWN;
    bool known = decode_tile(&view, filetype);
    bool plain =
        view.n == 1 && wt_type_runs[view.first].offset == 0 && wt_type_runs[view.first].length == view.extent;
    if (known && plain && displacement == 0) {
        number = WT_VIEW_NONE;
    } else if (known && view.n > 0) {
        number = number_of(&view, true);
        if (number >= 0 && !views[number].kept) {
            views[number].first = view.first;
            views[number].kept = true;
            view.first = wt_n_type_runs; /* keep its runs */
        }
    }
    wt_n_type_runs = view.first;
    wt_mpi_unlock();
    return number;
}

/* Whether a replay can make such memory: pieces in a buffer, each of a length that MPI's counts can say. */
static bool is_of_a_buffer(const struct view *view) {
    for (uint32_t i = view->first; i < view->first + view->n; i++) {
        if (wt_type_runs[i].offset < 0 || wt_type_runs[i].length > INT32_MAX) {
            return false;
        }
    }
    return view->n > 0 && view->extent >= 0;
}

int32_t wt_view_of_memory(MPI_Datatype type) {
    wt_types_start();
    struct view view = {.etype_size = 1};
    wt_mpi_lock();
    int32_t number = WT_VIEW_UNKNOWN, before = n_views;
    if (decode_tile(&view, type) && is_of_a_buffer(&view)) {
        number = number_of(&view, n_views < MEMORY_VIEWS_MAX && n_memory_runs + view.n <= MEMORY_RUNS_MAX);
        n_memory_runs += n_views > before ? view.n : 0;
    }
    wt_n_type_runs = view.first; /* no call asks where they are */
    wt_mpi_unlock();
    return number;
}

bool wt_view_reaches_over(int32_t number) {
    if (number < 0) {
        return false;
    }
    const struct wt_run *last = &wt_type_runs[views[number].first + views[number].n - 1];
    return last->offset + last->length > views[number].extent;
}

/* The last run that begins at a place or before it; by its place in the tile, or in the view. */
static const struct wt_run *run_at(const struct view *view, int64_t place, bool in_view) {
    uint32_t low = 0, high = view->n;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        const struct wt_run *run = &wt_type_runs[view->first + middle];
        if ((in_view ? run->before : run->offset) <= place) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return &wt_type_runs[view->first + low];
}

int64_t wt_view_to_file(int32_t number, int64_t displacement, int64_t view_offset) {
    if (number == WT_VIEW_NONE) {
        return displacement + view_offset;
    }
    if (number < 0 || view_offset < 0) {
        return WT_UNKNOWN;
    }
    const struct view *view = &views[number];
    int64_t tile = view_offset / view->size, rest = view_offset % view->size;
    const struct wt_run *run = run_at(view, rest, true);
    return view->displacement + tile * view->extent + run->offset + rest - run->before;
}

/* A tile may reach over those behind it (a resized file type): the first position that shows the byte counts,
 * as in the replay. */
int64_t wt_view_from_file(int32_t number, int64_t displacement, int64_t offset) {
    if (number == WT_VIEW_NONE) {
        return offset - displacement;
    }
    if (number < 0 || views[number].extent <= 0) {
        return WT_UNKNOWN;
    }
    const struct view *view = &views[number];
    const int64_t place = offset - view->displacement;
    const bool over = wt_view_reaches_over(number);
    const struct wt_run *run = over ? &wt_type_runs[view->first] : run_at(view, place % view->extent, false);
    int64_t found = WT_UNKNOWN;
    for (uint32_t left = place < 0 ? 0 : over ? view->n : 1; left > 0; left--, run++) {
        int64_t in_run = place - run->offset;
        /* the first tile whose run reaches the byte */
        int64_t tile = in_run < run->length ? 0 : (in_run - run->length) / view->extent + 1;
        int64_t rest = in_run - tile * view->extent, position = tile * view->size + run->before + rest;
        if (rest >= 0 && rest < run->length && (found < 0 || position < found)) {
            found = position;
        }
    }
    return found;
}
