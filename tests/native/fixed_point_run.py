"""Goes round once: traces a program, makes its kernel, traces the kernel's replay, and compares the models."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from wavetank.document import provenance
from wavetank.kernel.construction.from_model import make_kernel
from wavetank.kernel.document.kernel import Kernel
from wavetank.model.document.model import Model
from wavetank.model.document.phase import Phase
from wavetank.model.document.program import DataStep, RepeatStep, Step
from wavetank.model.extract import extract_model
from wavetank.trace.capture import CaptureOptions, trace
from wavetank.trace.reader import read_trace


@dataclass(frozen=True)
class Round:
    """A program's model, the kernel made from it, and the model of the kernel's replay."""

    model: Model
    kernel: Kernel
    again: Model


def model_of(argv: list[str], folder: Path) -> Model:
    trace(argv, folder, CaptureOptions())
    return extract_model(read_trace(folder), provenance())


def go_round(family: str, argv: list[str], folder: Path, monkeypatch: pytest.MonkeyPatch) -> Round:
    work = folder / "work"
    work.mkdir(exist_ok=True)
    monkeypatch.chdir(work)
    return go_on(family, model_of(argv, folder / "first.trace"), folder)


def go_on(family: str, model: Model, folder: Path) -> Round:
    """The rest of the round, from a model on."""
    root = folder / "root"
    root.mkdir()
    model.write(folder / "model.json")
    kernel = make_kernel(model, folder / "model.json")
    kernel.write(folder / "kernel.json")
    replay = [
        sys.executable, "-m", "wavetank", "replay", str(folder / "kernel.json"), "--root", str(root),
        "--launcher", family,
    ]  # fmt: skip
    return Round(model, kernel, model_of(replay, folder / "second.trace"))


def described(phase: Phase, model: Model, names: dict[int, str]) -> dict[str, object]:
    """All of a phase but times, ticks and numbers that only hold within one model."""
    told = phase.model_dump(
        exclude={"ph_id", "file_id", "view_id", "view_ids", "memory", "start_s", "end_s", "io_time_s", "tick_first",
                 "tick_last", "pattern", "metadata_ops"}
    )  # fmt: skip
    told["pattern"] = [member.model_dump(exclude={"dist"}) for member in phase.pattern]
    told["file"] = names[phase.file_id]
    ids = phase.view_ids or ((phase.view_id,) if phase.view_id is not None else ())
    told["views"] = [model.views[view_id] for view_id in ids if view_id is not None]
    told["memory"] = [
        [None if view_id < 0 else model.views[view_id] for view_id in of_ranks]
        for of_ranks in phase.memory or ()
    ]
    told["metadata"] = {
        name: n
        for name, n in phase.metadata_ops.items()
        if name not in ("mmap", "munmap", "dup", "stat")
    }
    return told


def data_order(steps: tuple[Step, ...], numbers: dict[int, int]) -> list[tuple[int, int]]:
    """(phase, calls) in order, neighbours of one phase joined."""
    order: list[tuple[int, int]] = []

    def walk(some: tuple[Step, ...]) -> None:
        for step in some:
            if isinstance(step, RepeatStep):
                for _ in range(step.times):
                    walk(step.steps)
            elif isinstance(step, DataStep) and step.ph_id in numbers:
                number = numbers[step.ph_id]
                if order and order[-1][0] == number:
                    order[-1] = (number, order[-1][1] + step.n)
                else:
                    order.append((number, step.n))

    walk(steps)
    return order


def assert_equal(found: Round) -> None:
    performed = {phase.ph_id for phase in found.kernel.phases}
    names_again = {file.file_id: Path(file.file_name).name for file in found.again.files}
    names = {file.file_id: Path(file.name).name for file in found.kernel.files}
    first = [phase for phase in found.model.phases if phase.ph_id in performed]
    again = [
        phase
        for phase in found.again.phases
        if phase.level == "mpiio" or not is_mpi_file(found.again, phase.file_id)
    ]
    # Which of two ranks' phases has the lower number may be chance where messages order the ranks.
    first.sort(key=lambda phase: (phase.ph_processid, names[phase.file_id]))
    again.sort(key=lambda phase: (phase.ph_processid, names_again[phase.file_id]))
    expected = [described(phase, found.model, names) for phase in first]
    made = [described(phase, found.again, names_again) for phase in again]
    for one, other in zip(made, expected, strict=True):
        different = {key: (value, other[key]) for key, value in one.items() if value != other[key]}
        assert not different, f"{other['file']}: replay and application differ in {different}"
    numbers = {phase.ph_id: i for i, phase in enumerate(first)}
    numbers_again = {phase.ph_id: i for i, phase in enumerate(again)}
    orders = {r: data_order(p.steps, numbers) for p in found.model.programs for r in p.ranks}
    orders_again = {
        r: data_order(p.steps, numbers_again) for p in found.again.programs for r in p.ranks
    }
    assert orders_again == orders


def is_mpi_file(model: Model, file_id: int) -> bool:
    return any(phase.level == "mpiio" and phase.file_id == file_id for phase in model.phases)
