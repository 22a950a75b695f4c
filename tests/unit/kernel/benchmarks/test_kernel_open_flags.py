"""O_DIRECT, O_SYNC and O_DSYNC of an application in the lines of benchmarks, or named where they are left out."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import kernel_models as km
import pytest

from wavetank.kernel.benchmarks.fio import fio_plan
from wavetank.kernel.benchmarks.ior import ior_lines, parse_command
from wavetank.kernel.construction.from_model import make_kernel
from wavetank.kernel.document.kernel import Kernel
from wavetank.model.document.program import DataStep, FileStep, Program, Step
from wavetank.notes import texts

FLAGS = os.O_WRONLY | os.O_CREAT


def opened(flags: int) -> FileStep:
    return FileStep(iop_type="open", file_id=1, handle=0, flags=flags)


CLOSED = FileStep(iop_type="close", file_id=1, handle=0)


def kernel_of(steps: Sequence[Step], folder: Path, size: int = 4096, n: int = 4) -> Kernel:
    """A rank writes n blocks one after another."""
    one = km.phase(1, 1, (0,), n, [km.member("write", size, size)], [km.linear(b=size)])
    made = km.model(1, [km.model_file(1, "/s/f", size * n)], [one], [Program(ranks=(0,), steps=tuple(steps))])  # fmt: skip
    return make_kernel(made, km.written(made, folder))


def once(flags: int) -> list[Step]:
    return [opened(flags), DataStep(ph_id=1, n=4), CLOSED]


def test_o_direct_is_an_option_of_both(tmp_path: Path) -> None:
    kernel = kernel_of(once(FLAGS | os.O_DIRECT), tmp_path)
    (line,), _ = ior_lines(kernel, ())
    assert "--posix.odirect" in line.command.split()
    assert parse_command(line.command).direct
    (older,), _ = ior_lines(kernel, (), "3.3")
    assert "-B" in older.command.split() and parse_command(older.command).direct
    assert "direct=1" in fio_plan(kernel).text().splitlines()


@pytest.mark.parametrize(("flag", "option"), [(os.O_SYNC, "sync"), (os.O_DSYNC, "dsync")])
def test_synchronous_writes_are_options_of_fio_and_fsyncs_of_ior(
    flag: int, option: str, tmp_path: Path
) -> None:
    kernel = kernel_of(once(FLAGS | flag), tmp_path)
    (line,), _ = ior_lines(kernel, ())
    assert "-Y" in line.command.split() and "--posix.odirect" not in line.command.split()
    assert any(f"O_{option.upper()}" in text for text in texts(line.not_reproduced))
    assert f"sync={option}" in fio_plan(kernel).text().splitlines()


def test_plain_opens_need_no_option(tmp_path: Path) -> None:
    kernel = kernel_of(once(FLAGS), tmp_path)
    (line,), _ = ior_lines(kernel, ())
    assert not {"-Y", "--posix.odirect"} & set(line.command.split())
    assert not {"direct=1", "sync=sync", "sync=dsync"} & set(fio_plan(kernel).text().splitlines())


def test_what_no_option_can_say_is_named(tmp_path: Path) -> None:
    two = [DataStep(ph_id=1, n=2), CLOSED]
    mixed = [opened(FLAGS | os.O_DIRECT), *two, opened(FLAGS), *two]
    for kernel in (
        kernel_of(mixed, tmp_path),
        kernel_of(once(FLAGS | os.O_DIRECT), tmp_path, size=1000),
    ):
        (line,), _ = ior_lines(kernel, ())
        plan = fio_plan(kernel)
        assert "--posix.odirect" not in line.command and "direct=1" not in plan.text()
        for notes in (line.not_reproduced, plan.not_reproduced[1]):
            assert any("O_DIRECT is left out" in text for text in texts(notes))
