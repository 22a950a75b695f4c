"""Hundreds of files that no data is moved of are one file with members, and phases of calls say the same of them."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest
from call_cases import CREATE, Case, N, benchmark, model_of, on

from model_events import unfold
from table_texts import texts
from wavetank.model.document.model import Model
from wavetank.model.tables.model_tables import model_tables


def directories() -> Case:
    """Directories that are made, and removed in another order."""
    order = list(range(N))
    random.Random(2).shuffle(order)
    made = [on(0, "mkdir", i, arg=0o755) for i in range(N)]
    return [*made, *(on(0, "rmdir", i) for i in order)], [f"/d/sub{i % 7}/dir{i}" for i in range(N)]


def walk() -> Case:
    """Names without order, each looked at again and again; some are changed, in turns with the others."""
    chance = random.Random(5)
    words = ("README", "changelog.gz", "copyright", "NEWS")
    paths = [f"/usr/{chance.choice('abcd')}/x{i}/{chance.choice(words)}" for i in range(4 * N)]
    events = []
    for i in range(4 * N):
        events += [on(0, "stat", i)] * (1 + i % 2)
        events += [on(0, "chmod", i, arg=0o644)] if i % 4 == 3 else [on(0, "access", i)]
    return events, paths


def twice() -> Case:
    """Each file is looked for in vain, made, and opened again before the next one."""
    events = []
    for i in range(N):
        events += [
            on(0, "stat", i, error=2),
            on(0, "open", i, handle=2 * i, arg=CREATE), on(0, "close", i, handle=2 * i),
            on(0, "open", i, handle=2 * i + 1), on(0, "close", i, handle=2 * i + 1),
        ]  # fmt: skip
    return events, [f"/d/f{i}" for i in range(N)]


CASES: dict[str, Callable[[], Case]] = {
    "own": benchmark,
    "shared": lambda: benchmark(own=False),
    "of the neighbour": lambda: benchmark(own=False, stride=1),
    "no collectives": lambda: benchmark(meets=False),
    "directories": directories,
    "walk": walk,
    "twice": twice,
}


def calls(model: Model) -> dict[int, list[tuple[str, str]]]:
    """By rank, the calls in order and the names that they are on."""
    names: dict[tuple[int, int | None], str] = {}
    for file in model.files:
        names[file.file_id, None] = file.file_name
        if file.members is not None:
            names.update({(file.file_id, n): p for n, p in enumerate(file.members.paths())})
    return {
        rank: [
            (event.iop_type, names[event.file_id, event.member])
            for event in unfold(model.programs, model.phases, rank, model.files)
        ]
        for rank in range(model.n_ranks)
    }


@pytest.mark.parametrize("fold", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_a_family_holds_the_calls_of_its_files(name: str, fold: bool) -> None:
    case = CASES[name]()
    folded = model_of(case, families=True, fold=fold)
    apart = model_of(case, families=False, fold=fold)
    assert len(folded.files) < 4
    assert len(apart.files) >= N
    assert calls(folded) == calls(apart)
    assert sum(file.n_files for file in folded.files) == len(apart.files)


@pytest.mark.parametrize("fold", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_phases_of_calls_are_those_of_the_files(name: str, fold: bool) -> None:
    case = CASES[name]()
    folded = model_of(case, families=True, fold=fold)
    apart = model_of(case, families=False, fold=fold)
    assert folded.metadata
    assert folded.metadata == apart.metadata


@pytest.mark.parametrize("name", CASES)
def test_a_model_of_calls_with_families_is_read_as_it_was_written(
    name: str, tmp_path: Path
) -> None:
    model = model_of(CASES[name](), families=True)
    model.write(tmp_path / "model.json")
    assert Model.read(tmp_path / "model.json") == model


def test_the_model_does_not_grow_with_files_that_hold_no_data() -> None:
    model = model_of(benchmark(), families=True)
    assert len(model.files) == 1
    assert sum(len(program.steps) for program in model.programs) < 40
    value = {row["field"]: row["value"] for row in texts(model_tables(model)[0])}
    assert value["app_nfiles"].startswith(f"0 with data; {2 * N} files and 0 directories")


def test_directories_are_a_family_of_directories() -> None:
    model = model_of(directories(), families=True)
    (family,) = model.files
    assert family.directory
    value = {row["field"]: row["value"] for row in texts(model_tables(model)[0])}
    assert f"0 files and {N} directories" in value["app_nfiles"]


def test_files_that_were_there_and_files_that_are_made_are_two_families() -> None:
    # The same calls on all of them: the old ones are looked at before they are opened, the new ones after that.
    events = []
    for i in range(2 * N):
        made = [on(0, "open", i, handle=i, arg=CREATE), on(0, "close", i, handle=i)]
        events += [on(0, "stat", i), *made] if i % 2 else [*made, on(0, "stat", i)]
    model = model_of((events, [f"/d/f{i}" for i in range(2 * N)]), families=True)
    assert [file.n_files for file in model.files] == [N, N]


@pytest.mark.parametrize("meets", [True, False])
def test_names_that_ranks_hand_on_stay_single_where_no_collective_orders_them(meets: bool) -> None:
    # Rank 1 finds each file because rank 0 has made it: without a collective that alone says who came first.
    model = model_of(benchmark(own=False, stride=1, meets=meets), families=True)
    assert len(model.files) == (1 if meets else 2 * N)
