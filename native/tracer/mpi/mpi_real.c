/* Finds the MPI library of the process, also one that was loaded out of sight of the global scope (Python's
 * mpi4py). Tells whether it is of the family that this library was compiled for: handles and constants of the
 * families differ. */
#define _GNU_SOURCE
#include "mpi/mpi_call.h"

#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Every Open MPI has it, no other MPI does. */
#define OPEN_MPI_SYMBOL "ompi_mpi_comm_world"
#ifdef OPEN_MPI
#define WE_ARE_OPEN_MPI true
#else
#define WE_ARE_OPEN_MPI false
#endif

struct wt_mpi_constants wt_mpi;
bool wt_mpi_runs;

bool wt_mpi_traced(void) {
    return wt_mpi_runs && wt_active && !wt_inside;
}

static void *library;
static bool searched, ours;
__attribute__((visibility("hidden"))) uintptr_t wt_fortran_start, wt_fortran_size;

static int find_library(struct dl_phdr_info *info, size_t size, void *found) {
    (void)size;
    const char *slash = strrchr(info->dlpi_name, '/');
    const char *base = slash ? slash + 1 : info->dlpi_name;
    if (strncmp(base, "libmpi.so", 9) == 0 || strncmp(base, "libmpich.so", 11) == 0) {
        *(const char **)found = info->dlpi_name;
        return 1;
    }
    return 0;
}

bool wt_mpi_is_fortran(const char *file) {
    return strstr(file, "libmpi_mpifh.so") != NULL || strstr(file, "libmpichfort.so") != NULL ||
           strstr(file, "libmpifort.so") != NULL;
}

static int find_fortran(struct dl_phdr_info *info, size_t size, void *unused) {
    (void)size, (void)unused;
    if (!wt_mpi_is_fortran(info->dlpi_name)) {
        return 0;
    }
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        if (part->p_type == PT_LOAD && (part->p_flags & PF_X)) {
            wt_fortran_start = info->dlpi_addr + part->p_vaddr;
            wt_fortran_size = part->p_memsz;
        }
    }
    return 1;
}

#ifdef OPEN_MPI
/* A program may hold its own copy of an object of the library (a copy relocation): that one is meant. */
static void *object(const char *name) {
    void *found = dlsym(RTLD_DEFAULT, name);
    return found != NULL ? found : dlsym(library, name);
}
#endif

static void search(void) {
    const char *name = NULL;
    searched = true;
    dl_iterate_phdr(find_library, &name);
    if (name != NULL) {
        library = dlopen(name, RTLD_NOLOAD | RTLD_LAZY);
    }
    if (library != NULL) {
#ifdef OPEN_MPI
        wt_mpi.world = object("ompi_mpi_comm_world");
        wt_mpi.comm_null = object("ompi_mpi_comm_null");
        wt_mpi.info_null = object("ompi_mpi_info_null");
        wt_mpi.byte = object("ompi_mpi_byte");
#else
        wt_mpi = (struct wt_mpi_constants){MPI_COMM_WORLD, MPI_COMM_NULL, MPI_INFO_NULL, MPI_BYTE};
#endif
        ours = (dlsym(library, OPEN_MPI_SYMBOL) != NULL) == WE_ARE_OPEN_MPI;
    }
    dl_iterate_phdr(find_fortran, NULL);
}

bool wt_mpi_is_ours(void) {
    if (!searched) {
        wt_inside++;
        search();
        wt_inside--;
    }
    return ours;
}

/* Where the libraries of several families are preloaded, one of them traces: that of the process's MPI;
 * before an MPI library is there, that of the launcher. */
bool wt_family_fits(void) {
    const char *name = NULL;
    dl_iterate_phdr(find_library, &name);
    if (name != NULL) {
        searched = false;
        return wt_mpi_is_ours();
    }
    if (getenv("OMPI_COMM_WORLD_SIZE") != NULL) {
        return WE_ARE_OPEN_MPI;
    }
    return getenv("PMI_SIZE") == NULL || !WE_ARE_OPEN_MPI;
}

bool wt_mpi_from_fortran(const void *caller) {
    return (uintptr_t)caller - wt_fortran_start < wt_fortran_size;
}

static int no_such_function(void) {
    static const char text[] = "wavetank: an MPI function was called that the MPI library does not have\n";
    if (syscall(SYS_write, 2, text, sizeof text - 1) < 0) {
        return MPI_ERR_OTHER;
    }
    return MPI_ERR_OTHER;
}

static void *find_real(const char *name, bool profiled_next) {
    char profiled[80] = "P";
    void *found = NULL;
    bool mine = wt_mpi_is_ours();
    wt_inside++;
    strncat(profiled, name, sizeof profiled - 2);
    if (mine) {
        found = dlsym(library, profiled);
    } else {
        found = dlsym(RTLD_NEXT, profiled_next ? profiled : name);
    }
    if (found == NULL && library != NULL) {
        found = dlsym(library, name);
    }
    wt_inside--;
    return found != NULL ? found : (void *)no_such_function;
}

void *wt_mpi_has(const char *name) {
    void *found = find_real(name, false);
    return found != (void *)no_such_function ? found : NULL;
}

void *wt_mpi_real(const char *name) {
    return find_real(name, false);
}

void *wt_pmpi_real(const char *name) {
    return find_real(name, true);
}
