/* Programs that a traced process starts and that will not load this library: it is noted why. Their I/O is
 * missing in the trace, and only the process that starts them can say so. */
#define _GNU_SOURCE
#include "untraced_programs.h"
#include "record/record.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MOST_PARTS 64    /* program headers that are looked at */
#define MOST_NOTE 1024   /* bytes of a program's notes that are looked at */
#define MOST_SCRIPTS 4   /* scripts whose interpreter is a script, as Linux has it */
#define N_REMEMBERED 16u /* programs that are not noted again */

enum kind { TRACEABLE, STATIC, OTHER_CLASS, GO };

/* The Go compiler's note: its name is "Go", and so is that of its build. */
static bool is_gos(int fd, const Elf64_Phdr *part) {
    static const char name[] = "Go\0";
    char bytes[MOST_NOTE];
    size_t n = part->p_filesz < sizeof bytes ? part->p_filesz : sizeof bytes;
    Elf64_Nhdr head;
    if (syscall(SYS_pread64, fd, bytes, n, (long)part->p_offset) != (long)n) {
        return false;
    }
    for (size_t at = 0; at + sizeof head <= n;) {
        memcpy(&head, bytes + at, sizeof head);
        at += sizeof head;
        if (head.n_namesz == sizeof name && at + sizeof name <= n &&
            memcmp(bytes + at, name, sizeof name) == 0) {
            return true;
        }
        if (head.n_namesz > n || head.n_descsz > n) {
            return false;
        }
        at += ((head.n_namesz + 3u) & ~3u) + ((head.n_descsz + 3u) & ~3u);
    }
    return false;
}

static enum kind kind_of_elf(int fd, const Elf64_Ehdr *head) {
    static Elf64_Phdr parts[MOST_PARTS]; /* under the lock */
    if (head->e_ident[EI_CLASS] != ELFCLASS64) {
        return OTHER_CLASS;
    }
    size_t bytes = head->e_phnum * sizeof *parts;
    if (head->e_phentsize != sizeof *parts || head->e_phnum > MOST_PARTS ||
        syscall(SYS_pread64, fd, parts, bytes, (long)head->e_phoff) != (long)bytes) {
        return TRACEABLE; /* nothing is known, nothing is said */
    }
    bool loads = false, go = false;
    for (int i = 0; i < head->e_phnum; i++) {
        loads = loads || parts[i].p_type == PT_INTERP;
        go = go || (parts[i].p_type == PT_NOTE && is_gos(fd, &parts[i]));
    }
    return !loads ? STATIC : go ? GO : TRACEABLE;
}

/* What a file is. Of a script the interpreter's path is put into `interpreter`; else that is empty. */
static enum kind kind_of(const char *path, char *interpreter) {
    union {
        Elf64_Ehdr elf;
        char text[256];
    } head = {.text = {0}};
    enum kind kind = TRACEABLE;
    *interpreter = 0;
    int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return kind;
    }
    long n = syscall(SYS_pread64, fd, &head, sizeof head - 1, 0L);
    if (n >= (long)sizeof head.elf && memcmp(head.elf.e_ident, ELFMAG, SELFMAG) == 0) {
        kind = kind_of_elf(fd, &head.elf);
    } else if (n > 2 && memcmp(head.text, "#!", 2) == 0) {
        char *word = head.text + 2 + strspn(head.text + 2, " \t");
        word[strcspn(word, " \t\n")] = 0;
        strcpy(interpreter, word);
    }
    syscall(SYS_close, fd);
    return kind;
}

/* The program that exec would find by PATH. */
static bool find_program(const char *file, char *path) {
    size_t n = strlen(file);
    const char *search = getenv("PATH");
    search = search != NULL ? search : "/bin:/usr/bin"; /* as the C library has it */
    if (strchr(file, '/') != NULL) {
        return n < WT_PATH_BYTES && memcpy(path, file, n + 1);
    }
    for (const char *end; *search; search = *end ? end + 1 : end) {
        end = strchrnul(search, ':');
        size_t length = (size_t)(end - search);
        if (length + n + 2 <= WT_PATH_BYTES) {
            memcpy(path, search, length);
            path[length] = '/';
            memcpy(path + length + 1, file, n + 1);
            if (syscall(SYS_faccessat, AT_FDCWD, path, X_OK) == 0) {
                return true;
            }
        }
    }
    return false;
}

