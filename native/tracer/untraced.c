/* What passes the C library's calls by is not recorded; here it is noticed, so that it can be said: system
 * calls made by syscall(2), io_uring, libraries that are bound to the C library itself or write over a
 * function of it. */
#define _GNU_SOURCE
#include "untraced.h"
#include "posix/posix.h"
#include "symbols.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
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

/* Whether the call is to be made by wt_submit_seen: requests are recorded there, and the call's result is
 * known. */
__attribute__((visibility("hidden"), used)) bool wt_syscall_seen(long number, long first, const char *caller);
bool wt_syscall_seen(long number, long first, const char *caller) {
    if (!wt_active || wt_inside || (caller >= __ehdr_start && caller < etext)) {
        return false; /* the tracer's own */
    }
    if (number == SYS_io_submit) {
        return !wt_submitting;
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
    return false;
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
        "testb %al, %al\njne 3f\n"
        "movq wt_syscall_next(%rip), %rax\ntestq %rax, %rax\nje 2f\njmp *%rax\n2:\n"
        "movq %rdi, %rax\nmovq %rsi, %rdi\nmovq %rdx, %rsi\nmovq %rcx, %rdx\nmovq %r8, %r10\n"
        "movq %r9, %r8\nmovq 8(%rsp), %r9\nsyscall\n"
        "cmpq $-4095, %rax\njae 1f\nret\n"
        "1: negl %eax\npushq %rax\n.cfi_adjust_cfa_offset 8\n"
        "call *__errno_location@GOTPCREL(%rip)\n"
        "popq %rcx\n.cfi_adjust_cfa_offset -8\nmovl %ecx, (%rax)\nmovq $-1, %rax\nret\n"
        "3: jmp wt_submit_seen\n"
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

/* ---- functions that are written over: UCX puts a jump to its own mmap to where dlsym finds mmap. Its
 * constructor may do so before ours runs: what was there is in the object's file. ---- */

struct code {
    uintptr_t address;
    char first[16]; /* bytes of a function; a jump takes 5 to 14 */
    bool known;
};

static int read_from_file(struct dl_phdr_info *info, size_t size, void *argument) {
    (void)size;
    struct code *code = argument;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        uintptr_t start = info->dlpi_addr + part->p_vaddr;
        if (part->p_type == PT_LOAD && code->address >= start &&
            code->address + sizeof code->first <= start + part->p_filesz) {
            int fd = (int)syscall(SYS_openat, AT_FDCWD, info->dlpi_name, O_RDONLY | O_CLOEXEC);
            long offset = (long)(code->address - start + part->p_offset);
            code->known = fd >= 0 && syscall(SYS_pread64, fd, code->first, sizeof code->first, offset) ==
                                         (long)sizeof code->first;
            if (fd >= 0) {
                syscall(SYS_close, fd);
            }
            return 1;
        }
    }
    return 0;
}

static void note_overwritten(void) {
    static const char *const names[] = {"mmap", "mmap64"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const void *called = dlsym(RTLD_DEFAULT, names[i]); /* what a program calls by this name */
        struct code code = {.address = (uintptr_t)called};
        dl_iterate_phdr(read_from_file, &code);
        if (code.known && memcmp(code.first, called, sizeof code.first) != 0) {
            note(WT_NOTE_OVERWRITTEN, names[i]);
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

/* Libraries in a namespace of their own (dlmopen) have a C library of their own. */
static void note_namespaces(void) {
#if __GLIBC_PREREQ(2, 35)
    const struct r_debug_extended *one = (const struct r_debug_extended *)&_r_debug;
    __asm__("" : "+r"(one)); /* the compiler takes the declared size, which is that of the first version */
    for (one = one->base.r_version > 1 ? one->r_next : NULL; one != NULL; one = one->r_next) {
        if (one->base.r_map != NULL && *one->base.r_map->l_name) {
            note(WT_NOTE_BYPASSED, one->base.r_map->l_name);
            wt_part_wanted = true;
        }
    }
#endif
}

/* ---- a libaio whose requests are not seen: it makes its calls by the processor's instruction (before
 * version 0.3.113), and who uses it has asked dlsym for a function of that library ---- */

static const char *libaio;
static bool is_seen;

static int find_libaio(struct dl_phdr_info *info, size_t size, void *unused) {
    (void)size, (void)unused;
    libaio = strstr(info->dlpi_name, "/libaio.so") != NULL ? info->dlpi_name : NULL;
    return libaio != NULL;
}

static void see_submit(const struct wt_reference *reference) {
    is_seen = is_seen || strcmp(reference->name, "io_submit") == 0;
#if defined(__x86_64__)
    is_seen = is_seen || (reference->object == libaio && strcmp(reference->name, "syscall") == 0);
#endif
}

static void note_libaio(void) {
    if (dl_iterate_phdr(find_libaio, NULL) == 0) {
        return;
    }
    wt_references(see_submit, NULL);
    if (!is_seen) {
        note(WT_NOTE_LIBAIO, libaio);
        wt_part_wanted = true;
    }
}

void wt_note_unseen(void) {
    note_bypassing();
    note_namespaces();
    note_overwritten();
    note_libaio();
    if (ring_made || dl_iterate_phdr(find_liburing, NULL) || a_ring_is_open()) {
        note(WT_NOTE_IO_URING, "");
    }
    for (size_t i = 0; i < N_DATA_CALLS; i++) {
        if (made[i]) {
            note(WT_NOTE_RAW, data_calls[i].name);
        }
    }
}
