/* Small steps that making and entering a node share. A step that fails ends the program: a command that went
 * on outside of its cgroups would be found and ended by nobody. Process numbers are used again, so that a
 * process is known by when it started, too. */
#include "node.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void wt_fail(const char *what, const char *where) {
    fprintf(stderr, "wavetank-node: %s %s: %s\n", what, where, strerror(errno));
    exit(EXIT_OURS);
}

void wt_join_cgroups(const struct cgroups *cgroups) {
    for (int i = 0; i < cgroups->n; i++) {
        int fd = open(cgroups->procs[i], O_WRONLY | O_CLOEXEC);
        if (fd < 0 || write(fd, "0", 1) != 1) {
            wt_fail("cannot join the cgroup", cgroups->procs[i]);
        }
        close(fd);
    }
}

unsigned long long wt_start_ticks(pid_t pid) {
    char path[64];
    char line[1024];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *stat = fopen(path, "re");
    if (stat == NULL) {
        return 0;
    }
    const char *read = fgets(line, sizeof line, stat);
    fclose(stat);
    /* the program's name may hold anything, so count from its closing bracket: fields 3, 4, ... 22 */
    const char *field = read == NULL ? NULL : strrchr(line, ')');
    for (int i = 2; field != NULL && i < 22; i++) {
        field = strchr(field + 1, ' ');
    }
    return field == NULL ? 0 : strtoull(field, NULL, 10);
}

void wt_make_directories(const char *path) {
    char partial[4096];
    snprintf(partial, sizeof partial, "%s", path);
    for (char *slash = strchr(partial + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(partial, 0755) != 0 && errno != EEXIST) {
            wt_fail("cannot make the directory", partial);
        }
        *slash = '/';
    }
    if (mkdir(partial, 0755) != 0 && errno != EEXIST) {
        wt_fail("cannot make the directory", partial);
    }
}

const char *wt_joined(char *buffer, size_t size, const char *a, const char *b) {
    if ((size_t)snprintf(buffer, size, "%s%s", a, b) >= size) {
        errno = ENAMETOOLONG;
        wt_fail("path is too long:", a);
    }
    return buffer;
}
