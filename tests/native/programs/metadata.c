/* Calls on names, directories and attributes, and no data. Works in the folder given, which is not its own.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>
#include <utime.h>

static void check(int result, const char *what) {
    if (result < 0) {
        perror(what);
        exit(1);
    }
}

static void list(const char *name) {
    DIR *stream = opendir(name);
    check(stream == NULL ? -1 : 0, "opendir");
    errno = ENOTTY; /* a directory's end leaves errno as it is */
    while (readdir(stream) != NULL) {
    }
    check(errno == ENOTTY ? 0 : -1, "readdir");
    check(closedir(stream), "closedir");
}

int main(int argc, char **argv) {
    struct stat facts;
    char text[256];
    check(argc > 1 ? chdir(argv[1]) : -1, "chdir");
    check(mkdir("made", 0750), "mkdir");
    check(mkdirat(AT_FDCWD, "made/inner", 0700), "mkdirat");
    check(mknod("made/node", S_IFREG | 0600, 0), "mknod");
    int fd = open("made/file", O_CREAT | O_WRONLY, 0600);
    check(fd, "open");
    check(fchmod(fd, 0640), "fchmod");
    check(fchown(fd, getuid(), getgid()), "fchown");
    check(futimens(fd, NULL), "futimens");
    check(close(fd), "close");
    check(chmod("made/file", 0600), "chmod");
    check(chown("made/file", getuid(), getgid()), "chown");
    check(utime("made/file", &(struct utimbuf){1, 2}), "utime");
    check(symlink("file", "made/soft"), "symlink");
    check((int)readlink("made/soft", text, sizeof text), "readlink");
    list("made");
    check(stat("made/inner", &facts), "stat");
    check(stat(".", &facts), "stat"); /* where it is: left out */
    int folder = open("made", O_RDONLY | O_DIRECTORY);
    check(folder, "open of a directory");
    check(fstatat(folder, "inner", &facts, 0), "fstatat");
    check(fsync(folder), "fsync");
    check(close(folder), "close");
    check(rename("made/inner", "made/moved"), "rename");
    check(unlinkat(AT_FDCWD, "made/moved", AT_REMOVEDIR), "unlinkat");
    check(unlink("made/soft"), "unlink");
    check(remove("made/node"), "remove");
    check(unlink("made/file"), "unlink");
    check(remove("made"), "remove");
    return 0;
}
