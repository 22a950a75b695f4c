/* Makes a node and becomes its process 1.
 *
 * The caller joins the node's cgroups first, so that everything that is ever started here can be
 * found and ended by them, even when the tool is killed while we work.
 */
#include "node.h"

#include <errno.h>
#include <fcntl.h>
#include <mntent.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATH_SIZE = 4096 };

static void mount_or_fail(const char *source, const char *target, const char *type, unsigned long flags,
                          const char *options) {
    if (mount(source, target, type, flags, options) != 0) {
        wt_fail("cannot mount", target);
    }
}

/* An option of overlayfs ends at a comma or colon. */
static void check_overlay_path(const char *path) {
    if (strpbrk(path, ",:\\") != NULL) {
        errno = EINVAL;
        wt_fail("an overlay cannot be made on a path with ',', ':' or '\\':", path);
    }
}

static void mount_overlay(const struct node_options *options) {
    char layers[3 * PATH_SIZE];
    check_overlay_path(options->upper);
    check_overlay_path(options->work);
    if (options->upper_in_memory) {
        char memory[PATH_SIZE];
        char upper[PATH_SIZE];
        char work[PATH_SIZE];
        wt_joined(memory, sizeof memory, options->work, "/memory");
        wt_make_directories(memory);
        mount_or_fail("wavetank", memory, "tmpfs", MS_NOSUID, "mode=755");
        wt_make_directories(wt_joined(upper, sizeof upper, memory, "/upper"));
        wt_make_directories(wt_joined(work, sizeof work, memory, "/work"));
        /* what was prepared for the node is a layer between this machine and the node's own */
        snprintf(layers, sizeof layers, "lowerdir=%s:/,upperdir=%s,workdir=%s", options->upper, upper, work);
    } else {
        snprintf(layers, sizeof layers, "lowerdir=/,upperdir=%s,workdir=%s", options->upper, options->work);
    }
    mount_or_fail("wavetank", options->root, "overlay", 0, layers);
}

