"""What a certificate says of benchmarks is what they do: each program is run under the tracer, and compared."""

from __future__ import annotations

import shutil
from collections import defaultdict
from itertools import chain
from pathlib import Path

import pytest
from tracer_run import need

import kernel_models as km  # isort: skip
from wavetank.job import Job
from wavetank.kernel.benchmarks.fio import fio_plan
from wavetank.kernel.benchmarks.ior import IorParameters, parse_command
from wavetank.kernel.construction.from_model import make_kernel
from wavetank.kernel.document.kernel import Kernel
from wavetank.kernel.execution.ior_program import find_ior
from wavetank.kernel.preparation.input_files import prepare_files
from wavetank.launchers.registry import launcher
from wavetank.model.document.phase import Run
from wavetank.model.document.program import DataStep, FileStep, Program
from wavetank.trace.capture import CaptureOptions, trace
from wavetank.trace.events import unfold
from wavetank.trace.ops import OPS
from wavetank.trace.reader import read_trace

Operation = tuple[str, int, int]  # file, offset, size
PROGRAM_OF_NO_PACKAGE = "(no Debian package brings it)"


def data_operations(argv: list[str], where: Path, *, mpi: bool) -> dict[int, list[Operation]]:
    """Data operations by rank on files in ``where``, of one level, in order."""
    folder = where.parent / "benchmark.trace"
    shutil.rmtree(folder, ignore_errors=True)
    captured = trace(argv, folder, CaptureOptions())
    assert captured.index.exit_status == 0
    made = read_trace(folder)
    events = unfold(made.folds)
    found: defaultdict[int, list[Operation]] = defaultdict(list)
    for i in range(len(events)):
        name = OPS[int(events.op[i])].name
        if name.startswith("MPI_") != mpi or events.file[i] < 0 or not events.size[i]:
            continue
        path = Path(made.files[events.file[i]].path)
        if path.parent == where and ("read" in name or "write" in name):
            found[int(events.rank[i])].append((path.name, int(events.offset[i]), int(events.size[i])))  # fmt: skip
    return dict(found)


def unfolded(runs: list[Run], file: str) -> list[Operation]:
    return [(file, run.offset + i * run.disp, run.rs) for run in runs for i in range(run.count)]


def strided(call: str, n_ranks: int = 3) -> km.Model:
    """Each rank moves 5 pieces of 1000 bytes of one file, in turns."""
    ranks = tuple(range(n_ranks))
    phase = km.phase(1, 1, ranks, 5, [km.member(call, 1000, n_ranks * 1000)],
                     [km.linear(a=1000, b=n_ranks * 1000)])  # fmt: skip
    flags = km.O_RDONLY if "read" in call else km.O_RDWR | km.O_CREAT
    steps = (
        FileStep(iop_type="open", file_id=1, handle=0, flags=flags),
        DataStep(ph_id=1, n=5),
        FileStep(iop_type="close", file_id=1, handle=0),
    )
    size = n_ranks * 5000
    before = size if "read" in call else None
    file = km.model_file(1, "/s/data", size, before)
    return km.model(n_ranks, [file], [phase], [Program(ranks=ranks, steps=steps)])


FIO_MODELS = {
    "ABYSS-P": km.abyss(100_000),
    "a file per process": km.file_per_process(3),
    **{f"strided {call}": strided(call)
       for call in ("read", "write", "pread", "pwrite", "readv", "writev", "preadv", "pwritev")},
}  # fmt: skip


@pytest.mark.parametrize("name", FIO_MODELS)
def test_fio_does_what_its_jobs_say(tmp_path, monkeypatch, name):
    need("libwavetank-trace.so", "fio")
    root = (tmp_path / "root").resolve()
    root.mkdir()
    kernel = make_kernel(FIO_MODELS[name], km.written(FIO_MODELS[name], tmp_path))
    prepare_files(kernel, root)
    plan = fio_plan(kernel)
    assert plan.jobs and not plan.refused
    (tmp_path / "kernel.fio").write_text(plan.text())
    monkeypatch.chdir(root)
    made = data_operations(["fio", str(tmp_path / "kernel.fio")], root, mpi=False)
    # fio starts a process for each job; which one has which number is up to it.
    said = [unfolded(job.operations(), job.file) for job in plan.jobs]
    assert sorted(made.values()) == sorted(said)


