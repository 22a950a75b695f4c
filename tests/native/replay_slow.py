"""A library before the system's own in which chosen calls take a known time longer."""

from __future__ import annotations

import subprocess
from pathlib import Path

SOURCE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>
#include <fcntl.h>

static void take(const char *call) {
    const char *calls = getenv("SLOW_CALLS"), *ms = getenv("SLOW_MS");
    if (!calls || !ms || !strstr(calls, call))
        return;
    long long ns = atoll(ms) * 1000000LL;
    struct timespec left = {ns / 1000000000, ns % 1000000000};
    while (nanosleep(&left, &left) != 0)
        ;
}

#define REAL(name, ...) ((__typeof__(name) *)dlsym(RTLD_NEXT, #name))(__VA_ARGS__)

int fsync(int fd) {
    take("fsync");
    return REAL(fsync, fd);
}
int rename(const char *a, const char *b) {
    take("rename");
    return REAL(rename, a, b);
}
ssize_t pwrite64(int fd, const void *b, size_t n, off64_t at) {
    if (n == 4096)
        take("pwrite");
    return REAL(pwrite64, fd, b, n, at);
}
ssize_t pwrite(int fd, const void *b, size_t n, off_t at) {
    return pwrite64(fd, b, n, at);
}
"""


def environment(folder: Path, calls: str, ms: int) -> dict[str, str]:
    """Variables under which each of these calls takes so much longer.

    Args:
        folder: the library is built there.
        calls: names with a space between: fsync, rename, pwrite (of 4096 bytes).
        ms: milliseconds; a sleep is never shorter.
    """
    source, library = folder / "slow.c", folder / "slow.so"
    source.write_text(SOURCE)
    command = [
        "gcc",
        "-shared",
        "-fPIC",
        "-D_LARGEFILE64_SOURCE",
        "-o",
        str(library),
        str(source),
        "-ldl",
    ]
    subprocess.run(command, check=True)
    return {"LD_PRELOAD": str(library), "SLOW_CALLS": calls, "SLOW_MS": str(ms)}
