/* How the memory of MPI-IO calls lies. A type with gaps is decoded once: what was found stays with the type
 * as an attribute, which goes with it. Handles alone are used again for other types. */
#include "mpi/memory_types.h"
#include "mpi/datatypes.h"
#include "mpi/views.h"

/* A copy of a type is looked at anew. MPI's own functions that say so are objects of its library. */
static int copies_nothing(MPI_Datatype type, int keyval, void *extra, void *value, void *copy, int *flag) {
    (void)type, (void)keyval, (void)extra, (void)value, (void)copy;
    *flag = 0;
    return MPI_SUCCESS;
}

static int forgets(MPI_Datatype type, int keyval, void *value, void *extra) {
    (void)type, (void)keyval, (void)value, (void)extra;
    return MPI_SUCCESS;
}

/* The number of the view that a type of memory is; WT_VIEW_UNKNOWN where none can be made of it. */
static int32_t view_of(MPI_Datatype type) {
    static __typeof__(MPI_Type_get_attr) *get;
    static __typeof__(MPI_Type_set_attr) *set;
    static int keyval = MPI_KEYVAL_INVALID;
    wt_mpi_lock();
    if (keyval == MPI_KEYVAL_INVALID) {
        __typeof__(MPI_Type_create_keyval) *create =
            (__typeof__(create))wt_mpi_real("MPI_Type_create_keyval");
        get = (__typeof__(get))wt_mpi_real("MPI_Type_get_attr");
        set = (__typeof__(set))wt_mpi_real("MPI_Type_set_attr");
        create(copies_nothing, forgets, &keyval, NULL);
    }
    wt_mpi_unlock();
    void *found = NULL;
    int known = 0;
    get(type, keyval, &found, &known);
    if (known) {
        return (int32_t)(intptr_t)found;
    }
    int32_t number = wt_view_of_memory(type);
    set(type, keyval, (void *)(intptr_t)number);
    return number;
}

/* MPI libraries take another way for memory with gaps than for one piece: ROMIO also where a single item of a
 * type has its gap behind its data. */
int64_t wt_memory_of(int64_t count, MPI_Datatype type, int64_t size) {
    static __typeof__(MPI_Type_get_extent_x) *get_extent;
    static __typeof__(MPI_Type_get_true_extent_x) *get_true_extent;
    if (count == 0) {
        return WT_MEMORY_PLAIN;
    }
    if (get_true_extent == NULL) {
        get_extent = (__typeof__(get_extent))wt_mpi_real("MPI_Type_get_extent_x");
        get_true_extent = (__typeof__(get_true_extent))wt_mpi_real("MPI_Type_get_true_extent_x");
    }
    MPI_Count lower = 0, extent = 0, true_lower = 0, true_extent = 0;
    get_extent(type, &lower, &extent);
    get_true_extent(type, &true_lower, &true_extent);
    bool gaps = lower != 0 || true_lower != 0 || extent != size || true_extent != size;
    if (wt_type_is_predefined(type)) {
        return gaps ? WT_MEMORY_GAPS : WT_MEMORY_PLAIN;
    }
    int32_t view = gaps ? view_of(type) : WT_VIEW_NONE;
    return view >= 0 ? WT_MEMORY_VIEW + view : gaps ? WT_MEMORY_GAPS : WT_MEMORY_WHOLE;
}
