"""Libraries before the system's own that take the machine's speed out of a replay's times: one says how long calls take, one counts sleeps.

Only calls of the replay program itself are meant; those of MPI libraries go on as they are.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

SIZE = 4096
"""Reads and writes of so many bytes take the told time; everything else takes none."""

_PROGRAM = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

struct where { uintptr_t address; bool is_there; };

static int look(struct dl_phdr_info *object, size_t size, void *data) {
    struct where *where = data;
    (void)size;
    for (int i = 0; i < object->dlpi_phnum; i++) {
        uintptr_t from = object->dlpi_addr + object->dlpi_phdr[i].p_vaddr;
        if (object->dlpi_phdr[i].p_type == PT_LOAD && where->address >= from &&
            where->address < from + object->dlpi_phdr[i].p_memsz)
            where->is_there = true;
    }
    return 1; /* the first object is the program; no other is looked at */
}

static bool is_of_the_program(void *caller) {
    struct where where = {(uintptr_t)caller, false};
    dl_iterate_phdr(look, &where);
    return where.is_there && strstr(program_invocation_name, "wavetank-replay");
}
"""

_TOLD = (
    _PROGRAM.replace("#include <dlfcn.h>", "#include <dlfcn.h>\n#include <errno.h>")
    + r"""
static int64_t now_ns = 1000000000000, n_moved;

int clock_gettime(clockid_t id, struct timespec *t) {
    if (id != CLOCK_MONOTONIC || !is_of_the_program(__builtin_return_address(0)))
        return REAL(clock_gettime)(id, t);
    *t = (struct timespec){.tv_sec = now_ns / 1000000000, .tv_nsec = now_ns % 1000000000};
    return 0;
}

static ssize_t takes_its_time(ssize_t moved) {
    now_ns += 1000 + n_moved * 7919 % 1009 * 100;
    n_moved++;
    return moved;
}

ssize_t pwrite64(int fd, const void *b, size_t size, off_t offset) {
    ssize_t moved = REAL(pwrite64)(fd, b, size, offset);
    return size == 4096 ? takes_its_time(moved) : moved;
}
ssize_t pwrite(int fd, const void *b, size_t size, off_t offset) {
    return pwrite64(fd, b, size, offset);
}
ssize_t pread64(int fd, void *b, size_t size, off_t offset) {
    ssize_t moved = REAL(pread64)(fd, b, size, offset);
    return size == 4096 ? takes_its_time(moved) : moved;
}
ssize_t pread(int fd, void *b, size_t size, off_t offset) {
    return pread64(fd, b, size, offset);
}
"""
)


def told_ns(number: int) -> int:
    """What a process's read or write takes, by its number from 0, ns: as above, 1000 to 101,800."""
    return 1000 + number * 7919 % 1009 * 100


_COUNTED = (
    _PROGRAM.replace("#include <dlfcn.h>", "#include <dlfcn.h>\n#include <errno.h>")
    + r"""
static int n_sleeps;

static void write_down(const char *what) {
    const char *rank = getenv("OMPI_COMM_WORLD_RANK");
    char path[4096];
    if (!rank)
        rank = getenv("PMI_RANK");
    snprintf(path, sizeof path, "%s-%s-%s", getenv("SLEEPS"), what, rank ? rank : "0");
    FILE *file = fopen(path, "w");
    fprintf(file, "%d", n_sleeps);
    fclose(file);
}

int clock_nanosleep(clockid_t id, int flags, const struct timespec *t, struct timespec *left) {
    if (is_of_the_program(__builtin_return_address(0))) {
        n_sleeps++;
        write_down("all");
    }
    return REAL(clock_nanosleep)(id, flags, t, left);
}

int nanosleep(const struct timespec *t, struct timespec *left) {
    if (is_of_the_program(__builtin_return_address(0))) {
        n_sleeps++;
        write_down("all");
    }
    return REAL(nanosleep)(t, left);
}

int MPI_Barrier(void *communicator) { /* an int in MPICH */
    int status = ((int (*)(void *))dlsym(RTLD_NEXT, "MPI_Barrier"))(communicator);
    write_down("met");
    return status;
}
"""
)


def _built(folder: Path, name: str, source: str) -> str:
    folder.mkdir(parents=True, exist_ok=True)
    library = folder / f"{name}.so"
    (folder / f"{name}.c").write_text(source)
    command = ["gcc", "-shared", "-fPIC", "-o", str(library), str(folder / f"{name}.c"), "-ldl"]
    subprocess.run(command, check=True)
    return str(library)


def told_times(folder: Path) -> dict[str, str]:
    """Variables under which each read and write takes ``told_ns``; the library is built in ``folder``."""
    return {"LD_PRELOAD": _built(folder, "told", _TOLD)}


def counted_sleeps(folder: Path) -> dict[str, str]:
    """Variables under which sleeps are counted in ``folder``."""
    return {"LD_PRELOAD": _built(folder, "counted", _COUNTED), "SLEEPS": str(folder / "sleeps")}


def n_sleeps(folder: Path, rank: int = 0, until: str = "all") -> int:
    """How often a rank's program slept: in ``all``, or until the ranks last ``met``."""
    path = folder / f"sleeps-{until}-{rank}"
    return int(path.read_text()) if path.exists() else 0
