/* Decides which files are left out: the system's own, programs' code, and what the options name. By names and
 * not by what is done with them, so that a file is in the trace with all of its calls or with none. */
#define _GNU_SOURCE
#include "files/files.h"

#include <fcntl.h>
#include <fnmatch.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PATTERNS_BYTES 8192
#define LEFT_OUT_MAX 8

static char include_patterns[PATTERNS_BYTES], exclude_patterns[PATTERNS_BYTES];

/* Left out unless --include names them: the system's own files, and programs' code. */
static const char *const system_prefixes[] = {"/proc/",  "/sys/", "/dev/",  "/etc/", "/usr/", "/lib/",
                                              "/lib64/", "/bin/", "/sbin/", "/run/", "/boot/"};
static const char *const code_suffixes[] = {".py", ".pyc",  ".pyi",      ".pth",       ".so",
                                            ".sh", ".bash", ".egg-link", "/pyvenv.cfg"};
static const char *const code_parts[] = {
    "/site-packages/", "/dist-packages/", "/lib/python3",    ".so.",           "/openmpi-sessions-",
    "/ompi.",          ".locktest.",      ".shfp.",          "/spmix_appdir_", "/pmix_dstor_",
    "/prte.",          "/prterun.",       "/pmix-gds-",      "/__pycache__/",  "/bin/python",
    "/.pyenv/",        "/memfd:wavetank", "/.wavetank-copy."}; /* the last two: what the replay does for
                                                                  itself */

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
