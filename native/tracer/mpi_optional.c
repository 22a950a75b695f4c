/* Functions that not every MPI library has (large counts and others of MPI 4). An exported wrapper would say
 * to a program that the library has them: a weak reference to one, as mpi4py's, would no longer be NULL. So
 * no such wrapper is exported. Behind MPI_Init the library is known, and its functions' addresses in the
 * tables (GOT) by which the program's objects call them are replaced by the wrappers'. */
#define _GNU_SOURCE
#include "mpi_call.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

extern struct wt_optional __start_wt_optional[] __attribute__((visibility("hidden")));
extern struct wt_optional __stop_wt_optional[] __attribute__((visibility("hidden")));
extern const char __ehdr_start[] __attribute__((visibility("hidden")));

static const void *library_base;  /* of the MPI library, whose calls of itself are not the application's */
static bool any;                  /* the library has at least one of the functions */
static _Atomic uint64_t n_loaded; /* objects, when the tables were last looked through */

/* ---- one object's tables ---- */

struct object {
    uintptr_t base;
    bool fortran;
    uintptr_t protected_start, protected_end; /* made read-only behind relocation (RELRO) */
    const ElfW(Sym) * symbols;
    const char *names;
};

static const struct wt_optional *optional_of(const char *name) {
    for (const struct wt_optional *entry = __start_wt_optional; entry < __stop_wt_optional; entry++) {
        if (entry->real != NULL && strcmp(entry->name, name) == 0) {
            return entry;
        }
    }
    return NULL;
}

static void put(const struct object *object, void **slot, void *value) {
    uintptr_t page = (uintptr_t)slot & ~(uintptr_t)4095;
    bool closed = (uintptr_t)slot >= object->protected_start && (uintptr_t)slot < object->protected_end;
    if (closed && syscall(SYS_mprotect, page, 4096, PROT_READ | PROT_WRITE) != 0) {
        return;
    }
    __atomic_store_n(slot, value, __ATOMIC_RELAXED);
    if (closed) {
        syscall(SYS_mprotect, page, 4096, PROT_READ);
    }
}

static void look_through(const struct object *object, const ElfW(Rela) * table, size_t bytes) {
    for (size_t i = 0; i < bytes / sizeof *table; i++) {
        unsigned type = (unsigned)ELF64_R_TYPE(table[i].r_info);
        const ElfW(Sym) *symbol = &object->symbols[ELF64_R_SYM(table[i].r_info)];
        if ((type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT) || symbol->st_shndx != SHN_UNDEF) {
            continue;
        }
        const char *name = object->names + symbol->st_name;
        name += object->fortran && *name == 'P'; /* Fortran bindings call PMPI: the application's call */
        if (strncmp(name, "MPI_", 4) != 0) {
            continue;
        }
        const struct wt_optional *entry = optional_of(name);
        void **slot = (void **)(object->base + table[i].r_offset);
        if (entry != NULL && *slot != NULL) { /* NULL: a weak reference that does not see the library */
            put(object, slot, entry->wrapper);
        }
    }
}

/* Addresses of the dynamic section are absolute already, but in a C library that leaves them. */
static const void *address(const struct object *object, ElfW(Addr) value) {
    return (const void *)(value < object->base ? object->base + value : value);
}

static void redirect(struct object *object, const ElfW(Dyn) * dynamic) {
    const ElfW(Rela) *data = NULL, *calls = NULL;
    size_t data_bytes = 0, call_bytes = 0;
    bool known = true;
    for (; dynamic->d_tag != DT_NULL; dynamic++) {
        switch (dynamic->d_tag) {
        case DT_SYMTAB:
            object->symbols = address(object, dynamic->d_un.d_ptr);
            break;
        case DT_STRTAB:
            object->names = address(object, dynamic->d_un.d_ptr);
            break;
        case DT_RELA:
            data = address(object, dynamic->d_un.d_ptr);
            break;
        case DT_RELASZ:
            data_bytes = dynamic->d_un.d_val;
            break;
        case DT_JMPREL:
            calls = address(object, dynamic->d_un.d_ptr);
            break;
        case DT_PLTRELSZ:
            call_bytes = dynamic->d_un.d_val;
            break;
        case DT_PLTREL:
            known = dynamic->d_un.d_val == DT_RELA;
            break;
        default:
            break;
        }
    }
    if (object->symbols != NULL && object->names != NULL && known) {
        look_through(object, data, data != NULL ? data_bytes : 0);
        look_through(object, calls, calls != NULL ? call_bytes : 0);
    }
}

static int visit(struct dl_phdr_info *info, size_t size, void *unused) {
    (void)size, (void)unused;
    if (atomic_load(&n_loaded) == info->dlpi_adds) {
        return 1; /* nothing new */
    }
    struct object object = {.base = info->dlpi_addr, .fortran = wt_mpi_is_fortran(info->dlpi_name)};
    const ElfW(Dyn) *dynamic = NULL;
    const void *first = NULL;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        uintptr_t start = info->dlpi_addr + part->p_vaddr;
        if (part->p_type == PT_DYNAMIC) {
            dynamic = (const ElfW(Dyn) *)start;
        } else if (part->p_type == PT_GNU_RELRO) {
            object.protected_start = start & ~(uintptr_t)4095;
            object.protected_end = (start + part->p_memsz) & ~(uintptr_t)4095;
        } else if (part->p_type == PT_LOAD && first == NULL) {
            first = (const void *)(start & ~(uintptr_t)4095);
        }
    }
    bool vdso = strncmp(info->dlpi_name, "linux-vdso", 10) == 0;
    if (dynamic != NULL && !vdso && first != library_base && first != (const void *)__ehdr_start) {
        redirect(&object, dynamic);
    }
    return 0;
}

static int count_loaded(struct dl_phdr_info *info, size_t size, void *n) {
    (void)size;
    *(uint64_t *)n = info->dlpi_adds;
    return 1;
}

void wt_optional_loaded(void) {
    uint64_t now = 0;
    if (!any) {
        return;
    }
    wt_inside++;
    dl_iterate_phdr(count_loaded, &now);
    if (now != atomic_load(&n_loaded)) {
        dl_iterate_phdr(visit, NULL);
        atomic_store(&n_loaded, now);
    }
    wt_inside--;
}

void wt_optional_start(void) {
    Dl_info where;
    for (struct wt_optional *entry = __start_wt_optional; entry < __stop_wt_optional; entry++) {
        entry->real = wt_mpi_has(entry->name);
        any = any || entry->real != NULL;
    }
    void *init = wt_mpi_has("MPI_Init");
    if (init != NULL && dladdr(init, &where) != 0) {
        library_base = where.dli_fbase;
    }
    wt_optional_loaded();
}
