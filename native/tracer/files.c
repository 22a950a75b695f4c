/* Decides which files are left out, and finds the mount of each. */
#define _GNU_SOURCE
#include "tracer.h"

#include <fcntl.h>
#include <fnmatch.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MOUNTS_MAX 64
#define PATTERNS_BYTES 8192
#define LEFT_OUT_MAX 8
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
static char include_patterns[PATTERNS_BYTES], exclude_patterns[PATTERNS_BYTES];

/* Left out unless --include names them: the system's own files, and programs' code. */
static const char *const system_prefixes[] = {"/proc/",  "/sys/", "/dev/",  "/etc/", "/usr/", "/lib/",
                                              "/lib64/", "/bin/", "/sbin/", "/run/", "/boot/"};
static const char *const code_suffixes[] = {".py", ".pyc",  ".pyi",      ".pth",       ".so",
                                            ".sh", ".bash", ".egg-link", "/pyvenv.cfg"};
static const char *const code_parts[] = {
    "/site-packages/", "/dist-packages/", "/lib/python3", ".so.",           "/openmpi-sessions-",
    "/ompi.",          ".locktest.",      ".shfp.",       "/spmix_appdir_", "/pmix_dstor_",
    "/prte.",          "/__pycache__/",   "/bin/python",  "/.pyenv/",       "/memfd:wavetank",
    "/.wavetank-copy."}; /* the last two: what the replay does for itself */

void wt_mounts_reset(void) {
    n_mounts = 0;
    mount_bytes = 0;
}

static void copy_patterns(char *to, const char *from) {
    if (from != NULL) {
        strncpy(to, from, PATTERNS_BYTES - 1);
    }
}

void wt_filter_start(const char *include, const char *exclude) {
    copy_patterns(include_patterns, include);
    copy_patterns(exclude_patterns, exclude);
}

/* By device and inode: a script has as many names as there are links to it. */
static struct {
    dev_t device;
    ino_t inode;
} left_out[LEFT_OUT_MAX];
static unsigned n_left_out;

void wt_leave_out(const char *path) {
    struct stat facts;
    if (n_left_out < LEFT_OUT_MAX && syscall(SYS_newfstatat, AT_FDCWD, path, &facts, 0) == 0 &&
        S_ISREG(facts.st_mode)) {
        left_out[n_left_out].device = facts.st_dev;
        left_out[n_left_out++].inode = facts.st_ino;
    }
}

static bool below(const char *path, const char *directory, size_t n) {
    while (n > 1 && directory[n - 1] == '/') {
        n--;
    }
    return strncmp(path, directory, n) == 0 && (path[n] == 0 || path[n] == '/' || n == 1);
}

static bool is_left_out(const char *path) {
    struct stat facts;
    if (n_left_out == 0 || syscall(SYS_newfstatat, AT_FDCWD, path, &facts, 0) != 0) {
        return false;
    }
    for (unsigned i = 0; i < n_left_out; i++) {
        if (left_out[i].device == facts.st_dev && left_out[i].inode == facts.st_ino) {
            return true;
        }
    }
    return false;
}

/* A pattern is a directory or file, or a glob that matches the whole path. */
static bool matches_any(const char *path, const char *patterns) {
    while (*patterns) {
        const char *end = strchrnul(patterns, ':');
        size_t n = (size_t)(end - patterns);
        char pattern[1024];
        if (n > 0 && n < sizeof pattern) {
            memcpy(pattern, patterns, n);
            pattern[n] = 0;
            if (strpbrk(pattern, "*?[") ? fnmatch(pattern, path, 0) == 0 : below(path, pattern, n)) {
                return true;
            }
        }
        patterns = *end ? end + 1 : end;
    }
    return false;
}

static bool ends_with(const char *path, const char *suffix) {
    size_t n = strlen(path), m = strlen(suffix);
    return n >= m && memcmp(path + n - m, suffix, m) == 0;
}

bool wt_path_included(const char *path) {
    return matches_any(path, include_patterns);
}

/* Whether a path is the prefix's folder itself ("/usr" of "/usr/"), or lies below it. */
static bool starts_with(const char *path, const char *prefix) {
    size_t n = strlen(prefix);
    return strncmp(path, prefix, n) == 0 || (strncmp(path, prefix, n - 1) == 0 && path[n - 1] == 0);
}

bool wt_path_kept(const char *path) {
    if (below(path, wt_directory, strlen(wt_directory))) {
        return false;
    }
    if (matches_any(path, include_patterns)) {
        return true;
    }
    if (matches_any(path, exclude_patterns)) {
        return false;
    }
    for (size_t i = 0; i < sizeof system_prefixes / sizeof *system_prefixes; i++) {
        if (starts_with(path, system_prefixes[i])) {
            return false;
        }
    }
    for (size_t i = 0; i < sizeof code_suffixes / sizeof *code_suffixes; i++) {
        if (ends_with(path, code_suffixes[i])) {
            return false;
        }
    }
    for (size_t i = 0; i < sizeof code_parts / sizeof *code_parts; i++) {
        if (strstr(path, code_parts[i]) != NULL) {
            return false;
        }
    }
    return !is_left_out(path);
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
