"""Files that are written under one name and used under another one are a family too: their names are held by member."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import kernel_models as km
import pytest
from fold_builder import PROVENANCE, Event, trace_of
from plan_reader import read_plan

from model_events import unfold
from table_texts import texts
from wavetank.errors import ModelError
from wavetank.kernel.construction.from_model import make_kernel
from wavetank.kernel.document.kernel import Kernel
from wavetank.kernel.fidelity.certificate import replay_fidelity
from wavetank.kernel.lowering.plan_text import lower
from wavetank.model.document.file import ModelFile
from wavetank.model.document.model import Model
from wavetank.model.document.program import FileStep
from wavetank.model.document.step_walks import plain_steps
from wavetank.model.extract import extract_model
from wavetank.model.rules import Rules
from wavetank.model.tables.file_table import file_table
from wavetank.trace.schema import FileIdentity, TracedFile

CREATE = 0o301  # O_CREAT | O_EXCL | O_WRONLY
N = 120

Names = Callable[[int], tuple[str, str]]
"""Of a file the name under which it is written, and that under which it is used."""

CHECKPOINTS: Names = lambda i: (f"/run/ckpt{i}.pt.tmp", f"/run/ckpt{i}.pt")  # noqa: E731
AT_RANDOM: Names = lambda i: (f"/run/.obj{hash((i, 7)) % 10**9:x}", f"/run/o/{i:04d}")  # noqa: E731
ONE_TEMPORARY: Names = lambda i: ("/run/tmp", f"/run/ckpt{i}.pt")  # noqa: E731
ONE_RESULT: Names = lambda i: (f"/run/state.{i}", "/run/state.json")  # noqa: E731
ALL = (CHECKPOINTS, AT_RANDOM, ONE_TEMPORARY, ONE_RESULT)


def run(
    n: int, names: Names, *, by_link: bool = False, sizes: int = 3
) -> tuple[list[Event], list[TracedFile]]:
    """Each file is written, flushed, and renamed or linked; then all are read in another order."""
    chance = random.Random(3)
    events: list[Event] = []
    files: list[TracedFile] = []
    for i in range(n):
        old, new = 2 * i, 2 * i + 1
        files += [
            TracedFile(path, identity=FileIdentity("v", 100 + i, 5000 + i)) for path in names(i)
        ]
        size = 100 + chance.randrange(sizes)
        events += [
            Event(0, "open", old, handle=i, arg=CREATE),
            Event(0, "write", old, handle=i, size=size),
            Event(0, "fsync", old, handle=i),
            Event(0, "close", old, handle=i),
            Event(0, "link" if by_link else "rename", old, handle=-1, offset=-1, arg=0),
            Event(0, "link" if by_link else "rename", new, handle=-1, offset=-1, arg=1),
        ]
        if by_link:
            events.append(Event(0, "unlink", old, handle=-1, offset=-1))
    order = list(range(n))
    chance.shuffle(order)
    for i in order:
        events += [
            Event(0, "open", 2 * i + 1, handle=n + i),
            Event(0, "read", 2 * i + 1, handle=n + i, size=100),
            Event(0, "close", 2 * i + 1, handle=n + i),
        ]
    return events, files


def model_of(n: int, names: Names, *, families: bool = True, by_link: bool = False) -> Model:
    events, files = run(n, names, by_link=by_link)
    trace = replace(trace_of(events, paths=[file.path for file in files]), files=tuple(files))
    return extract_model(trace, PROVENANCE, Rules(families=families))


def kernel_of(model: Model, folder: Path) -> Kernel:
    return make_kernel(model, km.written(model, folder))


def calls(model: Model) -> list[tuple[object, ...]]:
    """Every call in order, with the path that it was made on."""
    names = {file.file_id: paths(file) for file in model.files}
    steps = iter(unfold(model.programs, model.phases, 0, model.files))
    return [
        (names[e.file_id][e.member or 0], e.iop_type, e.size, e.moved, e.offset if e.moved else None) for e in steps
    ]  # fmt: skip


def paths(file: ModelFile) -> list[frozenset[str]]:
    """Of each member all names."""
    if file.members is None:
        return [frozenset({file.file_name, *(name.path for name in file.other_names)})]
    every = [file.members.paths(k) for k in range(1 + len(file.other_names))]
    return [frozenset(names) for names in zip(*every, strict=True)]


@pytest.mark.parametrize("by_link", [False, True])
@pytest.mark.parametrize("names", ALL[:3])
def test_a_family_holds_the_calls_of_its_files_under_all_their_names(
    names: Names, by_link: bool
) -> None:
    folded = model_of(N, names, by_link=by_link)
    apart = model_of(N, names, families=False, by_link=by_link)
    (file,) = folded.files
    assert (file.n_files, len(file.other_names), len(apart.files)) == (N, 1, N)
    assert calls(folded) == calls(apart)


@pytest.mark.parametrize("names", ALL)
def test_phases_and_steps_are_the_same_for_any_number_of_files(
    names: Names, tmp_path: Path
) -> None:
    def shape(n: int) -> list[tuple[int, ...]]:
        model = model_of(n, names)
        kernel = kernel_of(model, tmp_path)
        return [
            (len(one.files), len(one.phases), len(one.metadata), sum(len(p.steps) for p in one.programs))
            for one in (model, kernel)
        ]  # fmt: skip

    few = shape(N)
    assert shape(1000) == few
    assert few[0][:2] == (1, 2)
    assert few[0][3] < 20


@pytest.mark.parametrize("names", ALL)
@pytest.mark.parametrize("n", [10, N])
def test_a_kernel_of_renamed_files_is_exact(tmp_path: Path, n: int, names: Names) -> None:
    model = model_of(n, names, by_link=names is AT_RANDOM)
    kernel = kernel_of(model, tmp_path)
    assert kernel.notes == ()
    assert all(row.exact for row in replay_fidelity(kernel, model))
    kernel.write(tmp_path / "kernel.json")
    assert Kernel.read(tmp_path / "kernel.json") == kernel
    assert len(model.files) == (1 if n == N else n)


def test_each_rank_gets_all_names_of_the_members_that_it_visits(tmp_path: Path) -> None:
    plan = read_plan(lower(kernel_of(model_of(N, CHECKPOINTS), tmp_path)))
    ((number, members),) = plan.members.items()
    assert members.visits[0].names == [(f"ckpt{i}.pt", f"ckpt{i}.pt.tmp") for i in range(N)]
    assert len(plan.names[number]) == 4
    steps = plain_steps(plan.programs[0])
    renames = [s for s in steps if isinstance(s, FileStep) and s.iop_type == "rename"]
    # twice the number of the name: the second one becomes the first one of the member at hand
    assert [(step.name, step.new_name) for step in renames] == [(2, False), (0, True)]


def test_a_rename_of_another_name_than_the_models_is_no_exact_replay(tmp_path: Path) -> None:
    model = model_of(N, CHECKPOINTS)
    kernel = kernel_of(model, tmp_path)
    body = json.loads(kernel.model_dump_json())
    (repeat, *_) = body["programs"][0]["steps"]
    (old, new) = (step for step in repeat["steps"] if step.get("iop_type") == "rename")
    old["name"], new["name"] = new["name"], old["name"]
    rows = replay_fidelity(Kernel.model_validate(body), model)
    assert not all(row.exact for row in rows)


def test_files_that_were_there_are_made_under_the_name_that_they_had(tmp_path: Path) -> None:
    # mv a* b*: the name that no call makes is the one that is there beforehand.
    files, events = [], []
    for i in range(N):
        both = (f"/run/a{i}", f"/run/b{i}")
        files += [
            TracedFile(path, size_before=40 + i, identity=FileIdentity("v", i, 1 + i))
            for path in both
        ]
        events += [
            Event(0, "rename", 2 * i, handle=-1, offset=-1, arg=0), Event(0, "rename", 2 * i + 1, handle=-1, offset=-1, arg=1),
            Event(0, "open", 2 * i + 1, handle=i), Event(0, "read", 2 * i + 1, handle=i, size=40), Event(0, "close", 2 * i + 1, handle=i),
        ]  # fmt: skip
    trace = replace(trace_of(events, paths=[file.path for file in files]), files=tuple(files))
    model = extract_model(trace, PROVENANCE, Rules())
    kernel = kernel_of(model, tmp_path)
    (file,) = kernel.files
    assert [name.rpartition("/")[2] for name in file.prepared_names] == [f"a{i}" for i in range(N)]
    assert all(row.exact for row in replay_fidelity(kernel, model))
    # the rename turns to the member; "a" is the kernel's first name, "b" its second one
    steps = plain_steps(kernel.programs[0].steps)
    (open_step,) = (s for s in steps if isinstance(s, FileStep) and s.iop_type == "open")
    assert open_step.name == 2


@pytest.mark.parametrize("what", ["other file", "symlink", "never made"])
def test_names_that_no_rename_of_the_file_made_leave_files_single(what: str) -> None:
    events, files = run(N, CHECKPOINTS)
    if what == "other file":  # the source does not tell that both names are of one file
        files = [replace(file, identity=None) for file in files]
    elif what == "symlink":
        files = [
            replace(file, symlink_to=files[i - 1].path) if i % 2 else file
            for i, file in enumerate(files)
        ]
    else:
        events = [event for event in events if event.op != "rename"]
    trace = replace(trace_of(events, paths=[file.path for file in files]), files=tuple(files))
    model = extract_model(trace, PROVENANCE, Rules())
    assert not any(file.members is not None and file.other_names for file in model.files)


def test_a_family_with_further_names_is_one_line_for_people() -> None:
    (row,) = texts(file_table(model_of(N, CHECKPOINTS)))
    assert row["file_name"].startswith("ckpt*.pt (120 files)")
    assert row["other_names"] == "ckpt*.pt.tmp"


def test_names_of_members_are_as_many_as_those_of_their_file(tmp_path: Path) -> None:
    model = model_of(N, CHECKPOINTS)
    body = json.loads(model.model_dump_json())
    body["files"][0]["members"]["other_names"] = []
    (tmp_path / "model.json").write_text(json.dumps({"schema": Model.schema_id(), **body}))
    with pytest.raises(ModelError, match="as many other_names"):
        Model.read(tmp_path / "model.json")


@pytest.mark.parametrize(("names", "other"), [(CHECKPOINTS, "ckpt*.pt.tmp"), (AT_RANDOM, "/run/*")])
def test_renamed_files_that_are_too_few_for_a_family_are_one_line_for_people(
    names: Names, other: str
) -> None:
    (row,) = texts(file_table(model_of(20, names)))
    assert "(20 files)" in row["file_name"]
    assert row["other_names"] == other