static bool is_real_file_system(const char *type) {
    static const char *const real[] = {"ext2", "ext3", "ext4", "xfs",      "btrfs", "zfs",
                                       "f2fs", "nfs",  "nfs4", "squashfs", "erofs"};
    for (size_t i = 0; i < sizeof real / sizeof *real; i++) {
        if (strcmp(type, real[i]) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_below(const char *path, const char *directory) {
    size_t length = strlen(directory);
    return strncmp(path, directory, length) == 0 && (path[length] == '/' || path[length] == '\0');
}

/* An overlay shows its lower file system only, not what is mounted in it: bring /usr, /home, ... of
 * their own along, read-only, so that programs there are found. */
static void bind_other_file_systems(const struct node_options *options) {
    FILE *mounts = setmntent("/proc/self/mounts", "re");
    struct mntent *entry;
    char target[PATH_SIZE];
    while (mounts != NULL && (entry = getmntent(mounts)) != NULL) {
        const char *at = entry->mnt_dir;
        struct stat there;
        if (strcmp(at, "/") == 0 || !is_real_file_system(entry->mnt_type) || is_below(at, options->hidden) ||
            is_below(at, "/dev") || is_below(at, "/proc") || is_below(at, "/sys") || is_below(at, "/run")) {
            continue;
        }
        wt_joined(target, sizeof target, options->root, at);
        if (stat(at, &there) != 0 || !S_ISDIR(there.st_mode)) {
            continue;
        }
        wt_make_directories(target);
        if (mount(at, target, NULL, MS_BIND, NULL) == 0) {
            (void)mount(NULL, target, NULL, MS_BIND | MS_REMOUNT | MS_RDONLY, NULL);
        }
    }
    if (mounts != NULL) {
        endmntent(mounts);
    }
}

static void make_root(const struct node_options *options) {
    char path[PATH_SIZE];
    mount_or_fail(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL);
    if (options->join_user > 0) {
        wt_gather_user_root(options);
    } else {
        mount_overlay(options);
        bind_other_file_systems(options);
    }
    mount_or_fail("/dev", wt_joined(path, sizeof path, options->root, "/dev"), NULL, MS_BIND | MS_REC, NULL);
    mount_or_fail("tmpfs", wt_joined(path, sizeof path, options->root, "/dev/shm"), "tmpfs",
                  MS_NOSUID | MS_NODEV, "mode=1777");
    mount_or_fail("tmpfs", wt_joined(path, sizeof path, options->root, "/run"), "tmpfs", MS_NOSUID | MS_NODEV,
                  "mode=755");
    mount_or_fail("proc", wt_joined(path, sizeof path, options->root, "/proc"), "proc",
                  MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL);
    wt_joined(path, sizeof path, options->root, "/sys");
    /* a user may not mount one where parts of the machine's are covered; then it is the machine's own */
    if (mount("sysfs", path, "sysfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) != 0) {
        mount_or_fail("/sys", path, NULL, MS_BIND | MS_REC, NULL);
    }
    /* the images and journals of all clusters are none of a node's business */
    wt_joined(path, sizeof path, options->root, options->hidden);
    if (access(path, F_OK) == 0) {
        mount_or_fail("tmpfs", path, "tmpfs", MS_NOSUID | MS_NODEV, "mode=700,size=4k");
    }
    for (int i = 0; i < options->n_disks; i++) {
        wt_joined(path, sizeof path, options->root, options->disks[i].at);
        wt_make_directories(path);
        mount_or_fail(options->disks[i].device, path, options->disks[i].type, MS_NOATIME,
                      options->disks[i].options);
    }
    /* pivot_root(".", "."): the old root ends up below the new one and is let go */
    if (chdir(options->root) != 0 || syscall(SYS_pivot_root, ".", ".") != 0 ||
        umount2(".", MNT_DETACH) != 0 || chdir("/") != 0) {
        wt_fail("cannot change the root to", options->root);
    }
}

static void detach(void) {
    int null = open("/dev/null", O_RDWR);
    for (int fd = 0; fd < 3; fd++) {
        dup2(null, fd);
    }
    syscall(SYS_close_range, 3U, ~0U, 0U);
}

static void live_as_process_1(void) {
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    for (;;) {
        int signal_number;
        while (waitpid(-1, NULL, WNOHANG) > 0) {
        }
        sigwait(&all,
                &signal_number); /* SIGCHLD; anything else is ignored, only SIGKILL from outside ends us */
    }
}

static void say_ready(int ready) {
    if (write(ready, "r", 1) != 1) {
        _exit(EXIT_OURS); /* nobody waits for us any more */
    }
}

static void be_node(const struct node_options *options, int ready) {
    setsid();
    /* becoming root of a user namespace hides our /proc from our own user, who must find our namespaces there
     */
    prctl(PR_SET_DUMPABLE, 1);
    if (options->hostname != NULL && sethostname(options->hostname, strlen(options->hostname)) != 0) {
        wt_fail("cannot set the host name", options->hostname);
    }
    if (options->root != NULL) {
        if (unshare(CLONE_NEWNS) != 0) {
            wt_fail("cannot make a mount namespace for", options->root);
        }
        make_root(options);
    }
    say_ready(ready);
    detach();
    live_as_process_1();
}

int wt_create_node(const struct node_options *options) {
    int namespaces = CLONE_NEWNET;
    int ready[2];
    char byte;
    if (options->root != NULL) {
        namespaces |= CLONE_NEWUTS | CLONE_NEWIPC |
                      CLONE_NEWPID; /* the child makes CLONE_NEWNS: we still need our /proc */
    }
    wt_join_cgroups(&options->cgroups);
    if (options->own_user) {
        wt_make_user_namespace();
    }
    if (options->join_user > 0) {
        wt_join_user_namespace(options->join_user);
    }
    if (unshare(namespaces) != 0) {
        wt_fail("cannot make namespaces for", options->hostname != NULL ? options->hostname : "a switch");
    }
    if (pipe2(ready, O_CLOEXEC) != 0) {
        wt_fail("cannot make", "a pipe");
    }
    pid_t child = fork();
    if (child < 0) {
        wt_fail("cannot start", "process 1 of the node");
    }
    if (child == 0) {
        close(ready[0]);
        be_node(options, ready[1]);
    }
    close(ready[1]);
    if (read(ready[0], &byte, 1) != 1) {
        int status = 0;
        waitpid(child, &status, 0);
        return EXIT_OURS; /* the child said why */
    }
    printf("%d %llu\n", (int)child, wt_start_ticks(child));
    return 0;
}
