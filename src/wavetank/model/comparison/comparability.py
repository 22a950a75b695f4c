"""What of two models can be compared: no more than the sources of both tell.

A Darshan log tells reads from writes and collective from independent MPI-IO calls, and in which order a rank's data
operations ended. It holds no opens, seeks, synchronisation, communication or file views, and no offsets at MPI-IO
level where it was built on Open MPI.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter

from wavetank.model.document.file import ModelFile
from wavetank.model.document.listed_sizes import ListedSizes
from wavetank.model.document.model import Model
from wavetank.model.document.phase import ListedOffsets, Phase
from wavetank.notes import of_kinds, texts
from wavetank.tables.words import ranks_text
from wavetank.trace.ops import OPS_BY_NAME
from wavetank.trace.schema import LEVEL_NAMES, OpKind

KERNEL = "kernel"
"""The source of a kernel that is compared as a model (kernel/fidelity)."""


@dataclass(frozen=True)
class Sight:
    """What both models' sources tell.

    Attributes:
        calls: the names of calls, and the calls that move no data.
        communication: what a rank communicates between its operations.
        memory: where the gaps are in the memory of MPI-IO calls.
        everything: all arguments of calls, pauses, processes, and that a place is not known: of a model and its kernel.
        blind: which of the models, "a" or "b", tell no calls.
    """

    calls: bool
    communication: bool
    memory: bool
    everything: bool
    blind: tuple[str, ...]

    def call(self, name: str) -> str:
        """A call's name as far as both sources tell it."""
        if self.calls or name not in OPS_BY_NAME:
            return name
        op = OPS_BY_NAME[name]
        if op.kind not in (OpKind.READ, OpKind.WRITE):
            return name
        together = "collective " if op.collective else ""
        return f"{together}{LEVEL_NAMES[op.level]} {op.kind}"

    def calls_of(self, phase: Phase) -> str:
        """The calls of a phase's pattern."""
        return " + ".join(self.call(member.iop_type) for member in phase.pattern)


def sight_of(a: Model, b: Model) -> Sight:
    """What can be compared of two models."""
    if KERNEL in (a.source, b.source):
        return Sight(calls=True, communication=True, memory=True, everything=True, blind=())
    blind = tuple(
        name for name, model in (("a", a), ("b", b)) if model.source.startswith("darshan")
    )
    silent = any(
        model.source not in ("wavetank", "strace", "recorder", "extrapolated") for model in (a, b)
    )
    memory = not blind and not any(
        of_kinds(model.notes, "library", "unrecorded") for model in (a, b)
    )
    return Sight(not blind, not silent, memory, everything=False, blind=blind)


def same_offsets_known(*phases: Sequence[Phase]) -> bool:
    """Whether the offsets of all phases are known."""
    return not any(
        offset.function == "unknown" for some in phases for phase in some for offset in phase.offset
    )


def sizes_key(phase: Phase, member: int, *, placed: bool) -> str:
    """A pattern member's request size; where sizes differ also a number that stands for all of them.

    With ``placed`` those that have a place are compared with it, and the number is left out.
    """
    offset, text = phase.offset[member], str(phase.pattern[member].rs)
    listed = offset.sizes if offset.function == "unknown" else offset
    if (placed and listed is offset) or not isinstance(listed, ListedOffsets | ListedSizes):
        return text
    of_ranks = [listed.of_rank(position) for position in range(phase.ph_np)]
    if all((runs.size == phase.pattern[member].rs).all() for runs in of_ranks):
        return text
    sizes = [
        (size, sum(count for _, count in equal))
        for runs in of_ranks
        for size, equal in groupby(
            zip(runs.size.tolist(), runs.count.tolist(), strict=True), key=itemgetter(0)
        )
    ]
    return f"{text} #{hash(tuple(sizes)) & 0xFFFFFF:06x}"


def is_race(phase: Phase) -> bool:
    """Whether its places are decided anew in every run: calls by the shared pointer that are not ordered by rank."""
    return any(
        offset.function == "unknown" and member.iop_type.endswith("_shared")
        for member, offset in zip(phase.pattern, phase.offset, strict=True)
    )


