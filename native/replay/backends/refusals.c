/* Makes calls fail as they did. A filter of system calls (seccomp) can tell calls apart by their arguments'
 * values alone: an argument at an address that stands for an error is the sign, and the filter returns that
 * error. */
#define _GNU_SOURCE
#include "backends/refusals.h"

#include "backends/raw_syscalls.h"
#include "failure.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#else
#define ARCHITECTURE 0 /* there is no filter */
#endif

/* A page for each error, in a place of 16 MiB that begins at a multiple of its size: bits 12 to 23 of an
 * address are the error. */
enum { PAGE = 4096, ERRORS = 4096, ERROR_SHIFT = 12, PLACE_SHIFT = 24 };
static const size_t PLACE = (size_t)PAGE * ERRORS;
static char *place;
static bool filters;

/* Arguments of the system calls that may be addresses of names or of data. */
enum { LOOKED_AT = 3 };

static const int FILE_CALLS[] = {
#ifdef SYS_open
    SYS_open,      SYS_stat,       SYS_lstat,     SYS_access,     SYS_unlink,   SYS_rmdir,   SYS_mkdir,
    SYS_rename,    SYS_link,       SYS_symlink,   SYS_chmod,      SYS_lchown,   SYS_mknod,
#endif
    SYS_openat,    SYS_newfstatat, SYS_faccessat, SYS_faccessat2, SYS_unlinkat, SYS_mkdirat, SYS_renameat,
    SYS_renameat2, SYS_linkat,     SYS_symlinkat, SYS_truncate,   SYS_fstat,    SYS_mmap,    SYS_fchmodat,
    SYS_fchownat,  SYS_utimensat,  SYS_mknodat};
static const int DATA_CALLS[] = {SYS_read,  SYS_write,  SYS_pread64, SYS_pwrite64,
                                 SYS_readv, SYS_writev, SYS_preadv,  SYS_pwritev};
enum {
    N_FILE_CALLS = sizeof FILE_CALLS / sizeof *FILE_CALLS,
    N_DATA_CALLS = sizeof DATA_CALLS / sizeof *DATA_CALLS
};

static uint32_t half_of_argument(int number, bool high) {
    const bool second = high == (__BYTE_ORDER == __LITTLE_ENDIAN);
    return (uint32_t)(offsetof(struct seccomp_data, args) + 8u * (uint32_t)number + (second ? 4u : 0u));
}

/* System calls that are not named here are allowed by their number alone, which costs them nothing. */
static bool install(bool of_data) {
    struct sock_filter code[8 + N_FILE_CALLS + N_DATA_CALLS + 10 * LOOKED_AT];
    unsigned short n = 0;
    const int n_calls = N_FILE_CALLS + (of_data ? N_DATA_CALLS : 0);
    const uint64_t base = (uint64_t)(uintptr_t)place;
#define ADD(...) code[n++] = (struct sock_filter)__VA_ARGS__
    ADD(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)));
    ADD(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0));
    ADD(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    ADD(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)));
    for (int i = 0; i < n_calls; i++) {
        const int call = i < N_FILE_CALLS ? FILE_CALLS[i] : DATA_CALLS[i - N_FILE_CALLS];
        ADD(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)call, (unsigned char)(n_calls - i), 0));
    }
    ADD(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    for (int i = 0; i < LOOKED_AT; i++) {
        ADD(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, half_of_argument(i, true)));
        ADD(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(base >> 32), 0, 8));
        ADD(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, half_of_argument(i, false)));
        ADD(BPF_STMT(BPF_ALU | BPF_RSH | BPF_K, PLACE_SHIFT));
        ADD(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)base >> PLACE_SHIFT, 0, 5));
        ADD(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, half_of_argument(i, false)));
        ADD(BPF_STMT(BPF_ALU | BPF_RSH | BPF_K, ERROR_SHIFT));
        ADD(BPF_STMT(BPF_ALU | BPF_AND | BPF_K, ERRORS - 1));
        ADD(BPF_STMT(BPF_ALU | BPF_OR | BPF_K, SECCOMP_RET_ERRNO));
        ADD(BPF_STMT(BPF_RET | BPF_A, 0));
    }
    ADD(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
#undef ADD
    const struct sock_fprog program = {n, code};
    return prctl(PR_SET_NO_NEW_PRIVS, 1UL, 0UL, 0UL, 0UL) == 0 &&
           prctl(PR_SET_SECCOMP, (unsigned long)SECCOMP_MODE_FILTER, &program) == 0;
}

