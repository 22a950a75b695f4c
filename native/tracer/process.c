/* What this process runs: its command line, whether it is a part of the application, and which files are its
 * own text or work files. Launchers inherit the preloaded library as the ranks do, and would be counted among
 * these. A script is read like data and is none. */
#define _GNU_SOURCE
#include "process.h"
#include "files/files.h"
#include "record/record.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

#define N(array) (sizeof(array) / sizeof *(array))

char wt_arguments[32 << 10]; /* argv, each word with its zero */
unsigned wt_argc;

void wt_program_start(void) {
    int fd = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return;
    }
    ssize_t n = syscall(SYS_read, fd, wt_arguments, sizeof wt_arguments - 1);
    syscall(SYS_close, fd);
    for (ssize_t i = 0; i < n; i++) {
        wt_argc += wt_arguments[i] == 0;
    }
}

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool starts_with_any(const char *name, const char *const *starts, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (strncmp(name, starts[i], strlen(starts[i])) == 0) {
            return true;
        }
    }
    return false;
}

/* A name with or without a version: python, python3.11. */
static bool is_any(const char *name, const char *const *names, size_t n) {
    for (size_t i = 0; i < n; i++) {
        size_t length = strlen(names[i]);
        if (strncmp(name, names[i], length) == 0 &&
            name[length + strspn(name + length, "0123456789.-")] == 0) {
            return true;
        }
    }
    return false;
}

bool wt_is_python(void) {
    static const char *const names[] = {"python"};
    return is_any(program_invocation_short_name, names, N(names));
}

static const char *next_argument(const char *argument) {
    return argument + strlen(argument) + 1;
}

/* The script in the command line of an interpreter, as written there; NULL: none. `module` is set when it is
 * a module's name (python -m). */
static const char *script_argument(bool *module) {
    static const char *const interpreters[] = {"sh",     "dash", "bash", "ash", "ksh",   "zsh",     "fish",
                                               "python", "perl", "ruby", "lua", "tclsh", "Rscript", "node"};
    *module = false;
    if (wt_argc < 2 || !is_any(program_invocation_short_name, interpreters, N(interpreters))) {
        return NULL;
    }
    const char *word = next_argument(wt_arguments);
    for (unsigned i = 1; i < wt_argc; i++, word = next_argument(word)) {
        bool takes_value = strcmp(word, "-o") == 0 || strcmp(word, "-W") == 0 || strcmp(word, "-X") == 0;
        *module = strcmp(word, "-m") == 0;
        if (strcmp(word, "-c") == 0 || strcmp(word, "-") == 0) {
            return NULL; /* the next word is the text itself, or it comes from standard input */
        }
        if (word[0] != '-' && word[0] != '+') {
            return word;
        }
        if ((takes_value || *module) && i + 1 < wt_argc) {
            word = next_argument(word);
            i++;
        }
        if (*module) {
            return word;
        }
    }
    return NULL;
}

/* Launchers and their daemons are no part of the application, also where a script starts them; nor is this
 * tool itself, when a replay is traced (the ranks of the replay are). */
bool wt_is_launcher(void) {
    static const char *const names[] = {"mpirun", "mpiexec", "orterun", "orted",      "prterun", "prted",
                                        "hydra_", "pmi_",    "srun",    "slurmstepd", "ssh",     "strace"};
    bool module;
    const char *script = script_argument(&module);
    return starts_with_any(program_invocation_short_name, names, N(names)) ||
           (script != NULL && strcmp(base_name(script), "wavetank") == 0);
}

static bool same_file(const char *one, const char *other) {
    struct stat a, b;
    return syscall(SYS_newfstatat, AT_FDCWD, one, &a, 0) == 0 &&
           syscall(SYS_newfstatat, AT_FDCWD, other, &b, 0) == 0 && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino;
}

/* The program's own text is no data: its executable, the script that the kernel started by "#!", the script
 * in an interpreter's command line. Nor is the plan that a replay performs. */
void wt_program_leave_out(void) {
    static const char plan[] = "--plan=";
    bool module;
    const char *started = (const char *)getauxval(AT_EXECFN);
    const char *script = script_argument(&module);
    wt_leave_out("/proc/self/exe");
    if (started != NULL && !same_file(started, "/proc/self/exe")) {
        wt_leave_out(started);
    }
    if (script != NULL && !module) {
        wt_leave_out(script);
    }
    if (strncmp(program_invocation_short_name, "wavetank-replay", strlen("wavetank-replay")) == 0) {
        const char *word = wt_arguments;
        for (unsigned i = 0; i < wt_argc; i++, word = next_argument(word)) {
            if (strncmp(word, plan, strlen(plan)) == 0) {
                wt_leave_out(word + strlen(plan));
            }
        }
    }
}

/* ---- rank of a launcher ---- */

static long number_in(const char *name) {
    const char *text = getenv(name);
    return text && *text ? strtol(text, NULL, 10) : -1;
}

void wt_rank_by_launcher(void) {
    static const char *const ranks[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID"};
    static const char *const sizes[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "", "SLURM_NTASKS"};
    for (unsigned i = 0; i < 4; i++) {
        long rank = number_in(ranks[i]), size = sizes[i][0] ? number_in(sizes[i]) : -1;
        if (rank >= 0) {
            wt_meta_begin(WT_META_RANK);
            wt_meta_number((uint64_t)rank + 1);
            wt_meta_number(size > 0 ? (uint64_t)size : 0);
            wt_meta_number(WT_RANK_ENVIRONMENT);
            wt_meta_string("");
            wt_meta_end();
            wt_part_wanted = true;
            return;
        }
    }
}
