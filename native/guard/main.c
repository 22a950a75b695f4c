/* Runs a launcher and ends all that it started, once it is asked to end or the tool is gone.
 *
 *   wavetank-guard TOOL_PID GRACE_MS COMMAND [ARG...]
 *
 * Asked to end, a launcher has GRACE_MS to end its ranks; what is left then is killed. A launcher cannot
 * always do it: Hydra 4 that is asked while it starts its ranks waits for ever, and they with it. Ranks have
 * sessions of their own, so no signal to a group reaches them; but as their reaper this process becomes the
 * parent of each whose own parent is gone, and finds them so. A launcher that ends by itself is left alone:
 * its status is the guard's.
 */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { STAT_SIZE = 512, LOOK_MS = 20, KILL_MS = 5000, CANNOT_START = 127 };

static int64_t now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static pid_t parent_of(const char *pid) {
    char path[64], line[STAT_SIZE];
    snprintf(path, sizeof path, "/proc/%.20s/stat", pid);
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return -1; /* it has ended */
    }
    const size_t got = fread(line, 1, sizeof line - 1, file);
    fclose(file);
    line[got] = '\0';
    const char *end_of_name = strrchr(line, ')'); /* a name may hold blanks and parentheses */
    int parent = -1;
    if (end_of_name == NULL || sscanf(end_of_name + 1, " %*c %d", &parent) != 1) {
        return -1;
    }
    return (pid_t)parent;
}

static void kill_children(void) {
    DIR *processes = opendir("/proc");
    if (processes == NULL) {
        return;
    }
    const pid_t self = getpid();
    for (struct dirent *entry; (entry = readdir(processes)) != NULL;) {
        if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' && parent_of(entry->d_name) == self) {
            kill((pid_t)strtol(entry->d_name, NULL, 10), SIGKILL);
        }
    }
    closedir(processes);
}

/* Their children become ours as they die. One that waits within the kernel for a dead file server does not
 * die: not for ever. */
static void kill_descendants(void) {
    const int64_t ends = now_ms() + KILL_MS;
    while (now_ms() < ends) {
        kill_children();
        pid_t reaped = 0;
        do {
            reaped = waitpid(-1, NULL, WNOHANG);
        } while (reaped > 0);
        if (reaped < 0) {
            return; /* ECHILD */
        }
        const struct timespec look = {.tv_nsec = LOOK_MS * 1000000L};
        nanosleep(&look, NULL);
    }
}

/* Take what has ended; true when the launcher is among it. */
static bool reap(pid_t launcher, int *status) {
    bool has_ended = false;
    int of_this = 0;
    for (pid_t ended; (ended = waitpid(-1, &of_this, WNOHANG)) > 0;) {
        if (ended == launcher) {
            *status = of_this;
            has_ended = true;
        }
    }
    return has_ended;
}

/* Until the launcher has ended; true when it was asked to end. */
static bool wait_for(pid_t launcher, const sigset_t *heard, int64_t grace_ms, int *status) {
    int64_t ends = 0; /* not asked yet */
    for (;;) {
        const int64_t left = ends == 0 ? 0 : ends - now_ms();
        if (ends != 0 && left <= 0) {
            *status = SIGKILL;
            return true;
        }
        const struct timespec limit = {.tv_sec = left / 1000, .tv_nsec = left % 1000 * 1000000};
        const int came = ends == 0 ? sigwaitinfo(heard, NULL) : sigtimedwait(heard, NULL, &limit);
        if (came == SIGCHLD) {
            if (reap(launcher, status)) {
                return ends != 0;
            }
        } else if (came > 0) {
            kill(launcher, came);
            ends = ends != 0 ? ends : now_ms() + grace_ms;
        }
    }
}

/* As the launcher ended, so that who waits for the guard sees no difference. */
static int end_as(int status) {
    if (WIFEXITED(status)) {
        return WEXITSTATUS(status);
    }
    const struct rlimit no_core = {0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    const int number = WTERMSIG(status);
    signal(number, SIG_DFL);
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_UNBLOCK, &all, NULL);
    raise(number);
    return 128 + number;
}

int main(int argc, char **argv) {
    if (argc < 4) {
        fprintf(stderr, "usage: wavetank-guard TOOL_PID GRACE_MS COMMAND [ARG...]\n");
        return 2;
    }
    const pid_t tool = (pid_t)strtol(argv[1], NULL, 10);
    const int64_t grace_ms = strtoll(argv[2], NULL, 10);
    sigset_t heard, before;
    sigemptyset(&heard);
    sigaddset(&heard, SIGCHLD);
    sigaddset(&heard, SIGTERM);
    sigaddset(&heard, SIGINT);
    sigaddset(&heard, SIGHUP);
    sigprocmask(SIG_BLOCK, &heard, &before);
    signal(SIGCHLD, SIG_DFL); /* ignored, no child would be waited for */
    prctl(PR_SET_CHILD_SUBREAPER, 1UL, 0UL, 0UL, 0UL);
    if (getppid() != tool) { /* it died before this process could be asked by its death */
        return 1;
    }
    const pid_t launcher = fork();
    if (launcher < 0) {
        perror("wavetank-guard: fork");
        return CANNOT_START;
    }
    if (launcher == 0) {
        prctl(PR_SET_PDEATHSIG, (unsigned long)SIGTERM, 0UL, 0UL, 0UL);
        sigprocmask(SIG_SETMASK, &before, NULL);
        execvp(argv[3], argv + 3);
        fprintf(stderr, "cannot start %s: %s\n", argv[3], strerror(errno));
        _exit(CANNOT_START);
    }
    int status = 0;
    const bool was_asked = wait_for(launcher, &heard, grace_ms, &status);
    if (was_asked || WIFSIGNALED(status)) {
        kill_descendants();
    }
    return end_as(status);
}
