"""What a model or kernel file must hold together: numbers that name something name what is there.

Reads the parts of a document, leaves findings; a file that a person edited is checked when it is read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from wavetank.model.document.listed_sizes import ListedSizes
from wavetank.model.document.phase import ListedOffsets, Phase, UnknownOffsets
from wavetank.model.document.program import (
    DataStep,
    FileStep,
    ProcessStep,
    Program,
    Step,
    SyncStep,
)
from wavetank.model.document.step_walks import plain_steps


@dataclass(frozen=True)
class Known:
    """What may be named: file numbers, and how many ranks, views, communicators and sets of hints there are."""

    file_ids: Collection[int]
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
        found += dict.fromkeys(_of_steps(where, program.steps, set(ids), known))
    return found


def _of_phase(phase: Phase, known: Known) -> Iterator[str]:
    where = f"phase {phase.ph_id}"
    if phase.file_id not in known.file_ids:
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
    for name in ("offset_view", "moved_last"):
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
    views = [*(phase.view_ids or ()), *([] if phase.view_id is None else [phase.view_id])]
    if any(not 0 <= view < known.n_views for view in views):
        yield f"{where} names a file view that is not there"


def _ranks(where: str, ranks: Sequence[int], known: Known) -> Iterator[str]:
    outside = [rank for rank in ranks if not 0 <= rank < known.n_ranks]
    if outside:
        yield f"{where} names rank {outside[0]}, and the ranks are 0 to {known.n_ranks - 1}"
    if not ranks:
        yield f"{where} names no rank"
    if len(set(ranks)) != len(ranks):
        yield f"{where} names a rank twice"


def _of_steps(where: str, steps: Sequence[Step], ids: set[int], known: Known) -> Iterator[str]:
    for step in plain_steps(steps):
        if isinstance(step, DataStep) and step.ph_id not in ids:
            yield f"{where} goes on with phase {step.ph_id}, which is not among the phases"
        elif isinstance(step, FileStep):
            yield from _of_call(where, step, known)
        elif isinstance(step, SyncStep) and not 0 <= step.communicator < len(known.communicators):
            yield f"{where} synchronises on communicator {step.communicator}, which is not there"
        elif isinstance(step, ProcessStep):
            yield from _ranks(f"{where} (a process)", (step.rank,), known)


def _of_call(where: str, step: FileStep, known: Known) -> Iterator[str]:
    views = (step.view_id, *(step.view_ids or ()))
    if step.file_id not in known.file_ids:
        yield f"{where} uses file {step.file_id}, which is not among the files"
    if any(view is not None and not -1 <= view < known.n_views for view in views):
        yield f"{where} sets a file view that is not there"
    if step.info_id is not None and not 0 <= step.info_id < known.n_infos:
        yield f"{where} gives MPI hints that are not there"
    if step.communicator is not None and not 0 <= step.communicator < len(known.communicators):
        yield f"{where} opens a file on communicator {step.communicator}, which is not there"
