/* Decodes a data type by MPI_Type_get_envelope and MPI_Type_get_contents into runs of bytes: MPI tells how a
 * type was made, not which bytes it shows. What a type repeats is decoded once and copied. Decoded for each
 * of its elements, a large view kept ranks in MPI_File_set_view for seconds. */
#include "mpi/datatypes.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define RUNS_MAX (1u << 17) /* of all views of a process, and of one type: 3 MiB */
#define DEPTH_MAX 32

struct wt_run *wt_type_runs;
uint32_t wt_n_type_runs;
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
    wt_type_runs = reserve(RUNS_MAX * sizeof *wt_type_runs);
}

struct contents {
    int combiner, n_ints, n_addresses, n_types;
    int *ints;
    MPI_Aint *addresses;
    MPI_Datatype *types;
};

/* Looks into the envelope of a type. false: it was made with large counts. Such a type may have no envelope
 * of small ones, and asking for it is an error: where the library has large counts, it is asked by these. */
static bool envelope_of(MPI_Datatype type, struct contents *c) {
#if MPI_VERSION >= 4
    static __typeof__(MPI_Type_get_envelope_c) *large_envelope;
    static bool looked_for;
    if (!looked_for) {
        large_envelope = (__typeof__(large_envelope))wt_mpi_has("MPI_Type_get_envelope_c");
        looked_for = true;
    }
    if (large_envelope != NULL) {
        MPI_Count ints, addresses, counts, types;
        large_envelope(type, &ints, &addresses, &counts, &types, &c->combiner);
        c->n_ints = (int)ints;
        c->n_addresses = (int)addresses;
        c->n_types = (int)types;
        return counts == 0;
    }
#endif
    mpi.envelope(type, &c->n_ints, &c->n_addresses, &c->n_types, &c->combiner);
    return true;
}

bool wt_type_is_predefined(MPI_Datatype type) {
    struct contents c = {.combiner = MPI_COMBINER_DUP};
    wt_types_start();
    envelope_of(type, &c);
    return c.combiner == MPI_COMBINER_NAMED;
}

static void emit(uint32_t first, int64_t offset, int64_t length) {
    if (length <= 0) {
        return;
    }
    if (wt_n_type_runs > first &&
        wt_type_runs[wt_n_type_runs - 1].offset + wt_type_runs[wt_n_type_runs - 1].length == offset) {
        wt_type_runs[wt_n_type_runs - 1].length += length;
    } else if (wt_n_type_runs == RUNS_MAX) {
        overflow = true;
    } else {
        wt_type_runs[wt_n_type_runs++] = (struct wt_run){offset, length, 0};
    }
}

static void decode(MPI_Datatype type, uint32_t first, int64_t base, unsigned depth);

/* A type's runs from 0 on, decoded once for all of its copies. */
struct tile {
    struct wt_run *runs, one; /* runs: NULL where one is all that there is */
    uint32_t n;
    int64_t extent;
};

static void tile_make(struct tile *tile, MPI_Datatype type, unsigned depth) {
    MPI_Aint lower, extent;
    mpi.extent(type, &lower, &extent);
    uint32_t first = wt_n_type_runs;
    decode(type, first, 0, depth);
    *tile = (struct tile){.n = wt_n_type_runs - first, .extent = extent};
    if (tile->n == 1) {
        tile->one = wt_type_runs[first];
    } else if (tile->n > 1) {
        tile->runs = reserve(tile->n * sizeof *tile->runs);
        if (tile->runs == NULL) {
            overflow = true;
        }
    }
    for (uint32_t i = 0; tile->runs != NULL && i < tile->n; i++) {
        tile->runs[i] = wt_type_runs[first + i];
    }
    wt_n_type_runs = first;
}

static void tile_free(struct tile *tile) {
    if (tile->runs != NULL) {
        syscall(SYS_munmap, tile->runs, tile->n * sizeof *tile->runs);
    }
}

/* n copies, one extent apart. */
static void emit_copies(const struct tile *tile, int64_t n, uint32_t first, int64_t base) {
    const struct wt_run *runs = tile->runs != NULL ? tile->runs : &tile->one;
    if (tile->n == 1 && runs->length == tile->extent) {
        emit(first, base + runs->offset, n * tile->extent);
        return;
    }
    for (int64_t i = 0; i < n && !overflow; i++) {
        for (uint32_t k = 0; k < tile->n && !overflow; k++) {
            emit(first, base + i * tile->extent + runs[k].offset, runs[k].length);
        }
    }
}

static void decode_many(MPI_Datatype type, int64_t n, uint32_t first, int64_t base, unsigned depth) {
    struct tile tile;
    tile_make(&tile, type, depth);
    emit_copies(&tile, n, first, base);
    tile_free(&tile);
}

