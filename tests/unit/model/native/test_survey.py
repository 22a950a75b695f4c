"""The survey of a chunk, which looks at rows that repeat those before them in another way, against one row after another."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from wavetank.model.compression.folded_table import as_folded
from wavetank.model.extract import compactor
from wavetank.model.native.survey import (
    Chunk,
    Flag,
    OpKinds,
    Workspace,
    survey,
)
from wavetank.model.rules import Rules
from wavetank.trace.ops import OPS_BY_NAME
from wavetank.trace.schema import COLUMNS, FoldTable

NOTHING = 0  # given to a seek but its place
OPERATIONS = (
    "pread", "pwrite", "lseek", "fsync", "MPI_File_read_at", "MPI_File_write_at",
)  # fmt: skip
CODE = ("op", "file", "handle", "view", "error", "given")
EQUAL_STEPS = 3
NARROW = ("rank", "file", "handle", "view", "error", "given")


def piece(random: np.random.Generator, rank: int) -> dict[str, np.ndarray]:
    """Operations that repeat themselves after some, with one thing or another that does not."""
    n = int(random.choice([5, 300, 1500, 3000]))
    period = int(random.choice([1, 1, 2, 3, 6, 64]))
    member, turn = np.arange(n) % period, np.arange(n) // period
    some = random.choice(OPERATIONS[: random.integers(1, 7)], size=period)
    op = np.array([OPS_BY_NAME[name].code for name in some])
    one_size = random.random() < 0.5
    size = np.full(period, 4096) if one_size else random.choice([0, 1, 4096], size=period)
    offset = random.integers(0, 1 << 30, period)[member]
    offset = offset + turn * random.integers(-2, 100, period)[member] * 512 + (1 << 20)
    columns = {
        "op": op[member], "file": random.integers(0, 2, period)[member], "size": size[member], "offset": offset,
        "handle": np.zeros(n), "view": np.full(n, -1), "error": np.zeros(n), "given": np.zeros(n),
        "count": np.ones(n), "loop": np.zeros(n), "rank": np.full(n, rank), "ticks": np.zeros(n), "pause": np.full(n, 10),
    }  # fmt: skip
    columns["moved"] = columns["size"].copy()
    columns["view_offset"] = columns["offset"].copy()
    rare = random.random(n) < random.choice([0, 0.001, 0.01])
    match random.integers(0, 14):
        case 0:
            columns["size"] = columns["moved"] = random.integers(1, 4, n)
        case 1:
            columns["offset"] = random.integers(0, 1 << 30, n)
        case 2:
            columns["offset"] = np.where(rare, -1, columns["offset"])
        case 3:
            columns["moved"] = np.where(rare, 0, columns["moved"])
        case 4:
            columns["ticks"] = np.where(rare, 1, 0)
        case 5:
            columns["pause"] = np.where(rare, 10**6, 10)
        case 6:
            columns["view"] = np.zeros(n)
            columns["view_offset"] = columns["offset"] * np.where(rare, 2, 1)
        case 7:
            columns["rank"] = rank + np.cumsum(rare)
        case 8:
            columns["offset"] = np.cumsum(columns["size"])
        case 9:
            columns["size"] = columns["moved"] = columns["size"] + rare
        case number if 10 <= number < 13:
            name = ("given", "error", "count")[number - 10]
            columns[name] = columns[name] + rare
        case _:
            columns["handle"] = columns["handle"] + rare
    parallel = columns["op"] >= OPS_BY_NAME["MPI_File_read_at"].code
    if (
        random.random() < 0.4
    ):  # calls of MPI-IO, and what each is made of, which has a later tick and ends before
        number = np.cumsum(parallel) - parallel
        columns["ticks"] = columns["ticks"] + np.diff(number + ~parallel, prepend=0)
    else:
        columns["ticks"] = columns["ticks"] + (parallel & (random.random() < 0.7))
    return columns


def table_of(seed: int) -> FoldTable:
    """Some such pieces, in sequence."""
    random = np.random.default_rng(seed)
    pieces: list[dict[str, np.ndarray]] = []
    for _ in range(random.integers(1, 6)):
        rank = int(pieces[-1]["rank"][-1]) if pieces else 0
        pieces.append(piece(random, rank + int(random.random() < 0.2)))
    columns = {
        name: np.concatenate([part[name] for part in pieces]).astype(np.int64) for name in pieces[0]
    }
    pause, ticks = columns.pop("pause"), columns.pop("ticks")
    n = len(ticks)
    columns["tick"] = np.cumsum(ticks)
    columns["seq"] = np.arange(n)
    columns["subtick"] = columns["seq"] - np.maximum.accumulate(
        np.where(ticks > 0, columns["seq"], 0)
    )
    columns["end_ns"] = np.cumsum(pause)
    columns["start_ns"] = columns["end_ns"] - 5
    columns["busy_ns"] = np.full(n, 5)
    for name in ("disp", "view_disp", "tick_step", "subtick_step"):
        columns[name] = np.zeros(n, dtype=np.int64)
    for name in NARROW:
        columns[name] = columns[name].astype(np.int32)
    columns["op"] = columns["op"].astype(np.uint8)
    return FoldTable(**columns)  # type: ignore[arg-type]


def one_by_one(
    table: FoldTable, kinds: OpKinds, gap_ns: float | None, apart: np.ndarray | None
) -> tuple[list[int], list[int], list[tuple[int, int]], list[int]]:
    """Flags, codes, runs and counts, as their descriptions in native/model/model.h say."""
    rows = [
        dict(zip(COLUMNS, row, strict=True))
        for row in zip(*(getattr(table, name).tolist() for name in COLUMNS), strict=True)
    ]
    codes: dict[tuple[int, ...], int] = {}
    code = [codes.setdefault(tuple(row[name] for name in CODE), len(codes)) for row in rows]
    flags = []
    for row in rows:
        single = row["count"] == 1 and row["loop"] == 0
        moves = row["moved"] > 0 or (kinds.seeks[row["op"]] and row["given"] == NOTHING)
        plain = row["view"] < 0 and not row["error"] and row["offset"] >= 0
        interleavable = bool(kinds.interleaved[row["op"]] and plain and single and moves)
        row["interleavable"], row["single"] = interleavable, single
        flags.append(Flag.INTERLEAVABLE * interleavable)
    for i, (row, following) in enumerate(itertools.pairwise(rows)):
        is_call, next_call = kinds.calls[row["op"]], kinds.calls[following["op"]]
        ticks = following["tick"] - row["tick"]
        joinable = row["single"] and following["single"] and row["moved"] == row["size"]
        joinable &= row["rank"] == following["rank"]
        joinable &= apart is None or not apart[i]
        joinable &= gap_ns is None or following["start_ns"] - row["end_ns"] < gap_ns
        linked = joinable and code[i] == code[i + 1] and row["size"] == following["size"]
        separated = (
            row["interleavable"] != following["interleavable"] or row["rank"] != following["rank"]
        )
        separated |= is_call != next_call
        separated |= (
            ticks != 1 if next_call else bool(ticks > 0 and kinds.separating[following["op"]])
        )
        flags[i] |= Flag.JOINABLE * joinable | Flag.LINKED * linked | Flag.SEPARATED * separated
    for i, talks in enumerate(talks_of(rows, kinds)):
        flags[i] |= Flag.TALKS * talks
    return flags, code, runs_of(rows, flags), counts_of(rows, flags, kinds)


def talks_of(rows: list[dict[str, int]], kinds: OpKinds) -> list[bool]:
    """Whether communication lies behind each row: ticks that are no calls of MPI-IO, counted for calls and for the rest.

    What an MPI-IO call is made of begins a tick after it, so that the two counts differ where there is none.
    """
    found = []
    made: dict[bool, int] = {bool(kinds.calls[rows[0]["op"]]): rows[0]["tick"]}
    calls = 0
    for row, following in itertools.pairwise(rows):
        if row["rank"] != following["rank"] or not row["single"]:
            made = {}
        is_call, next_call = bool(kinds.calls[row["op"]]), bool(kinds.calls[following["op"]])
        calls += is_call
        count, near = following["tick"] - calls, following["tick"] - row["tick"] > is_call
        more = count - made.get(next_call, count)
        found.append(more != 0 if next_call in made else near)
        if more and near:  # the other kind's next one lies behind it, too
            made = {kind: number + more for kind, number in made.items()}
        made[next_call] = count
    return found


def runs_of(rows: list[dict[str, int]], flags: list[int]) -> list[tuple[int, int]]:
    """First and last rows of linked ones at equal distance; one that two share is the first one's."""

    def steps(i: int) -> list[int]:
        names = ["offset", "tick", "subtick", *(["view_offset"] if rows[i]["view"] >= 0 else [])]
        return [rows[i + 1][name] - rows[i][name] for name in names]

    found: list[tuple[int, int]] = []
    first = 0
    for i in range(len(rows)):
        goes_on = i + 1 < len(rows) and flags[i] & Flag.LINKED
        if goes_on and (i == first or steps(i) == steps(i - 1)):
            continue
        if i - first >= EQUAL_STEPS:
            begin = first + 1 if found and found[-1][1] == first else first
            found.append((begin, i))
        first = i if goes_on else i + 1
    return found


