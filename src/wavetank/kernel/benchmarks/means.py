"""Phases that a benchmark cannot express, as operations of equal size: what ``--approximate`` asks for.

Each direction of a phase (writes, reads) becomes, on every rank, the same number of operations of their mean
size, one after another or, where the application's are so and the benchmark can, in random order. Operations and
bytes come near; order and places in the file do not, and are told.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from wavetank.kernel.benchmarks.groups import Group, approximate, changed, phase_groups
from wavetank.kernel.benchmarks.random_groups import LOOKED_AT, joined_at_random, lie_at_random
from wavetank.kernel.document import calls
from wavetank.kernel.document.kernel import Kernel
from wavetank.kernel.document.operations import Totals, member_runs, totals
from wavetank.model.document.phase import Phase, Run, Series
from wavetank.notes import Note, note

P = TypeVar("P")  # a benchmark's parameters
Notes = tuple[Note, ...]
"""What a benchmark's line does not reproduce."""
IN_ORDER = "each rank's operations lie one after another, and not where the application's lie."


@dataclass(frozen=True)
class MeanOperations:
    """One direction of the phases of a group.

    Attributes:
        write: whether they write.
        model: what the application does, over all ranks.
        smallest, largest: request sizes of the application, bytes.
        size: mean of the bytes that an operation moves, rounded up to whole bytes.
        per_rank: operations of each rank, the mean of the ranks' rounded; at least one.
        first: lowest offset of each rank, bytes, 0 where it is not known; in the order of the group's ranks.
        end: where the highest operation of each rank ends, bytes.
        random: whether the places of most ranks' operations follow no order.
    """

    write: bool
    model: Totals
    smallest: int
    largest: int
    size: int
    per_rank: int
    first: tuple[int, ...]
    end: tuple[int, ...]
    random: bool

    def notes(
        self, reason: str, kernel: Totals, size: int, *, alternates: bool, offsets: str = IN_ORDER
    ) -> Iterator[Note]:
        """What of the application is approximate, and by how much.

        Args:
            reason: why the benchmark cannot express the phase.
            kernel: what the benchmark will do.
            size: its request size, bytes.
            alternates: whether the application does both directions in turns.
            offsets: where the benchmark's operations lie.
        """
        yield approximate(reason)
        yield from changed(self.model, kernel)
        if (self.smallest, self.largest) != (size, size):
            sizes = (
                str(self.smallest)
                if self.smallest == self.largest
                else f"{self.smallest} to {self.largest}"
            )
            yield note("replaced", "request size", f"Request size {sizes} becomes {size}.")
        yield note("replaced", "offsets", f"Offsets: {offsets}")
        if alternates:
            yield note(
                "replaced",
                "order",
                "Reads and writes, which the application does in turns, become all of one kind and then all of the other.",
            )


def expressed(
    kernel: Kernel,
    series: Sequence[Series],
    exactly: Callable[[Group], tuple[list[tuple[P, Notes]], str | None]],
    roughly: Callable[[Group, str], tuple[list[tuple[P, Notes]], str | None]],
) -> Iterator[tuple[Group, list[tuple[P, Notes]], str | None]]:
    """Each group of a kernel's phases with a benchmark's lines for it, or with why it is refused.

    Args:
        kernel: where it says "approximate", what cannot be expressed becomes mean operations.
        series: of the model: equal phases that recur go together.
        exactly: a group's lines, and why they are not exact enough to be given unasked.
        roughly: lines for a group of which ``exactly`` makes none, given the reason; without lines why not.
    """
    groups = phase_groups(kernel, series)
    for group in joined_at_random(groups) if kernel.approximate else groups:
        made, reason = exactly(group)
        if reason is None:
            yield group, made, None
        elif not kernel.approximate or not (made or mean_operations(group)):
            yield group, [], reason
        elif made:
            yield group, made, None
        else:
            yield group, *roughly(group, reason)


def mean_operations(group: Group) -> list[MeanOperations]:
    """Each direction of a group's phases, in the order in which they come first; those that move nothing left out."""
    names = [member.iop_type for phase in group.phases for member in phase.pattern]
    directions = dict.fromkeys(not calls.reads(name) for name in names)
    found = (_mean(group, write) for write in directions)
    return [mean for mean in found if mean is not None]


def _mean(group: Group, write: bool) -> MeanOperations | None:
    by_rank = [direction_runs(group.phases, rank, write) for rank in group.ranks()]
    every = [run for runs in by_rank for run in runs]
    model = totals(every)
    if model.bytes == 0:
        return None
    return MeanOperations(
        write=write,
        model=model,
        smallest=min(run.rs for run in every),
        largest=max(run.rs for run in every),
        size=-(-model.bytes // model.operations),
        per_rank=max(1, round(model.operations / len(by_rank))),
        first=tuple(min((_lowest(run) for run in runs), default=0) for runs in by_rank),
        end=tuple(max((_highest(run) for run in runs), default=0) for runs in by_rank),
        random=2 * sum(map(_at_random, by_rank)) > len(by_rank),
    )


def _at_random(runs: Sequence[Run]) -> bool:
    """Whether one rank's operations lie at random places."""
    head = runs[:LOOKED_AT]
    places = [run.offset + i * run.disp for run in head for i in range(min(run.count, LOOKED_AT))]
    return lie_at_random(np.array(places[:LOOKED_AT], dtype=np.int64))


def direction_runs(phases: Sequence[Phase], rank: int, write: bool) -> list[Run]:
    """One rank's writes, or reads, of some phases; from offset 0 where offsets are unknown."""
    found: list[Run] = []
    for phase in phases:
        if rank not in phase.ph_processid:
            continue
        for index, member in enumerate(phase.pattern):
            if calls.reads(member.iop_type) == write:
                continue
            runs = member_runs(phase, index, rank)
            moved = phase.ph_nrep * member.rs
            unknown = Run(count=phase.ph_nrep, rs=member.rs, offset=0, disp=member.rs, moved=moved)
            found += [unknown] if runs is None else runs
    return found


def _lowest(run: Run) -> int:
    return min(run.offset, run.offset + (run.count - 1) * run.disp)


def _highest(run: Run) -> int:
    return max(run.offset, run.offset + (run.count - 1) * run.disp) + run.rs