@pytest.mark.parametrize(("spread", "n_places"), [(4, 253), (1, 64)], ids=["sparse", "dense"])
def test_fio_goes_to_random_places_of_the_region_in_one_order(
    tmp_path, monkeypatch, spread, n_places
):
    need("libwavetank-trace.so", "fio")
    root = (tmp_path / "root").resolve()
    root.mkdir()
    model = km.at_random(n=64, spread=spread)
    kernel = make_kernel(model, km.written(model, tmp_path), approximate=True)
    (tmp_path / "kernel.fio").write_text(fio_plan(kernel).text())
    monkeypatch.chdir(root)
    written, read = data_operations(["fio", str(tmp_path / "kernel.fio")], root, mpi=False).values()
    assert written == read
    places = [offset // 4096 for _, offset, size in written if size == 4096 and offset % 4096 == 0]
    assert len(places) == len(set(places)) == 64
    assert max(places) < n_places and places != sorted(places)


def benchmark(name: str) -> str:
    path = shutil.which(name)
    if path is None:
        pytest.skip(f"{name} is not installed {PROGRAM_OF_NO_PACKAGE}")
    return path


def start(program: str, command: str, word: str, n_tasks: int, folder: Path) -> list[str]:
    """A printed line as it is started here: by the launcher of the MPI that the program was built with."""
    content = Path(program).read_bytes()
    family = "mpich" if b"libmpich" in content else "openmpi"
    words = command.split()
    job = Job((program, *words[words.index(word) + 1 :]), n_tasks)
    return launcher(family).command(job, folder)


@pytest.mark.optional
@pytest.mark.parametrize("per_process", [False, True], ids=["shared", "file per process"])
@pytest.mark.parametrize(
    ("api", "collective"), [("POSIX", False), ("MPIIO", False), ("MPIIO", True)]
)
@pytest.mark.parametrize(
    ("segments", "block", "transfer"),
    [(1, 32768, 4096), (3, 4096, 4096), (2, 8192, 4096), (1, 8200, 8200)],
)
def test_ior_does_what_its_line_says(
    tmp_path, monkeypatch, api, collective, per_process, segments, block, transfer
):
    program = benchmark("ior")
    need("libwavetank-trace.so")
    assert find_ior().path == program
    monkeypatch.chdir(tmp_path.resolve())
    for write in (True, False):
        line = IorParameters(
            api=api, collective=collective, write=write, file_per_process=per_process, n_tasks=2,
            segments=segments, block=block, transfer=transfer, file="data", fsync=write,
        )  # fmt: skip
        assert parse_command(line.command()) == line
        where = tmp_path.resolve()
        argv = start(program, line.command(), "ior", 2, tmp_path)
        made = data_operations(argv, where, mpi=api == "MPIIO")
        for task in (0, 1):
            file = f"data.{task:08d}" if per_process else "data"
            assert made[task] == unfolded(line.operations(task), file)


@pytest.mark.optional
@pytest.mark.parametrize(
    "name",
    ["bt", "strided pwrite", "strided pread", "a file per process", "random", "random, shared"],
)
def test_ior_does_what_the_lines_of_a_kernel_say(tmp_path, monkeypatch, name):
    """The lines as they are printed, of programs whose I/O is known, with files as they name them."""
    program = benchmark("ior")
    need("libwavetank-trace.so")
    others = {"bt": km.btio(4), "random": km.at_random(), "random, shared": km.at_random(n_ranks=3)}
    model = others[name] if name in others else FIO_MODELS[name]
    kernel: Kernel = make_kernel(model, km.written(model, tmp_path), approximate=True)
    root = (tmp_path / "root").resolve()
    root.mkdir()
    monkeypatch.chdir(root)
    assert kernel.ior
    for command in (text for one in kernel.ior for text in (one.before, one.command) if text):
        line = parse_command(command)
        argv = start(program, command, "ior", line.n_tasks, tmp_path)
        made = data_operations(argv, root, mpi=line.api == "MPIIO")
        said = {}
        for task in range(line.n_tasks):
            file = f"{line.file}.{task:08d}" if line.file_per_process else line.file
            said[task] = unfolded(line.operations(task), file)
        if line.random:  # IOR deals the places of all tasks out by chance
            assert made != said
            assert sorted(chain(*made.values())) == sorted(chain(*said.values()))
        else:
            assert made == said
