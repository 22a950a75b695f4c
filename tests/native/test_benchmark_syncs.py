"""fio and IOR have written data on storage as their jobs and lines say: the programs are run under the tracer."""

from __future__ import annotations

import shutil
from pathlib import Path

import kernel_models as km
import pytest
from tracer_run import need

from wavetank.job import Job
from wavetank.kernel.benchmarks.fio import fio_plan
from wavetank.kernel.benchmarks.ior import parse_command
from wavetank.kernel.benchmarks.syncs import SYNCS
from wavetank.kernel.construction.from_model import make_kernel
from wavetank.kernel.document.kernel import Kernel
from wavetank.launchers.registry import launcher
from wavetank.model.document.program import (
    DataStep,
    FileStep,
    Program,
    RepeatStep,
    Step,
    given_by_number,
)
from wavetank.notes import texts
from wavetank.trace.capture import CaptureOptions, trace
from wavetank.trace.events import unfold
from wavetank.trace.ops import OPS
from wavetank.trace.reader import read_trace

ONE = DataStep(ph_id=1, n=1)


def sync(call: str) -> FileStep:
    return FileStep(iop_type=call, file_id=1, handle=0)


def kernel_of(steps: list[Step], folder: Path, call: str, n_ranks: int) -> Kernel:
    """Each rank writes 6 blocks of 64 bytes of its share of one file."""
    opens = "MPI_File_open" if call.startswith("MPI") else "open"
    ranks = tuple(range(n_ranks))
    one = km.phase(1, 1, ranks, 6, [km.member(call, 64, 64)], [km.linear(a=384, b=64)])
    opening = FileStep(
        iop_type=opens, file_id=1, handle=0, **given_by_number(opens, km.O_RDWR | km.O_CREAT)
    )
    closing = FileStep(iop_type=opens.replace("open", "close"), file_id=1, handle=0)
    program = Program(ranks=ranks, steps=(opening, *steps, closing))
    made = km.model(n_ranks, [km.model_file(1, "/s/f", 384 * n_ranks)], [one], [program])
    return make_kernel(made, km.written(made, folder))


def writes_and_syncs(argv: list[str], folder: Path, *, mpi: bool) -> dict[int, str]:
    """What each process that writes the file does to it: w of a write, s of a call that puts it on storage."""
    captured = trace(argv, folder / "benchmark.trace", CaptureOptions())
    assert captured.index.exit_status == 0
    made = read_trace(folder / "benchmark.trace")
    events = unfold(made.folds)
    found: dict[int, str] = {}
    for i in range(len(events)):
        name = OPS[int(events.op[i])].name
        if name.startswith("MPI_") != mpi or events.file[i] < 0:
            continue
        if Path(made.files[events.file[i]].path).name == "f":
            kind = "s" if name in SYNCS else "w" if "write" in name else ""
            found[int(events.rank[i])] = found.get(int(events.rank[i]), "") + kind
    return {rank: text for rank, text in found.items() if "w" in text}


@pytest.mark.parametrize(
    ("steps", "done"),
    [
        ([RepeatStep(times=6, steps=(ONE, sync("fsync")))], "wswswswswsws"),
        ([RepeatStep(times=5, steps=(ONE, sync("fdatasync"))), ONE], "wswswswswsw"),
        ([RepeatStep(times=2, steps=(DataStep(ph_id=1, n=3), sync("fsync")))], "wwwswwws"),
        ([DataStep(ph_id=1, n=4), sync("fsync"), DataStep(ph_id=1, n=2)], "wwwwsww"),
        ([DataStep(ph_id=1, n=6), sync("fsync")], "wwwwwws"),
        ([DataStep(ph_id=1, n=6)], "wwwwww"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_fio_makes_the_applications_syncs(steps, done, tmp_path, monkeypatch):
    need("libwavetank-trace.so", "fio")
    plan = fio_plan(kernel_of(steps, tmp_path, "write", 1))
    (tmp_path / "kernel.fio").write_text(plan.text())
    root = tmp_path / "root"
    root.mkdir()
    monkeypatch.chdir(root)
    made = writes_and_syncs(["fio", str(tmp_path / "kernel.fio")], tmp_path, mpi=False)
    assert list(made.values()) == [done]


@pytest.mark.optional
@pytest.mark.parametrize(
    ("call", "steps", "done"),
    [
        # IOR 4.0 calls fsync twice after each POSIX write; its line says so.
        ("write", [RepeatStep(times=6, steps=(ONE, sync("fsync")))], "wss" * 6),
        ("write", [DataStep(ph_id=1, n=6), sync("fsync")], "wwwwwws"),
        ("MPI_File_write_at", [RepeatStep(times=6, steps=(ONE, sync("MPI_File_sync")))], "ws" * 6),
        ("MPI_File_write_at", [DataStep(ph_id=1, n=6), sync("MPI_File_sync")], "wwwwwws"),
        ("MPI_File_write_at", [DataStep(ph_id=1, n=6)], "wwwwww"),
    ],
)
def test_ior_makes_the_syncs_that_its_line_says(call, steps, done, tmp_path, monkeypatch):
    program = shutil.which("ior")
    if program is None:
        pytest.skip("ior is not installed (no Debian package brings it)")
    family = "mpich" if b"libmpich" in Path(program).read_bytes() else "openmpi"
    need(f"libwavetank-trace-{family}.so")
    (line,) = kernel_of(steps, tmp_path, call, 2).ior
    words = line.command.split()
    root = tmp_path / "root"
    root.mkdir()
    monkeypatch.chdir(root)
    job = Job((program, *words[words.index("ior") + 1 :]), parse_command(line.command).n_tasks)
    argv = launcher(family).command(job, tmp_path)
    made = writes_and_syncs(argv, tmp_path, mpi=call.startswith("MPI"))
    assert made == {0: done, 1: done}
    assert ("calls fsync twice" in " ".join(texts(line.not_reproduced))) == ("ss" in done)
