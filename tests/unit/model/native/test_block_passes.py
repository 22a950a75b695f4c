"""The passes over loops and irregular stretches of a chunk, against what plain Python finds."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from fold_builder import Event, fold_table

from wavetank.model.compression.folded_table import Folded, as_folded
from wavetank.model.native import blocks as block_passes
from wavetank.model.native.survey import Chunk, Workspace
from wavetank.model.rules import Rules
from wavetank.trace.schema import COLUMNS, FoldTable


def with_columns(n: int, **columns: np.ndarray) -> Chunk[Folded]:
    """n single reads with some columns exchanged."""
    first = fold_table([Event(0, "pread", size=1)])
    of_all = {name: np.resize(getattr(first, name), n) for name in COLUMNS}
    for name, column in columns.items():
        of_all[name] = column.astype(of_all[name].dtype)
    return Chunk(as_folded(FoldTable(**of_all)))


def equal_steps(offset: list[int], period: int, shortest: int) -> list[tuple[int, int]]:
    """Parts of a loop whose members' steps stay, one after another; what two share is the first one's."""
    turns = [offset[at : at + period] for at in range(0, len(offset), period)]
    steps = [[b - a for a, b in zip(*pair, strict=True)] for pair in itertools.pairwise(turns)]
    parts: list[tuple[int, int]] = []
    begin = 0
    for at in range(1, len(steps) + 1):
        if at < len(steps) and steps[at] == steps[at - 1]:
            continue
        first, stop = begin, at + 1
        if stop - first >= shortest:
            first += bool(parts) and parts[-1][1] == first + 1
            if stop - first >= shortest:
                parts.append((first, stop))
        begin = at
    return parts


@pytest.mark.parametrize("seed", range(8))
def test_parts_of_loops_are_those_with_equal_steps(seed: int) -> None:
    random = np.random.default_rng(seed)
    period, turns = int(random.choice([1, 2, 3, 7, 63, 64])), int(random.integers(2, 900))
    low, shortest = int(random.integers(0, 40)), int(random.integers(2, 10))
    n = period * turns
    offset = np.tile(random.integers(0, 1 << 40, period), turns)
    offset = offset + np.repeat(np.arange(turns), period) * 512
    rare = random.random(n) < random.choice([0, 0.001, 0.02, 0.5])
    kept = random.random(period) < 0.3
    offset = offset + (rare & ~np.tile(kept, turns)) * random.integers(1, 3, n)
    in_view = random.random() < 0.3
    view_offset = offset.copy()
    if in_view:
        view_offset[random.integers(0, n)] += 1
    ahead = np.zeros(low, dtype=np.int64)
    chunk = with_columns(
        low + n + 3,
        offset=np.concatenate([ahead, offset, [5, 5, 5]]),
        view_offset=np.concatenate([ahead, view_offset, [5, 5, 5]]),
        view=np.full(low + n + 3, 0 if in_view else -1),
        busy_ns=np.arange(low + n + 3),
    )
    code = np.concatenate([ahead, np.tile(np.arange(period), turns), [0, 0, 0]]).astype(np.uint32)
    loop = (low, low + n, period)
    found = block_passes.loop_parts(chunk, code, loop, shortest, Workspace())
    assert found is not None
    both = np.stack([offset, view_offset], axis=1).reshape(turns, -1)
    changes = np.diff(offset.reshape(turns, -1), n=2, axis=0) != 0
    changes |= np.diff(view_offset.reshape(turns, -1), n=2, axis=0) != 0
    assert found.irregular.tolist() == changes.any(axis=0).tolist()
    expected = equal_steps(both.reshape(-1).tolist(), 2 * period, shortest)
    parts = list(map(tuple, found.parts.tolist()))
    assert parts == (expected if changes.any() else [(0, turns)])
    busy = [sum(range(low + member, low + n, period)) for member in range(period)]
    # As a whole, and as two parts in sequence.
    middle = low + turns // 2 * period
    halves = [
        sum(range(first + member, stop, period))
        for first, stop in ((low, middle), (middle, low + n))
        for member in range(period)
    ]
    whole, separated = np.array([[low, low + n]]), np.array([[low, middle], [middle, low + n]])
    assert block_passes.busy_of_members(chunk, whole, period).tolist() == busy
    assert block_passes.busy_of_members(chunk, separated, period).tolist() == halves
    other = code.copy()
    other[low + n - 1] += 1
    assert (block_passes.loop_parts(chunk, other, loop, shortest, Workspace()) is None) == (
        turns > 1
    )


@pytest.mark.parametrize("seed", range(5))
def test_signatures_are_matched_as_far_as_they_recur(seed: int) -> None:
    random = np.random.default_rng(seed)
    period, n = int(random.integers(1, 65)), int(random.integers(100, 5000))
    signature = np.resize(random.integers(0, 1 << 60, period), n).astype(np.uint64)
    signature[int(random.integers(period, n))] += np.uint64(seed % 3 > 0)
    position, high = int(random.integers(0, 50)), n - int(random.integers(0, 20))
    expected = 0
    while position + expected + period < high and (
        signature[position + expected] == signature[position + expected + period]
    ):
        expected += 1
    assert block_passes.matched(signature, position, high, period) == expected


@pytest.mark.parametrize("similarity", [(0.8, 1.2), (0.5, 3.0), None])
@pytest.mark.parametrize("seed", range(5))
def test_stretches_are_separated_where_sizes_are_not_similar(
    seed: int, similarity: tuple[float, float] | None
) -> None:
    random = np.random.default_rng(seed)
    rules, regular = Rules(similarity=similarity), int(random.choice([2, 16]))
    low, n = int(random.integers(0, 9)), int(random.integers(2, 3000))
    size = np.cumprod(random.choice([1, 1, 1, 1, 1.1, 0.85, 1.3, 0.6, 7, 0.1], n))
    size = np.clip(size * 4096, 0, 1 << 40).astype(np.int64)
    offset = random.integers(0, 1 << 40, n)
    offset[seed % n] -= (seed % 4 == 0) << 41
    ahead = np.full(low, -1)
    columns = {"size": size, "offset": offset, "busy_ns": np.arange(n)}
    chunk = with_columns(
        low + n, **{name: np.concatenate([ahead, values]) for name, values in columns.items()}
    )
    alike = [rules.alike(a, b) for a, b in itertools.pairwise(size.tolist())]
    bounds, first = {0, n}, 0
    for i in range(n):
        if i == n - 1 or not alike[i]:
            if i > first and i + 1 - first >= regular:
                bounds |= {first, i + 1}
            first = i + 1
    found = block_passes.parts_by_size(chunk, low, low + n, rules, regular, Workspace())
    assert found == sorted(bounds)
    whole = block_passes.stretch(chunk, low, low + n)
    assert (whole.asked, whole.busy_ns) == (int(size.sum()), n * (n - 1) // 2)
    assert whole.unknown == bool((offset < 0).any())
    assert (whole.empty, whole.differs) == (not size.all(), len(set(size.tolist())) > 1)
