"""Compiles the tracer's test programs and runs them under it."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from waiting import HANG_S
from wavetank import native
from wavetank.trace.capture import CaptureOptions, trace
from wavetank.trace.events import unfold
from wavetank.trace.ops import OPS
from wavetank.trace.reader import read_trace
from wavetank.trace.schema import Trace

PROGRAMS = Path(__file__).parent / "programs"
FAMILIES = {
    "openmpi": ("mpicc.openmpi", "mpif90.openmpi", ["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe"]),
    "mpich": ("mpicc.mpich", "mpif90.mpich", ["mpirun.mpich"]),
}  # fmt: skip


@dataclass(frozen=True)
class Call:
    """One operation as a test writes it down: name, file's base name, offset, bytes asked and moved."""

    op: str
    file: str | None
    offset: int = -1
    size: int = 0
    moved: int = 0


def need(library: str, *programs: str) -> None:
    """Skip where the tracer is not built or a compiler or launcher is missing."""
    if not native.available(f"lib/{library}"):
        pytest.skip(f"lib/{library} is not built (make setup)")
    for program in programs:
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")


def compile_c(source: str, out: Path, *flags: str, compiler: str = "gcc") -> Path:
    """Compile a program of tests/native/programs."""
    subprocess.run(
        [compiler, "-O2", "-o", str(out), str(PROGRAMS / source), *flags],
        check=True,
        timeout=HANG_S,
    )
    return out


def run_traced(
    argv: list[str], where: Path, monkeypatch: pytest.MonkeyPatch, **options: object
) -> Trace:
    """Run a command in ``where`` under the tracer, and read the trace back."""
    monkeypatch.chdir(where)
    folder = where / "run.trace"
    trace(argv, folder, CaptureOptions(**options))  # type: ignore[arg-type]
    return read_trace(folder)


def calls(trace_: Trace, rank: int = 0, level: int | None = None) -> list[Call]:
    """The operations of a rank, in order."""
    events = unfold(trace_.folds)
    found = []
    for i in range(len(events)):
        op = OPS[int(events.op[i])]
        if events.rank[i] != rank or (level is not None and op.level != level):
            continue
        file = Path(trace_.files[events.file[i]].path).name if events.file[i] >= 0 else None
        found.append(
            Call(op.name, file, int(events.offset[i]), int(events.size[i]), int(events.moved[i]))
        )
    return found