def race_differences(
    a: Iterable[Phase], b: Iterable[Phase], sight: Sight
) -> list[tuple[str, int, int]]:
    """What differs in calls of one level on a file that ranks race for: (what, in a, in b).

    Which ranks share a phase depends on the places; how many of each call every rank makes, and the bytes, do not.
    """
    of_a, of_b = _race_totals(a, sight), _race_totals(b, sight)
    return [
        (what, of_a[what], of_b[what])
        for what in sorted({*of_a, *of_b})
        if of_a[what] != of_b[what]
    ]


def _race_totals(phases: Iterable[Phase], sight: Sight) -> Counter[str]:
    found: Counter[str] = Counter()
    for phase in phases:
        found[f"bytes of {sight.calls_of(phase)}"] += phase.ph_weight
        for rank in phase.ph_processid:
            for member in phase.pattern:
                found[f"{sight.call(member.iop_type)} of rank {rank}"] += phase.ph_nrep
    return found


def users(file: ModelFile, phases: Iterable[Phase]) -> set[int]:
    """Ranks that move data of a file; a log does not say which others open it."""
    return {
        rank for phase in phases if phase.file_id == file.file_id for rank in phase.ph_processid
    }


def through_views(file: ModelFile, phases: Iterable[Phase]) -> bool:
    """Whether a file is used through a file view."""
    return any(
        phase.view_id is not None or phase.view_ids is not None
        for phase in phases
        if phase.file_id == file.file_id
    )


def notes_of(a: Model, b: Model, sight: Sight, n_unknown: int, differ: bool) -> tuple[str, ...]:
    """What was not compared, and what might explain differences; a sentence each."""
    found = [
        f"{name}: {sentence}"
        for name, model in (("a", a), ("b", b))
        for sentence in texts(model.notes, "lost", "unrecorded", "library")
    ]
    undecided = [
        name
        for name, model in (("a", a), ("b", b))
        if any(phase.level == "mpiio" and phase.collective_unknown for phase in model.phases)
    ]
    if undecided:
        found.append(
            f"the source of {' and '.join(undecided)} does not tell which MPI-IO operations on some files were collective: they "
            "are compared as independent ones"
        )
    racing = sorted({phase.ph_id for phase in a.phases if is_race(phase)})
    found += [
        note
        for name, model in (("a", a), ("b", b))
        if model.extrapolation is not None
        for note in (
            f"{name} is {model.extrapolation.sentence()}; calls below MPI-IO are not compared",
            *(
                f"{name} does not have {one.what}: {one.reason}"
                for one in model.extrapolation.not_extrapolated
            ),
        )
    ]
    found += [
        f"{name} is {model.approximation.sentence()}"
        for name, model in (("a", a), ("b", b))
        if model.approximation is not None
    ]
    if not sight.calls:
        which = (
            f"{sight.blind[0]} comes from a Darshan log, which tells"
            if len(sight.blind) == 1
            else "both come from Darshan logs, which tell"
        )
        found.append(
            f"{which} reads from writes and collective from independent MPI-IO calls: calls are compared as such. "
            "Opens, closes, seeks, synchronisation and file views are not compared"
        )
    if racing:
        found.append(
            f"which rank comes first to a shared file pointer is decided anew in each run: places of phase "
            f"{ranks_text(tuple(racing))} of a, and of the POSIX calls on the file, are not compared, only how many each rank makes"
        )
    if n_unknown:
        found.append(
            f"offsets of {n_unknown} phases are not known in one of the models, and are not compared"
        )
    if not differ:
        return tuple(found)
    splits = {
        name: ", ".join(
            level for level, split in model.boundaries.split_at_communication.items() if split
        )
        for name, model in (("a", a), ("b", b))
    }
    if not sight.communication and a.source != b.source:
        separated = [name for name, levels in splits.items() if levels and name not in sight.blind]
        if separated:
            found.append(
                f"one trace counts no communication, and the phases of {separated[0]} are separated by it: extract it "
                "with --split-at-communication none to compare them"
            )
    elif a.boundaries != b.boundaries or a.thresholds != b.thresholds:
        found.append(
            "the models were extracted by different rules (split at communication, computation gap, similarity or thresholds), "
            "so that their phases may begin at different places"
        )
    return tuple(found)
