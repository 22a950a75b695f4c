"""What is made of many parts of phases, or of many records, at once is what is made of each by itself."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from fold_builder import Event, model_of

from wavetank.document import provenance
from wavetank.model.document.access_runs import Repetitions, RunArrays, canonical, canonical_each
from wavetank.model.document.model import Model
from wavetank.model.document.phase import ListedOffsets
from wavetank.model.extract import extract_model
from wavetank.model.phases import rank_merging
from wavetank.model.phases.rank_phase import RankPhase
from wavetank.model.rules import Rules
from wavetank.model.work_limits import WorkLimits
from wavetank.trace.importers import libdarshan
from wavetank.trace.open import open_trace
from wavetank.trace.schema import UNKNOWN

LOGS = Path(__file__).parents[3] / "data" / "darshan"
NAMES = (
    "bt.W.4.mpi_io_full.darshan",
    "ior_strided_shared_mpiio_coll_256k.darshan",
    "s3dio_np4_40c_method0_openmpi_ompio.darshan",
    "recorded/bt_io-cb2.mpich.darshan",
    "recorded/madbench2.mpich.darshan",
    "recorded/segments-own-posix.mpich.darshan",
)
COLUMNS = ("count", "size", "moved", "offset", "disp")


ONE_BY_ONE = Rules(work=WorkLimits(part_rows=0, point_rows=0, pattern_operations=0))


def model(name: str, rules: Rules | None = None) -> Model:
    pytest.importorskip("darshan")
    return extract_model(open_trace(LOGS / name), provenance(), rules)


def told(found: Model) -> dict[str, object]:
    return found.model_dump(exclude={"provenance"}, mode="json")


@pytest.mark.parametrize("name", NAMES)
def test_parts_and_points_made_at_once_are_those_made_one_by_one(name: str) -> None:
    assert told(model(name, ONE_BY_ONE)) == told(model(name))


def test_points_of_lists_made_at_once_are_those_made_one_by_one() -> None:
    # Two ranks, 3,000 reads each at random places of random sizes: four bursts, a second apart.
    random = np.random.default_rng(7)
    events = [
        Event(
            rank, "pread", 0, int(random.integers(1 << 30)), int(random.integers(1, 9000)),
            start_ns=i * 1000 + i // 750 * 10**9, duration_ns=500,
        )
        for rank in range(2)
        for i in range(3000)
    ]  # fmt: skip
    at_once = model_of(events)
    lists = [place for phase in at_once.phases for place in phase.offset]
    assert any(isinstance(place, ListedOffsets) for place in lists)
    of_rank = [(point.start_s, point.count) for point in at_once.timeline if point.rank == 1]
    assert sum(count for _, count in of_rank) == 3000
    assert {round(start or 0) for start, _ in of_rank} == {0, 1, 2, 3}
    assert told(model_of(events, ONE_BY_ONE)) == told(at_once)


@pytest.mark.parametrize("name", NAMES)
def test_counters_read_as_columns_are_those_of_the_library(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("darshan")
    in_columns = tuple(open_trace(LOGS / name).counters)
    assert in_columns
    monkeypatch.setattr(libdarshan, "_CURRENT", {})
    assert tuple(open_trace(LOGS / name).counters) == in_columns


def rows(random: np.random.Generator) -> RunArrays:
    """A few rows: some go on where the one before ended, some end short."""
    n = int(random.integers(1, 8))
    count = random.integers(1, 4, n)
    size = random.choice([10, 20], n)
    moved = count * size - random.choice([0, 0, 0, 5], n)
    disp = random.choice([10, 20, 0], n)
    offset = np.cumsum(random.choice([10, 20, 40], n) * count)
    return RunArrays(count, size, moved, offset, disp)


def test_runs_of_many_sequences_are_those_of_each() -> None:
    random = np.random.default_rng(11)
    each = [rows(random) for _ in range(300)]
    joined = RunArrays(*(np.concatenate([getattr(one, name) for one in each]) for name in COLUMNS))
    ends = np.cumsum([len(one) for one in each])
    starts = np.append(0, ends[:-1])
    for one, found in zip(each, Repetitions.of_each(*canonical_each(joined, starts)), strict=True):
        expected = canonical(*(getattr(one, name) for name in COLUMNS))
        for name in COLUMNS:
            assert getattr(found.runs, name).tolist() == getattr(expected, name).tolist()
        assert found[:10] == Repetitions.of(expected)[:10]


def test_runs_without_offsets_stay_without() -> None:
    # Two sequences of two operations of 10 bytes; of the first one the places are not known.
    one, zero = np.ones(4, dtype=np.int64), np.zeros(4, dtype=np.int64)
    offset = np.array([UNKNOWN, UNKNOWN, 0, 30])
    joined = RunArrays(one, 10 * one, 10 * one, offset, zero)
    found = canonical_each(joined, np.array([0, 2]), np.array([True, False]))
    first, second = (one.runs for one in Repetitions.of_each(*found))
    assert (first.count.tolist(), first.offset.tolist(), first.disp.tolist()) == (
        [2],
        [UNKNOWN],
        [0],
    )
    assert (second.count.tolist(), second.offset.tolist(), second.disp.tolist()) == ([2], [0], [30])


def test_places_of_phases_made_at_once_are_those_made_one_by_one() -> None:
    """One rank's run, one rank's several runs, ranks on a line, and ranks that lie on none."""

    def part(rank: int, runs: list[tuple[int, int, int, int, int]]) -> RankPhase:
        table = RunArrays(*(np.array(column, dtype=np.int64) for column in zip(*runs, strict=True)))
        one = Repetitions.of(table)
        n_rep = int(table.count.sum())
        return RankPhase(0, n_rep, 0, 0, rank, 0, 1, -1, n_rep, (1,), (0,), (one,), None)

    phases = [
        [part(3, [(4, 10, 40, 100, 20)])],
        [part(3, [(4, 10, 40, 100, 20), (2, 10, 15, 900, 7)])],
        [part(rank, [(4, 10, 40, 1000 * rank, 10)]) for rank in range(3)],
        [part(rank, [(4, 10, 38, 1000 * rank**2, 10)]) for rank in range(3)],
        [part(0, [(4, 10, 40, UNKNOWN, 0)])],
    ]
    each = [(rank_merging.offsets_of(parts, 0, in_view=False),) for parts in phases]
    at_once = rank_merging.offsets_of_each(phases, in_view=False)
    assert at_once == each
    assert [one.model_dump() for (one,) in at_once] == [one.model_dump() for (one,) in each]
    assert [one.function for (one,) in at_once] == ["linear", "list", "linear", "list", "unknown"]


def test_lists_of_single_runs_are_those_of_any_runs() -> None:
    for moved in (40, 38):
        ranks = [(4, 10, moved, 1000 * rank**2, 10) for rank in range(4)]
        arrays = [RunArrays(*(np.array([value], dtype=np.int64) for value in one)) for one in ranks]
        of_single, of_any = ListedOffsets.of_single_runs(ranks), ListedOffsets.of(arrays)
        assert of_single == of_any
        assert of_single.model_dump_json() == of_any.model_dump_json()


@pytest.mark.parametrize("seed", range(20))
def test_patterns_looked_at_together_come_apart_as_one_by_one(seed: int) -> None:
    """Two members whose displacements change at some repetitions, on several files."""
    random = np.random.default_rng(seed)
    events = []
    for file in range(4):
        steps = np.repeat(random.integers(1, 4, 3) * 100, random.integers(2, 12, 3))
        places = np.cumsum(steps).tolist()
        for place in places:
            events += [
                Event(0, "pwrite", offset=place, size=10, file=file),
                Event(0, "pread", offset=5000 + 2 * place, size=30, file=file),
            ]
    assert told(model_of(events, ONE_BY_ONE)) == told(model_of(events))
