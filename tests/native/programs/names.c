/* What programs do with names of files: one case for each argument, in the order given. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char block[4096];

static int make(const char *name, int n) {
    int fd = open(name, O_CREAT | O_WRONLY | O_TRUNC, 0644);
    for (int i = 0; i < n; i++) {
        if (write(fd, block, sizeof block) != sizeof block) {
            return -1;
        }
    }
    return fd;
}

static void write_file(const char *name, int n) {
    close(make(name, n));
}

static void read_file(const char *name, int n) {
    int fd = open(name, O_RDONLY);
    for (int i = 0; i < n; i++) {
        if (read(fd, block, sizeof block) < 0) {
            return;
        }
    }
    close(fd);
}

static int perform(const char *what) {
    if (strcmp(what, "checkpoints") == 0) { /* one temporary name, a final one each */
        for (int i = 0; i < 3; i++) {
            char name[32];
            snprintf(name, sizeof name, "step.%d", i);
            write_file("step.tmp", 5);
            if (rename("step.tmp", name) != 0) {
                return 1;
            }
        }
        read_file("step.1", 5);
    } else if (strcmp(what, "replaced") == 0) { /* an input, and what takes its place */
        read_file("state", 3);
        for (int i = 0; i < 3; i++) {
            write_file("state.new", 2);
            if (rename("state.new", "state") != 0) {
                return 1;
            }
        }
        read_file("state", 2);
    } else if (strcmp(what, "linked") == 0) {
        write_file("a", 3);
        if (link("a", "b") != 0 || symlink("a", "s") != 0) {
            return 1;
        }
        read_file("b", 3);
        read_file("s", 3);
    } else if (strcmp(what, "inputs") == 0) { /* links that are there before */
        read_file("first", 3);
        read_file("hard", 2);
        read_file("soft", 1);
    } else if (strcmp(what, "spellings") == 0) { /* names of one name: no other ones */
        write_file("./plain", 2);
        read_file("folder/../plain", 2);
        read_file("alias/plain", 2); /* alias: a link to the folder itself */
    } else if (strcmp(what, "again") == 0) {
        write_file("u", 2);
        unlink("u");
        write_file("u", 4);
    } else if (strcmp(what, "reused") == 0) { /* an inode that is free is given out again at once */
        write_file("gone", 2);
        unlink("gone");
        write_file("other", 3);
    } else if (strcmp(what, "nameless") == 0) {
        int fd = open(".", O_TMPFILE | O_WRONLY, 0600);
        if (write(fd, block, 100) != 100 || linkat(fd, "", AT_FDCWD, "named", AT_EMPTY_PATH) != 0) {
            return 1;
        }
        close(fd);
    } else if (strcmp(what, "open") == 0) { /* names that change under an open file */
        int fd = make("begun", 2);
        if (rename("begun", "ended") != 0 || write(fd, block, 10) != 10) {
            return 1;
        }
        close(fd);
        fd = make("scratch", 2);
        unlink("scratch");
        if (write(fd, block, 20) != 20) {
            return 1;
        }
        close(fd);
    } else if (strcmp(what, "processes") == 0) { /* one writes, another one renames, a third one reads */
        write_file("made", 3);
        if (fork() == 0) {
            _exit(rename("made", "moved") != 0);
        }
        wait(NULL);
        if (fork() == 0) {
            read_file("moved", 3);
            _exit(0);
        }
        wait(NULL);
    } else {
        return 2;
    }
    return 0;
}

int main(int argc, char **argv) {
    int status = 0;
    for (int i = 1; i < argc && status == 0; i++) {
        status = perform(argv[i]);
    }
    return status;
}