static void decode_subarray(const int *ints, const struct tile *tile, uint32_t first, int64_t base) {
    int n_dims = ints[0], order = ints[1 + 3 * n_dims];
    const int *sizes = ints + 1, *lengths = sizes + n_dims, *starts = lengths + n_dims;
    int64_t stride[16], index[16] = {0};
    int fastest = order == MPI_ORDER_C ? n_dims - 1 : 0, step = order == MPI_ORDER_C ? -1 : 1;
    if (n_dims < 1 || n_dims > 16) {
        overflow = true;
        return;
    }
    int64_t place = tile->extent;
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
        emit_copies(tile, lengths[fastest], first, at);
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

static void decode_distributed(const int *ints, const struct tile *tile, uint32_t first, int64_t base) {
    int rank = ints[1], n_dims = ints[2];
    const int *sizes = ints + 3, *distributions = sizes + n_dims, *arguments = distributions + n_dims,
              *processes = arguments + n_dims;
    int order = processes[n_dims], coordinates[16];
    int64_t index[16] = {0}, stride[16];
    if (n_dims < 1 || n_dims > 16) {
        overflow = true;
        return;
    }
    for (int d = n_dims - 1; d >= 0; d--) { /* processes are always in C order (MPI 3.1, 4.1.4) */
        coordinates[d] = rank % processes[d];
        rank /= processes[d];
    }
    int fastest = order == MPI_ORDER_C ? n_dims - 1 : 0, step = order == MPI_ORDER_C ? -1 : 1;
    int64_t place = tile->extent;
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
            emit_copies(tile, 1, first, at);
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

static int64_t block_length(const struct contents *c, int i) {
    switch (c->combiner) {
    case MPI_COMBINER_INDEXED_BLOCK:
    case MPI_COMBINER_HINDEXED_BLOCK:
        return c->ints[1];
    default:
        return c->ints[1 + i];
    }
}

/* Blocks of one type. */
static void decode_blocks(const struct contents *c, const struct tile *tile, uint32_t first, int64_t base) {
    for (int i = 0; i < c->ints[0] && !overflow; i++) {
        int64_t place;
        if (c->combiner == MPI_COMBINER_INDEXED) {
            place = (int64_t)c->ints[1 + c->ints[0] + i] * tile->extent;
        } else if (c->combiner == MPI_COMBINER_INDEXED_BLOCK) {
            place = (int64_t)c->ints[2 + i] * tile->extent;
        } else {
            place = c->addresses[i];
        }
        emit_copies(tile, block_length(c, i), first, base + place);
    }
}

static void decode_struct(const struct contents *c, uint32_t first, int64_t base, unsigned depth) {
    for (int i = 0; i < c->ints[0] && !overflow; i++) {
        decode_many(c->types[i], block_length(c, i), first, base + c->addresses[i], depth);
    }
}

static void decode_vector(const struct contents *c, const struct tile *tile, uint32_t first, int64_t base) {
    int64_t stride =
        c->combiner == MPI_COMBINER_VECTOR ? (int64_t)c->ints[2] * tile->extent : c->addresses[0];
    for (int i = 0; i < c->ints[0] && !overflow; i++) {
        emit_copies(tile, c->ints[1], first, base + i * stride);
    }
}

/* Types that place copies of one other type. */
static void decode_copies(const struct contents *c, uint32_t first, int64_t base, unsigned depth) {
    struct tile tile;
    tile_make(&tile, c->types[0], depth);
    switch (c->combiner) {
    case MPI_COMBINER_CONTIGUOUS:
        emit_copies(&tile, c->ints[0], first, base);
        break;
    case MPI_COMBINER_VECTOR:
    case MPI_COMBINER_HVECTOR:
        decode_vector(c, &tile, first, base);
        break;
    case MPI_COMBINER_SUBARRAY:
        decode_subarray(c->ints, &tile, first, base);
        break;
    case MPI_COMBINER_DARRAY:
        decode_distributed(c->ints, &tile, first, base);
        break;
    default:
        decode_blocks(c, &tile, first, base);
    }
    tile_free(&tile);
}

static void decode_contents(const struct contents *c, uint32_t first, int64_t base, unsigned depth) {
    switch (c->combiner) {
    case MPI_COMBINER_DUP:
    case MPI_COMBINER_RESIZED:
        decode(c->types[0], first, base, depth);
        break;
    case MPI_COMBINER_STRUCT:
        decode_struct(c, first, base, depth);
        break;
    case MPI_COMBINER_CONTIGUOUS:
    case MPI_COMBINER_VECTOR:
    case MPI_COMBINER_HVECTOR:
    case MPI_COMBINER_INDEXED:
    case MPI_COMBINER_HINDEXED:
    case MPI_COMBINER_INDEXED_BLOCK:
    case MPI_COMBINER_HINDEXED_BLOCK:
    case MPI_COMBINER_SUBARRAY:
    case MPI_COMBINER_DARRAY:
        decode_copies(c, first, base, depth);
        break;
    default:
        overflow = true;
    }
}

static void decode(MPI_Datatype type, uint32_t first, int64_t base, unsigned depth) {
    struct contents c = {0};
    if (!envelope_of(type, &c)) {
        overflow = true;
        return;
    }
    if (c.combiner == MPI_COMBINER_NAMED) {
        int size;
        mpi.size(type, &size);
        overflow = overflow || wt_type_extent(type) != size; /* a pair type: its gap lies where it likes */
        emit(first, base, size);
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
        if (!wt_type_is_predefined(c.types[i])) {
            mpi.free(&c.types[i]);
        }
    }
    syscall(SYS_munmap, memory, bytes);
}

bool wt_type_decode(MPI_Datatype type) {
    overflow = wt_type_runs == NULL;
    if (!overflow) {
        decode(type, wt_n_type_runs, 0, 0);
    }
    return !overflow;
}

void wt_types_start(void) {
    if (mpi.envelope == NULL) {
        start();
    }
}

int wt_type_size(MPI_Datatype type) {
    int size;
    mpi.size(type, &size);
    return size;
}

MPI_Aint wt_type_extent(MPI_Datatype type) {
    MPI_Aint lower, extent;
    mpi.extent(type, &lower, &extent);
    return extent;
}