/* The loader leaves out what is preloaded where a program gets rights that its starter does not have. */
static bool gets_rights(const char *path) {
    struct stat facts;
    if (syscall(SYS_newfstatat, AT_FDCWD, path, &facts, 0) != 0) {
        return false;
    }
    bool user = (uid_t)syscall(SYS_geteuid) != 0; /* root has nothing to gain by capabilities */
    if (user && syscall(SYS_getxattr, path, "security.capability", NULL, 0) > 0) {
        return true;
    }
    return ((facts.st_mode & S_ISUID) && facts.st_uid != (uid_t)syscall(SYS_geteuid)) ||
           ((facts.st_mode & S_ISGID) && facts.st_gid != (gid_t)syscall(SYS_getegid));
}

/* The value of a variable in an environment; NULL: it is not there. */
static const char *value_in(char *const env[], const char *name) {
    size_t n = strlen(name);
    for (size_t i = 0; env != NULL && env[i] != NULL; i++) {
        if (strncmp(env[i], name, n) == 0 && env[i][n] == '=') {
            return env[i] + n + 1;
        }
    }
    return NULL;
}

static bool preloads_us(char *const env[]) {
    const char *preload = value_in(env, "LD_PRELOAD"), *directory = value_in(env, "WAVETANK_TRACE_DIR");
    return preload != NULL && strstr(preload, "libwavetank-trace") != NULL && directory != NULL &&
           *directory == '/';
}

/* Whether this was noted lately: a loop may start one program many times. */
static bool again(enum wt_note note, const char *path) {
    static uint64_t seen[N_REMEMBERED];
    static unsigned next;
    uint64_t hash = 1469598103934665603u ^ note; /* FNV-1a */
    for (const char *at = path; *at; at++) {
        hash = (hash ^ (unsigned char)*at) * 1099511628211u;
    }
    for (unsigned i = 0; i < N_REMEMBERED; i++) {
        if (seen[i] == hash) {
            return true;
        }
    }
    seen[next++ % N_REMEMBERED] = hash;
    return false;
}

/* Why the process that a program becomes will not be seen; 0: it will be. */
static enum wt_note reason_of(const char *path, char *const env[]) {
    static char interpreter[2][256]; /* under the lock */
    bool rights = false;
    for (int depth = 0; depth <= MOST_SCRIPTS; depth++) {
        char *next = interpreter[depth % 2];
        enum kind kind = kind_of(path, next);
        if (kind != TRACEABLE) {
            return kind == STATIC ? WT_NOTE_UNSEEN : kind == GO ? WT_NOTE_GO : WT_NOTE_OTHER_CLASS;
        }
        if (*next == 0) {
            rights = gets_rights(path); /* a script's own do not count */
            break;
        }
        path = next;
    }
    return rights ? WT_NOTE_RIGHTS : preloads_us(env) ? 0 : WT_NOTE_UNLOADED;
}

void wt_note_program(const char *file, char *const env[]) {
    static char path[WT_PATH_BYTES]; /* under the lock: stacks may be small here */
    if (!wt_active || wt_inside || file == NULL) {
        return;
    }
    int saved = errno;
    wt_lock();
    if (find_program(file, path) && syscall(SYS_faccessat, AT_FDCWD, path, X_OK) == 0) {
        enum wt_note note = reason_of(path, env);
        if (note != 0 && !again(note, path)) {
            wt_meta_begin(WT_META_NOTE);
            wt_meta_number(note);
            wt_meta_string(path);
            wt_meta_end();
            wt_part_wanted = true;
        }
    }
    wt_unlock();
    errno = saved;
}

void wt_note_program_of(int directory, const char *name, char *const env[]) {
    char path[WT_PATH_BYTES], link[40] = "/proc/self/fd/";
    if (name != NULL && (*name == '/' || (directory == AT_FDCWD && *name != 0))) {
        wt_note_program(name, env);
        return;
    }
    char *digits = link + strlen(link);
    unsigned place = 1;
    for (int rest = directory; rest >= 10; rest /= 10) {
        place *= 10;
    }
    for (; directory >= 0 && place > 0; place /= 10) {
        *digits++ = (char)('0' + (unsigned)directory / place % 10);
    }
    int saved = errno;
    long n = syscall(SYS_readlinkat, AT_FDCWD, link, path, sizeof path - 1);
    if (n > 0 && *path == '/') {
        path[n] = 0;
        if (name != NULL && *name != 0 && (size_t)n + strlen(name) + 2 <= sizeof path) {
            path[n] = '/';
            strcpy(path + n + 1, name);
        }
        wt_note_program(path, env);
    }
    errno = saved;
}
