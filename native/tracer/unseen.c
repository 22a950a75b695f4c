/* What passes the C library's calls by is not recorded; here it is noticed, so that it can be said: system
 * calls made by syscall(2), io_uring, and programs that do not load this library. */
#define _GNU_SOURCE
#include "references.h"
#include "tracer.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FDS_LOOKED_AT 256 /* for rings, at the end of the process */

static const struct {
    long number;
    const char *name;
} data_calls[] = {{SYS_read, "read"},           {SYS_write, "write"},     {SYS_pread64, "pread64"},
                  {SYS_pwrite64, "pwrite64"},   {SYS_readv, "readv"},     {SYS_writev, "writev"},
                  {SYS_preadv, "preadv"},       {SYS_pwritev, "pwritev"}, {SYS_preadv2, "preadv2"},
                  {SYS_pwritev2, "pwritev2"},   {SYS_lseek, "lseek"},     {SYS_ftruncate, "ftruncate"},
                  {SYS_fallocate, "fallocate"}, {SYS_fsync, "fsync"}};
#define N_DATA_CALLS (sizeof data_calls / sizeof *data_calls)

static bool made[N_DATA_CALLS];
static bool ring_made;

static void note(enum wt_note kind, const char *detail) {
    wt_meta_begin(WT_META_NOTE);
    wt_meta_number(kind);
    wt_meta_string(detail);
    wt_meta_end();
}

#if defined(__x86_64__)
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char etext[] __attribute__((visibility("hidden")));

__attribute__((visibility("hidden"), used)) void wt_syscall_seen(long number, long first, const char *caller);
void wt_syscall_seen(long number, long first, const char *caller) {
    if (!wt_active || wt_inside || (caller >= __ehdr_start && caller < etext)) {
        return; /* the tracer's own */
    }
    int saved = errno;
    ring_made = ring_made || number == SYS_io_uring_setup;
    for (size_t i = 0; i < N_DATA_CALLS; i++) {
        struct wt_ofd *ofd = data_calls[i].number == number ? wt_ofd_of((int)first) : NULL;
        if (ofd != NULL) {
            made[i] = true;
            ofd->unsure = true; /* the call may move the position */
        }
    }
    errno = saved;
}

/* Where several of our libraries are preloaded: that of the next one, which may be the one that traces. */
__attribute__((visibility("hidden"))) void *wt_syscall_next;

/* syscall(2) as the C library has it, behind a look at the call. A leaf: the child of a clone with a stack of
 * its own returns from here as well. */
__asm__(".text\n.globl syscall\n.type syscall,@function\nsyscall:\n.cfi_startproc\n"
        "pushq %rdi\npushq %rsi\npushq %rdx\npushq %rcx\npushq %r8\npushq %r9\nsubq $8, %rsp\n"
        ".cfi_adjust_cfa_offset 56\n"
        "movq 56(%rsp), %rdx\n" /* the caller */
        "call wt_syscall_seen\n"
        "addq $8, %rsp\npopq %r9\npopq %r8\npopq %rcx\npopq %rdx\npopq %rsi\npopq %rdi\n"
        ".cfi_adjust_cfa_offset -56\n"
        "movq wt_syscall_next(%rip), %rax\ntestq %rax, %rax\nje 2f\njmp *%rax\n2:\n"
        "movq %rdi, %rax\nmovq %rsi, %rdi\nmovq %rdx, %rsi\nmovq %rcx, %rdx\nmovq %r8, %r10\n"
        "movq %r9, %r8\nmovq 8(%rsp), %r9\nsyscall\n"
        "cmpq $-4095, %rax\njae 1f\nret\n"
        "1: negl %eax\npushq %rax\n.cfi_adjust_cfa_offset 8\n"
        "call *__errno_location@GOTPCREL(%rip)\n"
        "popq %rcx\n.cfi_adjust_cfa_offset -8\nmovl %ecx, (%rax)\nmovq $-1, %rax\nret\n"
        ".cfi_endproc\n.size syscall, .-syscall\n");
void wt_unseen_start(void) {
    if (!wt_claimed) {
        wt_syscall_next = wt_next("syscall");
    }
}
#else
void wt_unseen_start(void) {}
#endif

/* ---- at the end ---- */

static int find_liburing(struct dl_phdr_info *info, size_t size, void *unused) {
    (void)size, (void)unused;
    return strstr(info->dlpi_name, "liburing.so") != NULL;
}

/* Also rings that were made without any library, as long as they are open. */
static bool a_ring_is_open(void) {
    static const char ring[] = "anon_inode:[io_uring]";
    char link[32] = "/proc/self/fd/", target[sizeof ring];
    char *digits = link + strlen(link);
    for (int fd = 0; fd < FDS_LOOKED_AT; fd++) {
        char *at = digits;
        for (int unit = fd >= 100 ? 100 : fd >= 10 ? 10 : 1; unit > 0; unit /= 10) {
            *at++ = (char)('0' + fd / unit % 10);
        }
        *at = 0;
        if (syscall(SYS_readlinkat, AT_FDCWD, link, target, sizeof target) == (long)sizeof ring - 1 &&
            memcmp(target, ring, sizeof ring - 1) == 0) {
            return true;
        }
    }
    return false;
}

/* ---- objects whose calls pass us by: of a search that began with the C library (RTLD_DEEPBIND) ---- */

