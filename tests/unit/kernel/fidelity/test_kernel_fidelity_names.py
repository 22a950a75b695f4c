"""The certificate sees calls that would find other files than they found, and phases that are separated elsewhere."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Any

import kernel_models as km
import pytest

from wavetank.kernel.construction.from_model import make_kernel
from wavetank.kernel.document.kernel import Kernel
from wavetank.kernel.fidelity.certificate import replay_fidelity
from wavetank.kernel.fidelity.rows import PhaseFidelity
from wavetank.model.document.model import Model
from wavetank.model.document.program import DataStep, FileStep, Program, RepeatStep, Step
from wavetank.notes import texts

WRITES = km.phase(1, 1, (0,), 4, [km.member("write", 100, 100)], [km.linear(b=100)])
OPEN = FileStep(iop_type="open", file_id=1, handle=0, flags=km.O_RDWR)
MAKE = OPEN.model_copy(update={"flags": km.O_RDWR | km.O_CREAT | km.O_TRUNC})
CLOSE = FileStep(iop_type="close", file_id=1, handle=0)


def model_of(*steps: Step, before: int | None = 96) -> Model:
    return km.model(
        1, [km.model_file(1, "/run/f", 400, before)], [WRITES], [Program(ranks=(0,), steps=steps)]
    )


def kernel_of(model: Model, folder: Path, **of_file: Any) -> Kernel:
    kernel = make_kernel(model, km.written(model, folder))
    files = tuple(file.model_copy(update=of_file) for file in kernel.files)
    return kernel.model_copy(update={"files": files})


def other_calls(kernel: Kernel, model: Model) -> PhaseFidelity:
    return replay_fidelity(kernel, model)[-1]


def test_an_open_that_would_not_find_its_file_is_found(tmp_path):
    model = model_of(OPEN, CLOSE, MAKE, DataStep(ph_id=1, n=4), CLOSE)
    assert other_calls(kernel_of(model, tmp_path), model).exact
    row = other_calls(kernel_of(model, tmp_path, role="output", prepare_bytes=0), model)
    assert row.differences == ("rank 0: open of f would fail: it is not there",)


def test_a_file_of_another_size_than_it_had_is_found(tmp_path):
    model = model_of(OPEN, DataStep(ph_id=1, n=4), CLOSE)
    row = other_calls(kernel_of(model, tmp_path, prepare_bytes=0), model)
    assert row.differences == ("f has 0 bytes beforehand, it had 96",)


def test_a_file_that_is_in_the_way_of_an_exclusive_open_is_found(tmp_path):
    exclusive = MAKE.model_copy(update={"flags": km.O_RDWR | km.O_CREAT | 0o200})
    model = model_of(exclusive, DataStep(ph_id=1, n=4), CLOSE, before=None)
    assert other_calls(kernel_of(model, tmp_path), model).exact
    row = other_calls(kernel_of(model, tmp_path, role="input"), model)
    assert row.differences == ("rank 0: open of f would fail: it is there already",)


def test_a_file_that_is_removed_in_a_loop_is_missed_in_the_second_repetition(tmp_path):
    unlink = FileStep(iop_type="unlink", file_id=1, handle=-1)
    again = RepeatStep(times=3, steps=(OPEN, CLOSE, unlink))
    model = model_of(MAKE, DataStep(ph_id=1, n=4), CLOSE, again, before=None)
    (difference,) = other_calls(kernel_of(model, tmp_path), model).differences
    assert difference == "rank 0: open of f would fail: it is not there"


@pytest.mark.parametrize(
    ("name", "error", "told"),
    [("fsync", errno.EIO, "1 fsync calls are left out"), ("open", errno.EACCES, None)],
)
def test_a_failure_that_the_replay_cannot_repeat_is_no_exact_one(tmp_path, name, error, told):
    failing = FileStep(iop_type=name, file_id=1, handle=0, error=error)
    model = model_of(OPEN, failing, DataStep(ph_id=1, n=4), CLOSE)
    kernel = kernel_of(model, tmp_path)
    row = other_calls(kernel, model)
    assert row.differences == ((told,) if told else ())
    assert any(f"1 {name} ({errno.errorcode[error]})" in text for text in texts(kernel.notes))


@pytest.mark.parametrize(
    ("mode", "error", "before", "succeeds"),
    [
        (
            km.MPI_CREATE_RDWR,
            errno.EIO,
            None,
            True,
        ),  # Open MPI 4.1 opens no shared file by a bare name
        (km.MPI_CREATE_RDWR, errno.EACCES, 96, True),
        (km.MPI_CREATE_RDWR | 64, errno.EEXIST, 96, False),  # MPI_MODE_EXCL
        (km.MPI_CREATE_RDWR | 64, errno.EIO, None, True),
        (km.MPI_RDONLY, errno.ENOENT, None, False),
        (km.MPI_RDONLY, errno.EACCES, 96, True),
    ],
)
def test_an_mpi_open_that_failed_and_would_succeed_is_no_exact_one(
    mode, error, before, succeeds, tmp_path
):
    failing = FileStep(
        iop_type="MPI_File_open", file_id=1, handle=0, mpi_mode=mode, error=error, communicator=0
    )
    opening = failing.model_copy(update={"mpi_mode": km.MPI_RDONLY, "error": 0})
    closing = opening.model_copy(update={"iop_type": "MPI_File_close", "mpi_mode": 0})
    steps = (failing, *((opening, closing) if before else ()))
    file = km.model_file(1, "/run/f", 400, before)
    model = km.model(
        1, [file], [], [Program(ranks=(0,), steps=steps)], communicators=((0,),)
    )  # fmt: skip
    row = other_calls(make_kernel(model, km.written(model, tmp_path)), model)
    told = "rank 0: MPI_File_open of f failed, and would succeed"
    assert row.differences == ((told,) if succeeds else ())
