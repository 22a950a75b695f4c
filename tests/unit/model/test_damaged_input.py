"""Traces that are wrong, torn or odd: a defined result or a clear error."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from fold_builder import PROVENANCE, Event, fold_table, model_of, trace_of

from wavetank.errors import ModelError
from wavetank.model.comparison.difference import compare_models
from wavetank.model.document.model import Model
from wavetank.model.extract import extract_model
from wavetank.model.rules import Rules
from wavetank.notes import texts
from wavetank.trace.schema import COLUMNS, Trace

WRITES = [
    Event(rank, "pwrite", offset=rank * 1000 + i * 10, size=10)
    for rank in range(3)
    for i in range(5)
]


def model(trace: Trace) -> Model:
    return extract_model(trace, PROVENANCE)


def with_column(name: str, row: int, value: int) -> Trace:
    table = fold_table(WRITES)
    column = getattr(table, name).copy()
    column[row] = value
    return trace_of(replace(table, **{name: column}), n_ranks=3)


def test_clocks_that_differ_between_ranks_change_no_phase() -> None:
    hour = 3600 * 10**9
    skewed = [
        replace(e, start_ns=hour - i if e.rank == 1 else i * 2000) for i, e in enumerate(WRITES)
    ]
    assert compare_models(model_of(WRITES), model_of(skewed)).same


def test_clocks_that_run_backwards_change_no_phase() -> None:
    backward = [replace(e, start_ns=-(10**9) * i) for i, e in enumerate(WRITES)]
    assert compare_models(model_of(WRITES), model_of(backward)).same


def test_a_rank_without_a_part_is_told_and_the_others_are_modelled() -> None:
    trace = trace_of([e for e in WRITES if e.rank != 1], n_ranks=3)
    trace = replace(trace, ranks=tuple(facts for facts in trace.ranks if facts.rank != 1))
    found = model(trace)
    assert [phase.ph_processid for phase in found.phases] == [(0, 2)]
    assert any("no part for rank 1" in warning for warning in texts(found.notes))


def test_a_rank_that_died_is_told_and_what_it_did_is_modelled() -> None:
    trace = trace_of([e for e in WRITES if e.rank != 2 or e.offset < 2030])
    trace = replace(trace, ranks=(*trace.ranks[:2], replace(trace.ranks[2], complete=False)))
    found = model(trace)
    assert [(p.ph_processid, p.ph_nrep) for p in found.phases] == [((0, 1), 5), ((2,), 3)]
    assert any("rank 2 is cut short" in warning for warning in texts(found.notes))


def test_operations_of_no_length_are_kept_in_order_and_count_nowhere() -> None:
    events = [
        Event(0, "pwrite", offset=0, size=10),
        *[Event(0, "pwrite", offset=10, size=0)] * 4,
        Event(0, "pwrite", offset=10, size=10),
    ]
    for fold in (False, True):
        found = model_of(events, fold=fold)
        assert found.app_st == 20
        assert [step.step for step in found.programs[0].steps] == ["data", "file", "data"]
        assert found.phases[0].metadata_ops == {"pwrite (moves nothing)": 4}


def test_a_file_under_two_spellings_of_its_name_is_one_file() -> None:
    events = [Event(0, "pwrite", 0, offset=i * 10, size=10) for i in range(5)]
    events += [Event(0, "pwrite", 1, offset=50 + i * 10, size=10) for i in range(5)]
    found = model(trace_of(events, paths=["/data/out", "/data//./out"]))
    assert [file.file_name for file in found.files] == ["/data/out"]
    assert [phase.ph_nrep for phase in found.phases] == [10]
    assert any("another spelling" in warning for warning in texts(found.notes))


def test_two_names_that_no_spelling_explains_are_two_files() -> None:
    # A link: nothing in a trace says that both lead to one file.
    events = [Event(0, "pwrite", 0, size=10), Event(0, "pwrite", 1, size=10)]
    assert model(trace_of(events, paths=["/data/out", "/data/link"])).app_nfiles == 2


def test_handles_that_overlap_and_are_never_closed_are_told_apart() -> None:
    events = [Event(0, "open", handle=h) for h in (3, 4, 5)]
    events += [Event(0, "pread", offset=i * 10, size=10, handle=3 + i % 3) for i in range(12)]
    (phase,) = model_of(events).phases
    assert [member.handle for member in phase.pattern] == [0, 1, 2]


def test_a_handle_that_was_never_opened_is_handle_0() -> None:
    (phase,) = model_of(
        [Event(0, "pwrite", offset=i * 10, size=10, handle=77) for i in range(4)]
    ).phases
    assert phase.pattern[0].handle == 0


def test_rows_out_of_order_are_put_in_order() -> None:
    table = fold_table(WRITES)
    order = np.random.default_rng(3).permutation(len(table))
    shuffled = replace(table, **{name: getattr(table, name)[order] for name in COLUMNS})
    assert compare_models(model(trace_of(shuffled)), model_of(WRITES)).same


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("count", 0, "stands for no operation"),
        ("rank", 99, "a rank outside 0 to 2"),
        ("file", 5, "a file that the trace does not name"),
        ("view", 0, "a file view that the trace does not hold"),
        ("size", -1, "fewer than 0 bytes"),
        ("offset", -50, "begins before its file"),
        ("count", 7, "other bytes than its operations can"),
    ],
)
def test_a_row_that_cannot_be_is_refused_with_its_place(
    column: str, value: int, message: str
) -> None:
    trace = with_column(column, 14, value)
    trace = replace(trace, files=trace.files[:1])
    with pytest.raises(
        ModelError,
        match=f"damaged: operation 4 of rank {99 if column == 'rank' else 2} .*{message}",
    ):
        model(trace)


def test_requests_that_are_not_recorded_are_what_was_moved() -> None:
    table = fold_table(WRITES)
    found = model(trace_of(replace(table, size=np.zeros_like(table.size))))
    assert [phase.pattern[0].rs for phase in found.phases] == [10]
    assert any("stands for their request size" in warning for warning in texts(found.notes))


def test_unknown_offsets_are_said_and_never_invented() -> None:
    table = fold_table(
        [
            Event(r, "MPI_File_write_at_all", offset=i * 10, size=10)
            for r in range(2)
            for i in range(6)
        ]
    )
    none = np.full_like(table.offset, -1)
    found = model(trace_of(replace(table, offset=none, view_offset=none)))
    (phase,) = found.phases
    assert phase.offset[0].function == "unknown"
    assert (phase.pattern[0].disp, phase.exact) == (None, False)
    assert phase.ph_weight == 120
    (file,) = found.files
    assert (file.file_accessmode, file.file_size, file.file_size_highest_offset) == (
        "unknown",
        120,
        None,
    )
    assert (file.n_sequential, file.n_consecutive) == (None, None)
    assert any("at which offsets" in warning for warning in texts(found.notes))


def test_times_that_were_not_recorded_are_none() -> None:
    table = fold_table(WRITES)
    unknown = np.full_like(table.start_ns, -1)
    found = model(trace_of(replace(table, start_ns=unknown, end_ns=unknown)))
    assert all((p.start_s, p.end_s, p.io_time_s) == (None, None, None) for p in found.phases)
    assert found.requirements.reached_write_bytes_per_s is None
    assert all(point.start_s is None for point in found.timeline)


def test_a_trace_that_counts_no_mpi_calls_says_that_it_could_not_split() -> None:
    table = fold_table(
        [Event(0, "MPI_File_write_at", offset=i * 10, size=10, communication=1) for i in range(5)]
    )
    found = model(trace_of(replace(table, tick=np.zeros_like(table.tick), subtick=table.seq)))
    assert len(found.phases) == 1
    assert any("counts no communication" in warning for warning in texts(found.notes))


@pytest.mark.parametrize("seconds", [0.0, -1.0, float("nan"), float("inf")])
def test_times_that_are_no_positive_numbers_are_refused(seconds: float) -> None:
    with pytest.raises(ModelError, match="computation gap must be a positive number"):
        Rules(split_at_computation_s=seconds)
    with pytest.raises(ModelError, match="pause to keep must be a positive number"):
        Rules(pauses_s=seconds)


@pytest.mark.parametrize(
    "window", [(0.0, 1.2), (1.1, 1.2), (0.8, 0.9), (float("nan"), 1.2), (0.8, float("inf"))]
)
def test_a_window_that_is_none_around_1_is_refused(window: tuple[float, float]) -> None:
    with pytest.raises(ModelError, match="no window around 1"):
        Rules(similarity=window)
