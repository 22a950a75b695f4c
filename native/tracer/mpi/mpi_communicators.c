/* Communicators by number, with the ranks of MPI_COMM_WORLD that are in them. The reader knows equal ones of
 * different ranks by these, since each rank has handles of its own. */
#include "mpi/mpi_call.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static int keyval = MPI_KEYVAL_INVALID;
static _Atomic int32_t next_communicator;

static struct {
    __typeof__(MPI_Comm_get_attr) *get;
    __typeof__(MPI_Comm_set_attr) *set;
    __typeof__(MPI_Comm_size) *size;
    __typeof__(MPI_Comm_test_inter) *test_inter;
    __typeof__(MPI_Comm_group) *group;
    __typeof__(MPI_Comm_remote_group) *remote_group;
    __typeof__(MPI_Group_union) *join;
    __typeof__(MPI_Group_size) *group_size;
    __typeof__(MPI_Group_translate_ranks) *translate;
    __typeof__(MPI_Group_free) *free;
} mpi;

static int copy_nothing(MPI_Comm comm, int key, void *extra, void *value, void *out, int *flag) {
    (void)comm, (void)key, (void)extra, (void)value, (void)out;
    *flag = 0;
    return MPI_SUCCESS;
}

static int delete_nothing(MPI_Comm comm, int key, void *value, void *extra) {
    (void)comm, (void)key, (void)value, (void)extra;
    return MPI_SUCCESS;
}

void wt_communicators_start(void) {
    mpi.get = (__typeof__(mpi.get))wt_mpi_real("MPI_Comm_get_attr");
    mpi.set = (__typeof__(mpi.set))wt_mpi_real("MPI_Comm_set_attr");
    mpi.size = (__typeof__(mpi.size))wt_mpi_real("MPI_Comm_size");
    mpi.test_inter = (__typeof__(mpi.test_inter))wt_mpi_real("MPI_Comm_test_inter");
    mpi.group = (__typeof__(mpi.group))wt_mpi_real("MPI_Comm_group");
    mpi.remote_group = (__typeof__(mpi.remote_group))wt_mpi_real("MPI_Comm_remote_group");
    mpi.join = (__typeof__(mpi.join))wt_mpi_real("MPI_Group_union");
    mpi.group_size = (__typeof__(mpi.group_size))wt_mpi_real("MPI_Group_size");
    mpi.translate = (__typeof__(mpi.translate))wt_mpi_real("MPI_Group_translate_ranks");
    mpi.free = (__typeof__(mpi.free))wt_mpi_real("MPI_Group_free");
    ((__typeof__(MPI_Comm_create_keyval) *)wt_mpi_real("MPI_Comm_create_keyval"))(
        copy_nothing, delete_nothing, &keyval, NULL);
}

void wt_communicators_end(void) {
    int last = keyval;
    keyval = MPI_KEYVAL_INVALID;
    ((__typeof__(MPI_Comm_free_keyval) *)wt_mpi_real("MPI_Comm_free_keyval"))(&last);
}

static int ascending(const void *a, const void *b) {
    int one = *(const int *)a, other = *(const int *)b;
    return (one > other) - (one < other);
}

/* Ranks of MPI_COMM_WORLD as runs (first rank's difference to the last one's end, length). */
static void describe(int32_t number, const int *in_world, int size) {
    int n_runs = 0;
    for (int i = 0; i < size; i++) {
        n_runs += i == 0 || in_world[i] != in_world[i - 1] + 1;
    }
    wt_lock();
    wt_meta_begin(WT_META_COMM);
    wt_meta_number((uint64_t)number);
    wt_meta_number((uint64_t)n_runs);
    int end = 0;
    for (int i = 0; i < size;) {
        int n = 1;
        while (i + n < size && in_world[i + n] == in_world[i] + n) {
            n++;
        }
        wt_meta_signed(in_world[i] - end);
        wt_meta_number((uint64_t)n);
        end = in_world[i] + n;
        i += n;
    }
    wt_meta_end();
    wt_unlock();
}

/* All that take part: of an intercommunicator both groups, which each side sees the other way round and which
 * are therefore put in order. */
static MPI_Group members(MPI_Comm comm, bool inter) {
    MPI_Group local, remote, all;
    mpi.group(comm, &local);
    if (!inter) {
        return local;
    }
    mpi.remote_group(comm, &remote);
    mpi.join(local, remote, &all);
    mpi.free(&local);
    mpi.free(&remote);
    return all;
}

/* The new number; UNKNOWN when members are no ranks of MPI_COMM_WORLD (spawned ones). */
static int32_t number_new(MPI_Comm comm, bool inter, int *size) {
    MPI_Group group = members(comm, inter), world;
    mpi.group_size(group, size);
    size_t bytes = 2 * (size_t)*size * sizeof(int);
    int *ranks =
        (int *)syscall(SYS_mmap, NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int32_t number = WT_UNKNOWN;
    if ((void *)ranks != MAP_FAILED) {
        int *in_world = ranks + *size;
        for (int i = 0; i < *size; i++) {
            ranks[i] = i;
        }
        mpi.group(wt_mpi.world, &world);
        mpi.translate(group, *size, ranks, world, in_world);
        mpi.free(&world);
        if (inter) {
            qsort(in_world, (size_t)*size, sizeof *in_world, ascending);
        }
        bool known = true;
        for (int i = 0; i < *size; i++) {
            known = known && in_world[i] >= 0; /* MPI_UNDEFINED is negative */
        }
        if (known) {
            number = next_communicator++;
            describe(number, in_world, *size);
        }
        syscall(SYS_munmap, ranks, bytes);
    }
    mpi.free(&group);
    return number;
}

/* The number is kept as an attribute of the communicator (negative: it orders nothing), so a handle that is
 * used again after MPI_Comm_free is a new one. */
int32_t wt_communicator(MPI_Comm comm, bool *ordering) {
    *ordering = false;
    if (comm == wt_mpi.comm_null || keyval == MPI_KEYVAL_INVALID) {
        return WT_UNKNOWN;
    }
    void *kept;
    int found = 0;
    mpi.get(comm, keyval, &kept, &found);
    if (!found) {
        int inter = 0, size = 0;
        mpi.test_inter(comm, &inter);
        int32_t number = number_new(comm, inter != 0, &size);
        /* MPI_COMM_WORLD also where it is one rank: its collectives separate the phases of that run all the
         * same.
         */
        bool orders = number >= 0 && (size > 1 || comm == wt_mpi.world);
        kept = (void *)(intptr_t)(orders ? number + 1 : -(number + 1) - 1);
        mpi.set(comm, keyval, kept);
    }
    intptr_t value = (intptr_t)kept;
    *ordering = value > 0;
    return (int32_t)(value > 0 ? value - 1 : -value - 2);
}
