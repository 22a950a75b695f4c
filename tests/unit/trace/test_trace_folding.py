"""Folding loses no operation: what is unfolded is what was folded."""

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