def counts_of(rows: list[dict[str, int]], flags: list[int], kinds: OpKinds) -> list[int]:
    """Rows not joinable with the next one, talks, linked rows, operations that communication separates."""
    return [
        sum(not flag & Flag.JOINABLE for flag in flags[:-1]),
        sum(flag & Flag.TALKS > 0 for flag in flags),
        sum(flag & Flag.LINKED > 0 for flag in flags),
        sum(int(kinds.separating[row["op"]]) for row in rows),
    ]


@pytest.mark.parametrize("seed", range(10))
def test_a_survey_says_of_each_operation_what_one_after_another_says(seed: int) -> None:
    table = table_of(seed)
    kinds = compactor(Rules()).kinds
    random = np.random.default_rng(seed)
    gap_ns = 1000.0 if random.random() < 0.3 else None
    apart = random.random(len(table)) < 0.0005 if random.random() < 0.3 else None
    found = survey(
        Chunk(as_folded(table)), kinds, gap_ns, Workspace(), apart, equal_steps=EQUAL_STEPS
    )
    flags, code, runs, counts = one_by_one(table, kinds, gap_ns, apart)
    assert found.flags.tolist() == flags
    assert found.code.tolist() == code
    assert list(zip(found.begin.tolist(), found.end.tolist(), strict=True)) == runs
    assert [found.n_barriers, found.n_talks, found.n_linked, found.n_separating] == counts
    pairs = np.stack([found.code.astype(np.int64), table.size])
    _, of_pair = np.unique(pairs, axis=1, return_inverse=True)
    _, of_signature = np.unique(found.signature, return_inverse=True)
    assert len(set(zip(of_pair.tolist(), of_signature.tolist(), strict=True))) == of_pair.max() + 1


