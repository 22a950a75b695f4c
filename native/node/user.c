/* Nodes for users who are not root: in a user namespace of the cluster, where the user is root.
 *
 * An overlay of the whole machine cannot be made there (what is mounted below / may not be uncovered), so the
 * root is put together from overlays of the directories in /, or the directories themselves where that cannot
 * be either.
 */
#include "node.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_SIZE = 4096 };

static void write_file(const char *path, const char *text) {
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text)) {
        wt_fail("cannot write", path);
    }
    close(fd);
}

void wt_make_user_namespace(void) {
    char map[64];
    unsigned user = (unsigned)geteuid();
    unsigned group = (unsigned)getegid();
    if (unshare(CLONE_NEWUSER) != 0) {
        wt_fail("cannot make", "a user namespace");
    }
    write_file("/proc/self/setgroups", "deny");
    snprintf(map, sizeof map, "0 %u 1", user);
    write_file("/proc/self/uid_map", map);
    snprintf(map, sizeof map, "0 %u 1", group);
    write_file("/proc/self/gid_map", map);
}

void wt_join_user_namespace(pid_t pid) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/ns/user", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || setns(fd, CLONE_NEWUSER) != 0) {
        wt_fail("cannot join the user namespace of", path);
    }
    close(fd);
}

static void add_directory(const struct node_options *options, const char *directory) {
    char target[PATH_SIZE];
    char upper[PATH_SIZE];
    char work[PATH_SIZE];
    char layers[4 * PATH_SIZE];
    wt_make_directories(wt_joined(target, sizeof target, options->root, directory));
    wt_make_directories(wt_joined(upper, sizeof upper, options->upper, directory));
    wt_make_directories(wt_joined(work, sizeof work, options->work, directory));
    snprintf(layers, sizeof layers, "lowerdir=%s,upperdir=%s,workdir=%s,userxattr", directory, upper, work);
    if (mount("wavetank", target, "overlay", 0, layers) != 0 &&
        mount(directory, target, NULL, MS_BIND | MS_REC, NULL) != 0) {
        wt_fail("cannot bring along", directory);
    }
}

static bool is_made_anew(const char *name) {
    static const char *const anew[] = {".", "..", "dev", "proc", "sys", "run"};
    for (size_t i = 0; i < sizeof anew / sizeof *anew; i++) {
        if (strcmp(name, anew[i]) == 0) {
            return true;
        }
    }
    return false;
}

static void add_entry(const struct node_options *options, const char *name) {
    char path[PATH_SIZE];
    char target[PATH_SIZE];
    char to[PATH_SIZE];
    struct stat entry;
    wt_joined(path, sizeof path, "/", name);
    if (lstat(path, &entry) != 0) {
        return;
    }
    if (S_ISDIR(entry.st_mode)) {
        add_directory(options, path);
    } else if (S_ISLNK(entry.st_mode)) {
        ssize_t length = readlink(path, to, sizeof to - 1);
        if (length < 0) {
            return;
        }
        to[length] = '\0';
        if (symlink(to, wt_joined(target, sizeof target, options->root, path)) != 0) {
            wt_fail("cannot make the link", target);
        }
    }
}

void wt_gather_user_root(const struct node_options *options) {
    char path[PATH_SIZE];
    if (mount("wavetank", options->root, "tmpfs", MS_NOSUID | MS_NODEV, "mode=755,size=1m") != 0) {
        wt_fail("cannot mount a tmpfs at", options->root);
    }
    DIR *top = opendir("/");
    if (top == NULL) {
        wt_fail("cannot read", "/");
    }
    for (const struct dirent *entry; (entry = readdir(top)) != NULL;) {
        if (!is_made_anew(entry->d_name)) {
            add_entry(options, entry->d_name);
        }
    }
    closedir(top);
    static const char *const empty[] = {"/dev", "/proc", "/sys", "/run"};
    for (size_t i = 0; i < sizeof empty / sizeof *empty; i++) {
        wt_make_directories(wt_joined(path, sizeof path, options->root, empty[i]));
    }
}
