"""Logs larger than the samples: modules of many megabytes, read whole by either way."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from wavetank.errors import TraceError
from wavetank.trace.events import unfold
from wavetank.trace.importers import darshan_header
from wavetank.trace.importers.libdarshan import open_log
from wavetank.trace.open import open_trace

REPOSITORY = Path(__file__).parents[3]
SAMPLE = REPOSITORY / "tests" / "data" / "darshan" / "ior_seq_fpp_posix_1m.darshan"
SEGMENTS = 600_000  # of 32 bytes: more than the 16 MiB that are asked of the library at first


@pytest.fixture(scope="module")
def writer() -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        "large_log", REPOSITORY / "benchmarks" / "importers" / "large_log.py"
    )
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def large(writer: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    log = tmp_path_factory.mktemp("large") / "sequential.darshan"
    writer.write(SAMPLE, log, SEGMENTS, "sequential")
    return log


def test_a_large_regular_log_becomes_a_row_per_rank_and_direction(large: Path) -> None:
    folds = open_trace(large).folds
    assert folds.rank.tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    assert folds.count.tolist() == [SEGMENTS // 8] * 8
    assert folds.size.tolist() == [1 << 20] * 8
    # The second half of a record are reads, and go on where the writes ended.
    assert (
        folds.offset + folds.count * folds.disp
        == np.where(folds.offset > 0, 2, 1) * (SEGMENTS // 8 << 20)
    ).all()


def test_the_library_and_the_header_give_the_same_bytes(large: Path) -> None:
    with open_log(large) as log:
        module = log.modules()["DXT_POSIX"]
        by_library = log.raw(module)
    assert by_library == darshan_header.raw(large, module.index, module.length)
    assert by_library is not None and len(by_library) > 16 << 20


def test_irregular_segments_come_back_one_by_one(writer: ModuleType, tmp_path: Path) -> None:
    log = tmp_path / "irregular.darshan"
    writer.write(SAMPLE, log, 4000, "irregular")
    events = unfold(open_trace(log).folds)
    random = np.random.default_rng(2026)  # as large_log.py draws, record by record
    for rank in range(4):
        sizes, offsets = random.integers(1, 65536, 1000), random.integers(0, 1 << 36, 1000)
        mine = events.rank == rank
        assert (events.size[mine] == sizes).all() and (events.offset[mine] == offsets).all()


@pytest.mark.parametrize("at", [0.1, 0.5, 0.9])
def test_a_damaged_module_is_refused_with_the_reason(
    large: Path, tmp_path: Path, at: float
) -> None:
    damaged = tmp_path / "damaged.darshan"
    content = bytearray(large.read_bytes())
    first = SAMPLE.stat().st_size
    place = first + int((len(content) - first) * at)
    content[place : place + 64] = bytes(range(64))
    damaged.write_bytes(bytes(content))
    with pytest.raises(TraceError, match=str(damaged)):
        open_trace(damaged)


@pytest.mark.parametrize("name", sorted(path.name for path in SAMPLE.parent.glob("*.darshan")))
def test_a_log_that_is_cut_short_anywhere_is_an_error_that_names_it(
    tmp_path: Path, name: str
) -> None:
    content = (SAMPLE.parent / name).read_bytes()
    for length in (*range(100, len(content), 97), len(content) - 1):
        cut = tmp_path / "cut.darshan"
        cut.write_bytes(content[:length])
        with pytest.raises(TraceError, match=str(cut)):
            open_trace(cut)


def test_a_log_of_another_format_that_makes_the_library_abort_is_an_error(tmp_path: Path) -> None:
    log = tmp_path / "old.darshan"
    content = bytearray(SAMPLE.read_bytes()[:1500])
    content[:4] = b"3.21"  # an older format, which the header's check does not know
    log.write_bytes(bytes(content))
    with pytest.raises(TraceError, match=str(log)):
        open_trace(log)
