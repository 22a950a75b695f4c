"""Memory with gaps of two models' MPI-IO calls: by rank how many calls were given which memory.

How the calls were folded into phases does not count. Models that do not tell where all gaps are (earlier traces,
logs of other tools) are not compared: their sentences say so.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from functools import cache
from hashlib import blake2b

from wavetank.model.document.model import Model, View
from wavetank.model.document.phase import Phase
from wavetank.notes import of_kinds
from wavetank.trace.schema import UNKNOWN

_Calls = Counter[tuple[str, str]]
"""How many calls there are of a name, from memory in words."""


def tells_memory(model: Model) -> bool:
    """Whether a model tells of all gaps where they are."""
    return not of_kinds(model.notes, "library", "unrecorded")


def memory_difference(
    a: Model, b: Model, on_a: Sequence[Phase], on_b: Sequence[Phase]
) -> Iterator[tuple[str, str, str]]:
    """The first rank whose calls of these phases have other memory: what differs, and what it is in each."""
    if all(phase.memory is None for phase in (*on_a, *on_b)):
        return
    ours, theirs = _by_rank(a, on_a), _by_rank(b, on_b)
    for rank in sorted(ours.keys() & theirs.keys()):
        if ours[rank] != theirs[rank]:
            yield f"memory of rank {rank}", _text(ours[rank]), _text(theirs[rank])
            return


def _by_rank(model: Model, phases: Sequence[Phase]) -> dict[int, _Calls]:
    @cache
    def words(view_id: int) -> str:
        return "without gaps" if view_id == UNKNOWN else _words(model.views[view_id])

    found: dict[int, _Calls] = defaultdict(Counter)
    for phase in phases:
        if phase.level != "mpiio":
            continue
        for place, rank in enumerate(phase.ph_processid):
            for number, member in enumerate(phase.pattern):
                view_id = phase.memory_at(place, number)
                found[rank][member.iop_type, words(view_id)] += phase.ph_nrep
    return found


def _words(view: View) -> str:
    """Memory in print, with digits that stand for its pieces."""
    found = blake2b(repr((view.run_offsets, view.run_lengths)).encode(), digest_size=5)
    n = len(view.run_offsets)
    pieces = f"{n:,} piece{'s' if n != 1 else ''}"
    return f"{pieces} in {view.extent:,} bytes #{found.hexdigest()}"


def _text(calls: _Calls) -> str:
    return "; ".join(
        f"{n:,} {name} ({memory})"
        for (name, memory), n in sorted(calls.items(), key=lambda one: one[0])
    )
