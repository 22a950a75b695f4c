/* MPI calls as logical clock: ticks are counted by stubs that jump on to the real function. A stub touches no
 * argument, so that one text serves all calls that are only counted. MPI_Init tells the rank. */
#define _GNU_SOURCE
#include "lifecycle.h"
#include "mpi/intercepted_mpi.h"
#include "mpi/mpi_call.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static int world_size;

/* ---- stubs: one counted jump, whatever the function's arguments ---- */

#define TICK_NAME(name) "MPI_" #name,
static const char *const tick_names[] = {WT_TICK_CALLS(TICK_NAME)};
/* Of the stub MPI_name, and of PMPI_name. */
__attribute__((visibility("hidden"))) void *wt_tick_targets[2 * sizeof tick_names / sizeof *tick_names];
__attribute__((visibility("hidden"), used)) void *wt_tick_resolve(uint64_t index);
void *wt_tick_resolve(uint64_t index) {
    int saved = errno;
    const char *name = tick_names[index / 2];
    void *target = index % 2 == 0 ? wt_mpi_real(name) : wt_pmpi_real(name);
    wt_tick_targets[index] = target;
    errno = saved;
    return target;
}

#if defined(__x86_64__)
#define STUB(prefix, name, count)                                                                            \
    ".globl " prefix "MPI_" #name "\n.type " prefix "MPI_" #name ",@function\n" prefix "MPI_" #name ":\n"    \
    ".cfi_startproc\n" count "movq wt_tick_targets+8*wt_stub_index(%rip), %r11\n"                            \
    "testq %r11, %r11\n"                                                                                     \
    "je 1f\n"                                                                                                \
    "jmp *%r11\n"                                                                                            \
    "1: movl $wt_stub_index, %r11d\n"                                                                        \
    "jmp wt_tick_slow\n"                                                                                     \
    ".cfi_endproc\n.size " prefix "MPI_" #name ", .-" prefix "MPI_" #name "\n"
#define COUNT "lock incq wt_ticks(%rip)\n"
#define COUNT_FORTRAN /* see wt_mpi_from_fortran */                                                          \
    "movq (%rsp), %r11\nsubq wt_fortran_start(%rip), %r11\ncmpq wt_fortran_size(%rip), %r11\njae 2f\n"       \
    "lock incq wt_ticks(%rip)\n2:\n"
#define STUBS(name)                                                                                          \
    STUB("", name, COUNT)                                                                                    \
    ".set wt_stub_index, wt_stub_index+1\n" STUB("P", name,                                                  \
                                                 COUNT_FORTRAN) ".set wt_stub_index, wt_stub_index+1\n"
/* Of an optional function: its target is known before it is called. */
#define OPTIONAL_STUB(name)                                                                                  \
    ".hidden wt_stub_" #name "\n.globl wt_stub_" #name "\n.type wt_stub_" #name ",@function\nwt_stub_" #name \
    ":\n.cfi_startproc\n" COUNT "jmp *wt_entry_" #name "+16(%rip)\n.cfi_endproc\n.size wt_stub_" #name       \
    ", .-wt_stub_" #name "\n"
__asm__(".text\n.set wt_stub_index, 0\n" WT_TICK_CALLS(STUBS) WT_OPTIONAL_TICK_CALLS(
    OPTIONAL_STUB) ".type wt_tick_slow,@function\nwt_tick_slow:\n"
                   ".cfi_startproc\n"
                   "pushq %rdi\npushq %rsi\npushq %rdx\npushq %rcx\npushq %r8\npushq %r9\npushq %r11\n"
                   ".cfi_adjust_cfa_offset 56\n"
                   "movl %r11d, %edi\n"
                   "call wt_tick_resolve\n"
                   "popq %r11\npopq %r9\npopq %r8\npopq %rcx\npopq %rdx\npopq %rsi\npopq %rdi\n"
                   ".cfi_adjust_cfa_offset -56\n"
                   "jmp *%rax\n"
                   ".cfi_endproc\n.size wt_tick_slow, .-wt_tick_slow\n");
#else
#error "MPI ticks need a stub for this processor: see STUB above"
#endif

#define OPTIONAL_ENTRY(name)                                                                                 \
    extern char wt_stub_##name[] __attribute__((visibility("hidden")));                                      \
    struct wt_optional wt_entry_##name WT_OPTIONAL_ENTRY = {"MPI_" #name, wt_stub_##name, NULL};
WT_OPTIONAL_TICK_CALLS(OPTIONAL_ENTRY)
_Static_assert(offsetof(struct wt_optional, real) == 16, "see OPTIONAL_STUB");

