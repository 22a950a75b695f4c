"""What a kernel's files take at one time: files that a rename puts in each other's place are not all there at once."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import kernel_models as km
import numpy as np
import pytest
from fold_builder import PROVENANCE, Event, trace_of

from wavetank.kernel.construction.from_model import make_kernel
from wavetank.kernel.document.kernel import Kernel
from wavetank.kernel.files.capacity import capacity_bytes
from wavetank.model.document.file_members import Visits
from wavetank.model.document.model import Model
from wavetank.model.document.program import FileStep
from wavetank.model.document.step_walks import changed_steps
from wavetank.model.extract import extract_model
from wavetank.model.rules import Rules
from wavetank.trace.schema import FileIdentity, TracedFile

N = 120  # enough for a family
SIZES = [1000 + i for i in range(N)]
ALL = sum(SIZES)


def states(
    n_ranks: int = 1, *, results: int = 1, at_end: bool = False, again: bool = False
) -> Model:
    """Files that ranks write in turns, each renamed to one of ``results`` names of its rank.

    Args:
        n_ranks: of which rank i % n_ranks writes the i-th file.
        results: names that the files of a rank get in turns.
        at_end: all are written, then all are renamed, instead of each at once.
        again: each is read when it is renamed.
    """
    files: list[TracedFile] = []
    writes: list[list[Event]] = []
    renames: list[list[Event]] = []
    for i in range(N):
        rank = i % n_ranks
        old, new = 2 * i, 2 * i + 1
        files += [
            TracedFile(path, identity=FileIdentity("v", 100 + i, 5000 + i))
            for path in (f"/run/state.{i}", f"/run/{rank}.{i // n_ranks % results}.json")
        ]
        writes.append([
            Event(rank, "open", old, handle=i, arg=km.O_CREAT | km.O_RDWR),
            Event(rank, "write", old, handle=i, size=SIZES[i]),
            Event(rank, "close", old, handle=i),
        ])  # fmt: skip
        renames.append([
            Event(rank, "rename", old, handle=-1, offset=-1, arg=0),
            Event(rank, "rename", new, handle=-1, offset=-1, arg=1),
        ])  # fmt: skip
        if again:
            renames[-1] += [
                Event(rank, "open", new, handle=N + i),
                Event(rank, "read", new, handle=N + i, size=10),
                Event(rank, "close", new, handle=N + i),
            ]
    each = [part for both in zip(writes, renames, strict=True) for part in both]
    parts = [*writes, *renames] if at_end else each
    events = [event for part in parts for event in part]
    events.sort(key=lambda event: event.rank)
    trace = replace(trace_of(events, paths=[file.path for file in files]), files=tuple(files))
    return extract_model(trace, PROVENANCE, Rules())


def kernel_of(model: Model, folder: Path) -> Kernel:
    (file,) = model.files
    assert file.n_files == N and len(file.other_names) == 1
    assert file.file_size == ALL
    return make_kernel(model, km.written(model, folder))


def test_a_state_file_takes_the_one_that_is_written_and_the_one_before(tmp_path: Path) -> None:
    # The two largest: state.json of one, state.119 of the other.
    assert kernel_of(states(), tmp_path).capacity_bytes == SIZES[-1] + SIZES[-2]


def test_each_rank_and_each_name_has_its_own(tmp_path: Path) -> None:
    # 2 ranks x 3 names, and a file that each of the ranks writes.
    assert kernel_of(states(2, results=3), tmp_path).capacity_bytes == sum(SIZES[-8:])


def test_files_that_are_renamed_when_all_are_written_are_all_there(tmp_path: Path) -> None:
    assert kernel_of(states(at_end=True), tmp_path).capacity_bytes == ALL


def test_a_state_file_that_is_read_again_is_still_replaced(tmp_path: Path) -> None:
    assert kernel_of(states(again=True), tmp_path).capacity_bytes == SIZES[-1] + SIZES[-2]


@pytest.mark.parametrize("what", ["links", "there before", "shared"])
def test_files_that_may_be_there_together_count_all(what: str, tmp_path: Path) -> None:
    model = states()
    kernel = kernel_of(model, tmp_path)
    (file,), (made,), (program,) = model.files, kernel.files, kernel.programs
    assert file.members is not None and made.members is not None
    assert capacity_bytes([file], [made], [program]) < ALL
    if what == "links":  # a link leaves the first name
        steps = changed_steps(
            program.steps,
            lambda step: (
                step.model_copy(update={"iop_type": "link"})
                if isinstance(step, FileStep) and step.iop_type == "rename"
                else step
            ),
        )
        program = program.model_copy(update={"steps": steps})
    elif what == "there before":
        before = made.members.model_copy(update={"prepare_bytes": np.array(SIZES)})
        made = made.model_copy(update={"members": before})
    else:  # two ranks visit the same ones
        visits = Visits.of([0, 1], np.array([N, N]), np.tile(np.arange(N), 2))
        members = file.members.model_copy(update={"visits": visits})
        file = file.model_copy(update={"members": members})
    assert capacity_bytes([file], [made], [program]) == ALL
