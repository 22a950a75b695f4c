"""Where the operations of a record lie: a layout with as many consecutive, forward and backward steps as were counted.

Reads the sizes of a record's reads or writes, how many ranks did them, and the counts of steps from one operation of a
rank to its next one; leaves rows for ``blocks``. What the counters do not say is chosen so that the file is covered
without overlaps as far as its highest byte allows, and sums of bytes and operations are kept exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from wavetank.model.counters.sizes import Runs


@dataclass(frozen=True)
class Row:
    """Operations at equal distance, of ranks at equal distance.

    Of the ranks at places ``first`` to ``stop`` (half open) the one at place p makes ``count`` operations of ``size``
    bytes; operation i lies at offset + (p - first) * per_rank + i * disp.
    """

    first: int
    stop: int
    count: int
    size: int
    offset: int
    per_rank: int
    disp: int


@dataclass(frozen=True)
class Steps:
    """Steps from one operation of a rank to its next one, all ranks together."""

    consecutive: int
    forward: int
    backward: int


@dataclass(frozen=True)
class Layout:
    """Rows of a direction.

    Attributes:
        head: single operations that not every rank makes, before the others.
        groups: rows in order, of all ranks or of each rank by itself.
        compact: True where random places are left out because there are too many operations.
    """

    head: tuple[Row, ...] = ()
    groups: tuple[tuple[Row, ...], ...] = ()
    compact: bool = False


@dataclass(frozen=True)
class Space:
    """What is known of where operations can lie.

    Attributes:
        extent: bytes of the file up to the highest one that was touched.
        gaps: most frequent distances from one operation's end to the next one's begin, bytes, and how often each came.
        n_rows: rows of a rank that a layout may have at most.
        n_sweeps: backward jumps of a rank from which on places are random.
        seed: of random places.
        start: bytes at the begin of the file that others use.
    """

    extent: int
    gaps: tuple[tuple[int, int], ...]
    n_rows: int
    n_sweeps: int
    seed: int = 0
    start: int = 0


def lay_out(runs: Runs, n_ranks: int, steps: Steps | None, space: Space) -> Layout:
    """Rows with the operations of ``runs``, dealt to the ranks one by one.

    Args:
        runs: request sizes, of all ranks together.
        n_ranks: that make them.
        steps: as counted; None where they were not: ranks lie side by side in each round of operations (calls that
            are collective), or behind each other where there is one round only.
        space: where they can lie.
    """
    head, base, cursor = _dealt(runs, n_ranks, space.start)
    head += [Row(0, n_ranks, count, 0, cursor, 0, 0) for size, count in base if not size]
    base = [run for run in base if run[0]]
    if not base:
        return Layout(tuple(head))
    n_rounds = sum(count for _, count in base)
    if steps is None:
        steps = Steps(0, n_ranks * (n_rounds - 1), 0)
    jumps = max(steps.forward, 0) // n_ranks, max(steps.backward, 0) // n_ranks
    whole = max(space.extent, cursor + sum(size * count for size, count in base))
    wide = space.extent - cursor
    compact = False
    if n_ranks > 1 and jumps[0] and 4 * jumps[1] <= jumps[0]:
        groups = [_interleaved(base, n_ranks, jumps[0], cursor, whole, space)]
    elif jumps[1] >= space.n_sweeps:
        groups, compact = _roaming(base, n_ranks, jumps, cursor, wide, space)
    else:
        groups = [_behind(base, n_ranks, jumps, cursor, wide, space)]
    return Layout(tuple(head), _up_to(space.extent, groups), compact)


def _up_to(extent: int, groups: Sequence[Sequence[Row]]) -> tuple[tuple[Row, ...], ...]:
    """Rows moved up such that the highest byte is the one that was touched."""
    highest = max(
        row.offset + (row.stop - row.first - 1) * row.per_rank + max(0, (row.count - 1) * row.disp) + row.size
        for group in groups
        for row in group
    )  # fmt: skip
    more = max(0, extent - highest)
    return tuple(tuple(replace(row, offset=row.offset + more) for row in group) for group in groups)


def _dealt(runs: Runs, n_ranks: int, start: int) -> tuple[list[Row], list[tuple[int, int]], int]:
    """Operations that are left when each rank has equally many of a size, what each rank has, and where the former end."""
    head: list[Row] = []
    base: list[tuple[int, int]] = []
    place, cursor = 0, start
    for size, count in runs:
        each, rest = divmod(count, n_ranks)
        if each:
            base.append((size, each))
        while rest:
            n = min(rest, n_ranks - place)
            head.append(Row(place, place + n, 1, size, cursor, size, 0))
            place, rest, cursor = (place + n) % n_ranks, rest - n, cursor + n * size
    return head, base, cursor


# --- ranks in turns ---------------------------------------------------------------------------------


def _interleaved(
    base: Sequence[tuple[int, int]], n_ranks: int, forward: int, start: int, extent: int, space: Space
) -> list[Row]:  # fmt: skip
    """Ranks side by side in chunks of consecutive operations: each jumps over the chunks of the others."""
    n_rounds = sum(count for _, count in base)
    rows: list[Row] = []
    spare = extent - start - n_ranks * sum(size * count for size, count in base)
    cursor = start
    for size, count in base:
        n_chunks = max(1, min(count, round((forward + 1) * count / n_rounds)))
        if n_chunks > space.n_rows and n_chunks < count:
            n_chunks = space.n_rows  # chunks become longer
        chunk = -(-count // n_chunks) * size
        step = n_ranks * chunk
        gap = _gap(space, count)
        # Holes between the chunks of all ranks, where the file has room for them.
        if (
            gap is not None
            and gap + chunk > step
            and (count // n_chunks) * (gap + chunk - step) <= spare
        ):
            spare -= n_chunks * (gap + chunk - step)
            step = gap + chunk
        elif not rows and 0 < spare < step:
            cursor += spare
        rows += _chunks(size, count, n_chunks, Row(0, n_ranks, 0, size, cursor, chunk, step))
        cursor += n_chunks * step
    return rows


def _chunks(size: int, count: int, n_chunks: int, form: Row) -> list[Row]:
    """Rows of chunks of consecutive operations at distances of ``form.disp``."""
    each, more = divmod(count, n_chunks)
    if each == 1 and not more:
        return [replace(form, count=count)]
    return [
        replace(form, count=each + (number < more), offset=form.offset + number * form.disp, disp=size)
        for number in range(n_chunks)
    ]  # fmt: skip


def _gap(space: Space, n: int) -> int | None:
    """The most frequent gap, if it is that of most jumps of the ranks."""
    return space.gaps[0][0] if space.gaps and 2 * space.gaps[0][1] >= n - 1 else None


# --- ranks behind each other ------------------------------------------------------------------------


def _behind(
    base: Sequence[tuple[int, int]], n_ranks: int, jumps: tuple[int, int], start: int, extent: int, space: Space,
) -> list[Row]:  # fmt: skip
    """Each rank in a region of its own, or all in the same one where they move more bytes than the file has."""
    each = sum(size * count for size, count in base)
    spare = extent - n_ranks * each
    first, region = start, each
    if spare < 0:  # bytes are touched again: by the same rank in its next pass, or by other ranks
        own = max(-(-each // (jumps[1] + 1)), max(base)[0])
        region = extent // n_ranks if n_ranks * own <= extent else min(own, max(extent, 1))
        per_rank = max(0, extent - region) // max(n_ranks - 1, 1)
    elif not any(jumps) and (spare < each or n_ranks == 1):
        first, per_rank = start + spare, each
    elif any(jumps):
        region = per_rank = max(each, extent // n_ranks)
    else:
        per_rank = (extent - each) // (n_ranks - 1)
    n_steps = sum(count - 1 for _, count in base)
    rows: list[Row] = []
    cursor = first
    left = list(jumps)
    for position, (size, count) in enumerate(base):
        last = position == len(base) - 1
        some = [
            n if last else min(n, round(n * (count - 1) / n_steps)) if n_steps else 0 for n in left
        ]
        left = [n - m for n, m in zip(left, some, strict=True)]
        some = [min(some[0], count - 1), min(some[1], max(0, count - 1 - some[0]))]
        width = size * count if not any(jumps) else max(size, region * size * count // each)
        form = Row(0, n_ranks, 0, size, cursor, per_rank, 0)
        rows += _swept(count, (some[0], some[1]), width, form, space)
        cursor += width
    return rows


def _swept(count: int, jumps: tuple[int, int], width: int, form: Row, space: Space) -> list[Row]:
    """Operations of one size with jumps: each backward one begins a pass over the region, forward ones leave gaps."""
    forward, backward = jumps
    size, n_chunks = form.size, forward + backward + 1
    if n_chunks == 1:
        return [replace(form, count=count, disp=size)]
    if n_chunks < count and n_chunks > space.n_rows:
        return _plain(count, jumps, width, form)
    each, more = divmod(count, n_chunks)
    chunk = (each + (more > 0)) * size
    rows: list[Row] = []
    done = 0
    per_pass, longer = divmod(n_chunks, backward + 1)
    most = per_pass + (longer > 0)
    gap = _gap(space, count) if not backward else None
    step = max(width // most, 1)
    if gap is not None and (most - 1) * (gap + chunk) + chunk <= width:
        step = gap + chunk
    # Passes lie beside each other; those of one chunk each behind each other, from the last one on.
    beside = max(1, min(step // chunk, backward + 1))
    for number in range(backward + 1):
        n = per_pass + (number < longer)
        lane = number % beside
        begin = form.offset + (lane if most > 1 else beside - 1 - lane) * chunk
        if each == 1 and not more:
            rows.append(replace(form, count=n, offset=begin, disp=step))
        else:
            rows += [
                replace(form, count=each + (done + i < more), offset=begin + i * step, disp=size)
                for i in range(n)
            ]
        done += n
    return rows


def _plain(count: int, jumps: tuple[int, int], width: int, form: Row) -> list[Row]:
    """The same in three rows: consecutive operations first, then the forward jumps, then the backward ones."""
    forward, backward = jumps
    size = form.size
    rows = [replace(form, count=count - forward - backward, disp=size)]
    end = form.offset + max(width - size, 0)
    at = form.offset + (count - forward - backward) * size
    if forward:
        step = max((end - at) // forward, 2 * size)
        rows.append(replace(form, count=forward, offset=at + step - size, disp=step))
    if backward:
        step = max((end - form.offset) // (backward + 1), 1)
        rows.append(replace(form, count=backward, offset=end - step, disp=-step))
    return rows


# --- random -----------------------------------------------------------------------------------------


def _roaming(
    base: Sequence[tuple[int, int]], n_ranks: int, jumps: tuple[int, int], start: int, extent: int, space: Space,
) -> tuple[list[list[Row]], bool]:  # fmt: skip
    """Random places, each rank its own, all over the file; without them where there would be too many rows."""
    n_rounds = sum(count for _, count in base)
    n_chunks = min(sum(jumps) + 1, n_rounds)
    if n_chunks > space.n_rows:
        rows: list[Row] = []
        width = max(extent // n_ranks, max(base)[0])
        for size, count in base:
            share = [min(n * count // n_rounds, (count - 1) // 2) for n in jumps]
            form = Row(0, n_ranks, 0, size, start, width, 0)
            rows += _plain(count, (share[0], share[1]), width, form)
        return [rows], True
    groups = []
    for place in range(n_ranks):
        order = zigzag(n_chunks, jumps[1], np.random.default_rng([space.seed, place]))
        groups.append(_scattered(base, n_ranks, order, (start, extent), place))
    return groups, False


def _scattered(
    base: Sequence[tuple[int, int]], n_ranks: int, order: np.ndarray, where: tuple[int, int], place: int,
) -> list[Row]:  # fmt: skip
    """Chunks of consecutive operations at places in a given order; the ranks' places lie beside each other."""
    start, extent = where
    n_rounds = sum(count for _, count in base)
    rows: list[Row] = []
    done = 0
    for position, (size, count) in enumerate(base):
        last = position == len(base) - 1
        n = len(order) - done if last else max(1, round(len(order) * count / n_rounds))
        n = min(max(n, 1), count, len(order) - done)
        if n < 1:  # fewer places than sizes: behind what came before
            n, order = 1, np.append(order, order[-1])
        each, more = divmod(count, n)
        chunk = (each + (more > 0)) * size
        n_slots = max(1, extent // (n_ranks * chunk))
        slots = order[done : done + n] * n_slots // len(order)
        for number, slot in enumerate(slots.tolist()):
            offset = start + (slot * n_ranks + place) * chunk
            rows.append(Row(place, place + 1, each + (number < more), size, offset, 0, size))
        done += n
    return rows


def zigzag(n: int, n_down: int, random: np.random.Generator) -> np.ndarray:
    """A random order of 0 to n - 1 with exactly ``n_down`` steps down.

    n_down + 1 ascending passes of random numbers; where a pass ends below the begin of the next one, the two numbers
    change places. Where more steps go down than up, the same with all numbers reversed.
    """
    n_up = n - 1 - n_down
    if n_down > n_up:
        return n - 1 - zigzag(n, n_up, random)
    shuffled = random.permutation(n)
    each, more = divmod(n, n_down + 1)
    lengths = each + (np.arange(n_down + 1) < more)
    ends = np.cumsum(lengths)
    order = np.lexsort((shuffled, np.repeat(np.arange(n_down + 1), lengths)))
    found: np.ndarray = shuffled[order]
    for end in ends[:-1].tolist():
        if found[end - 1] < found[end]:
            found[[end - 1, end]] = found[[end, end - 1]]
    return found


# --- in blocks --------------------------------------------------------------------------------------


def cut(layout: Layout, n: int) -> list[list[Row]]:
    """A layout in ``n`` blocks of equally many operations of each rank, the first ones one more; the head in the first."""
    blocks: list[list[Row]] = [[] for _ in range(n)]
    blocks[0] += layout.head
    for group in layout.groups:
        total = sum(row.count for row in group)
        done = block = 0
        for row in group:
            used = 0
            while used < row.count:
                while (end := -(-(block + 1) * total // n)) <= done:
                    block += 1
                some = min(row.count - used, end - done)
                blocks[block].append(replace(row, count=some, offset=row.offset + used * row.disp))
                used, done = used + some, done + some
    return blocks
