/* Finds the mount of a file, and describes it once: its file system tells how the file's times are to be
 * read. Reads the kernel's table once and not at each file, since it may have thousands of lines. */
#define _GNU_SOURCE
#include "files/files.h"
#include "record/record.h"

#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MOUNTS_MAX 64
#define STRIPING_BYTES (48u << 10) /* 2000 OSTs of 24 bytes */

static struct {
    char point[256];
    size_t length;
    bool lustre;
} mounts[MOUNTS_MAX];
static unsigned n_mounts;
static char mount_lines[64 << 10];
static size_t mount_bytes;
static struct {
    const char *line, *point;
    size_t length;
} points[2048]; /* of the lines, in their order */
static unsigned n_points;

void wt_mounts_reset(void) {
    n_mounts = 0;
    mount_bytes = 0;
}

static bool ends_with(const char *path, const char *suffix) {
    size_t n = strlen(path), m = strlen(suffix);
    return n >= m && memcmp(path + n - m, suffix, m) == 0;
}

static void read_mounts(void) {
    int fd = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
    mount_bytes = 0;
    while (fd >= 0 && mount_bytes < sizeof mount_lines - 1) {
        ssize_t n = syscall(SYS_read, fd, mount_lines + mount_bytes, sizeof mount_lines - 1 - mount_bytes);
        if (n <= 0) {
            break;
        }
        mount_bytes += (size_t)n;
    }
    mount_lines[mount_bytes] = 0;
    if (fd >= 0) {
        syscall(SYS_close, fd);
    }
}

static const char *word(const char *line, int index, size_t *n) {
    for (; index > 0 && *line && *line != '\n'; index--) {
        line += strcspn(line, " \n");
        line += *line == ' ';
    }
    *n = strcspn(line, " \n");
    return line;
}

static void copy_word(char *out, size_t room, const char *from, size_t n) {
    n = n < room ? n : room - 1;
    memcpy(out, from, n);
    out[n] = 0;
}

/* "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw" */
static void find_points(void) {
    read_mounts();
    n_points = 0;
    for (const char *line = mount_lines; *line;) {
        size_t n;
        const char *point = word(line, 4, &n);
        if (n > 0 && n < sizeof mounts[0].point && n_points < sizeof points / sizeof *points) {
            points[n_points].line = line;
            points[n_points].point = point;
            points[n_points++].length = n;
        }
        line += strcspn(line, "\n");
        line += *line == '\n';
    }
}

/* The last line with the longest fitting mount point covers the path. */
static const char *line_of(const char *path) {
    const char *best = NULL;
    size_t best_length = 0, length = strlen(path);
    for (unsigned i = 0; i < n_points; i++) {
        size_t n = points[i].length;
        if (n <= length && n >= best_length && (n == 1 || path[n] == '/' || path[n] == 0) &&
            memcmp(path, points[i].point, n) == 0) {
            best = points[i].line;
            best_length = n;
        }
    }
    return best;
}

int32_t wt_mount_of(const char *path) {
    if (mount_bytes == 0) {
        find_points();
    }
    const char *best = line_of(path);
    if (best == NULL) {
        return WT_UNKNOWN;
    }
    size_t n;
    const char *point = word(best, 4, &n);
    for (unsigned i = 0; i < n_mounts; i++) {
        if (mounts[i].length == n && memcmp(mounts[i].point, point, n) == 0) {
            return (int32_t)i;
        }
    }
    if (n_mounts == MOUNTS_MAX) {
        return WT_UNKNOWN;
    }
    char text[256];
    const char *end = best + strcspn(best, "\n"), *dash = strstr(best, " - ");
    copy_word(mounts[n_mounts].point, sizeof mounts[0].point, point, n);
    mounts[n_mounts].length = n;
    wt_meta_begin(WT_META_MOUNT);
    wt_meta_number(n_mounts);
    wt_meta_string(mounts[n_mounts].point);
    for (int i = 0; i < 2; i++) {
        const char *part = "";
        n = 0;
        if (dash != NULL && dash < end) {
            part = word(dash + 3, i, &n);
        }
        copy_word(text, sizeof text, part, n);
        wt_meta_string(text);
        mounts[n_mounts].lustre = i == 0 ? ends_with(text, "lustre") : mounts[n_mounts].lustre;
    }
    wt_meta_end();
    return (int32_t)n_mounts++;
}

/* Lustre hands out a file's layout as an extended attribute; striping.py knows its structure. */
void wt_describe_striping(int32_t file, int32_t mount, const char *path) {
    static uint8_t layout[STRIPING_BYTES];
    if (mount < 0 || !mounts[mount].lustre) {
        return;
    }
    ssize_t n = syscall(SYS_getxattr, path, "lustre.lov", layout, sizeof layout);
    if (n > 0) {
        wt_meta_begin(WT_META_STRIPING);
        wt_meta_number((uint64_t)file);
        wt_meta_bytes(layout, (size_t)n);
        wt_meta_end();
    }
}