static struct {
    const char *name;
    void *address; /* in the C library */
} functions[] = {{"open", NULL},   {"open64", NULL},   {"openat", NULL}, {"openat64", NULL},
                 {"read", NULL},   {"write", NULL},    {"pread", NULL},  {"pread64", NULL},
                 {"pwrite", NULL}, {"pwrite64", NULL}, {"readv", NULL},  {"writev", NULL},
                 {"fopen", NULL},  {"fopen64", NULL},  {"mmap", NULL},   {"mmap64", NULL}};
#define N_FUNCTIONS (sizeof functions / sizeof *functions)
static uint64_t n_objects; /* at the start */
static const char *bypassing;

static void see_bypass(const struct wt_reference *reference) {
    if (strchr("orwpfm", *reference->name) == NULL || reference->object == bypassing ||
        strstr(reference->object, "/libwavetank-") != NULL) {
        return;
    }
    for (size_t i = 0; i < N_FUNCTIONS; i++) {
        if (functions[i].address != NULL && *reference->slot == functions[i].address &&
            strcmp(functions[i].name, reference->name) == 0) {
            bypassing = reference->object; /* once */
            note(WT_NOTE_BYPASSED, reference->object);
            wt_part_wanted = true;
            return;
        }
    }
}

void wt_bypass_start(void) {
    n_objects = wt_objects_loaded();
}

static void note_bypassing(void) {
    Dl_info where;
    void *libc = wt_objects_loaded() != n_objects ? dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD) : NULL;
    if (libc == NULL) {
        return; /* what is there from the start is bound to us */
    }
    for (size_t i = 0; i < N_FUNCTIONS; i++) {
        functions[i].address = dlsym(libc, functions[i].name);
    }
    wt_references(see_bypass, dladdr(functions[0].address, &where) != 0 ? where.dli_fbase : NULL);
    dlclose(libc);
}

void wt_note_unseen(void) {
    note_bypassing();
    if (ring_made || dl_iterate_phdr(find_liburing, NULL) || a_ring_is_open()) {
        note(WT_NOTE_IO_URING, "");
    }
    for (size_t i = 0; i < N_DATA_CALLS; i++) {
        if (made[i]) {
            note(WT_NOTE_RAW, data_calls[i].name);
        }
    }
}

/* ---- programs that are started ---- */

static bool loads_libraries(const char *path) {
    Elf64_Ehdr head;
    Elf64_Phdr parts[32];
    int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return true; /* nothing is known, nothing is said */
    }
    bool loads = true;
    if (syscall(SYS_pread64, fd, &head, sizeof head, 0L) == (long)sizeof head &&
        memcmp(head.e_ident, ELFMAG, SELFMAG) == 0 && head.e_ident[EI_CLASS] == ELFCLASS64 &&
        head.e_phentsize == sizeof *parts && head.e_phnum <= 32) {
        size_t bytes = head.e_phnum * sizeof *parts;
        loads = syscall(SYS_pread64, fd, parts, bytes, (long)head.e_phoff) != (long)bytes;
        for (int i = 0; i < head.e_phnum && !loads; i++) {
            loads = parts[i].p_type == PT_INTERP;
        }
    }
    syscall(SYS_close, fd);
    return loads;
}

/* The program that exec would find by PATH. */
static bool find_program(const char *file, char *path) {
    size_t n = strlen(file);
    const char *search = getenv("PATH");
    search = search != NULL ? search : "/bin:/usr/bin"; /* as the C library has it */
    if (strchr(file, '/') != NULL) {
        return n < WT_PATH_BYTES && memcpy(path, file, n + 1);
    }
    for (const char *end; *search; search = *end ? end + 1 : end) {
        end = strchrnul(search, ':');
        size_t length = (size_t)(end - search);
        if (length + n + 2 <= WT_PATH_BYTES) {
            memcpy(path, search, length);
            path[length] = '/';
            memcpy(path + length + 1, file, n + 1);
            if (syscall(SYS_faccessat, AT_FDCWD, path, X_OK) == 0) {
                return true;
            }
        }
    }
    return false;
}

/* The loader leaves out what is preloaded where a program gets rights that its starter does not have. */
static bool gets_rights(const char *path) {
    struct stat facts;
    if (syscall(SYS_newfstatat, AT_FDCWD, path, &facts, 0) != 0) {
        return false;
    }
    bool user = (uid_t)syscall(SYS_geteuid) != 0; /* root has nothing to gain by capabilities */
    if (user && syscall(SYS_getxattr, path, "security.capability", NULL, 0) > 0) {
        return true;
    }
    return ((facts.st_mode & S_ISUID) && facts.st_uid != (uid_t)syscall(SYS_geteuid)) ||
           ((facts.st_mode & S_ISGID) && facts.st_gid != (gid_t)syscall(SYS_getegid));
}

static bool preloads_us(char *const env[]) {
    static const char variable[] = "LD_PRELOAD=";
    for (size_t i = 0; env != NULL && env[i] != NULL; i++) {
        if (strncmp(env[i], variable, sizeof variable - 1) == 0) {
            return strstr(env[i], "libwavetank-trace") != NULL;
        }
    }
    return false;
}

void wt_note_program(const char *file, char *const env[]) {
    char path[WT_PATH_BYTES];
    int saved = errno;
    if (wt_active && wt_inside == 0 && file != NULL && find_program(file, path) &&
        syscall(SYS_faccessat, AT_FDCWD, path, X_OK) == 0) {
        bool is_static = !loads_libraries(path), rights = gets_rights(path);
        if (is_static || rights || !preloads_us(env)) {
            wt_lock();
            note(is_static ? WT_NOTE_UNSEEN : rights ? WT_NOTE_RIGHTS : WT_NOTE_UNLOADED, path);
            wt_part_wanted = true;
            wt_unlock();
        }
    }
    errno = saved;
}
