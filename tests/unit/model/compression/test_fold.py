"""Folding rows on the way in changes nothing but their number."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from fold_builder import Event, fold_table
from hypothesis import given, settings
from hypothesis import strategies as st
from test_model_properties import runs

from wavetank.model.compression.compactor import Compactor
from wavetank.model.compression.folding import fold
from wavetank.model.rules import Rules
from wavetank.model.work_limits import WorkLimits
from wavetank.trace.schema import COLUMNS, FoldTable


def unfolded(table: FoldTable) -> dict[str, list[int]]:
    """Every operation of a table, column by column."""
    index = np.repeat(np.arange(len(table)), table.count)
    within = np.arange(len(index)) - np.repeat(np.cumsum(table.count) - table.count, table.count)
    last = within == table.count[index] - 1
    moved = np.where(last, (table.moved - (table.count - 1) * table.size)[index], table.size[index])
    found = {
        name: getattr(table, name)[index]
        for name in ("rank", "op", "file", "handle", "size", "view", "given", "error")
    }
    found["moved"] = np.where(table.count[index] > 1, moved, table.moved[index])
    for name, step in (
        ("offset", "disp"),
        ("view_offset", "view_disp"),
        ("tick", "tick_step"),
        ("subtick", "subtick_step"),
    ):
        found[name] = getattr(table, name)[index] + within * getattr(table, step)[index]
    return {name: column.tolist() for name, column in found.items()}


@settings(max_examples=70, deadline=None)
@given(events=runs(), chunk=st.sampled_from([5, 16, 1 << 16]))
def test_folding_keeps_every_operation(events: list[Event], chunk: int) -> None:
    table = fold_table(events)
    folded = fold(table, compactor=Compactor(Rules(work=WorkLimits(chunk_rows=chunk))))
    assert unfolded(folded) == unfolded(table)
    assert int(folded.busy_ns.sum()) == int(table.busy_ns.sum())
    assert folded.count.sum() == table.count.sum()


def test_a_regular_sequence_becomes_one_row() -> None:
    table = fold_table([Event(0, "pwrite", offset=i * 100, size=100) for i in range(1000)])
    folded = fold(table)
    assert len(folded) == 1
    assert (folded.count[0], folded.disp[0], folded.moved[0]) == (1000, 100, 100_000)
    assert (folded.start_ns[0], folded.end_ns[0]) == (table.start_ns[0], table.end_ns[-1])


def test_chunks_come_one_after_another() -> None:
    table = fold_table([Event(0, "pwrite", offset=i * 100, size=100) for i in range(100)])
    parts = [
        replace(table, **{name: getattr(table, name)[a : a + 25] for name in COLUMNS})
        for a in range(0, 100, 25)
    ]
    assert unfolded(fold(iter(parts))) == unfolded(table)


def test_nothing_is_an_empty_table() -> None:
    assert len(fold([])) == 0
    assert len(fold(fold_table([]))) == 0


def test_operations_with_a_pause_between_them_stay_apart() -> None:
    events = [
        Event(0, "pwrite", offset=i * 100, size=100, start_ns=i * 10**9 if i < 5 else i * 10**10)
        for i in range(10)
    ]
    table = fold_table(events)
    assert len(fold(table)) == 1
    assert fold(table, gap_s=5.0).count.tolist() == [5, 1, 1, 1, 1, 1]
