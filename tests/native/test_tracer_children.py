"""Where children begin and end among their parent's operations, however they are started and waited for."""

from __future__ import annotations

from pathlib import Path

import pytest
from fold_builder import PROVENANCE
from tracer_run import compile_c, need, run_traced

from wavetank.model.document.program import DataStep, ProcessStep
from wavetank.model.extract import extract_model

N = 12
"""Children of tests/native/programs/children.c."""


@pytest.mark.parametrize("way", ["fork", "vfork", "spawn", "system", "popen", "inside"])
def test_each_child_begins_and_ends_between_the_writes_that_it_lay_between(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    need("libwavetank-trace.so", "gcc")
    program = compile_c("children.c", tmp_path / "children")
    trace = run_traced([str(program), way], tmp_path, monkeypatch)
    assert trace.n_ranks == N + 1
    assert [facts.parent for facts in trace.ranks] == [None] + [0] * N
    model = extract_model(trace, PROVENANCE)
    (parent,) = (program for program in model.programs if 0 in program.ranks)
    steps = [step for step in parent.steps if isinstance(step, (DataStep, ProcessStep))]
    told = [(step.event, step.rank) if isinstance(step, ProcessStep) else "data" for step in steps]
    # Write i, then child i + 1 begins and ends, and only then the next write.
    assert told == [
        what for i in range(N) for what in ("data", ("begins", i + 1), ("ended", i + 1))
    ]


def test_rows_fold_as_before_where_no_child_is_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need("libwavetank-trace.so", "sh", "dd")
    trace = run_traced(
        ["dd", "if=/dev/zero", "of=out.bin", "bs=512", "count=500"], tmp_path, monkeypatch
    )
    assert sum(trace.folds.count) > 500 > 20 > len(trace.folds.count)
