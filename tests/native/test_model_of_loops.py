"""Loops that open files in every repetition are read and extracted as they were recorded."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tracer_run import compile_c, need, run_traced

from wavetank.document import provenance
from wavetank.model.comparison.difference import compare_models
from wavetank.model.document.model import Model
from wavetank.model.extract import extract_model
from wavetank.trace.events import unfold
from wavetank.trace.reader import read_trace
from wavetank.trace.schema import FoldTable, Trace

TIMES = {
    "provenance", "timeline", "requirements", "elapsed_s", "start_s", "end_s", "io_time_s", "run_times",
}  # fmt: skip


@pytest.fixture(autouse=True)
def _built() -> None:
    need("libwavetank-trace-decode.so", "gcc")
    need("libwavetank-trace.so")


def recorded(where: Path, monkeypatch: pytest.MonkeyPatch, *arguments: int) -> tuple[Trace, Trace]:
    """The trace taken apart, and with its loops."""
    where.mkdir(exist_ok=True)
    program = compile_c("loop_opens.c", where / "loop_opens", "-Wall", "-Werror")
    apart = run_traced([str(program), *map(str, arguments)], where, monkeypatch)
    return apart, read_trace(where / "run.trace", loops=True)


def without_times(value: object) -> object:
    """Of a model, what does not depend on times, which are interpolated inside of loops."""
    if isinstance(value, dict):
        return {key: without_times(item) for key, item in value.items() if key not in TIMES}
    if isinstance(value, list):
        return [without_times(item) for item in value]
    return value


def told(model: Model) -> object:
    return without_times(model.model_dump(mode="json"))


@pytest.mark.parametrize("seed", [0, *range(1, 7)])
def test_loops_with_opens_give_the_model_of_their_operations(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    apart, folded = recorded(tmp_path, monkeypatch, 300, seed)
    for name in ("seq", "op", "file", "handle", "size", "moved", "offset", "tick", "subtick"):
        found, wanted = (getattr(unfold(trace.folds), name) for trace in (folded, apart))
        assert found.tolist() == wanted.tolist(), name
    model, wanted = (extract_model(trace, provenance()) for trace in (folded, apart))
    assert compare_models(model, wanted).differences == ()
    assert told(model) == told(wanted)


def pauses(folds: FoldTable) -> int:
    """Of 100 ms and more between operations. On a busy machine a process may wait so long for a processor."""
    order = np.argsort(folds.start_ns, kind="stable")
    before = np.maximum.accumulate(folds.end_ns[order])[:-1]
    return int((folds.start_ns[order][1:] - before > 90_000_000).sum())


def test_rows_and_steps_do_not_grow_with_the_repetitions_of_a_loop_that_opens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, steps, n_pauses = [], [], []
    for n in (300, 900):
        _, folded = recorded(tmp_path / str(n), monkeypatch, n, 0)
        rows.append(len(folded.folds))
        steps.append(len(extract_model(folded, provenance()).model_dump_json()))
        n_pauses.append(pauses(folded.folds))
        assert (folded.folds.handle_step > 0).any()
        # Every open has a handle of its own: 4, one in each repetition of two loops, and ten in those of the third.
        assert len(set(unfold(folded.folds).handle.tolist())) == 4 + 12 * n
    # Opens and closes of 4 files; bodies of 5, 3 times 3 and 73 operations, once more where each begins and ends.
    most = 4 * 3 + 3 * (5 + 9 + 73)
    # A pause ends a loop. Fewer than 80 repetitions of a body of more than 64 operations are stored one by one.
    by_a_pause = 80 * 73
    assert rows[0] <= most + n_pauses[0] * by_a_pause
    assert abs(rows[1] - rows[0]) <= 73 + max(n_pauses) * by_a_pause
    assert steps[1] < 1.5 * steps[0] * (1 + n_pauses[1])
