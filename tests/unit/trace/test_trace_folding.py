"""Folding loses no operation: what is unfolded is what was folded."""

from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from wavetank.trace.events import unfold
from wavetank.trace.fold import SingleOperations, fold

operation = st.tuples(
    st.integers(0, 2),  # rank
    st.sampled_from([3, 4, 11]),  # op
    st.integers(0, 1),  # file
    st.sampled_from([0, 10, 20]),  # size
    st.integers(0, 5).map(lambda n: n * 10),  # offset
    st.booleans(),  # short
    st.integers(0, 2),  # tick
)


def events_of(rows: list[tuple[int, int, int, int, int, bool, int]]) -> SingleOperations:
    """Columns of operations; ticks grow within a rank."""
    rank, op, file, size, offset, short, tick = (
        np.array(column) for column in zip(*rows, strict=True)
    )
    clock = np.zeros(len(rows), dtype=np.int64)
    for one in np.unique(rank):
        clock[rank == one] = np.cumsum(tick[rank == one])
    return SingleOperations(
        rank=rank.astype(np.int32), op=op.astype(np.uint8), file=file.astype(np.int32),
        handle=file.astype(np.int32), size=size, moved=np.where(short & (size > 0), size - 3, size), offset=offset,
        tick=clock, subtick=np.zeros(len(rows), dtype=np.int64), start_ns=np.arange(len(rows)) * 100,
        end_ns=np.arange(len(rows)) * 100 + 7, arg=np.zeros(len(rows), dtype=np.int64),
        error=np.zeros(len(rows), dtype=np.int32),
    )  # fmt: skip


@given(st.lists(operation, min_size=1, max_size=60))
@settings(max_examples=300, deadline=None)
def test_unfolding_gives_back_every_operation_in_order(
    rows: list[tuple[int, int, int, int, int, bool, int]],
) -> None:
    events = events_of(rows)
    order = np.argsort(events.rank, kind="stable")
    back = unfold(fold(events))
    for name in ("rank", "op", "file", "handle", "size", "moved", "offset", "tick"):
        assert getattr(back, name).tolist() == getattr(events, name)[order].tolist(), name
    assert (
        back.seq[back.rank == back.rank[0]] == np.arange(int((back.rank == back.rank[0]).sum()))
    ).all()


def test_a_regular_run_is_one_row_and_its_short_end_belongs_to_it() -> None:
    rows = [(0, 3, 0, 10, 10 * i, i == 9, 0) for i in range(10)]
    folds = fold(events_of(rows))
    assert folds.count.tolist() == [10]
    assert folds.disp.tolist() == [10]
    assert folds.moved.tolist() == [97]  # the last one is 3 bytes short
    assert folds.busy_ns.tolist() == [70]


def test_no_operations_fold_to_no_rows() -> None:
    empty = events_of([(0, 3, 0, 10, 0, False, 0)])
    nothing = SingleOperations(
        **{name: getattr(empty, name)[:0] for name in SingleOperations.__dataclass_fields__}
    )
    assert len(fold(nothing)) == 0
    assert len(unfold(fold(nothing))) == 0


def test_one_number_for_all_operations_stays_one_where_rows_are_joined() -> None:
    rows = [(0, 3, 0, 10, offset, False, 0) for offset in (0, 10, 20, 70, 40)]
    events = events_of(rows)
    one = replace(
        events,
        tick=np.broadcast_to(np.int64(2), len(rows)),
        handle=events.file,
    )
    folds = fold(one)
    assert folds.count.tolist() == [3, 1, 1]
    assert folds.given.tolist() == [0, 0, 0]
    assert folds.tick.tolist() == [2, 2, 2]
    assert {column.strides for column in (folds.given, folds.tick, folds.tick_step)} == {(0,)}
    assert folds.handle is folds.file  # no second copy


def test_operations_at_one_offset_fold_from_a_column_of_one_number() -> None:
    events = events_of([(0, 3, 0, 10, 40, False, 0) for _ in range(5)])
    folds = fold(replace(events, offset=np.broadcast_to(np.int64(40), 5)))
    assert folds.count.tolist() == [5]
    assert (folds.offset.tolist(), folds.disp.tolist()) == ([40], [0])
