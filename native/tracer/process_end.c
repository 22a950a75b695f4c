/* Calls by which a process ends or becomes another program: nothing is left unwritten behind. They are no
 * part of what the tracer does at the process's end (lifecycle.c), since the end also comes without them. */
#define _GNU_SOURCE
#undef _FORTIFY_SOURCE
#include "lifecycle.h"
#include "symbols.h"
#include "untraced_programs.h"

#include <stdarg.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EXIT(name)                                                                                           \
    WT_EXPORT void name(int status) {                                                                        \
        WT_REAL(name);                                                                                       \
        wt_finish(WT_END_EXIT);                                                                              \
        real_##name(status);                                                                                 \
        for (;;) {                                                                                           \
            syscall(SYS_exit_group, status);                                                                 \
        }                                                                                                    \
    }
EXIT(_exit)
EXIT(_Exit)

WT_EXPORT int execve(const char *path, char *const argv[], char *const env[]) {
    WT_REAL(execve);
    wt_note_program(path, env);
    wt_finish(WT_END_EXEC);
    return real_execve(path, argv, env);
}
WT_EXPORT int execv(const char *path, char *const argv[]) {
    WT_REAL(execv);
    wt_note_program(path, environ);
    wt_finish(WT_END_EXEC);
    return real_execv(path, argv);
}
WT_EXPORT int execvp(const char *file, char *const argv[]) {
    WT_REAL(execvp);
    wt_note_program(file, environ);
    wt_finish(WT_END_EXEC);
    return real_execvp(file, argv);
}
WT_EXPORT int execvpe(const char *file, char *const argv[], char *const env[]) {
    WT_REAL(execvpe);
    wt_note_program(file, env);
    wt_finish(WT_END_EXEC);
    return real_execvpe(file, argv, env);
}
WT_EXPORT int fexecve(int fd, char *const argv[], char *const env[]) {
    WT_REAL(fexecve);
    wt_note_program_of(fd, NULL, env);
    wt_finish(WT_END_EXEC);
    return real_fexecve(fd, argv, env);
}
#if __GLIBC_PREREQ(2, 34)
WT_EXPORT int execveat(int directory, const char *path, char *const argv[], char *const env[], int flags) {
    WT_REAL(execveat);
    wt_note_program_of(directory, path, env);
    wt_finish(WT_END_EXEC);
    return real_execveat(directory, path, argv, env, flags);
}
#endif

/* The forms with a list of arguments: gathered into an array, as the C library does. */
#define GATHER(first)                                                                                        \
    va_list list;                                                                                            \
    size_t n = 1;                                                                                            \
    va_start(list, first);                                                                                   \
    while (va_arg(list, char *) != NULL) {                                                                   \
        n++;                                                                                                 \
    }                                                                                                        \
    va_end(list);                                                                                            \
    char *argv[n + 1];                                                                                       \
    va_start(list, first);                                                                                   \
    argv[0] = (char *)(uintptr_t)first;                                                                      \
    for (size_t i = 1; i <= n; i++) {                                                                        \
        argv[i] = va_arg(list, char *);                                                                      \
    }

WT_EXPORT int execl(const char *path, const char *first, ...) {
    GATHER(first)
    va_end(list);
    return execv(path, argv);
}
WT_EXPORT int execlp(const char *file, const char *first, ...) {
    GATHER(first)
    va_end(list);
    return execvp(file, argv);
}
WT_EXPORT int execle(const char *path, const char *first, ...) {
    GATHER(first)
    char *const *env = va_arg(list, char *const *);
    va_end(list);
    return execve(path, argv, env);
}
