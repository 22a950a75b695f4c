"""Irregular orders that go on from chunk to chunk: what is quick about them changes nothing."""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import replace

import pytest
from fold_builder import PROVENANCE, Event, fold_table, trace_of
from test_loops_and_lists import data_of, wanted

from wavetank.model.compression.compactor import Compactor
from wavetank.model.compression.folded_table import Folded
from wavetank.model.compression.folding import fold
from wavetank.model.extract import compactor, extract_model
from wavetank.model.rules import Rules
from wavetank.model.work_limits import ListRoom, WorkLimits
from wavetank.trace.schema import Level

CHUNK = 1024
WORK = WorkLimits(chunk_rows=CHUNK)
KINDS = ("random", "one size", "bursts", "scan", "alternating", "seek", "stray", "short")


def turn(
    generator: random.Random, file: int, kind: str, level: str, position: dict[int, int]
) -> list[Event]:
    """What a file's turn is made of."""
    ops = ("pread", "pwrite") if level == "posix" else ("MPI_File_read_at", "MPI_File_write_at")
    op = generator.choice(ops)
    size, offset = generator.randrange(1, 10**6), generator.randrange(10**9)
    if kind == "one size":
        size = 512
    if kind in ("scan", "alternating", "bursts"):
        size, offset, op = 100, position[file], ops[0] if kind == "scan" else op
        n = generator.randrange(1, 40) if kind == "bursts" else 1
        position[file] += n * size
        return [Event(0, op, file, offset + i * size, size) for i in range(n)]
    if kind in ("seek", "stray") and level == "posix":
        strays = [Event(0, "lseek", file, offset + 7)] * (
            kind == "stray" and generator.random() < 0.05
        )
        op = generator.choice(("read", "write"))
        return [*strays, Event(0, "lseek", file, offset), Event(0, op, file, offset, size)]
    done = size // 2 if kind == "short" and generator.random() < 0.002 else None
    return [Event(0, op, file, offset, size, moved=done)]


