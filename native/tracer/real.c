/* Finds the functions behind the wrappers. */
#include "tracer.h"

#include <dlfcn.h>

void *wt_next(const char *name) {
    wt_inside++;
    void *found = dlsym(RTLD_NEXT, name);
    wt_inside--;
    return found;
}
