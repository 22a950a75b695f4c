/* The serial library: no MPI to intercept. A rank of a launcher says so in its environment. */
#include "tracer.h"

#include <stdlib.h>

static long number_in(const char *name) {
    const char *text = getenv(name);
    return text && *text ? strtol(text, NULL, 10) : -1;
}

void wt_mpi_describe_from_environment(void) {
    static const char *const ranks[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID"};
    static const char *const sizes[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "", "SLURM_NTASKS"};
    for (unsigned i = 0; i < 4; i++) {
        long rank = number_in(ranks[i]), size = sizes[i][0] ? number_in(sizes[i]) : -1;
        if (rank >= 0) {
            wt_meta_begin(WT_META_RANK);
            wt_meta_number((uint64_t)rank + 1);
            wt_meta_number(size > 0 ? (uint64_t)size : 0);
            wt_meta_number(WT_RANK_ENVIRONMENT);
            wt_meta_string("");
            wt_meta_end();
            wt_part_wanted = true;
            return;
        }
    }
}
