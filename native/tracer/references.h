/* What objects of the process call, by their tables. Addresses of functions are looked up before: the dynamic
 * loader is locked meanwhile. */
#ifndef WT_REFERENCES_H
#define WT_REFERENCES_H

#include "tracer.h"

#include <link.h>

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

#endif
