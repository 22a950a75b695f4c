/* Runs a command in a node: joins its cgroups and namespaces, and stands in for ssh.
 *
 * The map is a text file that the tool writes, a line a node:
 *   NAME PID START_TICKS node|switch|user-node|user-switch|here|guest:ADDRESS:PORT PROCS[,PROCS...]
 *
 * Launchers start the ranks of other hosts by a program like ssh: so nodes need neither sshd nor keys. A
 * process number of the map may be another process's by now, so that its start is compared.
 */
#include "node.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LINE_SIZE = 8192 };

struct entry {
    char line[LINE_SIZE];
    pid_t pid;
    unsigned long long start;
    bool is_switch;
    bool is_user;      /* in a user namespace of the cluster */
    bool is_here;      /* no namespaces: the node is this machine (the null provider) */
    const char *agent; /* of a guest that runs in the node: where its agent listens; or NULL */
    struct cgroups cgroups;
};

static bool parse(struct entry *entry, const char *name) {
    char *rest = NULL;
    const char *word = strtok_r(entry->line, " \n", &rest);
    if (word == NULL || strcmp(word, name) != 0) {
        return false;
    }
    const char *pid = strtok_r(NULL, " \n", &rest);
    const char *start = strtok_r(NULL, " \n", &rest);
    const char *kind = strtok_r(NULL, " \n", &rest);
    char *procs = strtok_r(NULL, " \n", &rest);
    if (pid == NULL || start == NULL || kind == NULL) {
        return false;
    }
    entry->pid = (pid_t)strtol(pid, NULL, 10);
    entry->start = strtoull(start, NULL, 10);
    entry->is_user = strncmp(kind, "user-", 5) == 0;
    entry->agent = strncmp(kind, "guest:", 6) == 0 ? kind + 6 : NULL;
    entry->is_switch = strcmp(kind, "switch") == 0 || strcmp(kind, "user-switch") == 0;
    entry->is_here = strcmp(kind, "here") == 0;
    char *inner = NULL;
    for (char *path = procs == NULL ? NULL : strtok_r(procs, ",", &inner);
         path != NULL && entry->cgroups.n < MAX_CGROUPS; path = strtok_r(NULL, ",", &inner)) {
        entry->cgroups.procs[entry->cgroups.n++] = path;
    }
    return true;
}

static void find(struct entry *entry, const char *map, const char *name) {
    FILE *file = fopen(map, "re");
    if (file == NULL) {
        wt_fail("cannot read the nodes' map", map);
    }
    while (fgets(entry->line, sizeof entry->line, file) != NULL) {
        if (parse(entry, name)) {
            fclose(file);
            return;
        }
    }
    fclose(file);
    fprintf(stderr, "wavetank-node: no node %s in %s\n", name, map);
    exit(EXIT_OURS);
}

/* A launcher on the switch of a user's cluster is in the namespace already, which cannot be entered again
 * (setns(2), EINVAL). */
static bool is_own_user_namespace(int fd) {
    struct stat there;
    struct stat own;
    return fstat(fd, &there) == 0 && stat("/proc/self/ns/user", &own) == 0 && there.st_ino == own.st_ino &&
           there.st_dev == own.st_dev;
}

static void join_namespaces(const struct entry *entry, const char *name) {
    /* user first: it is what allows the others; mnt last: /proc is ours until then */
    static const char *const kinds[] = {"user", "net", "uts", "ipc", "pid", "mnt"};
    int fds[sizeof kinds / sizeof *kinds];
    int first = entry->is_user ? 0 : 1;
    int n = entry->is_switch || entry->agent != NULL ? 2 : (int)(sizeof kinds / sizeof *kinds);
    char path[64];
    for (int i = first; i < n; i++) {
        snprintf(path, sizeof path, "/proc/%d/ns/%s", (int)entry->pid, kinds[i]);
        fds[i] = open(path, O_RDONLY | O_CLOEXEC);
    }
    /* asked after opening: the process is still the one that was noted, so the namespaces are its own */
    if (wt_start_ticks(entry->pid) != entry->start) {
        fprintf(stderr, "wavetank-node: node %s is down\n", name);
        exit(EXIT_OURS);
    }
    if (entry->is_user && fds[0] >= 0 && is_own_user_namespace(fds[0])) {
        first = 1;
    }
    for (int i = first; i < n; i++) {
        if (fds[i] < 0 || setns(fds[i], 0) != 0) {
            wt_fail("cannot enter the namespaces of", name);
        }
    }
}

