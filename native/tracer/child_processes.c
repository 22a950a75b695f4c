/* Where other processes begin and end among this one's operations. What was recorded up to there is coded by
 * itself, at exact times: rows are not folded across such a place, and the reader compares times. */
#define _GNU_SOURCE
#include "child_processes.h"
#include "record/record.h"
#include "symbols.h"
#include "untraced_programs.h"

#include <errno.h>
#include <paths.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static atomic_int n_running; /* that were started, and not waited for yet */

void wt_children_reset(void) {
    atomic_store(&n_running, 0);
    wt_exact_times = false;
}

static void part_rows(int change) {
    if (!wt_active || wt_inside) {
        return;
    }
    int saved = errno;
    wt_lock();
    wt_part_wanted |= change > 0; /* also without I/O of its own: it is whose child the started process is */
    if (atomic_fetch_add(&n_running, change) + change < 0) {
        atomic_store(&n_running, 0); /* it was started out of our sight */
    }
    wt_runs_part(atomic_load_explicit(&n_running, memory_order_relaxed) > 0);
    wt_unlock();
    errno = saved;
}

void wt_child_starts(void) {
    part_rows(1);
}

/* The child looks for its program along PATH: exec is called until one is found. */
void wt_vfork_child_starts(void) {
    static atomic_int last;
    int pid = (int)syscall(SYS_getpid);
    part_rows(atomic_exchange(&last, pid) != pid);
}

#define WAIT(type, name, parameters, arguments)                                                              \
    WT_EXPORT type name parameters {                                                                         \
        WT_REAL(name);                                                                                       \
        type found = real_##name arguments;                                                                  \
        if (found > 0) {                                                                                     \
            part_rows(-1);                                                                                   \
        }                                                                                                    \
        return found;                                                                                        \
    }
WAIT(pid_t, wait, (int *status), (status))
WAIT(pid_t, waitpid, (pid_t pid, int *status, int options), (pid, status, options))
WAIT(pid_t, wait3, (int *status, int options, struct rusage *usage), (status, options, usage))
WAIT(pid_t, wait4, (pid_t pid, int *status, int options, struct rusage *usage), (pid, status, options, usage))

WT_EXPORT int waitid(idtype_t type, id_t id, siginfo_t *info, int options) {
    WT_REAL(waitid);
    int result = real_waitid(type, id, info, options);
    if (result == 0 && (info == NULL || info->si_pid > 0)) {
        part_rows((options & WNOWAIT) == 0 ? -1 : 0);
    }
    return result;
}

#define SPAWN(name)                                                                                          \
    WT_EXPORT int name(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,              \
                       const posix_spawnattr_t *attributes, char *const argv[], char *const env[]) {         \
        WT_REAL(name);                                                                                       \
        wt_note_program(path, env);                                                                          \
        wt_child_starts();                                                                                   \
        return real_##name(pid, path, actions, attributes, argv, env);                                       \
    }
SPAWN(posix_spawn)
SPAWN(posix_spawnp)

WT_EXPORT int system(const char *command) {
    WT_REAL(system);
    if (command != NULL) {
        wt_note_program(_PATH_BSHELL, environ);
    }
    wt_child_starts();
    int status = real_system(command);
    part_rows(-1);
    return status;
}

WT_EXPORT FILE *popen(const char *command, const char *mode) {
    WT_REAL(popen);
    wt_note_program(_PATH_BSHELL, environ);
    wt_child_starts();
    return real_popen(command, mode);
}

WT_EXPORT int pclose(FILE *stream) {
    WT_REAL(pclose);
    int status = real_pclose(stream);
    part_rows(-1);
    return status;
}