def test_chunks_surveyed_in_one_workspace_do_not_know_of_each_other() -> None:
    kinds, workspace = compactor(Rules()).kinds, Workspace()
    for seed in (3, 5, 3):
        chunk = Chunk(as_folded(table_of(seed)))
        again = survey(chunk, kinds, None, workspace, equal_steps=EQUAL_STEPS).code.tolist()
        assert (
            again == survey(chunk, kinds, None, Workspace(), equal_steps=EQUAL_STEPS).code.tolist()
        )


@pytest.mark.parametrize("n_loop", (1270, 1279, 1280, 1281))
def test_a_run_that_begins_in_the_last_rows_looked_at_at_once_begins_there(n_loop: int) -> None:
    """Rows are looked at 256, then 1024 at once; here a loop of runs of three ends about there, and a long run follows."""
    place = np.arange(n_loop + 20)
    member = np.where(place < n_loop, place % 9, 0)
    some = table_of(0)
    first = {name: np.resize(getattr(some, name)[:1], len(place)) for name in COLUMNS}
    read, size = np.full(len(place), OPS_BY_NAME["pread"].code), np.full(len(place), 512)
    table = replace(
        FoldTable(**first),
        op=read.astype(np.uint8),
        file=np.where(member < 3, 0, member).astype(np.int32),
        offset=place * 512,
        view_offset=place * 512,
        subtick=place,
        size=size,
        moved=size,
    )
    kinds = compactor(Rules()).kinds
    found = survey(Chunk(as_folded(table)), kinds, None, Workspace(), equal_steps=EQUAL_STEPS)
    _, _, runs, _ = one_by_one(table, kinds, None, None)
    assert list(zip(found.begin.tolist(), found.end.tolist(), strict=True)) == runs
    assert len(runs) == 1