static pid_t child_pid;

static void pass_on(int signal_number) {
    if (child_pid > 0) {
        kill(child_pid, signal_number);
    }
}

static int wait_for_child(void) {
    int status = 0;
    struct sigaction action = {.sa_handler = pass_on};
    const int passed[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};
    for (size_t i = 0; i < sizeof passed / sizeof *passed; i++) {
        sigaction(passed[i], &action, NULL);
    }
    while (waitpid(child_pid, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static void exec_command(char **argv) {
    execvp(argv[0], argv);
    int status = errno == ENOENT ? 127 : 126;
    fprintf(stderr, "%s: %s\n", argv[0], strerror(errno));
    _exit(status);
}

static int perform(const struct entry *entry, const char *name, char **argv) {
    if (entry->is_here) {
        exec_command(argv);
    }
    char directory[4096];
    bool has_directory = getcwd(directory, sizeof directory) != NULL;
    wt_join_cgroups(&entry->cgroups);
    join_namespaces(entry, name);
    if (!has_directory || chdir(directory) != 0) {
        (void)!chdir("/");
    }
    if (entry->agent != NULL) {
        return wt_run_in_guest(entry->agent, name, argv);
    }
    if (entry->is_switch) {
        exec_command(argv); /* no PID namespace: no child needed */
    }
    child_pid = fork();
    if (child_pid < 0) {
        wt_fail("cannot start", argv[0]);
    }
    if (child_pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        exec_command(argv);
    }
    return wait_for_child();
}

/* What runs in a node has its cluster in its environment, so that a user without control groups finds all of
 * it. */
static void mark(const char *map) {
    char directory[4096];
    snprintf(directory, sizeof directory, "%s", map);
    char *end = strrchr(directory, '/');
    if (end != NULL) {
        *end = '\0';
    }
    setenv("WAVETANK_CLUSTER", directory, 1);
}

int wt_run_in_node(int argc, char **argv) {
    static struct entry entry;
    if (argc < 3) {
        return EXIT_OURS;
    }
    find(&entry, argv[0], argv[1]);
    mark(argv[0]);
    return perform(&entry, argv[1], argv + 2);
}

/* ssh's options with a value; all others stand alone. */
static bool takes_value(const char *option) {
    return strlen(option) == 2 && strchr("BbcDEeFIiJLlmOopQRSWw", option[1]) != NULL;
}

int wt_shell_in_node(int argc, char **argv) {
    static struct entry entry;
    const char *map = argv[0];
    int at = 1;
    while (at < argc && argv[at][0] == '-') {
        at += takes_value(argv[at]) ? 2 : 1;
    }
    if (at + 1 >= argc) {
        fprintf(stderr, "wavetank-node: shell MAP [ssh options] HOST COMMAND...\n");
        return EXIT_OURS;
    }
    const char *name = argv[at];
    const char *user_end = strrchr(name, '@');
    if (user_end != NULL) {
        name = user_end + 1;
    }
    size_t length = 1;
    for (int i = at + 1; i < argc; i++) {
        length += strlen(argv[i]) + 1;
    }
    char *command = calloc(length, 1); /* joined by blanks and given to a shell: what sshd does */
    if (command == NULL) {
        return EXIT_OURS;
    }
    for (int i = at + 1; i < argc; i++) {
        strcat(command, argv[i]);
        if (i + 1 < argc) {
            strcat(command, " ");
        }
    }
    char *shell[] = {"/bin/sh", "-c", command, NULL};
    find(&entry, map, name);
    mark(map);
    return perform(&entry, name, shell);
}
