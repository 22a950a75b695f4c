"""Loops that open files in every repetition are read and extracted as they were recorded."""

from __future__ import annotations

from pathlib import Path

import pytest
from tracer_run import compile_c, need, run_traced

from wavetank.document import provenance
from wavetank.model.comparison.difference import compare_models
from wavetank.model.document.model import Model
from wavetank.model.extract import extract_model
from wavetank.trace.reader import read_trace
from wavetank.trace.schema import Trace
from wavetank.trace.unfold import unfold

TIMES = {
    "provenance", "timeline", "requirements", "elapsed_s", "start_s", "end_s", "io_time_s",
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


def test_rows_and_steps_do_not_grow_with_the_repetitions_of_a_loop_that_opens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, steps = [], []
    for n in (300, 900):
        _, folded = recorded(tmp_path / str(n), monkeypatch, n, 0)
        rows.append(len(folded.folds))
        steps.append(len(extract_model(folded, provenance()).model_dump_json()))
        assert (folded.folds.handle_step > 0).any()
        # Every open has a handle of its own: 4, one in each repetition of two loops, and ten in those of the third.
        assert len(set(unfold(folded.folds).handle.tolist())) == 4 + 12 * n
    # Opens and closes of 4 files; bodies of 5, 3 times 3 and 73 operations, once more where each begins and ends.
    assert rows[0] <= 4 * 3 + 3 * (5 + 9 + 73)
    assert abs(rows[1] - rows[0]) <= 73
    assert steps[1] < 1.5 * steps[0]
