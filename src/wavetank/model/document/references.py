"""What a model or kernel file must hold together: numbers that name something name what is there.

Reads the parts of a document, leaves findings; a file that a person edited is checked when it is read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from wavetank.model.document.listed_sizes import ListedSizes
from wavetank.model.document.phase import LinearOffsets, ListedOffsets, Phase, UnknownOffsets
from wavetank.model.document.program import (
    DataStep,
    FileStep,
    ProcessStep,
    Program,
    SyncStep,
)
from wavetank.model.document.step_walks import plain_steps


@dataclass(frozen=True)
class Known:
    """What may be named: files, each with how many names, and how many ranks, views, communicators and sets of hints there are.

    Attributes:
        n_names: of each file by its number. Of a file with members: how many numbers ``FileStep.name`` may be.
    """

    n_names: Mapping[int, int]
    n_ranks: int
    n_views: int
    n_infos: int
    communicators: Sequence[Sequence[int]]


def require(phases: Sequence[Phase], programs: Sequence[Program], known: Known) -> None:
    """Refuse a document that does not hold together.

    Raises:
        ValueError: with the first findings.
    """
    found = findings(phases, programs, known)
    if found:
        raise ValueError("; ".join(found[:5]))


def findings(phases: Sequence[Phase], programs: Sequence[Program], known: Known) -> list[str]:
    """Everything that does not hold together, a sentence each; empty when all does."""
    found = [finding for phase in phases for finding in _of_phase(phase, known)]
    ids = [phase.ph_id for phase in phases]
    if len(set(ids)) != len(ids):
        found.append("two phases have the same ph_id")
    for number, ranks in enumerate(known.communicators):
        found += _ranks(f"communicators.{number}", ranks, known)
    twice = Counter(rank for program in programs for rank in program.ranks)
    found += [f"rank {rank} has {n} programs" for rank, n in twice.items() if n > 1]
    for number, program in enumerate(programs):
        where = f"programs.{number}"
        found += _ranks(where, program.ranks, known)
        found += dict.fromkeys(_of_steps(where, program, set(ids), known))
    return found


def _of_phase(phase: Phase, known: Known) -> Iterator[str]:
    where = f"phase {phase.ph_id}"
    if phase.file_id not in known.n_names:
        yield f"{where} is on file {phase.file_id}, which is not among the files"
    yield from _ranks(where, phase.ph_processid, known)
    if phase.ph_np != len(phase.ph_processid):
        yield f"{where} has ph_np {phase.ph_np} and {len(phase.ph_processid)} ranks in ph_processid"
    for name in ("ph_weight", "ph_nrep", "ph_niop"):
        if getattr(phase, name) < 0:
            yield f"{where} has {name} {getattr(phase, name)}, which is negative"
    if any(member.rs < 0 for member in phase.pattern):
        yield f"{where} has a negative request size rs"
    if len(phase.offset) != len(phase.pattern):
        yield f"{where} has {len(phase.pattern)} operations in its pattern and offsets of {len(phase.offset)}"
    for name in ("offset_view", "memory", "moved_last"):
        given = getattr(phase, name)
        if given is not None and len(given) != len(phase.pattern):
            yield f"{where} has {len(phase.pattern)} operations in its pattern and {name} of {len(given)}"
    if phase.view_ids is not None and len(phase.view_ids) != len(phase.ph_processid):
        yield f"{where} has {len(phase.view_ids)} view_ids and {len(phase.ph_processid)} ranks in ph_processid"
    for one in (*phase.offset, *(phase.offset_view or ())):
        listed = one.sizes if isinstance(one, UnknownOffsets) else one
        if isinstance(listed, ListedOffsets | ListedSizes) and len(listed.n_runs) != phase.ph_np:
            yield f"{where} has runs of {len(listed.n_runs)} ranks and {len(phase.ph_processid)} in ph_processid"
            break
    yield from _of_places(where, phase, known)


def _of_places(where: str, phase: Phase, known: Known) -> Iterator[str]:
    views = [*(phase.view_ids or ()), *([] if phase.view_id is None else [phase.view_id])]
    if any(not 0 <= view < known.n_views for view in views):
        yield f"{where} names a file view that is not there"
    if any(not -1 <= view < known.n_views for of_ranks in phase.memory or () for view in of_ranks):
        yield f"{where} names a view of memory that is not there"
    if any(len(of_ranks) not in (1, len(phase.ph_processid)) for of_ranks in phase.memory or ()):
        yield f"{where} has memory neither of all ranks nor of each of its {len(phase.ph_processid)}"
    if _farthest(phase) >= _FARTHEST:
        yield f"{where} has sizes or offsets that reach beyond byte {_FARTHEST - 1}, where files end: give smaller ones"


_FARTHEST = 1 << 63  # bytes: offsets of POSIX are signed, of 64 bits


def _farthest(phase: Phase) -> int:
    """How far the numbers of a phase reach, at most. Listed ones are columns, which hold no larger numbers."""
    bytes_moved = [member.rs * phase.ph_nrep for member in phase.pattern]
    linear = (
        abs(one.a) * max(phase.ph_processid, default=0) + abs(one.b) * phase.ph_nrep + abs(one.c)
        for one in (*phase.offset, *(phase.offset_view or ()))
        if isinstance(one, LinearOffsets)
    )
    return max(bytes_moved, default=0) + max(linear, default=0) + max(phase.moved_last or (0,))


def _ranks(where: str, ranks: Sequence[int], known: Known) -> Iterator[str]:
    outside = [rank for rank in ranks if not 0 <= rank < known.n_ranks]
    if outside:
        yield f"{where} names rank {outside[0]}, and the ranks are 0 to {known.n_ranks - 1}"
    if not ranks:
        yield f"{where} names no rank"
    if len(set(ranks)) != len(ranks):
        yield f"{where} names a rank twice"


def _of_steps(where: str, program: Program, ids: set[int], known: Known) -> Iterator[str]:
    for step in plain_steps(program.steps):
        if isinstance(step, DataStep) and step.ph_id not in ids:
            yield f"{where} goes on with phase {step.ph_id}, which is not among the phases"
        elif isinstance(step, FileStep):
            yield from _of_call(where, step, len(program.ranks), known)
        elif isinstance(step, SyncStep) and not 0 <= step.communicator < len(known.communicators):
            yield f"{where} synchronises on communicator {step.communicator}, which is not there"
        elif isinstance(step, ProcessStep):
            yield from _ranks(f"{where} (a process)", (step.rank,), known)


def _of_call(where: str, step: FileStep, n_ranks: int, known: Known) -> Iterator[str]:
    views = (step.view_id, *(step.view_ids or ()))
    n_names = known.n_names.get(step.file_id, 0)
    if step.file_id not in known.n_names:
        yield f"{where} uses file {step.file_id}, which is not among the files"
    elif not 0 <= step.name < n_names:
        yield (
            f"{where} calls {step.iop_type} of file {step.file_id} with name {step.name}, and its names are 0 to {n_names - 1}: "
            "give one of these"
        )
    if step.view_ids is not None and len(step.view_ids) != n_ranks:
        yield (
            f"{where} sets view_ids of {len(step.view_ids)} ranks, in a program of {n_ranks}: give one view for each, in their order"
        )
    if any(view is not None and not -1 <= view < known.n_views for view in views):
        yield f"{where} sets a file view that is not there"
    if step.info_id is not None and not 0 <= step.info_id < known.n_infos:
        yield f"{where} gives MPI hints that are not there"
    if step.communicator is not None and not 0 <= step.communicator < len(known.communicators):
        yield f"{where} opens a file on communicator {step.communicator}, which is not there"
