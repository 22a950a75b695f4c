/* The life of a traced process: start, fork, exec and exit. Tracing goes on behind the last destructor, since
 * the C library flushes its streams after it. A child of fork starts anew: what was recorded before is its
 * parent's, and so are the handles of what is open. */
#define _GNU_SOURCE
#include "lifecycle.h"
#include "child_processes.h"
#include "posix/posix.h"
#include "process.h"
#include "untraced.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

bool wt_family_fits(void); /* mpi_real.c */
__attribute__((weak)) bool wt_family_fits(void) {
    return true;
}

/* One of our libraries traces a process, whichever are preloaded: this is one variable for all of them. */
WT_EXPORT int wt_trace_claimed;
static bool started;

static void describe_command(void) {
    wt_meta_begin(WT_META_COMMAND);
    wt_meta_number(wt_argc);
    const char *at = wt_arguments;
    for (unsigned i = 0; i < wt_argc; i++, at += strlen(at) + 1) {
        wt_meta_string(at);
    }
    wt_meta_end();
}

static void fork_prepare(void) {
    wt_child_starts();
    if (wt_active) {
        wt_lock();
    }
}

static void fork_parent(void) {
    if (wt_active) {
        wt_fds_shared(); /* the child may move the positions of what is open now */
        wt_unlock();
    } else {
        wt_inside = 0;
    }
}

static void start_in_child(void) {
    wt_pid = (int)syscall(SYS_getpid);
    wt_clock_start();
    wt_fds_after_fork();
    wt_files_reset();
    wt_writer_reset();
    wt_runs_reset();
    wt_children_reset();
    atomic_store(&wt_ticks, 0);
    wt_missed = 0;
    wt_counting = false;
    wt_lock();
    describe_command();
    wt_unlock();
}

static void fork_child(void) {
    atomic_store(&wt_locked, false);
    wt_inside = 0;
    if (wt_active) {
        start_in_child();
    }
}

static bool set(const char *name) {
    const char *value = getenv(name);
    return value != NULL && strcmp(value, "1") == 0;
}

static void choose_levels(const char *levels) {
    if (levels != NULL) {
        wt_level_posix = strstr(levels, "posix") != NULL;
        wt_level_mpiio = strstr(levels, "mpiio") != NULL;
        wt_level_mpi = strstr(levels, "sync") != NULL;
    }
}

__attribute__((constructor(101))) static void start(void) {
    const char *directory = getenv("WAVETANK_TRACE_DIR");
    if (started) {
        return;
    }
    started = true;
    if (directory == NULL || directory[0] != '/' || strlen(directory) >= WT_PATH_BYTES - 160) {
        return;
    }
    wt_program_start();
    if (wt_trace_claimed || wt_is_launcher() || !wt_family_fits()) {
        wt_unseen_start();
        return;
    }
    wt_trace_claimed = 1;
    wt_claimed = true;
    wt_inside++;
    strcpy(wt_directory, directory);
    wt_filter_start(getenv("WAVETANK_TRACE_INCLUDE"), getenv("WAVETANK_TRACE_EXCLUDE"));
    wt_program_leave_out();
    choose_levels(getenv("WAVETANK_TRACE_LEVELS"));
    const char *times = getenv("WAVETANK_TRACE_TIMES");
    wt_event_times = times != NULL && strcmp(times, "event") == 0;
    wt_standard_streams = set("WAVETANK_TRACE_STANDARD_STREAMS");
    wt_streams_start(getenv("WAVETANK_TRACE_USERS_STREAMS"));
    wt_pid = (int)syscall(SYS_getpid);
    wt_clock_start();
    wt_active = true;
    wt_fds_start();
    wt_files_start();
    describe_command();
    wt_rank_by_launcher();
    wt_stdio_start();
    wt_bypass_start();
    pthread_atfork(fork_prepare, fork_parent, fork_child);
    wt_inside--;
}

void wt_finish(enum wt_end reason) {
    if (!wt_active || wt_counting || wt_inside) {
        return;
    }
    if (wt_other_process()) {
        if (reason == WT_END_EXEC) {
            wt_vfork_child_starts();
        }
        return;
    }
    int saved = errno;
    wt_lock();
    wt_clock_anchor(); /* the time of the end orders this process and others */
    wt_runs_flush(true);
    wt_note_unseen();
    wt_meta_begin(WT_META_END);
    wt_meta_number(reason);
    wt_meta_number(0);
    wt_meta_number(atomic_load(&wt_missed));
    wt_meta_number(wt_clock_ns(wt_now()));
    wt_meta_end();
    wt_writer_flush();
    wt_writer_end();
    wt_unlock();
    errno = saved;
}

static void write_rows(void) {
    wt_runs_flush(true);
}

/* Streams are flushed by the C library after every destructor: tracing goes on, each operation on its own. */
__attribute__((destructor(101))) static void stop(void) {
    wt_finish(WT_END_EXIT);
    wt_write_at_once = write_rows;
    wt_finished = true;
}
