/* Functions of other objects. The one behind a wrapper is the next of its name. Who calls what, and where the
 * call goes, is in the tables (GOT) by which the objects of the process call functions of others: they are
 * read, since no other place knows of calls that pass the wrappers by. */
#define _GNU_SOURCE
#include "symbols.h"

#include <dlfcn.h>
#include <elf.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

void *wt_next(const char *name) {
    wt_inside++;
    void *found = dlsym(RTLD_NEXT, name);
    wt_inside--;
    return found;
}

extern const char __ehdr_start[] __attribute__((visibility("hidden")));

#if defined(__x86_64__)
#define TO_CALL R_X86_64_JUMP_SLOT
#define TO_DATA R_X86_64_GLOB_DAT
#elif defined(__aarch64__)
#define TO_CALL R_AARCH64_JUMP_SLOT
#define TO_DATA R_AARCH64_GLOB_DAT
#else
#define TO_CALL UINT32_MAX /* nothing is found */
#define TO_DATA UINT32_MAX
#endif

struct tables {
    const ElfW(Sym) * symbols;
    const char *names;
    const ElfW(Rela) * data, *calls;
    size_t data_bytes, call_bytes;
};

struct search {
    wt_see_reference see;
    const void *left_out;
};

void wt_reference_set(const struct wt_reference *reference, void *value) {
    uintptr_t slot = (uintptr_t)reference->slot, page = slot & ~(uintptr_t)4095;
    bool closed = slot >= reference->protected_start && slot < reference->protected_end;
    if (closed && syscall(SYS_mprotect, page, 4096, PROT_READ | PROT_WRITE) != 0) {
        return;
    }
    __atomic_store_n(reference->slot, value, __ATOMIC_RELAXED);
    if (closed) {
        syscall(SYS_mprotect, page, 4096, PROT_READ);
    }
}

static void look_through(struct wt_reference *of, uintptr_t base, const struct tables *tables,
                         const ElfW(Rela) * table, size_t bytes, wt_see_reference see) {
    for (size_t i = 0; table != NULL && i < bytes / sizeof *table; i++) {
        uint32_t type = (uint32_t)ELF64_R_TYPE(table[i].r_info);
        const ElfW(Sym) *symbol = &tables->symbols[ELF64_R_SYM(table[i].r_info)];
        if ((type == TO_CALL || type == TO_DATA) && symbol->st_shndx == SHN_UNDEF) {
            of->name = tables->names + symbol->st_name;
            of->slot = (void **)(base + table[i].r_offset);
            see(of);
        }
    }
}

/* Addresses of the dynamic section are absolute already, but in a C library that leaves them. */
static const void *address(uintptr_t base, ElfW(Addr) value) {
    return (const void *)(value < base ? base + value : value);
}

static bool read_tables(uintptr_t base, const ElfW(Dyn) * dynamic, struct tables *tables) {
    bool known = true;
    for (; dynamic->d_tag != DT_NULL; dynamic++) {
        switch (dynamic->d_tag) {
        case DT_SYMTAB:
            tables->symbols = address(base, dynamic->d_un.d_ptr);
            break;
        case DT_STRTAB:
            tables->names = address(base, dynamic->d_un.d_ptr);
            break;
        case DT_RELA:
            tables->data = address(base, dynamic->d_un.d_ptr);
            break;
        case DT_RELASZ:
            tables->data_bytes = dynamic->d_un.d_val;
            break;
        case DT_JMPREL:
            tables->calls = address(base, dynamic->d_un.d_ptr);
            break;
        case DT_PLTRELSZ:
            tables->call_bytes = dynamic->d_un.d_val;
            break;
        case DT_PLTREL:
            known = dynamic->d_un.d_val == DT_RELA;
            break;
        default:
            break;
        }
    }
    return known && tables->symbols != NULL && tables->names != NULL;
}

static int visit(struct dl_phdr_info *info, size_t size, void *argument) {
    (void)size;
    const struct search *search = argument;
    struct wt_reference reference = {.object = info->dlpi_name};
    struct tables tables = {0};
    const ElfW(Dyn) *dynamic = NULL;
    const void *first = NULL;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        uintptr_t start = info->dlpi_addr + part->p_vaddr;
        if (part->p_type == PT_DYNAMIC) {
            dynamic = (const ElfW(Dyn) *)start;
        } else if (part->p_type == PT_GNU_RELRO) {
            reference.protected_start = start & ~(uintptr_t)4095;
            reference.protected_end = (start + part->p_memsz) & ~(uintptr_t)4095;
        } else if (part->p_type == PT_LOAD && first == NULL) {
            first = (const void *)(start & ~(uintptr_t)4095);
        }
    }
    bool kernels = strncmp(info->dlpi_name, "linux-vdso", 10) == 0;
    if (dynamic != NULL && !kernels && first != search->left_out && first != (const void *)__ehdr_start &&
        read_tables(info->dlpi_addr, dynamic, &tables)) {
        look_through(&reference, info->dlpi_addr, &tables, tables.data, tables.data_bytes, search->see);
        look_through(&reference, info->dlpi_addr, &tables, tables.calls, tables.call_bytes, search->see);
    }
    return 0;
}

void wt_references(wt_see_reference see, const void *left_out) {
    struct search search = {see, left_out};
    dl_iterate_phdr(visit, &search);
}

static int count(struct dl_phdr_info *info, size_t size, void *n) {
    (void)size;
    *(uint64_t *)n = info->dlpi_adds;
    return 1;
}

uint64_t wt_objects_loaded(void) {
    uint64_t n = 0;
    dl_iterate_phdr(count, &n);
    return n;
}
