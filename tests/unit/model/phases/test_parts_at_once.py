"""What is made of many parts of phases, or of many records, at once is what is made of each by itself."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from wavetank.document import provenance
from wavetank.model.document.access_runs import Repetitions, RunArrays, canonical, canonical_each
from wavetank.model.document.model import Model
from wavetank.model.extract import extract_model
from wavetank.model.phases import rank_phase
from wavetank.model.summary import timeline_points
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


def model(name: str) -> Model:
    pytest.importorskip("darshan")
    return extract_model(open_trace(LOGS / name), provenance())


def told(found: Model) -> dict[str, object]:
    return found.model_dump(exclude={"provenance"}, mode="json")


@pytest.mark.parametrize("name", NAMES)
def test_parts_and_points_made_at_once_are_those_made_one_by_one(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_once = told(model(name))
    monkeypatch.setattr(rank_phase, "SMALL", 0)
    monkeypatch.setattr(timeline_points, "_MANY_ROWS", 0)
    assert told(model(name)) == at_once


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
