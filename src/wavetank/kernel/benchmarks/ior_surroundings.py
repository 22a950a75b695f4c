"""What of a kernel is not in the operations of one IOR line themselves: names, ranks, order, what is read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from wavetank.kernel.benchmarks.groups import Group, iors_own, some, span, stem_of
from wavetank.kernel.document import calls
from wavetank.tables.words import listed

_MOST_NAMED = 8  # phases in a sentence


class Surroundings:
    """What of a kernel is not in the operations of one line themselves."""

    def __init__(self, groups: Sequence[Group]) -> None:
        self._n_groups = len(groups)
        self._written = {
            group.phases[0].file_id
            for group in groups
            if not calls.reads(group.phases[0].pattern[0].iop_type)
        }
        by_ranks: dict[frozenset[int], list[Group]] = {}
        for group in groups:
            by_ranks.setdefault(frozenset(group.ranks()), []).append(group)
        self._by_ranks = {
            ranks: (
                np.array([span(one.phases) for one in some_groups]).T,
                np.array([one.phases[0].ph_id for one in some_groups]),
            )
            for ranks, some_groups in by_ranks.items()
        }

    def of(self, group: Group, *, made_before: bool) -> Iterator[str]:
        """Sentences on one group; ``made_before``: a line makes what its line reads."""
        phase = group.phases[0]
        ranks = group.ranks()
        names = [file.name for file in group.files]
        if group.per_process and iors_own(names) is None:
            example = f"{stem_of(names)}.00000000"
            yield f"The files are named by IOR ({example}, ...); input files must be made under these names."
        if ranks != list(range(len(ranks))):
            yield f"IOR's tasks are ranks 0 to {len(ranks) - 1}, the application's are {some(ranks)}."
        if phase.view_id is not None or phase.view_ids is not None:
            yield "The MPI file view (many small pieces to an operation) becomes one contiguous block to an operation."
        if phase.memory is not None:
            yield "The memory of its calls has no gaps with IOR."
        name = phase.pattern[0].iop_type
        if phase.level == "mpiio" and "_at" not in name:
            yield f"{name} becomes a call with an explicit offset."
        if len(group.phases) > 1 and not group.apart:
            yield f"The {len(group.phases)} phases follow each other without what lies between them."
        metadata = sum(sum(one.metadata_ops.values()) for one in group.phases)
        if metadata:
            yield "Calls that move no data (open, close, seek, ...) become IOR's own open and close."
        if made_before:
            yield "What the line reads is made by the line before it, of IOR's own content; -C reads another task's."
        elif calls.reads(name) and phase.file_id in self._written:
            yield "The line reads what a write line left, from the cache of the same node where it still is; -C reads another's."
        concurrent = self._beside(group)
        if concurrent:
            yield (
                f"Other ranks do phase {listed(concurrent, _MOST_NAMED)} at the same time: start those lines together "
                "with this one."
            )
        elif self._n_groups > 1:
            yield "The order against the other phases is that in which the lines are run."
        yield "Pauses between operations are left out."

    def _beside(self, group: Group) -> list[int]:
        """The first phase of each group of other ranks that ran at the same time, for all that is known."""
        ranks = group.ranks()
        begin, end = span(group.phases)
        found: list[int] = []
        for theirs, ((starts, ends), ph_ids) in self._by_ranks.items():
            if theirs.isdisjoint(ranks):
                found += ph_ids[(begin < ends) & (starts < end)].tolist()
        return sorted(found)