/* ---- start and end ---- */

static void describe_rank(void) {
    static char library[MPI_MAX_LIBRARY_VERSION_STRING];
    int rank = 0, n = 0;
    ((__typeof__(MPI_Comm_rank) *)wt_mpi_real("MPI_Comm_rank"))(wt_mpi.world, &rank);
    ((__typeof__(MPI_Comm_size) *)wt_mpi_real("MPI_Comm_size"))(wt_mpi.world, &world_size);
    ((__typeof__(MPI_Get_library_version) *)wt_mpi_real("MPI_Get_library_version"))(library, &n);
    for (char *c = library; *c; c++) { /* "Open MPI v4.1.4, package: ...", or MPICH's several lines */
        if (*c == ',' || *c == '\n') {
            *c = 0;
            break;
        }
        *c = *c == '\t' ? ' ' : *c;
    }
    wt_lock();
    wt_meta_begin(WT_META_RANK);
    wt_meta_number((uint64_t)rank + 1);
    wt_meta_number((uint64_t)world_size);
    wt_meta_number(WT_RANK_MPI);
    wt_meta_string(library);
    wt_meta_end();
    wt_part_wanted = true;
    wt_unlock();
}

static void after_init(const struct wt_call *call, int status) {
    if (status != MPI_SUCCESS || !wt_claimed || !wt_mpi_is_ours()) {
        return;
    }
    wt_inside++;
    wt_mpi_clock_start();
    wt_inside--;
    if (!wt_active) {
        return;
    }
    wt_optional_start();
    wt_communicators_start();
    describe_rank();
    wt_mpi_runs = true;
    wt_record_sync(WT_OP_INIT, wt_mpi.world, call, status);
}

static int init(int (*real)(int *, char ***), int *argc, char ***argv) {
    struct wt_call call = wt_call_begin();
    wt_inside++; /* what MPI reads to start (its own settings) is not the application's */
    int status = real(argc, argv);
    wt_inside--;
    after_init(&call, status);
    return status;
}

static int init_thread(int (*real)(int *, char ***, int, int *), int *argc, char ***argv, int required,
                       int *provided) {
    struct wt_call call = wt_call_begin();
    wt_inside++;
    int status = real(argc, argv, required, provided);
    wt_inside--;
    after_init(&call, status);
    return status;
}

static int finalize(int (*real)(void)) {
    wt_inside++;
    wt_mpi_clock_end();
    wt_inside--;
    if (!wt_mpi_traced()) {
        return real();
    }
    struct wt_call call = wt_call_begin();
    wt_record_sync(WT_OP_FINALIZE, wt_mpi.world, &call,
                   MPI_SUCCESS); /* before: no communicator outlives it */
    wt_mpi_runs = false;
    wt_communicators_end();
    return real();
}

WT_EXPORT int MPI_Init(int *argc, char ***argv) {
    WT_MPI_REAL(Init)
    return init(real_Init, argc, argv);
}
WT_EXPORT int MPI_Init_thread(int *argc, char ***argv, int required, int *provided) {
    WT_MPI_REAL(Init_thread)
    return init_thread(real_Init_thread, argc, argv, required, provided);
}
WT_EXPORT int MPI_Finalize(void) {
    WT_MPI_REAL(Finalize)
    return finalize(real_Finalize);
}
/* Where another of our libraries traces, it sees by the return address who called: these must be jumps. */
#define FROM_FORTRAN (wt_claimed && wt_mpi_from_fortran(__builtin_return_address(0)))
WT_EXPORT int PMPI_Init(int *argc, char ***argv) {
    WT_PMPI_REAL(Init)
    if (!FROM_FORTRAN) {
        return real_Init(argc, argv);
    }
    return init(real_Init, argc, argv);
}
WT_EXPORT int PMPI_Init_thread(int *argc, char ***argv, int required, int *provided) {
    WT_PMPI_REAL(Init_thread)
    if (!FROM_FORTRAN) {
        return real_Init_thread(argc, argv, required, provided);
    }
    return init_thread(real_Init_thread, argc, argv, required, provided);
}
WT_EXPORT int PMPI_Finalize(void) {
    WT_PMPI_REAL(Finalize)
    if (!FROM_FORTRAN) {
        return real_Finalize();
    }
    return finalize(real_Finalize);
}

WT_EXPORT int MPI_Abort(MPI_Comm comm, int code) {
    WT_MPI_REAL(Abort)
    wt_finish(WT_END_EXIT);
    return real_Abort(comm, code);
}
