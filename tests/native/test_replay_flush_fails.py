"""What was written cannot be flushed: the storage below the file system is full, or the file is gone.

The full file system takes all writes into memory: its disk is a sparse image on a tmpfs that is too small for it.
That needs root.
"""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from replay_run import replay  # first: makes kernel_models importable

import kernel_models as km  # isort: skip
from waiting import until
from wavetank.model.document.program import DataStep, FileStep, Program

MIB = 2**20
COUNT = 24
OPEN = FileStep(iop_type="open", file_id=1, handle=0, flags=km.O_RDWR | km.O_CREAT)
CLOSE = FileStep(iop_type="close", file_id=1, handle=0)


@pytest.fixture
def full_storage(tmp_path):
    """A file system of 64 MiB whose disk holds 8 MiB; mounted at root, where the replay works."""
    if os.geteuid() != 0 or shutil.which("mkfs.ext4") is None:
        pytest.skip("needs root and mkfs.ext4")
    small, root = tmp_path / "small", tmp_path / "root"
    small.mkdir()
    root.mkdir()
    mounted: list[Path] = []
    try:
        run("mount", "-t", "tmpfs", "-o", "size=8m", "none", small)
        mounted.append(small)
        image = small / "image"
        with image.open("wb") as file:
            file.truncate(64 * MIB)
        run("mkfs.ext4", "-q", "-F", "-O", "^has_journal", image)
        run("mount", "-o", "loop", image, root)
        mounted.append(root)
        yield tmp_path
    finally:
        for path in reversed(mounted):
            # The loop device lets go of its image a moment after it was unmounted.
            until(lambda path=path: subprocess.run(["umount", path], check=False).returncode == 0)


def run(*argv: str | Path) -> None:
    subprocess.run([str(word) for word in argv], check=True)


def written(*more: FileStep):
    phase = km.phase(1, 1, (0,), COUNT, [km.member("pwrite", MIB, MIB)], [km.linear(b=MIB)])
    steps = (OPEN, DataStep(ph_id=1, n=COUNT), *more)
    return km.model(1, [km.model_file(1, "/s/f", COUNT * MIB)], [phase], [Program(ranks=(0,), steps=steps)])  # fmt: skip


@pytest.mark.parametrize(
    "more",
    [
        (FileStep(iop_type="fsync", file_id=1, handle=0), CLOSE),  # the application's own
        (CLOSE,),  # the flush at the end
        (),  # of a file that stays open
    ],
)
def test_what_cannot_be_flushed_fails_the_replay_and_names_the_file(full_storage, more):
    result, _ = replay(written(*more), full_storage, "none")
    assert result.status == "failed"
    assert result.failure is not None
    for words in ("fsync", "f", "No space left on device"):
        assert words in result.failure


_FSYNC_ANSWERS = r"""
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
__attribute__((constructor)) static void answer(void) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fsync, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ANSWER),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof code / sizeof *code, code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
        abort();
}
"""


def fsync_answers(folder: Path, error: int) -> str:
    """A library under which each fsync fails with an error."""
    source, library = folder / "fsync.c", folder / "fsync.so"
    source.write_text(_FSYNC_ANSWERS)
    run("gcc", "-shared", "-fPIC", f"-DANSWER={error}", "-o", library, source)
    return str(library)


@pytest.mark.parametrize("error", [errno.ENOENT, errno.ESTALE])
def test_a_file_that_another_rank_removed_needs_no_flush(tmp_path, monkeypatch, error):
    """As ABySS's rank 0 does to the contigs of the others, on GlusterFS."""
    monkeypatch.setenv("LD_PRELOAD", fsync_answers(tmp_path, error))
    result, _ = replay(written(CLOSE), tmp_path, "none")
    assert result.status == "ok", result.failure


def test_storage_that_fails_at_the_flush_fails_the_replay(tmp_path, monkeypatch):
    monkeypatch.setenv("LD_PRELOAD", fsync_answers(tmp_path, errno.EIO))
    result, _ = replay(written(CLOSE), tmp_path, "none")
    assert result.status == "failed"
    assert "Input/output error" in str(result.failure)
