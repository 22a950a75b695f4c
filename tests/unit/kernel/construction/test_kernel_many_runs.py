"""Kernels of many irregular operations, and of many files, are made without an object for each operation."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from fold_builder import PROVENANCE, Event, trace_of

from wavetank.kernel.benchmarks.groups import Group
from wavetank.kernel.construction.from_model import make_kernel
from wavetank.model.document.model import Model
from wavetank.model.document.phase import ListedOffsets
from wavetank.model.extract import extract_model
from wavetank.trace.schema import TracedFile

N = 1500  # more than are looked at one by one


def many_files() -> Model:
    """A file for each write, of sizes that follow no rule."""
    chance = random.Random(3)
    events = [
        event
        for i in range(N)
        for event in (
            Event(0, "open", file=i, handle=i, arg=0o101),
            Event(0, "write", file=i, handle=i, size=chance.randrange(1, 9999)),
            Event(0, "close", file=i, handle=i),
        )
    ]
    trace = trace_of(events, paths=[f"/d/f{i}" for i in range(N)])
    files = tuple(TracedFile(f"/d/f{i}") for i in range(N))
    return extract_model(replace(trace, files=files), PROVENANCE)


def one_file() -> Model:
    """Random places and sizes in one file."""
    chance = random.Random(3)
    events = [Event(0, "open", handle=0)]
    events += [
        Event(
            0, "pread", offset=chance.randrange(1 << 30), size=chance.randrange(1, 9999), handle=0
        )
        for _ in range(N)
    ]
    return extract_model(trace_of([*events, Event(0, "close", handle=0)]), PROVENANCE)


@pytest.mark.parametrize("made", [many_files, one_file])
def test_a_kernel_of_them_looks_at_none_by_itself(
    made: Callable[[], Model], tmp_path: Path
) -> None:
    path = tmp_path / "model.json"
    made().write(path)
    kernel = make_kernel(Model.read(path), path)
    assert not kernel.ior
    assert kernel.ior_refused
    listed = [o for phase in kernel.phases for o in phase.offset if isinstance(o, ListedOffsets)]
    assert listed
    assert all("runs" not in offsets.__dict__ for offsets in listed)  # made when they are asked for


def test_sizes_of_many_runs_are_compared_as_columns() -> None:
    model = one_file()
    group = Group(phases=(model.phases[0],), files=())
    assert group.lists_sizes(0)
    listed = model.phases[0].offset[0]
    assert isinstance(listed, ListedOffsets)
    runs = [
        replace(
            listed.of_rank(0),
            size=listed.of_rank(0).size * 0 + 8,
            moved=listed.of_rank(0).moved * 0 + 8,
        )
    ]
    equal = model.phases[0].model_copy(update={"offset": (ListedOffsets.of(runs),)})
    assert not Group(phases=(equal,), files=()).lists_sizes(0)
