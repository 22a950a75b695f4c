/* Writes, starts a child that writes elsewhere, waits for it, in a loop: test_tracer_children.py. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
static char block[100], command[4200];

static void put(const char *name, int number) {
    int fd = open(name, O_CREAT | O_WRONLY, 0644);
    if (pwrite(fd, block, sizeof block, number * (int)sizeof block) != sizeof block) {
        abort();
    }
    close(fd);
}

static int run(const char *way, char *self, int number) {
    char text[12];
    snprintf(text, sizeof text, "%d", number);
    snprintf(command, sizeof command, "%s child %s", self, text);
    char *argv[] = {self, "child", text, NULL};
    int status = 1;
    pid_t child;
    if (strcmp(way, "fork") == 0) {
        if ((child = fork()) == 0) {
            execv(self, argv);
            _exit(1);
        }
        waitpid(child, &status, 0);
    } else if (strcmp(way, "vfork") == 0) {
        if ((child = vfork()) == 0) {
            execve("/nowhere", argv, environ); /* as a shell looks along PATH */
            execve(self, argv, environ);
            _exit(1);
        }
        wait4(child, &status, 0, NULL);
    } else if (strcmp(way, "spawn") == 0) {
        siginfo_t info;
        posix_spawn(&child, self, NULL, NULL, argv, environ);
        waitid(P_PID, (id_t)child, &info, WEXITED);
        status = info.si_status;
    } else if (strcmp(way, "system") == 0) {
        status = system(command);
    } else if (strcmp(way, "popen") == 0) {
        status = pclose(popen(command, "r"));
    } else if (strcmp(way, "inside") == 0) { /* no exec: the child goes on as it is */
        if (fork() == 0) {
            put("child.bin", number);
            exit(0);
        }
        wait(&status);
    }
    return status;
}

int main(int argc, char **argv) {
    if (argc == 3 && strcmp(argv[1], "child") == 0) {
        put("child.bin", atoi(argv[2]));
        return 0;
    }
    int own = open("parent.bin", O_CREAT | O_WRONLY, 0644);
    for (int i = 0; argc == 2 && i < 12; i++) {
        if (pwrite(own, block, sizeof block, i * (int)sizeof block) != sizeof block ||
            run(argv[1], argv[0], i) != 0) {
            return 1;
        }
    }
    return close(own);
}
