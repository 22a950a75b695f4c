"""Hundreds of files that are used alike are one file with members: the same operations, held once."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from fold_builder import PROVENANCE, Event, trace_of

from model_events import unfold
from table_texts import texts
from wavetank.errors import ModelError
from wavetank.findings.all_findings import all_findings
from wavetank.model.document.file_members import Members, Visits
from wavetank.model.document.model import Model
from wavetank.model.extract import extract_model
from wavetank.model.rules import Rules
from wavetank.model.tables.file_table import file_table
from wavetank.trace.schema import TracedFile

CREATE = 0o101
N = 120  # files of a rank

Case = tuple[list[Event], list[str], dict[int, int]]  # events, paths, sizes before


def untar(n_ranks: int = 2, seed: int = 7) -> Case:
    """Names without order in folders, sizes without rule, several writes a file, the archive read in between."""
    chance = random.Random(seed)
    words = ("README", "changelog.gz", "copyright", "NEWS", "index.html", "Makefile")
    paths = ["/data/src.tar"]
    events: list[Event] = []
    for rank in range(n_ranks):
        events.append(Event(rank, "open", file=0, handle=0))
        for i in range(N):
            paths.append(f"/data/out/{chance.choice('abcdefgh')}{rank}x{i}/{chance.choice(words)}")
            file, handle, offset = len(paths) - 1, i + 1, 0
            events.append(Event(rank, "open", file=file, handle=handle, arg=CREATE))
            for _ in range(chance.randrange(1, 4)):
                size = chance.randrange(1, 10_000)
                events.append(Event(rank, "read", file=0, offset=i * 10_240, size=10_240))
                events.append(
                    Event(rank, "write", file=file, handle=handle, offset=offset, size=size)
                )
                offset += size
            events.append(Event(rank, "close", file=file, handle=handle))
        events.append(Event(rank, "close", file=0, handle=0))
    return events, paths, {0: 1 << 20}


def epochs(n_ranks: int = 3, n_epochs: int = 2, seed: int = 5) -> Case:
    """All files in another random order in each epoch, by whichever rank: read until nothing comes."""
    chance = random.Random(seed)
    n_files = N * n_ranks
    sizes = [chance.randrange(1, 100_000) for _ in range(n_files)]
    paths = [f"/set/train/img_{i:05d}.jpg" for i in range(n_files)]
    events: list[Event] = []
    for epoch in range(n_epochs):
        order = list(range(n_files))
        chance.shuffle(order)
        for place, file in enumerate(order):
            rank, handle = place % n_ranks, epoch * n_files + place
            events += [
                Event(rank, "open", file=file, handle=handle),
                Event(rank, "fstat", file=file, handle=handle),
                Event(rank, "read", file=file, handle=handle, size=1 << 20, moved=sizes[file]),
                Event(rank, "read", file=file, handle=handle, offset=sizes[file], size=1 << 20, moved=0),
                Event(rank, "close", file=file, handle=handle),
            ]  # fmt: skip
    return events, paths, dict(enumerate(sizes))


def two_opens_at_once() -> Case:
    """A file is copied in itself: read through one open, written through another one; and looked at first, thrice."""
    events, paths = [], []
    for i in range(N):
        paths.append(f"/work/part{i}")
        events += [Event(0, "stat", file=i, handle=-1)] * 3
        events += [
            Event(0, "open", file=i, handle=2 * i),
            Event(0, "open", file=i, handle=2 * i + 1, arg=1),
            Event(0, "read", file=i, handle=2 * i, size=100 + 7 * i),
            Event(0, "write", file=i, handle=2 * i + 1, size=100 + 7 * i),
            Event(0, "close", file=i, handle=2 * i),
            Event(0, "fsync", file=i, handle=2 * i + 1),
            Event(0, "close", file=i, handle=2 * i + 1),
            Event(0, "unlink", file=i, handle=-1),
        ]
    return events, paths, {i: 100 + 7 * i for i in range(N)}


def equal_sizes() -> Case:
    """Blocks of one size: nothing is listed but the names."""
    events = [
        event
        for i in range(4 * N)
        for event in (
            Event(i // N, "open", file=i, handle=i, arg=CREATE),
            Event(i // N, "write", file=i, handle=i, size=512),
            Event(i // N, "write", file=i, handle=i, offset=512, size=4096),
            Event(i // N, "close", file=i, handle=i),
        )
    ]
    return events, [f"/d/f.{i}" for i in range(4 * N)], {}


def copied_tree() -> Case:
    """Each file is copied inside of the kernel until nothing comes, as cp and shutil do; one copy begins behind the end."""
    chance = random.Random(9)
    events, paths, before = [], [], {}
    for i in range(N):
        size, old, new = chance.randrange(1, 100_000), 2 * i, 2 * i + 1
        paths += [f"/old/d{i // 50}/f{i}.dat", f"/new/d{i // 50}/f{i}.dat"]
        before[old] = size
        behind = size + 4096 * (i == 17)
        events += [
            Event(0, "open", file=old, handle=old),
            Event(0, "open", file=new, handle=new, arg=CREATE),
            Event(0, "copy_file_range", file=old, handle=old, size=size),
            Event(0, "copy_file_range_to", file=new, handle=new, size=size),
            Event(0, "copy_file_range", file=old, handle=old, offset=behind, size=0),
            Event(0, "copy_file_range_to", file=new, handle=new, offset=size, size=0),
            Event(0, "close", file=new, handle=new),
            Event(0, "close", file=old, handle=old),
        ]
    return events, paths, before


CASES = (untar, epochs, two_opens_at_once, equal_sizes, copied_tree)


def model_of(case: Case, *, families: bool, fold: bool = False) -> Model:
    events, paths, before = case
    trace = trace_of(events, fold=fold, paths=paths)
    files = tuple(TracedFile(path, size_before=before.get(i)) for i, path in enumerate(paths))
    return extract_model(replace(trace, files=files), PROVENANCE, Rules(families=families))


def operations(model: Model) -> dict[int, list[tuple[object, ...]]]:
    """By rank, every operation in order on the file of its name."""
    names: dict[tuple[int, int | None], str] = {}
    for file in model.files:
        names[file.file_id, None] = file.file_name
        if file.members is not None:
            names.update({(file.file_id, n): p for n, p in enumerate(file.members.paths())})
    found = {}
    for rank in range(model.n_ranks):
        events = list(unfold(model.programs, model.phases, rank, model.files))
        # Opens of a file are numbered from the lowest number that is used on it.
        least: dict[int, int] = {}
        for event in events:
            if event.iop_type not in ("stat", "unlink"):
                least[event.file_id] = min(event.handle, least.get(event.file_id, event.handle))
        found[rank] = [
            (
                names[event.file_id, event.member], event.iop_type,
                event.handle - least[event.file_id] if event.iop_type not in ("stat", "unlink") else 0,
                event.size, event.moved, event.offset if event.moved else None,
            )
            for event in events
        ]  # fmt: skip
    return found


@pytest.mark.parametrize("fold", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_a_family_holds_the_operations_of_its_files(case: Callable[[], Case], fold: bool) -> None:
    folded = model_of(case(), families=True, fold=fold)
    apart = model_of(case(), families=False, fold=fold)
    assert len(folded.files) < 3
    assert len(apart.files) >= N
    assert operations(folded) == operations(apart)


@pytest.mark.parametrize("case", CASES)
def test_sums_are_those_of_the_files(case: Callable[[], Case]) -> None:
    folded, apart = model_of(case(), families=True), model_of(case(), families=False)
    assert folded.app_nfiles == apart.app_nfiles
    assert folded.app_st == apart.app_st
    assert folded.requirements.storage_capacity_bytes == apart.requirements.storage_capacity_bytes
    assert (
        folded.requirements.needs_global_file_system == apart.requirements.needs_global_file_system
    )
    sizes = {file.file_name: (file.file_size, file.file_size_before) for file in apart.files}
    for file in folded.files:
        if file.members is None:
            continue
        before = file.members.size_before
        for number, path in enumerate(file.members.paths()):
            own = None if before is None else int(before[number])
            assert (int(file.members.size[number]), own) == sizes[path]


@pytest.mark.parametrize("case", CASES)
def test_a_model_with_families_is_read_as_it_was_written(
    case: Callable[[], Case], tmp_path: Path
) -> None:
    model = model_of(case(), families=True)
    model.write(tmp_path / "model.json")
    assert Model.read(tmp_path / "model.json") == model


def test_phases_and_steps_do_not_grow_with_the_files() -> None:
    def rows(n_ranks: int) -> tuple[int, int, int]:
        events, paths, before = untar(1)
        # The same program on more files: its names, sizes and order are other ones each time.
        for again in range(1, n_ranks):
            more, names, _ = untar(1, seed=again)
            shift = len(paths)
            paths += names
            events += [
                replace(event, file=event.file + shift, handle=event.handle + again * 1000)
                for event in more
                if event.file > 0
            ]
        model = model_of((events, paths, before), families=True)
        # The writes of a file are one step, of one, two or three operations: so an irregular order has few different ones.
        return len(model.files), len(model.phases), sum(len(p.steps) for p in model.programs)

    few, many = rows(2), rows(6)
    assert many[0] == few[0]
    assert many[1] <= few[1] + 1
    assert many[2] <= 3 * few[2]


def test_copies_at_the_end_of_their_files_are_one_step() -> None:
    model = model_of(copied_tree(), families=True)
    empty = [
        event.offset
        for event in unfold(model.programs, model.phases, 0, model.files)
        if event.iop_type == "copy_file_range" and not event.moved
    ]
    assert len(empty) == N
    (place,) = (offset for offset in empty if offset is not None)
    sizes = {file.file_name: file for file in model.files}["/old/d*/f*.dat"]
    assert sizes.members is not None
    assert place == sizes.members.size[17] + 4096


def test_a_family_is_one_line_for_people() -> None:
    table = file_table(model_of(epochs(), families=True))
    (row,) = texts(table)
    assert "(360 files)" in row["file_name"]


def test_findings_tell_files_apart() -> None:
    model = model_of(epochs(n_ranks=4, n_epochs=1), families=True)
    kinds = {one.kind: one for one in all_findings(model)}
    assert not kinds.keys() & {"same-bytes-by-many-ranks", "no-collective-calls", "random-reads"}
    assert "480 of 480 files" in kinds["many-small-files"].sentence


def test_the_first_call_of_a_rank_is_told_by_its_order_and_not_by_a_clock_that_went_back() -> None:
    events, paths, before = equal_sizes()
    # The open of file 5 is said to begin after its writes.
    events[4 * 5] = replace(events[4 * 5], start_ns=1_000_000_000)
    events[4 * 5 + 1 :] = [
        replace(event, start_ns=900_000_000) if event.file == 5 else event
        for event in events[4 * 5 + 1 :]
    ]
    (family,) = model_of((events, paths, before), families=True).files
    assert family.n_files == 4 * N


def test_a_file_that_stays_open_is_a_file_of_its_own() -> None:
    events, paths, before = epochs(n_ranks=1, n_epochs=1)
    last = max(place for place, event in enumerate(events) if event.op == "close")
    model = model_of((events[:last], paths, before), families=True)
    assert sorted(file.n_files for file in model.files) == [1, N - 1]
    apart = model_of((events[:last], paths, before), families=False)
    assert operations(model) == operations(apart)


def test_files_that_take_turns_while_open_are_files_of_their_own() -> None:
    events = [Event(0, "open", file=i, handle=i) for i in range(N)]
    events += [Event(0, "read", file=i, handle=i, size=10 + i) for i in range(N)]
    events += [Event(0, "close", file=i, handle=i) for i in range(N)]
    model = model_of((events, [f"/d/f{i}" for i in range(N)], {}), families=True)
    assert len(model.files) == N


def test_files_of_few_for_each_rank_stay_apart() -> None:
    events = [
        event
        for rank in range(N)
        for event in (
            Event(rank, "open", file=rank, arg=CREATE),
            Event(rank, "write", file=rank, size=4096),
            Event(rank, "close", file=rank),
        )
    ]
    model = model_of((events, [f"/d/rank{rank}" for rank in range(N)], {}), families=True)
    assert len(model.files) == N


def members(names: Sequence[str]) -> Members:
    n = len(names)
    visits = Visits(ranks=(0,), n_visits=[n], order=None)
    return Members(folder="/d/", names=names, size=0, visits=visits)


@pytest.mark.parametrize(
    "names",
    [
        [f"f{i:03d}.dat" for i in range(95, 1105)],
        [f"r{i // 10}/s{i % 10}" for i in range(200)],
        ["a", "b7", "b8", "b9", "b10", "b11", "c", "b12"],
        ["x1", "x3", "x5", "x7", "x09", "x11", "007", "008", "009", "0010", "010"],
        ["9" * 30, "9" * 31, "", "ä1", "ä2", "ä3", "ä4", "٣1"],
    ],
)
def test_names_are_kept_however_they_count(names: list[str]) -> None:
    made = members(names)
    body = json.loads(made.model_dump_json())
    assert Members.model_validate(body).names == tuple(names)
    assert len(body["names"]) <= len(names)


def test_names_that_count_up_are_one_entry() -> None:
    body = members([f"f{i:07d}.dat" for i in range(10_000)]).model_dump(mode="json")
    assert len(body["names"]) == 1


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"names": ["a", 7]}, "runs of numbered names"),
        ({"names": [{"before": "a", "first": -1, "step": 1, "digits": 1, "after": "", "count": 3}]}, "negative"),
        ({"size": [1, 2, 3]}, "3 numbers for 2 names"),
        ({"visits": {"ranks": [0], "n_visits": [3], "order": [0, 1, 2]}}, "there are 2"),
        ({"visits": {"ranks": [0], "n_visits": [3], "order": [0, 1]}}, "2 members for 3 visits"),
        ({"visits": {"ranks": [1, 0], "n_visits": [1, 1]}}, "not ascending"),
    ],
)  # fmt: skip
def test_members_that_do_not_hold_together_are_refused(
    change: dict[str, object], what: str, tmp_path: Path
) -> None:
    path = tmp_path / "model.json"
    events, paths, _ = equal_sizes()
    model_of((events, paths, {}), families=True).write(path)
    body = json.loads(path.read_text())
    body["files"][0]["members"] |= {"names": ["a", "b"], "size": 1, "size_before": None}
    body["files"][0]["members"]["visits"] = {"ranks": [0], "n_visits": [2]}
    body["files"][0]["members"] |= change
    path.write_text(json.dumps(body))
    with pytest.raises(ModelError, match=what):
        Model.read(path)
