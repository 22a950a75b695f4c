/* Decodes a file type by MPI_Type_get_envelope and MPI_Type_get_contents into runs of bytes. */
#include "views.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define RUNS_MAX (1u << 17)       /* of all views of a process: 3 MiB */
#define RUNS_OF_A_VIEW (1u << 16) /* as many as fit into one record */
#define VIEWS_MAX 4096
#define DEPTH_MAX 32
#define ARGUMENTS_MAX (1u << 17)

struct run {
    int64_t offset, length, before; /* before: visible bytes of the tile in front of it */
};
struct view {
    int64_t displacement, etype_size, extent, size;
    uint32_t first, n;
    uint64_t hash;
};

static struct run *runs;
static uint32_t n_runs;
static struct view views[VIEWS_MAX];
static int32_t n_views;
static bool overflow; /* while decoding: too many runs, or a type that is not understood */

static struct {
    __typeof__(MPI_Type_get_envelope) *envelope;
    __typeof__(MPI_Type_get_contents) *contents;
    __typeof__(MPI_Type_get_extent) *extent;
    __typeof__(MPI_Type_size) *size;
    __typeof__(MPI_Type_free) *free;
} mpi;

static void *reserve(size_t bytes) {
    void *memory =
        (void *)syscall(SYS_mmap, NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

static void start(void) {
    mpi.envelope = (__typeof__(mpi.envelope))wt_mpi_real("MPI_Type_get_envelope");
    mpi.contents = (__typeof__(mpi.contents))wt_mpi_real("MPI_Type_get_contents");
    mpi.extent = (__typeof__(mpi.extent))wt_mpi_real("MPI_Type_get_extent");
    mpi.size = (__typeof__(mpi.size))wt_mpi_real("MPI_Type_size");
    mpi.free = (__typeof__(mpi.free))wt_mpi_real("MPI_Type_free");
    runs = reserve(RUNS_MAX * sizeof *runs);
}

static void emit(uint32_t first, int64_t offset, int64_t length) {
    if (length <= 0) {
        return;
    }
    if (n_runs > first && runs[n_runs - 1].offset + runs[n_runs - 1].length == offset) {
        runs[n_runs - 1].length += length;
    } else if (n_runs == RUNS_MAX) {
        overflow = true;
    } else {
        runs[n_runs++] = (struct run){offset, length, 0};
    }
}

static void decode(MPI_Datatype type, uint32_t first, int64_t base, unsigned depth);

/* n copies of a type, one extent apart. */
static void decode_many(MPI_Datatype type, int64_t n, uint32_t first, int64_t base, unsigned depth) {
    MPI_Aint lower, extent;
    int n_ints, n_addresses, n_types, combiner, size;
    mpi.extent(type, &lower, &extent);
    mpi.envelope(type, &n_ints, &n_addresses, &n_types, &combiner);
    mpi.size(type, &size);
    if (combiner == MPI_COMBINER_NAMED && size == extent) {
        emit(first, base, n * size);
        return;
    }
    for (int64_t i = 0; i < n && !overflow; i++) {
        decode(type, first, base + i * extent, depth);
    }
}

static void decode_subarray(const int *ints, MPI_Datatype type, uint32_t first, int64_t base,
                            unsigned depth) {
    int n_dims = ints[0], order = ints[1 + 3 * n_dims];
    const int *sizes = ints + 1, *lengths = sizes + n_dims, *starts = lengths + n_dims;
    int64_t stride[16], index[16] = {0};
    int fastest = order == MPI_ORDER_C ? n_dims - 1 : 0, step = order == MPI_ORDER_C ? -1 : 1;
    MPI_Aint lower, extent;
    mpi.extent(type, &lower, &extent);
    if (n_dims < 1 || n_dims > 16) {
        overflow = true;
        return;
    }
    int64_t place = extent;
    for (int k = 0, d = fastest; k < n_dims; k++, d += step) {
        stride[d] = place;
        place *= sizes[d];
        if (lengths[d] <= 0) {
            return;
        }
    }
    for (bool more = true; more && !overflow;) {
        int64_t at = base;
        for (int d = 0; d < n_dims; d++) {
            at += (starts[d] + index[d]) * stride[d];
        }
        decode_many(type, lengths[fastest], first, at, depth);
        more = false;
        for (int k = 1, d = fastest + step; k < n_dims && !more; k++, d += step) {
            if (++index[d] < lengths[d]) {
                more = true;
            } else {
                index[d] = 0;
            }
        }
    }
}

/* One dimension of a distributed array: whether index i is this process's. */
static bool owns(int64_t i, int distribution, int argument, int64_t size, int processes, int coordinate) {
    if (distribution == MPI_DISTRIBUTE_NONE) {
        return true;
    }
    int64_t block = argument;
    if (argument == MPI_DISTRIBUTE_DFLT_DARG) {
        block = distribution == MPI_DISTRIBUTE_BLOCK ? (size + processes - 1) / processes : 1;
    }
    return distribution == MPI_DISTRIBUTE_BLOCK ? i / block == coordinate
                                                : (i / block) % processes == coordinate;
}

static void decode_distributed(const int *ints, MPI_Datatype type, uint32_t first, int64_t base,
                               unsigned depth) {
    int rank = ints[1], n_dims = ints[2];
    const int *sizes = ints + 3, *distributions = sizes + n_dims, *arguments = distributions + n_dims,
              *processes = arguments + n_dims;
    int order = processes[n_dims], coordinates[16];
    int64_t index[16] = {0}, stride[16];
    MPI_Aint lower, extent;
    if (n_dims < 1 || n_dims > 16) {
        overflow = true;
        return;
    }
    mpi.extent(type, &lower, &extent);
    for (int d = n_dims - 1; d >= 0; d--) { /* processes are always in C order (MPI 3.1, 4.1.4) */
        coordinates[d] = rank % processes[d];
        rank /= processes[d];
    }
    int fastest = order == MPI_ORDER_C ? n_dims - 1 : 0, step = order == MPI_ORDER_C ? -1 : 1;
    int64_t place = extent;
    for (int k = 0, d = fastest; k < n_dims; k++, d += step) {
        stride[d] = place;
        place *= sizes[d];
    }
    for (bool more = true; more && !overflow;) {
        bool mine = true;
        int64_t at = base;
        for (int d = 0; d < n_dims && mine; d++) {
            mine = owns(index[d], distributions[d], arguments[d], sizes[d], processes[d], coordinates[d]);
            at += index[d] * stride[d];
        }
        if (mine) {
            decode(type, first, at, depth);
        }
        more = false;
        for (int k = 0, d = fastest; k < n_dims && !more; k++, d += step) {
            if (++index[d] < sizes[d]) {
                more = true;
            } else {
                index[d] = 0;
            }
        }
    }
}

struct contents {
    int combiner, n_ints, n_addresses, n_types;
    int *ints;
    MPI_Aint *addresses;
    MPI_Datatype *types;
};

static int64_t block_length(const struct contents *c, int i) {
    switch (c->combiner) {
    case MPI_COMBINER_INDEXED_BLOCK:
    case MPI_COMBINER_HINDEXED_BLOCK:
        return c->ints[1];
    default:
        return c->ints[1 + i];
    }
}

static void decode_blocks(const struct contents *c, uint32_t first, int64_t base, unsigned depth) {
    MPI_Aint lower, extent;
    mpi.extent(c->types[0], &lower, &extent);
    for (int i = 0; i < c->ints[0] && !overflow; i++) {
        int64_t place;
        MPI_Datatype type = c->types[c->combiner == MPI_COMBINER_STRUCT ? i : 0];
        if (c->combiner == MPI_COMBINER_INDEXED) {
            place = (int64_t)c->ints[1 + c->ints[0] + i] * extent;
        } else if (c->combiner == MPI_COMBINER_INDEXED_BLOCK) {
            place = (int64_t)c->ints[2 + i] * extent;
        } else {
            place = c->addresses[i];
        }
        decode_many(type, block_length(c, i), first, base + place, depth);
    }
}

static void decode_vector(const struct contents *c, uint32_t first, int64_t base, unsigned depth) {
    MPI_Aint lower, extent;
    mpi.extent(c->types[0], &lower, &extent);
    int64_t stride = c->combiner == MPI_COMBINER_VECTOR ? (int64_t)c->ints[2] * extent : c->addresses[0];
    for (int i = 0; i < c->ints[0] && !overflow; i++) {
        decode_many(c->types[0], c->ints[1], first, base + i * stride, depth);
    }
}

static void decode_contents(const struct contents *c, uint32_t first, int64_t base, unsigned depth) {
    switch (c->combiner) {
    case MPI_COMBINER_DUP:
    case MPI_COMBINER_RESIZED:
        decode(c->types[0], first, base, depth);
        break;
    case MPI_COMBINER_CONTIGUOUS:
        decode_many(c->types[0], c->ints[0], first, base, depth);
        break;
    case MPI_COMBINER_VECTOR:
    case MPI_COMBINER_HVECTOR:
        decode_vector(c, first, base, depth);
        break;
    case MPI_COMBINER_INDEXED:
    case MPI_COMBINER_HINDEXED:
    case MPI_COMBINER_INDEXED_BLOCK:
    case MPI_COMBINER_HINDEXED_BLOCK:
    case MPI_COMBINER_STRUCT:
        decode_blocks(c, first, base, depth);
        break;
    case MPI_COMBINER_SUBARRAY:
        decode_subarray(c->ints, c->types[0], first, base, depth);
        break;
    case MPI_COMBINER_DARRAY:
        decode_distributed(c->ints, c->types[0], first, base, depth);
        break;
    default:
        overflow = true;
    }
}

static void decode(MPI_Datatype type, uint32_t first, int64_t base, unsigned depth) {
    struct contents c = {0};
    mpi.envelope(type, &c.n_ints, &c.n_addresses, &c.n_types, &c.combiner);
    if (c.combiner == MPI_COMBINER_NAMED) {
        int size;
        mpi.size(type, &size);
        emit(first, base, size); /* the pair types with a gap inside are not used in files */
        return;
    }
    size_t bytes = (size_t)c.n_ints * sizeof(int) + (size_t)c.n_addresses * sizeof(MPI_Aint) +
                   (size_t)c.n_types * sizeof(MPI_Datatype) + 64;
    char *memory = depth < DEPTH_MAX ? reserve(bytes) : NULL;
    if (memory == NULL) {
        overflow = true;
        return;
    }
    c.addresses = (MPI_Aint *)memory;
    c.types = (MPI_Datatype *)(c.addresses + c.n_addresses);
    c.ints = (int *)(c.types + c.n_types);
    mpi.contents(type, c.n_ints, c.n_addresses, c.n_types, c.ints, c.addresses, c.types);
    decode_contents(&c, first, base, depth + 1);
    for (int i = 0; i < c.n_types; i++) { /* get_contents hands out derived types for us to free */
        int a, b, d, combiner;
        mpi.envelope(c.types[i], &a, &b, &d, &combiner);
        if (combiner != MPI_COMBINER_NAMED) {
            mpi.free(&c.types[i]);
        }
    }
    syscall(SYS_munmap, memory, bytes);
}

static uint64_t hash_of(const struct view *view) {
    uint64_t hash = 0xcbf29ce484222325u;
    const int64_t head[3] = {view->displacement, view->etype_size, view->extent};
    for (size_t i = 0; i < 3; i++) {
        hash = (hash ^ (uint64_t)head[i]) * 0x100000001b3u;
    }
    for (uint32_t i = 0; i < view->n; i++) {
        hash = (hash ^ (uint64_t)runs[view->first + i].offset) * 0x100000001b3u;
        hash = (hash ^ (uint64_t)runs[view->first + i].length) * 0x100000001b3u;
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
        const struct run *run = &runs[view->first + i];
        wt_meta_signed(run->offset - end);
        wt_meta_number((uint64_t)run->length);
        end = run->offset + run->length;
    }
    wt_meta_end();
    wt_unlock();
}

int32_t wt_view_make(MPI_Offset displacement, MPI_Datatype etype, MPI_Datatype filetype) {
    if (mpi.envelope == NULL) {
        start();
    }
    int etype_size;
    MPI_Aint lower, extent;
    mpi.size(etype, &etype_size);
    mpi.extent(filetype, &lower, &extent);
    wt_mpi_lock();
    struct view view = {
        .displacement = displacement, .etype_size = etype_size, .extent = extent, .first = n_runs};
    overflow = runs == NULL;
    if (!overflow) {
        decode(filetype, n_runs, 0, 0);
    }
    view.n = n_runs - view.first;
    for (uint32_t i = 0; i < view.n; i++) {
        runs[view.first + i].before = view.size;
        view.size += runs[view.first + i].length;
    }
    view.hash = hash_of(&view);
    int32_t number = WT_VIEW_UNKNOWN;
    bool plain = view.n == 1 && runs[view.first].offset == 0 && runs[view.first].length == extent;
    overflow = overflow || view.n > RUNS_OF_A_VIEW;
    if (!overflow && plain && displacement == 0) {
        number = WT_VIEW_NONE;
    } else if (!overflow && view.n > 0) {
        for (int32_t i = 0; i < n_views && number == WT_VIEW_UNKNOWN; i++) {
            if (views[i].hash == view.hash && views[i].n == view.n && views[i].size == view.size) {
                number = i;
            }
        }
        if (number == WT_VIEW_UNKNOWN && n_views < VIEWS_MAX) {
            number = n_views++;
            views[number] = view;
            describe(number, &view);
            view.first = n_runs; /* keep its runs */
        }
    }
    n_runs = view.first;
    wt_mpi_unlock();
    return number;
}

/* The last run that begins at a place or before it; by its place in the tile, or in the view. */
static const struct run *run_at(const struct view *view, int64_t place, bool in_view) {
    uint32_t low = 0, high = view->n;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        const struct run *run = &runs[view->first + middle];
        if ((in_view ? run->before : run->offset) <= place) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return &runs[view->first + low];
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
    const struct run *run = run_at(view, rest, true);
    return view->displacement + tile * view->extent + run->offset + rest - run->before;
}

#define TILES_BACK 8 /* a tile may reach over the ones behind it (a resized file type) */

int64_t wt_view_from_file(int32_t number, int64_t displacement, int64_t offset) {
    if (number == WT_VIEW_NONE) {
        return offset - displacement;
    }
    if (number < 0 || views[number].extent <= 0) {
        return WT_UNKNOWN;
    }
    const struct view *view = &views[number];
    int64_t place = offset - view->displacement;
    int64_t tile = place / view->extent;
    for (int i = 0; i < TILES_BACK && tile >= 0; i++, tile--) {
        int64_t rest = place - tile * view->extent;
        const struct run *run = run_at(view, rest, false);
        if (rest >= run->offset && rest < run->offset + run->length) {
            return tile * view->size + run->before + rest - run->offset;
        }
    }
    return WT_UNKNOWN;
}
