"""Lines of MPI-IO calls that are each one POSIX call, as of BT-IO simple: they fold, and tell what the single operations tell."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from wavetank.document import provenance
from wavetank.model.compression.folding import fold
from wavetank.model.document.thresholds import Thresholds
from wavetank.model.extract import compactor, extract_model
from wavetank.model.rules import Rules
from wavetank.trace.ops import OPS_BY_NAME
from wavetank.trace.schema import FoldTable, Level, RankFacts, Trace, TracedFile

SIZE = 1280
MADE_BY = provenance()
FOLDS_NOTHING = Thresholds(compacted_operations=1 << 40, woven_operations=1 << 40)
SEPARATED = [Rules(), Rules(split_at_communication={Level.POSIX: True, Level.MPIIO: True})]


def calls(lines: int, width: int, talks: tuple[int, ...] = ()) -> FoldTable:
    """One rank's rows: ``lines`` lines of ``width`` calls; communication before the calls ``talks``."""
    n = 2 * lines * width
    i = np.arange(n, dtype=np.int64)
    call = i // 2
    is_call = i % 2 == 1
    # An MPI-IO call is a tick; what it is made of begins when it has begun, and ends before it.
    made = np.searchsorted(np.array(talks, dtype=np.int64), call, side="right")
    offset = (call // width * 4096 + call % width * 64) * SIZE
    write, at = OPS_BY_NAME["pwrite"].code, OPS_BY_NAME["MPI_File_write_at"].code
    size, zero, none = np.full(n, SIZE), np.zeros(n, dtype=np.int64), np.full(n, -1)
    start, end = np.where(is_call, call * 2000, call * 2000 + 100), i * 1000 + 500
    return FoldTable(
        rank=zero.astype(np.int32), seq=i, op=np.where(is_call, at, write).astype(np.uint8),
        file=zero.astype(np.int32), handle=zero.astype(np.int32), count=np.ones(n, dtype=np.int64), size=size,
        moved=size, offset=offset, disp=zero, view=none.astype(np.int32), view_offset=offset, view_disp=zero,
        tick=call + made + ~is_call, subtick=zero, tick_step=zero, subtick_step=zero,
        start_ns=start, end_ns=end, busy_ns=end - start, error=zero.astype(np.int32),
    )  # fmt: skip


def told(table: FoldTable, rules: Rules, thresholds: Thresholds | None = None) -> str:
    """The model but for its timeline, which is of rows."""
    trace = Trace(
        source="wavetank", command=("program",), n_ranks=1, mpi_library=None, started_utc=None, elapsed_s=None,
        ranks=(RankFacts(0, "node", 0, True),), files=(TracedFile("/data/file"),), views=(), communicators=(),
        folds=table, levels=(Level.POSIX, Level.MPIIO),
    )  # fmt: skip
    rules = replace(rules, thresholds=thresholds or Thresholds())
    model = extract_model(trace, MADE_BY, rules)
    return model.model_dump_json(exclude={"provenance", "timeline", "thresholds"})


def rows(table: FoldTable) -> int:
    return len(fold(table, compactor=compactor(Rules())))


@pytest.mark.parametrize(("lines", "width"), [(128, 32), (1000, 4)])
def test_a_line_is_two_rows(lines: int, width: int) -> None:
    assert rows(calls(lines, width)) == 2 * lines


def test_lines_of_three_stay_single() -> None:
    """Half of them in lists would hide that they are lines."""
    assert rows(calls(500, 3)) == 2 * 500 * 3


def test_communication_ends_a_line() -> None:
    # Before the first call of line 64: nothing is cut. Within line 3: 10 calls before it, 22 behind it.
    assert rows(calls(128, 32, talks=(64 * 32,))) == 2 * 128
    assert rows(calls(128, 32, talks=(64 * 32, 99 * 32 + 10))) == 2 * 129


@pytest.mark.parametrize("rules", SEPARATED)
@pytest.mark.parametrize("width", [3, 7, 32])
@pytest.mark.parametrize("talks", [(), (192, 1333), tuple(range(0, 2000, 40))])
def test_folded_lines_tell_what_single_operations_tell(
    width: int, talks: tuple[int, ...], rules: Rules
) -> None:
    table = calls(2048 // width, width, talks)
    assert told(table, rules) == told(table, rules, FOLDS_NOTHING)