def disturbance(generator: random.Random, level: str) -> list[Event]:
    """Now and then something else comes between."""
    what = generator.choice(("new file", "loop", "run", "sync", "talk"))
    ops = ("pread", "pwrite") if level == "posix" else ("MPI_File_read_at", "MPI_File_write_at")
    if what == "new file":
        return [Event(0, ops[0], 8, generator.randrange(10**6), 10)]
    if what == "loop":
        return [Event(0, ops[i % 3 > 0], i % 3, i // 3 * 64, 64) for i in range(900)]
    if what == "run":
        return [Event(0, ops[0], 3, i * 100, 100) for i in range(generator.choice((30, 3000)))]
    if what == "talk":
        return [Event(0, ops[0], 0, 5, 5, communication=1)]
    return [Event(0, "fsync" if level == "posix" else "MPI_File_sync", 0)]


def run(seed: int) -> list[Event]:
    """An irregular order of one level on a few files for many chunks."""
    generator = random.Random(seed)
    level = "mpiio" if seed % 4 == 3 else "posix"
    position: dict[int, int] = defaultdict(int)
    kinds = [generator.choice(KINDS) for _ in range(generator.randint(2, 6))]
    events: list[Event] = []
    often = generator.choice((0, 0, 1 / 3000))
    while len(events) < 8 * CHUNK:
        if generator.random() < often:
            events += disturbance(generator, level)
        file = generator.randrange(len(kinds))
        events += turn(generator, file, kinds[file], level, position)
    return events


def folded(events: list[Event], rules: Rules) -> Folded:
    return fold(fold_table(events), compactor=compactor(rules))


def listed(table: Folded) -> list[tuple[list[int] | None, list[int] | None]]:
    """Offsets and sizes of the rows that have lists, None for the others."""
    rows = zip(table.listed.tolist(), table.sized.tolist(), table.count.tolist(), strict=True)
    return [
        (
            table.lists.offset[offset : offset + n].tolist() if offset >= 0 else None,
            table.lists.size[size : size + n].tolist() if size >= 0 else None,
        )
        for offset, size, n in rows
    ]


def chunks_that_went_on(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    seen: list[bool] = []
    go_on = Compactor.go_on

    def noted(self: Compactor, *arguments: object) -> Folded | None:
        found = go_on(self, *arguments)  # type: ignore[arg-type]
        seen.append(found is not None)
        return found

    monkeypatch.setattr(Compactor, "go_on", noted)
    return seen


RULES = (
    Rules(work=WORK),
    Rules(work=WORK, similarity=None),
    Rules(work=WORK, split_at_communication={Level.POSIX: True, Level.MPIIO: True}),
    Rules(work=WORK, split_at_communication={Level.POSIX: False, Level.MPIIO: False}),
)


@pytest.mark.parametrize("seed", [1, 6, 10, 19])
def test_orders_that_go_on_from_chunk_to_chunk_give_back_every_operation(seed: int) -> None:
    events = run(seed)
    model = extract_model(trace_of(events), PROVENANCE, RULES[seed // 4 % 4])
    assert data_of(model, 0) == wanted(events, 0)


NARROW = {
    "no range of addresses": ListRoom(addresses=False),
    "stripes that get full": ListRoom(stripe_entries=1 << 10, small_entries=512),
    "more substreams than stripes": ListRoom(stripes=2, small_entries=512),
    "a list that gets full beside stripes": ListRoom(stripes=2, entries=1 << 12, small_entries=512),
    "a list that gets full at once": ListRoom(stripes=1, entries=1 << 9, small_entries=512),
}


@pytest.mark.parametrize("what", NARROW)
def test_lists_that_have_no_room_where_they_are_go_elsewhere(what: str) -> None:
    events = run(16)
    rules = Rules(work=replace(WORK, lists=NARROW[what]))
    assert data_of(extract_model(trace_of(events), PROVENANCE, rules), 0) == wanted(events, 0)


def test_chunks_of_an_irregular_order_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = chunks_that_went_on(monkeypatch)
    generator = random.Random(1)
    events = [
        event
        for _ in range(8 * CHUNK)
        for event in turn(generator, generator.randrange(4), "random", "posix", {})
    ]
    folded(events, Rules(work=WORK))
    assert seen == [False] + [True] * 7


@pytest.mark.parametrize("n", [CHUNK, 2 * CHUNK, 2 * CHUNK + 100])
def test_what_lies_between_two_irregular_orders_keeps_its_place(n: int) -> None:
    generator = random.Random(n)

    def irregular() -> list[Event]:
        return [
            event
            for _ in range(2 * CHUNK)
            for event in turn(generator, generator.randrange(2), "random", "posix", {})
        ]

    # One run: a chunk of it needs no folding beyond that.
    events = [*irregular(), *(Event(0, "pread", 2, i * 100, 100) for i in range(n)), *irregular()]
    model = extract_model(trace_of(events), PROVENANCE, Rules(work=WORK))
    assert data_of(model, 0) == wanted(events, 0)


def test_irregular_stretches_that_fill_the_list_leave_those_of_substreams_where_they_are() -> None:
    rules = Rules(work=replace(WORK, lists=ListRoom(entries=2 * CHUNK)))
    generator = random.Random(9)
    events: list[Event] = []
    for _ in range(4):
        for _ in range(3 * CHUNK):
            events += turn(generator, generator.randrange(3), "random", "posix", {})
        for _ in range(2 * CHUNK):
            place, size = generator.randrange(10**9), generator.randrange(1, 10**6)
            events.append(Event(0, "pread", 5, place, size))
    table = folded(events, rules)
    assert (table.substream[table.listed >= 0] < 0).any()
    by_file = {
        file: [(event.offset, event.size) for event in events if event.file == file]
        for file in (0, 1, 2, 5)
    }
    found: dict[int, list[tuple[int, int]]] = {file: [] for file in by_file}
    for file, (offsets, sizes) in zip(table.file.tolist(), listed(table), strict=True):
        assert offsets is not None
        assert sizes is not None
        found[file] += list(zip(offsets, sizes, strict=True))
    assert {file: sorted(own) for file, own in found.items()} == {
        file: sorted(own) for file, own in by_file.items()
    }
    assert found[5] == by_file[5]
    assert data_of(extract_model(trace_of(events), PROVENANCE, rules), 0) == wanted(events, 0)
