/* Functions that not every MPI library has (large counts and others of MPI 4). An exported wrapper would say
 * to a program that the library has them: a weak reference to one, as mpi4py's, would no longer be NULL. So
 * no such wrapper is exported. Behind MPI_Init the library is known, and its functions' addresses in the
 * tables by which the program's objects call them are replaced by the wrappers'. */
#define _GNU_SOURCE
#include "mpi/mpi_call.h"
#include "symbols.h"

#include <dlfcn.h>
#include <string.h>

extern struct wt_optional __start_wt_optional[] __attribute__((visibility("hidden")));
extern struct wt_optional __stop_wt_optional[] __attribute__((visibility("hidden")));

static const void *library_base;  /* of the MPI library, whose calls of itself are not the application's */
static bool any;                  /* the library has at least one of the functions */
static _Atomic uint64_t n_loaded; /* objects, when the tables were last looked through */

static const struct wt_optional *optional_of(const char *name) {
    for (const struct wt_optional *entry = __start_wt_optional; entry < __stop_wt_optional; entry++) {
        if (entry->real != NULL && strcmp(entry->name, name) == 0) {
            return entry;
        }
    }
    return NULL;
}

static void redirect(const struct wt_reference *reference) {
    const char *name = reference->name;
    /* Fortran bindings call PMPI: the application's call. */
    name += *name == 'P' && strncmp(name, "PMPI_", 5) == 0 && wt_mpi_is_fortran(reference->object);
    if (strncmp(name, "MPI_", 4) != 0 || *reference->slot == NULL) {
        return;
    }
    const struct wt_optional *entry = optional_of(name);
    if (entry != NULL) {
        wt_reference_set(reference, entry->wrapper);
    }
}

void wt_optional_loaded(void) {
    if (!any) {
        return;
    }
    wt_inside++;
    uint64_t now = wt_objects_loaded();
    if (now != atomic_load(&n_loaded)) {
        wt_references(redirect, library_base);
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
