/* The life of a traced process: start, fork, exec, exit, and the tracer's own faults. */
#define _GNU_SOURCE
#include "tracer.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

bool wt_active, wt_counting, wt_stopping;
__thread int wt_inside __attribute__((tls_model("initial-exec")));
_Atomic uint64_t wt_missed;
bool wt_level_posix = true, wt_level_mpiio = true, wt_level_mpi = true, wt_event_times, wt_standard_streams;
char wt_directory[WT_PATH_BYTES];
int wt_pid;

void wt_stdio_start(void);
bool wt_family_fits(void); /* mpi_real.c */
__attribute__((weak)) bool wt_family_fits(void) {
    return true;
}

/* One of our libraries traces a process, whichever are preloaded: this is one variable for all of them. */
WT_EXPORT int wavetank_trace_claimed;
bool wt_claimed;

atomic_bool wt_locked;
bool wt_finished;
static bool started;

WT_COLD void wt_wait_for_lock(void) {
    for (unsigned spins = 0; atomic_exchange_explicit(&wt_locked, true, memory_order_acquire); spins++) {
        if (spins > 100) {
            sched_yield();
        }
    }
}

static void say(const char *text) {
    if (syscall(SYS_write, 2, text, strlen(text)) < 0) {
        return; /* nobody listens */
    }
}

WT_COLD void wt_stop(const char *what, int error) {
    if (!wt_active || wt_counting || wt_stopping) {
        return;
    }
    wt_inside++;
    wt_stopping = true;
    const char *why = strerrordesc_np(error);
    say("wavetank: ");
    say(what);
    say(" in ");
    say(wt_directory);
    say(": ");
    say(why ? why : "unknown error");
    say(". The program goes on untraced\n");
    uint32_t before = wt_tail->n_meta_bytes;
    wt_meta_begin(WT_META_NOTE); /* stays in the tail, whose space is taken already */
    wt_meta_number(WT_NOTE_STOPPED);
    wt_meta_string(why ? why : "unknown error");
    wt_meta_end();
    wt_counting = wt_writer_stopped(wt_tail->meta + before, wt_tail->n_meta_bytes - before,
                                    wt_runs_operations()); /* else nobody would read the count */
    wt_active = wt_counting;
    wt_stopping = false;
    wt_inside--;
}

bool wt_other_process(void) {
    return (int)syscall(SYS_getpid) != wt_pid;
}

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

static void fork_child(void) {
    atomic_store(&wt_locked, false);
    wt_inside = 0;
    if (wt_active) {
        wt_after_fork_in_child();
    }
}

void wt_after_fork_in_child(void) {
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

__attribute__((constructor(101))) void wt_start(void) {
    const char *directory = getenv("WAVETANK_TRACE_DIR");
    if (started) {
        return;
    }
    started = true;
    if (directory == NULL || directory[0] != '/' || strlen(directory) >= WT_PATH_BYTES - 160) {
        return;
    }
    wt_program_start();
    if (wavetank_trace_claimed || wt_is_launcher() || !wt_family_fits()) {
        wt_unseen_start();
        return;
    }
    wavetank_trace_claimed = 1;
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
    wt_mpi_describe_from_environment();
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

/* Streams are flushed by the C library after every destructor: tracing goes on, each operation on its own. */
__attribute__((destructor(101))) static void stop(void) {
    wt_finish(WT_END_EXIT);
    wt_finished = true;
}
