"""Which of a model's phases of calls without data a line of mdtest stands for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from wavetank.kernel.benchmarks.metadata_items import CREATE, READ, REMOVE, RENAME, STAT, Stretch
from wavetank.model.document.metadata import MetadataPhase

CALLS_OF = {
    (CREATE, "files"): {"create", "mknod"}, (CREATE, "directories"): {"mkdir"},
    (STAT, "files"): {"stat"}, (STAT, "directories"): {"stat"},
    (READ, "files"): {"open"}, (RENAME, "directories"): {"rename"}, (REMOVE, "files"): {"unlink"}, (REMOVE, "directories"): {"rmdir"},
}  # fmt: skip
"""By which calls a phase of the model is known."""


def kind_of(one: Stretch) -> str:
    """What is done with each item; all ranks of a stretch do the same."""
    return next(iter(one.by_rank.values())).kind


def objects_of(one: Stretch) -> str:
    """What the items are: files or directories."""
    return next(iter(one.by_rank.values())).objects


class PhaseCalls:
    """The kinds of calls of the model's phases, each of which is of one stretch.

    A kind that a rank makes early and late joins what lies between into one phase: several stretches are of one phase
    then, each with kinds of its own.
    """

    def __init__(self, phases: Sequence[MetadataPhase]) -> None:
        self._left = {
            (phase.md_id, call.call, call.objects): (phase.ranks, call.n)
            for phase in phases
            for call in phase.calls
        }

    def taken(self, group: Sequence[Stretch], n_trees: int) -> list[int]:
        """The phases that the stretches are of; with their calls may be those on directories that items lie in."""
        return [md_id for one in group for md_id in self._of(one, n_trees)]

    def _of(self, one: Stretch, n_trees: int) -> Iterator[int]:
        n = sum(len(items.names) for items in one.by_rank.values())
        wanted = CALLS_OF.get((kind_of(one), objects_of(one)), set())
        more = n_trees if objects_of(one) == "directories" else 0
        for key, (ranks, mine) in self._left.items():
            md_id, call, objects = key
            alike = call in wanted and objects == objects_of(one)
            if alike and ranks == tuple(sorted(one.by_rank)) and n <= mine <= n + more:
                del self._left[key]
                yield md_id
                return


def of_trees(trees: Sequence[Stretch], free: Mapping[int, MetadataPhase]) -> Iterator[int]:
    """The phases that only make, look at or remove the directories of items: mdtest makes and removes them itself."""
    ranks = {rank for one in trees for rank in one.by_rank}
    for md_id, phase in free.items():
        calls = {call.call for call in phase.calls}
        own = calls <= {"mkdir", "rmdir", "stat", "access"} and not phase.n_files
        if own and (set(phase.ranks) <= ranks or calls == {"access"}):
            yield md_id
