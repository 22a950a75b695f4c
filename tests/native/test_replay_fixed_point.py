"""Trace the replay of a program, extract its model: it is the model that the replay was made from."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from tracer_run import FAMILIES, compile_c, need

from wavetank.document import provenance
from wavetank.kernel.fidelity import replay_fidelity
from wavetank.kernel.from_model import make_kernel
from wavetank.kernel.plan import Kernel
from wavetank.model.application import Model
from wavetank.model.difference import compare_models
from wavetank.model.extract import extract_model
from wavetank.model.phase import DataStep, Phase, RepeatStep, Step
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
    work, root = folder / "work", folder / "root"
    work.mkdir(exist_ok=True)
    root.mkdir()
    monkeypatch.chdir(work)
    model = model_of(argv, folder / "first.trace")
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
        exclude={"ph_id", "file_id", "view_id", "view_ids", "start_s", "end_s", "io_time_s", "tick_first",
                 "tick_last", "pattern", "metadata_ops"}
    )  # fmt: skip
    told["pattern"] = [member.model_dump(exclude={"dist"}) for member in phase.pattern]
    told["file"] = names[phase.file_id]
    ids = phase.view_ids or ((phase.view_id,) if phase.view_id is not None else ())
    told["views"] = [model.views[view_id] for view_id in ids if view_id is not None]
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
    names = {file.file_id: Path(file.file_name).name for file in found.model.files}
    names_again = {file.file_id: Path(file.file_name).name for file in found.again.files}
    kernel_names = {names[file.file_id]: file.name for file in found.kernel.files}
    first = [phase for phase in found.model.phases if phase.ph_id in performed]
    again = [
        phase
        for phase in found.again.phases
        if phase.level == "mpiio" or not is_mpi_file(found.again, phase.file_id)
    ]
    expected = [described(phase, found.model, names) for phase in first]
    for one in expected:
        one["file"] = kernel_names[str(one["file"])]
    assert [described(phase, found.again, names_again) for phase in again] == expected
    numbers = {phase.ph_id: i for i, phase in enumerate(first)}
    numbers_again = {phase.ph_id: i for i, phase in enumerate(again)}
    orders = {r: data_order(p.steps, numbers) for p in found.model.programs for r in p.ranks}
    orders_again = {
        r: data_order(p.steps, numbers_again) for p in found.again.programs for r in p.ranks
    }
    assert orders_again == orders


def is_mpi_file(model: Model, file_id: int) -> bool:
    return any(phase.level == "mpiio" and phase.file_id == file_id for phase in model.phases)


MPI_PROGRAMS = {
    "BT-IO": ("bt_io.c", 4, ["bt.out", "12", "5"]),
    "S3D-IO": ("s3d_io.c", 4, ["s3d", "8", "3"]),
    "MADbench2": ("madbench2.c", 2, ["mad.out", "4", "4096"]),
    "blocking MPI-IO calls": ("mpiio_calls.c", 2, []),
    "nonblocking, split and shared MPI-IO calls": ("mpiio_later.c", 2, []),
    "one rank with collectives between": ("bt_io.c", 1, ["bt.out", "8", "4"]),
}
RACING = {"nonblocking, split and shared MPI-IO calls"}
"""Which rank comes first to the shared pointer is decided anew in each run of the program itself."""


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("name", MPI_PROGRAMS)
def test_the_model_of_the_replay_is_the_model(name, family, tmp_path, monkeypatch):
    compiler, _, starter = FAMILIES[family]
    need(f"libwavetank-trace-{family}.so", compiler, starter[0])
    source, n_ranks, arguments = MPI_PROGRAMS[name]
    program = compile_c(source, tmp_path / "program", compiler=compiler)
    found = go_round(
        family, [*starter, "-n", str(n_ranks), str(program), *arguments], tmp_path, monkeypatch
    )
    assert all(row.exact or row.left_to_mpi for row in replay_fidelity(found.kernel, found.model))
    assert_equal(found)
    if name not in RACING:
        assert compare_models(found.model, found.again).differences == ()


def test_stdio_programs_are_replayed_by_their_system_calls(tmp_path, monkeypatch):
    need("libwavetank-trace.so", "gcc")
    program = compile_c("stdio_calls.c", tmp_path / "program")
    assert_equal(go_round("none", [str(program)], tmp_path, monkeypatch))


def test_abyss_like_reads_with_seeks_that_move_nothing(tmp_path, monkeypatch):
    """ABYSS-P's reads: 8191 bytes, some lseek(fd, 0, SEEK_CUR) after each, a short last read, one of 0."""
    need("libwavetank-trace.so", "gcc")
    source = tmp_path / "reader.c"
    source.write_text(
        """
        #include <fcntl.h>
        #include <unistd.h>
        int main(void) {
            char b[8191];
            int fd = open("reads.fq", O_RDONLY);
            while (read(fd, b, sizeof b) > 0)
                for (int i = 0; i < 3; i++)
                    lseek(fd, 0, SEEK_CUR);
            close(fd);
            return 0;
        }
        """
    )
    subprocess.run(["gcc", "-o", str(tmp_path / "reader"), str(source)], check=True)
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "reads.fq").write_bytes(b"x" * 100_000)
    found = go_round("none", [str(tmp_path / "reader")], tmp_path, monkeypatch)
    assert_equal(found)
    # 100000 / 8191 = 12.2: 13 reads that move something, 3 seeks after each
    assert found.again.phases[0].ph_nrep == 13
    assert found.again.phases[0].metadata_ops["lseek (moves nothing)"] == 39


