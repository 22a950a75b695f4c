"""How often an application has its writes on storage, and how benchmarks are told to do it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import kernel_models as km
import pytest

from wavetank.kernel.benchmarks.fio import fio_plan
from wavetank.kernel.benchmarks.groups import Group
from wavetank.kernel.benchmarks.ior import ior_lines, parse_command
from wavetank.kernel.benchmarks.syncs import SyncedWrites, Syncs
from wavetank.kernel.construction.from_model import make_kernel
from wavetank.kernel.document.kernel import Kernel
from wavetank.kernel.execution.fio_run import io_of
from wavetank.kernel.execution.ior_run import bytes_not_flushed, flushed_lines
from wavetank.model.document.program import (
    DataStep,
    FileStep,
    Program,
    RepeatStep,
    Step,
    given_by_number,
)
from wavetank.notes import texts

SYNC = FileStep(iop_type="fsync", file_id=1, handle=0)
ONE = DataStep(ph_id=1, n=1)


def write(n: int) -> DataStep:
    return DataStep(ph_id=1, n=n)


def repeat(times: int, *steps: Step) -> RepeatStep:
    return RepeatStep(times=times, steps=steps)


def kernel_of(
    steps: Sequence[Step], tmp_path: Path, n: int = 12, call: str = "write", n_ranks: int = 1
) -> Kernel:
    """Each rank writes n blocks of 64 bytes of its share of one file, and does what else the steps say."""
    opens = "MPI_File_open" if call.startswith("MPI") else "open"
    ranks = tuple(range(n_ranks))
    one = km.phase(1, 1, ranks, n, [km.member(call, 64, 64)], [km.linear(a=64 * n, b=64)])
    program = Program(
        ranks=ranks,
        steps=(
            FileStep(iop_type=opens, file_id=1, handle=0, **given_by_number(opens, km.O_RDWR | km.O_CREAT)),
            *steps,
            FileStep(
                iop_type=opens.replace("open", "close"), file_id=1, handle=0
            ),
        ),
    )  # fmt: skip
    made = km.model(n_ranks, [km.model_file(1, "/s/f", 64 * n * n_ranks)], [one], [program])
    return make_kernel(made, km.written(made, tmp_path))


def syncs_of(kernel: Kernel) -> Syncs:
    return SyncedWrites(kernel).of(Group(kernel.phases, kernel.files))


@pytest.mark.parametrize(
    ("steps", "n", "every", "at_end"),
    [
        ([write(12)], 0, None, False),
        ([write(12), SYNC], 1, 12, True),
        ([repeat(12, ONE, SYNC)], 12, 1, True),
        ([repeat(11, ONE, SYNC), ONE], 11, 1, False),  # 1 write is left, and is not synced
        ([repeat(3, write(4), SYNC)], 3, 4, True),
        ([repeat(2, write(5), SYNC), write(2)], 2, 5, False),
        ([ONE, repeat(3, SYNC, write(3)), write(2)], 3, None, False),  # after 1, 4 and 7
        ([repeat(3, repeat(2, ONE, SYNC), write(2))], 6, None, False),  # after 1, 2, 5, 6, 9, 10
        ([repeat(2, repeat(6, ONE), SYNC)], 2, 6, True),
        ([repeat(12, ONE, SYNC.model_copy(update={"count": 2}))], 24, None, True),
        ([repeat(12, ONE, SYNC.model_copy(update={"error": 5}))], 0, None, False),
        ([SYNC, write(12)], 0, None, False),
    ],
)
def test_syncs_are_counted_after_the_writes_that_they_follow(steps, n, every, at_end, tmp_path):
    found = syncs_of(kernel_of(steps, tmp_path))
    assert (found.n, found.every, found.at_end) == (n, every, at_end)


def test_a_repeat_counts_as_its_repetitions_do(tmp_path):
    """By hand: each list of steps written out, and as a repeat."""
    for body in ([ONE, SYNC], [write(2), SYNC, ONE], [SYNC, write(3)], [write(3)]):
        times = 12 // sum(step.n for step in body if isinstance(step, DataStep))
        folded = syncs_of(kernel_of([repeat(times, *body)], tmp_path))
        assert folded == syncs_of(kernel_of(body * times, tmp_path))


def ior(kernel: Kernel, version: str = "4.0") -> tuple[list[str], str]:
    (line,) = ior_lines(kernel, (), version)[0]
    return line.command.split(), " ".join(texts(line.not_reproduced))


def test_ior_syncs_each_write_where_the_application_does(tmp_path):
    kernel = kernel_of([repeat(12, ONE, SYNC)], tmp_path)
    words, said = ior(kernel)
    assert "-Y" in words and "-e" not in words
    assert "calls fsync twice after each write" in said  # so it does, of 4.0 and POSIX alone
    words, said = ior(kernel, "3.3")
    assert "-Y" in words and "twice" not in said
    assert parse_command(" ".join(words)).command("3.3").split() == words
    assert "-Y" in ior(kernel, "2.10")[0]


def test_ior_syncs_each_write_through_mpi_io_where_its_version_does(tmp_path):
    sync = SYNC.model_copy(update={"iop_type": "MPI_File_sync"})
    kernel = kernel_of([repeat(12, ONE, sync)], tmp_path, call="MPI_File_write_at", n_ranks=2)
    words, said = ior(kernel)
    assert "-Y" in words and "sync" not in said
    words, said = ior(kernel, "2.10")
    assert "-Y" not in words and "-e" in words
    assert "The application syncs 24 times, after each write; IOR once a task" in said


def test_ior_says_that_it_syncs_after_the_last_write_too(tmp_path):
    words, said = ior(kernel_of([repeat(11, ONE, SYNC), ONE], tmp_path), "3.3")
    assert "-Y" in words and "does not sync after its last write; IOR does" in said


def test_ior_says_which_syncs_it_makes_once(tmp_path):
    words, said = ior(kernel_of([repeat(3, write(4), SYNC)], tmp_path))
    assert "-e" in words and "-Y" not in words
    assert "syncs 3 times, after each 4 writes; IOR once a task, after its last write" in said
    words, said = ior(kernel_of([write(12), SYNC], tmp_path))
    assert "-e" in words and "sync" not in said
    words, said = ior(
        kernel_of([write(12), SYNC.model_copy(update={"iop_type": "fdatasync"})], tmp_path)
    )
    assert "-e" in words and "fdatasync becomes fsync" in said
    words, said = ior(kernel_of([write(12)], tmp_path))
    assert "-e" not in words and "sync" not in said


def test_a_line_that_syncs_each_write_needs_no_flush_at_its_end(tmp_path):
    kernel = kernel_of([repeat(12, ONE, SYNC)], tmp_path)
    lines = flushed_lines(kernel)
    assert [line.command for line in lines] == [line.command for line in kernel.ior]
    assert bytes_not_flushed(kernel, lines) == 0


@pytest.mark.parametrize(
    ("steps", "options", "left"),
    [
        ([write(12)], [], 12),
        ([write(12), SYNC], ["end_fsync=1"], 0),
        ([repeat(12, ONE, SYNC)], ["fsync=1", "end_fsync=1"], 0),  # fio's makes none at the end
        ([repeat(11, ONE, SYNC), ONE], ["fsync=1"], 1),
        ([repeat(3, write(4), SYNC)], ["fsync=4", "end_fsync=1"], 0),
        ([repeat(2, write(5), SYNC), write(2)], ["fsync=5"], 2),
        ([repeat(12, ONE, SYNC.model_copy(update={"iop_type": "fdatasync"}))],
         ["fdatasync=1", "end_fsync=1"], 0),
    ],
)  # fmt: skip
def test_fio_syncs_as_often_as_the_application(steps, options, left, tmp_path):
    kernel = kernel_of(steps, tmp_path)
    plan = fio_plan(kernel)
    assert [line for line in plan.text().splitlines() if "sync=" in line] == options
    (job,) = plan.jobs
    assert job.n_syncs == syncs_of(kernel).n
    assert not any("The application syncs" in one for one in texts(plan.not_reproduced[1]))
    assert io_of(plan.jobs, []).not_on_disk_bytes == 64 * left
    (job,) = plan.flushed().jobs
    assert job.flush and io_of([job], []).not_on_disk_bytes == 0


def test_fio_says_which_syncs_it_does_not_make(tmp_path):
    kernel = kernel_of([write(3), SYNC, write(2), SYNC, write(7), SYNC], tmp_path)
    plan = fio_plan(kernel)
    assert "end_fsync=1" in plan.text()
    assert "The application syncs 3 times, fio 1 times." in str(plan.not_reproduced[1])
