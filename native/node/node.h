/* wavetank-node: shared declarations.
 *
 * A node is a process 1 in namespaces of its own (mount, UTS, IPC, network, PID), with an overlay of
 * this machine's root below it. A switch is a process in a network namespace only.
 */
#ifndef WAVETANK_NODE_H
#define WAVETANK_NODE_H

#include <stdbool.h>
#include <sys/types.h>

enum {
    MAX_CGROUPS = 8,
    MAX_DISKS = 26, // 24 devices that hold data, and scratch
    EXIT_OURS = 125 /* our own failure, as env(1) and nsenter(1) say it */
};

struct cgroups {
    int n;
    const char *procs[MAX_CGROUPS]; /* paths of cgroup.procs files */
};

struct disk {
    const char *device;  /* block device */
    const char *at;      /* absolute path in the node */
    const char *type;    /* of its file system */
    const char *options; /* of the mount, or NULL */
};

struct node_options {
    const char *root; /* where the overlay is mounted; NULL makes a switch */
    const char *upper;
    const char *work;
    const char *hostname;
    const char *hidden; /* a directory of this machine that the node must not see: the state directory */
    struct disk disks[MAX_DISKS];
    int n_disks;
    bool own_user;        /* make a user namespace, with us as root */
    pid_t join_user;      /* join the user namespace of this process; 0: none */
    bool upper_in_memory; /* the state directory cannot hold an overlay's upper directory */
    struct cgroups cgroups;
};

/* steps.c */
void wt_fail(const char *what, const char *where) __attribute__((noreturn));
void wt_join_cgroups(const struct cgroups *cgroups);
unsigned long long
wt_start_ticks(pid_t pid); /* field 22 of /proc/PID/stat; 0 when there is no such process */
void wt_make_directories(const char *path);
const char *wt_joined(char *buffer, size_t size, const char *a, const char *b);

/* user.c */
void wt_make_user_namespace(void);
void wt_join_user_namespace(pid_t pid);
void wt_gather_user_root(const struct node_options *options);

/* create.c */
int wt_create_node(const struct node_options *options);

/* enter.c: argv[0] is the map, argv[1] the node's name, the rest the command */
int wt_run_in_node(int argc, char **argv);
int wt_shell_in_node(int argc, char **argv);

/* guest/caller.c: the command's exit status; EXIT_OURS when the guest does not answer */
int wt_run_in_guest(const char *address, const char *name, char **argv);

/* guest/agent.c: argv[0] is where it listens, argv[1] who may call, argv[2] a file to make when it does */
int wt_be_agent(int argc, char **argv);

/* costs.c */
int wt_print_costs(void);

#endif