def test_names_directories_and_mappings_are_replayed(tmp_path, monkeypatch):
    """A file is written, mapped, renamed, linked, read by its new name, and all is removed."""
    need("libwavetank-trace.so", "gcc")
    source = tmp_path / "names.c"
    source.write_text(
        """
        #include <fcntl.h>
        #include <stdio.h>
        #include <sys/mman.h>
        #include <sys/stat.h>
        #include <unistd.h>
        int main(void) {
            char b[4096] = {1};
            mkdir("d", 0755);
            int fd = open("d/a", O_CREAT | O_RDWR | O_TRUNC, 0644);
            for (int i = 0; i < 8; i++)
                if (write(fd, b, sizeof b) != sizeof b)
                    return 1;
            void *m = mmap(0, 32768, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
            msync(m, 32768, MS_SYNC);
            munmap(m, 32768);
            close(fd);
            rename("d/a", "d/b");
            link("d/b", "d/c");
            fd = open("d/b", O_RDONLY);
            for (int i = 0; i < 8; i++)
                if (read(fd, b, sizeof b) != sizeof b)
                    return 1;
            close(fd);
            unlink("d/c");
            unlink("d/b");
            return rmdir("d");
        }
        """
    )
    subprocess.run(["gcc", "-o", str(tmp_path / "names"), str(source)], check=True)
    found = go_round("none", [str(tmp_path / "names")], tmp_path, monkeypatch)
    assert compare_models(found.model, found.again).differences == ()
    assert not any("left out:" in sentence for sentence in found.kernel.not_reproduced)
    # what the program removed, its replay removed too
    assert sorted(path.name for path in (tmp_path / "root").iterdir() if path.name[0] != ".") == []


def test_a_script_whose_processes_hand_files_on(tmp_path, monkeypatch):
    """Each process is a rank of its own: the reader waits for the writer, the removal for the reader."""
    need("libwavetank-trace.so", "dd")
    need("libwavetank-trace-openmpi.so", "mpirun.openmpi")
    script = tmp_path / "chain.sh"
    script.write_text(
        "#!/bin/sh\n"
        "dd if=/dev/zero of=one.dat bs=8192 count=40 2>/dev/null\n"
        "dd if=one.dat of=two.dat bs=4096 2>/dev/null\n"
        "rm one.dat\n"
    )
    script.chmod(0o755)
    found = go_round("openmpi", [str(script)], tmp_path, monkeypatch)
    differences = compare_models(found.model, found.again).differences
    # its opens were inherited, and are the replay's ranks' own: the order of calls differs, nothing else
    assert {difference.field for difference in differences} <= {"order of operations"}
    assert not (tmp_path / "root" / "one.dat").exists()
    assert (tmp_path / "root" / "two.dat").stat().st_size == 40 * 8192
