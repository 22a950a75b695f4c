/* Starts a program in an environment without LD_PRELOAD: starts WAY PROGRAM ARGUMENTS. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char *const nothing[] = {NULL};

static void become(const char *way, char **argv) {
    if (strcmp(way, "execve") == 0) {
        execve(argv[0], argv, nothing);
    } else if (strcmp(way, "execle") == 0) {
        execle(argv[0], argv[0], argv[1], argv[2], NULL, nothing);
    } else if (strcmp(way, "execv") == 0) {
        unsetenv("LD_PRELOAD");
        execv(argv[0], argv);
    } else if (strcmp(way, "fexecve") == 0) {
        fexecve(open(argv[0], O_RDONLY), argv, nothing);
    } else if (strcmp(way, "execveat") == 0) {
        execveat(AT_FDCWD, argv[0], argv, nothing, 0);
    } else if (strcmp(way, "folder") == 0) {
        char *slash = strrchr(argv[0], '/');
        char name[200];
        strcpy(name, slash + 1);
        *slash = 0;
        execveat(open(argv[0], O_RDONLY | O_DIRECTORY), name, argv, nothing, 0);
    }
    _exit(1);
}

int main(int argc, char **argv) {
    char command[500];
    const char *way = argc > 4 ? argv[1] : "";
    int status = 0;
    snprintf(command, sizeof command, "%s %s %s", argv[2], argv[3], argv[4]);
    if (strcmp(way, "system") == 0) {
        clearenv();
        return system(command);
    }
    if (strcmp(way, "popen") == 0) {
        unsetenv("LD_PRELOAD");
        return pclose(popen(command, "r"));
    }
    if (strcmp(way, "spawn") == 0) {
        pid_t child;
        if (posix_spawn(&child, argv[2], NULL, NULL, argv + 2, nothing) != 0) {
            return 1;
        }
    } else if (strcmp(way, "vfork") == 0) {
        if (vfork() == 0) {
            execve(argv[2], argv + 2, nothing);
            _exit(1);
        }
    } else if (fork() == 0) {
        become(way, argv + 2);
    }
    wait(&status);
    return status;
}
