/* Compares how far ranks reached into files with the files' sizes after the run: an error that the MPI
 * library does not report shows there. */
#define _GNU_SOURCE
#include "verify/extent_check.h"

#include "backends/raw_syscalls.h"
#include "clock.h"
#include "failure.h"
#include "plan/views.h"
#include "ranks/ranks.h"

#include <fcntl.h>
#include <sys/statvfs.h>

enum { MPI_DELETES_ON_CLOSE = 16 }; /* MPI_MODE_DELETE_ON_CLOSE of Open MPI and MPICH */

static const struct plan *the_plan;
/* By file, of reads and of writes: the first byte behind all of them; INT64_MAX: nothing is known. */
static int64_t (*ends)[2];
enum { OF_WRITES, OF_READS };

void wt_extent_start(const struct plan *plan) {
    the_plan = plan;
    ends = wt_must_alloc((size_t)plan->n_files * sizeof *ends);
}

void wt_extent_note(const struct open_file *f, bool reads, int64_t position, int64_t size) {
    int64_t *end = &ends[f->file - the_plan->files][reads ? OF_READS : OF_WRITES];
    int64_t last = wt_end_in_file(f->view, position, size);
    if (size > 0 && last > *end) {
        *end = last;
    }
}

static void forget(const struct plan_file *file) {
    int64_t *of_file = ends[file - the_plan->files];
    of_file[OF_WRITES] = of_file[OF_READS] = INT64_MAX;
}

void wt_extent_forget(const struct file_action *a) {
    switch (a->call) {
    case CALL_OPEN:
        if (wt_open_flags(a) & O_TRUNC) {
            forget(a->file);
        }
        break;
    case CALL_M_OPEN:
        if (wt_mpi_mode(a) & MPI_DELETES_ON_CLOSE) {
            forget(a->file);
        }
        break;
    case CALL_RENAME:
        forget(a->other);
        forget(a->file);
        break;
    case CALL_UNLINK:
    case CALL_TRUNCATE:
    case CALL_FTRUNCATE:
    case CALL_M_SET_SIZE:
    case CALL_M_DELETE:
        forget(a->file);
        break;
    default:
        break;
    }
}

static bool uses_mpi_files(void) {
    for (int32_t i = 0; i < the_plan->n_phases; i++) {
        for (int32_t k = 0; k < the_plan->phases[i].n_members; k++) {
            if (wt_calls[the_plan->phases[i].members[k].call].layer == LAYER_MPIIO) {
                return true;
            }
        }
    }
    return false;
}

/* Opening a file asks a network file system for its size anew; past a tracer, as the plan has no such call.
 */
static int64_t size_of(const struct plan_file *file) {
    int fd = wt_raw_open(file->path, O_RDONLY | O_CLOEXEC);
    int64_t size = fd < 0 ? -1 : wt_raw_size(fd);
    if (fd >= 0) {
        wt_raw_close(fd);
    }
    return size;
}

static void require_size(const struct plan_file *file, int64_t end, bool reads) {
    const int64_t patience_ns = 3000000000, nap_ns = 100000000; /* of attributes that come late */
    int64_t size;
    for (int64_t start = wt_now_ns(); (size = size_of(file)) < end && wt_now_ns() - start < patience_ns;) {
        nanosleep(&(struct timespec){.tv_nsec = nap_ns}, NULL);
    }
    if (size >= end) {
        return;
    }
    const char *moved = reads ? "read from" : "written to";
    struct doing doing = {reads ? "MPI-IO read" : "MPI-IO write", file->name, size < 0 ? 0 : size, -1};
    struct statvfs space = {0};
    statvfs(file->path, &space);
    wt_fail(&doing,
            "the file %s, and %lld bytes were %s it without an error of the MPI library: %s (%lld bytes are "
            "free)",
            size < 0 ? "is not there" : "ends there", (long long)end, moved,
            reads ? "the file is too short; prepare it" : "they are lost",
            (long long)space.f_bavail * (long long)space.f_frsize);
}

void wt_extent_check(struct open_file *const *open_files, int32_t n) {
    if (!uses_mpi_files()) {
        return;
    }
    for (int32_t i = 0; i < n; i++) {
        if (open_files[i]->is_open && open_files[i]->layer == LAYER_MPIIO) {
            forget(open_files[i]->file); /* its library may hold data back */
        }
    }
    wt_ranks_largest(ends[0], 2 * the_plan->n_files);
    for (int32_t i = 0; wt_rank_number() == 0 && i < the_plan->n_files; i++) {
        for (int k = OF_WRITES; k <= OF_READS; k++) {
            if (ends[i][k] > 0 && ends[i][k] != INT64_MAX) {
                require_size(&the_plan->files[i], ends[i][k], k == OF_READS);
            }
        }
    }
}
