"""Bytes that are known later are put into rows: plain ones, folded ones, and loops."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from wavetank.trace.decoder import COLUMNS, Columns, Decoded
from wavetank.trace.moved import correct_moved

SIZE = 100


def rows(*shapes: tuple[int, int]) -> Decoded:
    """(rows in the loop or 0 for a plain row, count): reads of 100 bytes, each row in a stretch of its own."""
    columns: Columns = {name: np.zeros(0, dtype=dtype) for name, dtype in COLUMNS}
    table: list[dict[str, int]] = []
    seq = loops = 0
    for members, count in shapes:
        loops += members > 0
        for member in range(max(members, 1)):
            table.append(
                {
                    "seq": seq + member, "count": count, "size": SIZE, "moved": SIZE * count,
                    "offset": 1_000_000 * len(table), "disp": SIZE, "view_offset": -1, "view": -1,
                    "tick": seq + member, "tick_step": max(members, 1), "loop": loops if members else 0,
                    "start_ns": 1000 * seq, "end_ns": 1000 * (seq + count), "busy_ns": 10 * count,
                }
            )  # fmt: skip
        seq += max(members, 1) * count
    for name, dtype in COLUMNS:
        columns[name] = np.array([row.get(name, 0) for row in table], dtype=dtype)
    n = len(table)
    return Decoded(columns, n, np.arange(n), np.zeros((n, 32), dtype=np.int64))


def operations(decoded: Decoded) -> dict[int, tuple[int, int, int]]:
    """By number: offset, tick and bytes moved of each operation."""
    columns, found = decoded.columns, {}
    loop = columns["loop"].tolist()
    for row in range(len(loop)):
        of = {name: int(values[row]) for name, values in columns.items()}
        body = loop.count(of["loop"]) if of["loop"] else 1
        for i in range(of["count"]):
            last = i == of["count"] - 1
            moved = of["moved"] - (of["count"] - 1) * SIZE if last else SIZE
            found[of["seq"] + i * body] = (
                of["offset"] + i * of["disp"], of["tick"] + i * of["tick_step"], moved,
            )  # fmt: skip
    return found


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(1, 6)), min_size=1, max_size=5),
    st.dictionaries(st.integers(0, 80), st.integers(0, SIZE), max_size=6),
)
def test_only_the_corrected_operations_change(
    shapes: list[tuple[int, int]], moved: dict[int, int]
) -> None:
    before = rows(*shapes)
    expected = {
        number: (offset, tick, moved.get(number, was))
        for number, (offset, tick, was) in operations(before).items()
    }
    after = correct_moved(before, moved)
    assert operations(after) == expected
    assert int(after.columns["busy_ns"].sum()) <= int(before.columns["busy_ns"].sum())
    firsts = before.columns["offset"][before.times_row]
    assert (after.columns["offset"][after.times_row] == firsts).all()


def test_a_short_read_in_a_fold_parts_it_in_three() -> None:
    after = correct_moved(rows((0, 5)), {2: 40}).columns
    assert after["count"].tolist() == [2, 1, 2]
    assert after["moved"].tolist() == [200, 40, 200]
    assert after["offset"].tolist() == [0, 200, 300]


def test_a_loop_that_holds_one_is_unrolled_and_others_stay() -> None:
    after = correct_moved(rows((2, 3), (2, 3)), {1: 0}).columns
    assert after["count"].tolist() == [1] * 6 + [3, 3]
    assert after["loop"].tolist() == [0] * 6 + [2, 2]


def test_a_view_that_is_not_there_stays_unknown() -> None:
    assert set(correct_moved(rows((0, 5)), {2: 40}).columns["view_offset"].tolist()) == {-1}
