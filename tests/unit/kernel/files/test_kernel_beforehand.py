"""What is made of each file before a run: what the first calls on it need."""

from __future__ import annotations

import errno
import os

import kernel_models as km
import pytest

from wavetank.kernel.document.kernel import KernelFile
from wavetank.kernel.files.kernel_files import kernel_files
from wavetank.model.document.phase import Phase
from wavetank.model.document.program import (
    DataStep,
    FileStep,
    ProcessStep,
    Program,
    Step,
    given_by_number,
)

CREATING = km.O_RDWR | km.O_CREAT | km.O_TRUNC


def call(name: str, number: int = 0, error: int = 0) -> FileStep:
    given = given_by_number(name, number)
    return FileStep(iop_type=name, file_id=1, handle=0, error=error, **given)


def made_of(
    *programs: tuple[Step, ...], before: int | None = None, phases: tuple[Phase, ...] = ()
) -> KernelFile:
    ranks = [Program(ranks=(rank,), steps=steps) for rank, steps in enumerate(programs)]
    (file,) = kernel_files([km.model_file(1, "/run/f", 100, before)], phases, ranks)
    return file


WRITES = km.phase(1, 1, (0,), 1, [km.member("write", 100)], [km.linear()])
READS = km.phase(1, 1, (0,), 1, [km.member("read", 100)], [km.linear()])
DATA = DataStep(ph_id=1, n=1)


@pytest.mark.parametrize(
    "first",
    [call("open", km.O_RDWR), call("stat"), call("access"), call("truncate", 50)],
    ids=lambda step: step.iop_type,
)
def test_a_file_that_is_needed_and_then_emptied_is_there_in_its_size(first):
    file = made_of((first, call("open", CREATING), DATA), before=96, phases=(WRITES,))
    assert (file.role, file.prepare_bytes) == ("both", 96)


def test_a_file_that_is_missed_and_then_made_is_made_by_the_run():
    missed = call("open", km.O_RDONLY, errno.ENOENT)
    file = made_of((missed, call("open", CREATING), DATA), phases=(WRITES,))
    assert (file.role, file.prepare_bytes) == ("output", 0)


def test_a_file_that_is_only_missed_is_never_there():
    file = made_of((call("open", 0, errno.ENOENT), call("stat", 0, errno.ENOENT)))
    assert (file.role, file.prepared_names) == ("none", ())


@pytest.mark.parametrize(("step", "is_folder"), [
    (call("unlink"), False), (call("rmdir"), True), (call("mkdir", 0o755), True),
    (call("rmdir", 0, errno.ENOTEMPTY), False),
    (call("mkdir", 0, errno.EEXIST), True), (call("mkdir", 0, errno.EACCES), False),
])  # fmt: skip
def test_what_calls_of_folders_succeed_on_is_a_folder(step, is_folder):
    assert made_of((call("stat"), step)).directory == is_folder


def test_a_name_that_only_a_symbolic_link_leads_to_is_not_there():
    assert made_of((call("symlink", 0),)).role == "none"


def test_a_file_that_another_process_makes_is_not_there_for_the_one_that_needs_it():
    maker = (call("open", CREATING), ProcessStep(rank=1, event="begins"))
    file = made_of(maker, (call("open", km.O_RDONLY), DATA), phases=(WRITES,))
    assert file.role == "output"


def test_a_file_that_is_there_already_when_it_is_to_be_made_is_there():
    exclusive = call("open", km.O_WRONLY | km.O_CREAT | os.O_EXCL, errno.EEXIST)
    file = made_of((exclusive,), before=10)
    assert file.is_prepared


@pytest.mark.parametrize("steps", [(call("rmdir"),), (call("mkdir", 0o755, errno.EEXIST),)])
def test_a_folder_that_was_there_is_made_as_a_folder(steps):
    file = made_of(steps)
    assert file.folder and file.is_prepared


def test_a_file_that_is_only_mapped_has_the_size_of_the_mapping():
    steps = (call("open", km.O_RDONLY), call("mmap", 5000), call("close"))
    assert made_of(steps).prepare_bytes == 5000
    assert made_of(steps, before=4321).prepare_bytes == 4321


def test_a_file_whose_end_is_sought_has_its_size():
    steps = (call("open", km.O_RDONLY), call("lseek", os.SEEK_END), call("close"))
    file = made_of(steps, before=4321)
    assert (file.role, file.prepare_bytes) == ("input", 4321)


def test_of_a_file_that_is_never_opened_nobody_sees_the_size():
    file = made_of((call("stat"),), before=1 << 40)
    assert (file.role, file.prepare_bytes) == ("input", 0)


def test_a_read_file_of_unknown_size_is_as_large_as_its_reads():
    file = made_of((call("open", km.O_RDONLY), DATA), phases=(READS,))
    assert (file.role, file.prepare_bytes) == ("input", 100)


@pytest.mark.parametrize(
    ("begins_s", "far", "size"),
    [(2.0, 100, 0), (2.0, 50, 100), (0.5, 100, 100), (None, 100, 100)],
    ids=["written before", "not as far", "written at the same time", "no times"],
)
def test_what_another_rank_wrote_before_it_is_read_is_not_there_beforehand(begins_s, far, size):
    """ABySS: a rank reads the contigs that another one wrote, and its phases come first in the model."""
    read = READS.model_copy(update={"start_s": begins_s, "end_s": 3.0})
    written = km.phase(2, 1, (1,), 1, [km.member("write", far)], [km.linear()])
    written = written.model_copy(update={"start_s": 0.0, "end_s": 1.0})
    reader = (call("open", km.O_RDONLY), DATA)
    writer = (call("open", CREATING), DataStep(ph_id=2, n=1))
    file = made_of(reader, writer, phases=(read, written))
    assert file.prepare_bytes == size
