/* Clocks of different hosts: one rank of each is asked for its time by rank 0, at MPI_Init and again before
 * MPI_Finalize; the round trip that took least says most (Cristian 1989). The reader takes offset and drift
 * out of the times. Ranks that share a clock are not asked: on one host, all that is sent is one number from
 * each rank and one back.
 *
 * All ranks must take part, or they would wait for ever: it is done only where the tracing command has seen
 * that one program is started for all ranks, and then also by a rank whose own tracing has ended. */
#define _GNU_SOURCE
#include "mpi/mpi_call.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define TAG 0x5754 /* below the 32767 that every MPI library allows */
#define ROUNDS 24  /* the least of so many round trips */

static bool together; /* decided at MPI_Init, the same on all ranks */
static uint64_t clock_id, reference_id;
static int role; /* enum wt_clock_role */
static int *leaders, n_leaders;
static int rank, n_ranks;

static struct {
    __typeof__(MPI_Send) *send;
    __typeof__(MPI_Recv) *receive;
} mpi;

static uint64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint64_t add_to(uint64_t hash, const char *text, ssize_t n) {
    for (ssize_t i = 0; i < n; i++) {
        hash = (hash ^ (uint8_t)text[i]) * 0x100000001b3u; /* FNV-1a */
    }
    return hash;
}

/* A clock is a boot of a kernel, and a time name space of it. */
static uint64_t identify_clock(void) {
    char text[128];
    uint64_t hash = 0xcbf29ce484222325u;
    int fd = (int)syscall(SYS_openat, AT_FDCWD, "/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        hash = add_to(hash, text, syscall(SYS_read, fd, text, sizeof text));
        syscall(SYS_close, fd);
    }
    return add_to(hash, text, syscall(SYS_readlinkat, AT_FDCWD, "/proc/self/ns/time", text, sizeof text));
}

static void describe(int64_t offset_ns, uint64_t round_trip_ns) {
    if (!wt_active) {
        return;
    }
    wt_lock();
    wt_meta_begin(WT_META_CLOCK);
    wt_meta_number(clock_id);
    wt_meta_number(reference_id);
    wt_meta_number((uint64_t)role);
    wt_meta_number(now_ns() - wt_start_mono_ns);
    wt_meta_signed(offset_ns);
    wt_meta_number(round_trip_ns);
    wt_meta_end();
    wt_unlock();
}

static void ask(int leader) {
    uint64_t best = UINT64_MAX;
    struct {
        int64_t offset;
        uint64_t round_trip;
    } found = {0, 0};
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t theirs = 0, before = now_ns();
        mpi.send(&before, sizeof before, wt_mpi.byte, leader, TAG, wt_mpi.world);
        mpi.receive(&theirs, sizeof theirs, wt_mpi.byte, leader, TAG, wt_mpi.world, MPI_STATUS_IGNORE);
        uint64_t round_trip = now_ns() - before;
        if (round_trip < best) {
            best = found.round_trip = round_trip;
            found.offset = (int64_t)(before + round_trip / 2 - theirs);
        }
    }
    mpi.send(&found, sizeof found, wt_mpi.byte, leader, TAG, wt_mpi.world);
}

static void answer(void) {
    struct {
        int64_t offset;
        uint64_t round_trip;
    } found = {0, 0};
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t theirs;
        mpi.receive(&theirs, sizeof theirs, wt_mpi.byte, 0, TAG, wt_mpi.world, MPI_STATUS_IGNORE);
        uint64_t mine = now_ns();
        mpi.send(&mine, sizeof mine, wt_mpi.byte, 0, TAG, wt_mpi.world);
    }
    mpi.receive(&found, sizeof found, wt_mpi.byte, 0, TAG, wt_mpi.world, MPI_STATUS_IGNORE);
    describe(found.offset, found.round_trip);
}

/* Rank 0: which ranks are asked, the first one of each other clock. */
static void choose_leaders(const uint64_t *clocks, uint64_t *roles) {
    for (int i = 0; i < n_ranks; i++) {
        bool seen = clocks[i] == clocks[0];
        for (int k = n_leaders; k > 0 && !seen; k--) { /* mostly the last one: hosts are filled one by one */
            seen = clocks[leaders[k - 1]] == clocks[i];
        }
        if (!seen) {
            leaders[n_leaders++] = i;
        }
        roles[i] = i == 0 ? WT_CLOCK_REFERENCE : seen ? WT_CLOCK_SHARED : WT_CLOCK_COMPARED;
    }
}

static void compare(void) {
    for (int i = 0; i < n_leaders; i++) {
        ask(leaders[i]);
    }
    if (role == WT_CLOCK_COMPARED) {
        answer();
    }
}

static void *reserve(size_t bytes) {
    void *memory =
        (void *)syscall(SYS_mmap, NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

void wt_mpi_clock_start(void) {
    __typeof__(MPI_Gather) *gather = (__typeof__(gather))wt_mpi_real("MPI_Gather");
    __typeof__(MPI_Scatter) *scatter = (__typeof__(scatter))wt_mpi_real("MPI_Scatter");
    __typeof__(MPI_Bcast) *broadcast = (__typeof__(broadcast))wt_mpi_real("MPI_Bcast");
    __typeof__(MPI_Comm_get_parent) *parent = (__typeof__(parent))wt_mpi_real("MPI_Comm_get_parent");
    const char *set = getenv("WAVETANK_TRACE_TOGETHER");
    MPI_Comm spawned_by = wt_mpi.comm_null;
    ((__typeof__(MPI_Comm_rank) *)wt_mpi_real("MPI_Comm_rank"))(wt_mpi.world, &rank);
    ((__typeof__(MPI_Comm_size) *)wt_mpi_real("MPI_Comm_size"))(wt_mpi.world, &n_ranks);
    parent(&spawned_by);
    together = set != NULL && strcmp(set, "1") == 0 && n_ranks > 1 && spawned_by == wt_mpi.comm_null;
    if (!together) {
        return;
    }
    mpi.send = (__typeof__(mpi.send))wt_mpi_real("MPI_Send");
    mpi.receive = (__typeof__(mpi.receive))wt_mpi_real("MPI_Recv");
    clock_id = identify_clock();
    size_t n = (size_t)n_ranks, bytes = n * (2 * sizeof(uint64_t) + sizeof(int));
    uint64_t *clocks = rank == 0 ? reserve(bytes) : NULL, *roles = NULL, my_role = 0;
    uint64_t head[2] = {clock_id, rank != 0 || clocks != NULL}; /* no memory: all go without */
    broadcast(head, sizeof head, wt_mpi.byte, 0, wt_mpi.world);
    together = head[1] != 0;
    if (!together) {
        return;
    }
    reference_id = head[0];
    if (rank == 0) {
        roles = clocks + n;
        leaders = (int *)(roles + n);
    }
    gather(&clock_id, sizeof clock_id, wt_mpi.byte, clocks, sizeof clock_id, wt_mpi.byte, 0, wt_mpi.world);
    if (rank == 0) {
        choose_leaders(clocks, roles);
    }
    scatter(roles, sizeof my_role, wt_mpi.byte, &my_role, sizeof my_role, wt_mpi.byte, 0, wt_mpi.world);
    role = (int)my_role;
    if (role != WT_CLOCK_COMPARED) {
        describe(0, 0);
    }
    compare();
}

void wt_mpi_clock_end(void) {
    if (together) {
        compare();
    }
}
