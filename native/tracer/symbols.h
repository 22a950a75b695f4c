/* Functions of other objects: those behind the wrappers, and those that objects of the process call, by their
 * tables. Addresses of functions are looked up before: the dynamic loader is locked meanwhile. */
#ifndef WT_SYMBOLS_H
#define WT_SYMBOLS_H

#include "state.h"

#include <link.h>

#pragma GCC visibility push(hidden) /* what is declared here is in this library: it is reached directly */

void *wt_next(const char *name);
#define WT_REAL(name)                                                                                        \
    static __typeof__(name) *real_##name;                                                                    \
    if (WT_UNLIKELY(real_##name == NULL)) {                                                                  \
        real_##name = (__typeof__(name) *)wt_next(#name);                                                    \
    }

struct wt_reference {
    const char *object; /* the file of who calls; "": the program */
    const char *name;   /* of the function */
    void **slot;        /* its address; NULL in it: a weak reference to what is not there */
    uintptr_t protected_start, protected_end; /* made read-only behind relocation (RELRO) */
};
typedef void (*wt_see_reference)(const struct wt_reference *reference);

/* left_out: where an object begins that is not looked at; our own never is. */
void wt_references(wt_see_reference see, const void *left_out);
void wt_reference_set(const struct wt_reference *reference, void *value);
uint64_t wt_objects_loaded(void); /* so far, by the process */

#pragma GCC visibility pop

#endif
