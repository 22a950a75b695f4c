"""A library before the system's own in which one rank's n-th write of 4096 bytes goes wrong."""

from __future__ import annotations

import subprocess
from pathlib import Path

import kernel_models as km

from wavetank.model.document.model import Model
from wavetank.model.document.program import DataStep, FileStep, Program, SyncStep

SIZE = 4096
COUNT = 8

SOURCE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int is_the_rank(void) {
    const char *rank = getenv("OMPI_COMM_WORLD_RANK");
    if (!rank)
        rank = getenv("PMI_RANK");
    if (!rank)
        rank = getenv("SLURM_PROCID");
    return atoi(rank ? rank : "0") == atoi(getenv("FAULT_RANK"));
}

ssize_t pwrite64(int fd, const void *b, size_t size, off_t offset) {
    static ssize_t (*real)(int, const void *, size_t, off_t);
    static int n;
    if (!real)
        real = (ssize_t (*)(int, const void *, size_t, off_t))dlsym(RTLD_NEXT, "pwrite64");
    if (size == 4096 && is_the_rank() && n++ == atoi(getenv("FAULT_AT"))) {
        const char *what = getenv("FAULT");
        int number = atoi(what + 1);
        if (*what == 's')
            raise(number);
        if (*what == 'x')
            exit(number);
        if (*what == 'u') {
            char path[64], name[4096];
            snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
            ssize_t length = readlink(path, name, sizeof name - 1);
            name[length < 0 ? 0 : length] = 0;
            unlink(name);
            return real(fd, b, size, offset);
        }
        if (*what == 'c') {
            char wrong[4096];
            memcpy(wrong, b, size);
            wrong[number] ^= 1;
            return real(fd, wrong, size, offset);
        }
        if (*what == 'z')
            for (;;)
                pause();
        errno = number;
        return -1;
    }
    return real(fd, b, size, offset);
}
ssize_t pwrite(int fd, const void *b, size_t size, off_t offset) {
    return pwrite64(fd, b, size, offset);
}
"""


def environment(folder: Path, fault: str, rank: int, at: int) -> dict[str, str]:
    """Variables under which rank ``rank`` meets the fault in its write number ``at``, from 0.

    Args:
        folder: the library is built there.
        fault: "e" and an errno, "s" and a signal, "x" and an exit status, "c" and a byte that is
            written wrong, "u" to unlink the file, "z" to sleep.
        rank: of MPI_COMM_WORLD.
        at: how many writes go well before.
    """
    source, library = folder / "faulty.c", folder / "faulty.so"
    source.write_text(SOURCE)
    command = ["gcc", "-shared", "-fPIC", "-o", str(library), str(source), "-ldl"]
    subprocess.run(command, check=True)
    return {
        "LD_PRELOAD": str(library),
        "FAULT": fault,
        "FAULT_RANK": str(rank),
        "FAULT_AT": str(at),
    }


def writers(n_ranks: int, *, read_back: bool = False) -> Model:
    """Each rank writes a file of its own, then all meet; and reads it again where that is asked for."""
    ranks = tuple(range(n_ranks))
    phases = [
        km.phase(r + 1, r + 1, (r,), COUNT, [km.member("pwrite", SIZE, SIZE)], [km.linear(b=SIZE)])
        for r in ranks
    ]
    reading = [
        km.phase(
            n_ranks + r + 1, r + 1, (r,), COUNT, [km.member("pread", SIZE, SIZE)], [km.linear(b=SIZE)]
        )
        for r in ranks
    ]  # fmt: skip
    programs = [
        Program(
            ranks=(r,),
            steps=(
                FileStep(iop_type="open", file_id=r + 1, handle=0, flags=km.O_RDWR | km.O_CREAT),
                DataStep(ph_id=r + 1, n=COUNT),
                *([DataStep(ph_id=n_ranks + r + 1, n=COUNT)] if read_back else []),
                FileStep(iop_type="close", file_id=r + 1, handle=0),
                SyncStep(communicator=0),
                SyncStep(communicator=0),
            ),
        )
        for r in ranks
    ]
    files = [km.model_file(r + 1, f"/s/out-{r}", COUNT * SIZE) for r in ranks]
    phases += reading if read_back else []
    return km.model(n_ranks, files, phases, programs, communicators=(ranks,), name="writers")