void wt_refusals_start(const struct plan *plan) {
    bool of_files = false, of_data = false;
    for (int32_t i = 0; i < plan->n_steps; i++) {
        const struct plan_step *step = &plan->steps[i];
        const bool posix = (step->kind == STEP_FILE || step->kind == STEP_EMPTY) && step->error != 0 &&
                           wt_calls[step->call].layer == LAYER_POSIX;
        of_files |= posix;
        of_data |= posix && step->kind == STEP_EMPTY;
    }
    if (!of_files || ARCHITECTURE == 0) {
        return;
    }
    char *found = mmap(NULL, 2 * PLACE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (found == MAP_FAILED) {
        return;
    }
    place = found + (PLACE - (uintptr_t)found % PLACE) % PLACE;
    filters = install(of_data);
}

static char *page_of(int32_t error) {
    char *page = place + (size_t)(error & (ERRORS - 1)) * PAGE;
    if (mprotect(page, PAGE, PROT_READ | PROT_WRITE) != 0) {
        wt_fail(NULL, "no memory for a name: %s", strerror(errno));
    }
    return page;
}

const char *wt_refused_path(const char *path, int32_t error) {
    char *page = page_of(error);
    if (snprintf(page, PAGE, "%s", path) >= PAGE) {
        page[PAGE - 1] = 0;
    }
    return page;
}

/* Whether the files are as they must be for the storage to refuse a call. */
static bool storage_refuses(const struct file_action *a) {
    const char *path = wt_name_of(a)->path;
    const bool makes = (wt_open_flags(a) & O_CREAT) || a->call == CALL_MKDIR || a->call == CALL_MKNOD ||
                       a->call == CALL_SYMLINK;
    const bool of_two = a->call == CALL_RENAME || a->call == CALL_LINK;
    if (of_two && !a->other) { /* the plan has one of its names */
        return a->error == ENOENT && (wt_is_new_name(a) || !wt_raw_exists(path));
    }
    if (a->error == ENOENT) {
        return !makes && (a->file->never_there || !wt_raw_exists(path));
    }
    if (a->error != EEXIST) {
        return false;
    }
    if (a->call == CALL_LINK || a->call == CALL_SYMLINK) {
        return a->other && wt_raw_exists(a->other->names[a->other_name].path);
    }
    return (((wt_open_flags(a) & O_CREAT) && (wt_open_flags(a) & O_EXCL)) || a->call == CALL_MKDIR ||
            a->call == CALL_MKNOD) &&
           wt_raw_exists(path);
}

enum refusal wt_refusal_of(const struct file_action *a) {
    const enum refusal filtered = filters ? BY_THE_FILTER : NOT_POSSIBLE;
    switch (a->call) {
    case CALL_FSTAT:
    case CALL_MMAP:
        return filtered;
    case CALL_READLINK: /* of what is no link, or is not there */
        return a->error == EINVAL || storage_refuses(a) ? BY_STORAGE : NOT_POSSIBLE;
    case CALL_LSEEK: /* to a place before the file, or to data behind it */
        return a->error == (wt_origin(a) > SEEK_END ? ENXIO : EINVAL) ? BY_STORAGE : NOT_POSSIBLE;
    case CALL_FTRUNCATE:
        return (a->error == EINVAL || a->error == EBADF) && (wt_new_size(a) < 0 || !a->open->writable)
                   ? BY_STORAGE
                   : NOT_POSSIBLE;
    case CALL_CLOSE: /* the descriptor is gone all the same */
        return BY_STORAGE;
    default:
        if (a->call != CALL_OPEN && !wt_goes_by_name(a->call)) {
            return NOT_POSSIBLE;
        }
        return storage_refuses(a) ? BY_STORAGE : filtered;
    }
}

bool wt_refused_data(enum call call, const struct open_file *f, int64_t size, int64_t offset, int32_t error,
                     int64_t *moved) {
    if (!filters) {
        return false;
    }
    char *page = page_of(error);
    const struct iovec *parts = (const struct iovec *)(void *)page;
    switch (call) {
    case CALL_READ:
        *moved = read(f->fd, page, (size_t)size);
        return true;
    case CALL_WRITE:
        *moved = write(f->fd, page, (size_t)size);
        return true;
    case CALL_PREAD:
        *moved = pread(f->fd, page, (size_t)size, offset);
        return true;
    case CALL_PWRITE:
        *moved = pwrite(f->fd, page, (size_t)size, offset);
        return true;
    case CALL_READV:
        *moved = readv(f->fd, parts, 1);
        return true;
    case CALL_WRITEV:
        *moved = writev(f->fd, parts, 1);
        return true;
    case CALL_PREADV:
        *moved = preadv(f->fd, parts, 1, offset);
        return true;
    case CALL_PWRITEV:
        *moved = pwritev(f->fd, parts, 1, offset);
        return true;
    default: /* copies and asynchronous calls */
        return false;
    }
}
