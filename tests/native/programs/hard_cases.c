/* What is hard to replay: hard_cases CASE. Each works in the current folder, on files that the test has made.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static char b[65536];

static void require(int holds, const char *what) {
    if (!holds) {
        perror(what);
        exit(1);
    }
}

/* As H5Fcreate does: a file that is there is opened first, then emptied. */
static void reopened(void) {
    int fd = open("old.h5", O_RDWR);
    require(fd >= 0, "old.h5");
    close(fd);
    fd = open("old.h5", O_RDWR | O_CREAT | O_TRUNC, 0644);
    for (int i = 0; i < 4; i++)
        require(pwrite(fd, b, 2048, i * 4096) == 2048, "pwrite");
    require(pread(fd, b, 96, 0) == 96, "pread");
    close(fd);
    struct stat facts;
    require(stat("looked-at", &facts) == 0, "looked-at");
    fd = open("looked-at", O_WRONLY | O_TRUNC);
    require(write(fd, b, 10) == 10, "write");
    close(fd);
}

/* Calls that fail: for want of a file, of a folder, because something is there, or for other reasons. */
static void failed(void) {
    struct stat facts;
    require(open("never", O_RDONLY) < 0 && errno == ENOENT, "never");
    require(stat("never", &facts) < 0 && access("never", R_OK) < 0 && unlink("never") < 0, "never");
    require(open("no-folder/new", O_WRONLY | O_CREAT | O_TRUNC, 0644) < 0 && errno == ENOENT, "no-folder");
    require(open("later", O_RDWR) < 0, "later");
    int fd = open("later", O_RDWR | O_CREAT | O_EXCL, 0644);
    require(fd >= 0 && write(fd, b, 1000) == 1000, "write");
    require(open("later", O_RDWR | O_CREAT | O_EXCL, 0644) < 0 && errno == EEXIST, "O_EXCL");
    require(open("later/below", O_RDONLY) < 0 && errno == ENOTDIR, "ENOTDIR");
    require(lseek(fd, -5, SEEK_SET) < 0 && errno == EINVAL, "lseek");
    require(lseek(fd, 5000, SEEK_DATA) < 0 && errno == ENXIO, "SEEK_DATA");
    require(ftruncate(fd, -1) < 0 && errno == EINVAL, "ftruncate");
    require(pread(fd, b, 10, -1) < 0 && errno == EINVAL, "pread");
    require(mkdir("folder", 0755) == 0 && mkdir("folder", 0755) < 0 && errno == EEXIST, "mkdir");
    int inner = open("folder/inner", O_CREAT | O_WRONLY, 0644);
    require(inner >= 0 && write(inner, b, 10) == 10, "inner");
    require(read(inner, b, 10) < 0 && errno == EBADF, "read of what is for writing");
    close(inner);
    require(rmdir("folder") < 0 && errno == ENOTEMPTY, "rmdir");
    require(rename("never", "also-never") < 0 && errno == ENOENT, "rename");
    require(link("later", "folder/inner") < 0 && errno == EEXIST, "link");
    require(unlink("folder/inner") == 0 && rmdir("folder") == 0, "folder");
    close(fd);
    require(unlink("later") == 0 && open("later", O_RDONLY) < 0 && errno == ENOENT, "gone");
}

/* Without permission; root has it as somebody else only. */
static void denied(void) {
    int fd = open("mine", O_WRONLY | O_CREAT | O_TRUNC, 0644);
    require(write(fd, b, 3000) == 3000, "write");
    close(fd);
    setfsuid(geteuid() == 0 ? 65534 : geteuid());
    fd = open("secret", O_RDONLY);
    require(fd < 0 && errno == EACCES, "secret");
    setfsuid(geteuid());
}

/* Seeks from the end, as zipfile's and tail's. */
static void ends(void) {
    int fd = open("input", O_RDONLY);
    require(lseek(fd, 0, SEEK_END) == 300000, "end");
    require(lseek(fd, -22, SEEK_END) == 299978 && read(fd, b, 22) == 22, "22");
    require(lseek(fd, -65536, SEEK_END) == 300000 - 65536, "65536");
    require(lseek(fd, -100, SEEK_CUR) > 0 && read(fd, b, 100) == 100, "100");
    for (int i = 1; i < 6; i++)
        require(lseek(fd, -1000 * i, SEEK_END) > 0 && read(fd, b, 500) == 500, "500");
    require(lseek(fd, 0, SEEK_DATA) == 0 && lseek(fd, 0, SEEK_HOLE) == 300000, "hole");
    close(fd);
}

/* Only mapped; and looked at by its end. */
static void mapped(void) {
    int fd = open("input", O_RDONLY);
    char *m = mmap(NULL, 300000, PROT_READ, MAP_SHARED, fd, 0);
    require(m != MAP_FAILED && m[299999] != 1, "mmap");
    munmap(m, 300000);
    close(fd);
    fd = open("part", O_RDONLY);
    require(lseek(fd, 0, SEEK_END) == 5000, "part");
    close(fd);
    fd = open("copy", O_WRONLY | O_CREAT, 0644);
    require(write(fd, b, 5000) == 5000, "copy");
    close(fd);
}

/* Seeks at the end and at the head of loops: the next place is that of the next repetition. */
static void loops(void) {
    int fd = open("input", O_RDONLY), out = open("out", O_RDWR | O_CREAT | O_TRUNC, 0644);
    for (int i = 0; i < 20; i++) {
        lseek(fd, (i * 7919 % 60) * 4096, SEEK_SET);
        require(read(fd, b, 4096) == 4096, "read");
        require(write(out, b, 100) == 100, "write");
        lseek(out, i * 300 + 200, SEEK_SET);
    }
    for (int turn = 0; turn < 3; turn++) {
        lseek(fd, 0, SEEK_SET);
        for (int i = 0; i < 10; i++)
            require(read(fd, b, 1000 + i) == 1000 + i, "read");
        lseek(out, 7, SEEK_SET);
        for (int i = 0; i < 5; i++)
            require(read(out, b, 64) == 64, "read");
    }
    close(fd);
    close(out);
}

int main(int argc, char **argv) {
    const struct {
        const char *name;
        void (*run)(void);
    } cases[] = {{"reopened", reopened}, {"failed", failed}, {"denied", denied},
                 {"ends", ends},         {"mapped", mapped}, {"loops", loops}};
    for (size_t i = 0; argc > 1 && i < sizeof cases / sizeof *cases; i++)
        if (strcmp(argv[1], cases[i].name) == 0) {
            cases[i].run();
            return 0;
        }
    return 2;
}
