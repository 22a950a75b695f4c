"""A file system that answers "File exists" to an open that may create a file, or find it, as MooseFS does to one of two nodes."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from replay_run import replay  # first: makes kernel_models importable

import kernel_models as km  # isort: skip
from wavetank.kernel.results.replay_output import OPENS_MADE_AGAIN
from wavetank.model.document.program import DataStep, FileStep, Program

_ANSWERS = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
static int answered;
static int answers(const char *path, int flags) {
    const char *name = strrchr(path, '/');
    return name && !strcmp(name, "/f") && (flags & O_CREAT) && answered++ < TIMES;
}
#define OPEN(name)                                                                                                     \
    int name(const char *path, int flags, ...) {                                                                       \
        va_list more;                                                                                                  \
        va_start(more, flags);                                                                                         \
        mode_t mode = flags & O_CREAT ? va_arg(more, mode_t) : 0;                                                      \
        va_end(more);                                                                                                  \
        if (answers(path, flags)) {                                                                                    \
            errno = EEXIST;                                                                                            \
            return -1;                                                                                                 \
        }                                                                                                              \
        return ((int (*)(const char *, int, ...))dlsym(RTLD_NEXT, #name))(path, flags, mode);                          \
    }
OPEN(open)
OPEN(open64)
"""


def exists(folder: Path, times: int) -> str:
    """A library under which the first opens of ``f`` that may create it fail with EEXIST."""
    source, library = folder / "open.c", folder / "open.so"
    source.write_text(_ANSWERS)
    flags = ["-U_FORTIFY_SOURCE", "-shared", "-fPIC", f"-DTIMES={times}"]
    subprocess.run(["gcc", *flags, "-o", library, source], check=True)
    return str(library)


def created(flags: int):
    phase = km.phase(1, 1, (0,), 4, [km.member("write", 100, 100)], [km.linear(b=100)])
    steps = (
        FileStep(iop_type="open", file_id=1, handle=0, flags=flags),
        DataStep(ph_id=1, n=4),
        FileStep(iop_type="close", file_id=1, handle=0),
    )
    return km.model(1, [km.model_file(1, "/s/f", 400)], [phase], [Program(ranks=(0,), steps=steps)])  # fmt: skip


def test_an_open_that_another_node_s_creation_met_is_made_again_and_counted(tmp_path, monkeypatch):
    monkeypatch.setenv("LD_PRELOAD", exists(tmp_path, 1))
    result, root = replay(created(km.O_RDWR | km.O_CREAT), tmp_path, "none")
    assert result.status == "ok", result.failure
    assert result.settings[OPENS_MADE_AGAIN] == "1"
    assert (root / "f").stat().st_size == 400


@pytest.mark.parametrize(("exclusive", "times"), [(0, 2), (km.O_EXCL, 1)])
def test_an_open_that_fails_twice_or_is_exclusive_fails_the_replay(
    tmp_path, monkeypatch, exclusive, times
):
    monkeypatch.setenv("LD_PRELOAD", exists(tmp_path, times))
    result, _ = replay(created(km.O_RDWR | km.O_CREAT | exclusive), tmp_path, "none")
    assert result.failure == "rank 0 open of f: File exists"


def test_an_open_that_is_not_answered_so_is_not_counted(tmp_path):
    result, _ = replay(created(km.O_RDWR | km.O_CREAT), tmp_path, "none")
    assert OPENS_MADE_AGAIN not in result.settings
