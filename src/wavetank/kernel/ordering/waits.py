"""Waits between ranks that a kernel's collectives do not give: reads after writes, names, processes.

A trace keeps the collectives between ranks, not every message. Where a rank reads what another rank
wrote earlier in the traced run, and no collective lies between, the replay would be a race: the reader
is made to wait until the writer has written, and closed the file if it did so at once. Only what the
traced times show is added, and nothing that may wait lies between a wait and its read or a write and its
signal; so no wait can contradict another one.
"""

# Why phases and not operations are ordered: a model keeps the times of a phase's first and last operation, not of each. What
# a rank does within a phase is in order anyway.
#
# Why waits lie beside top-level steps only: a step inside of a repeat comes many times, and a signal and its wait must come
# equally often. Nothing says which repetition of one rank belongs to which of another.
#
# Why counts of collectives tell whether ranks are ordered already (``_Place``): all members of a communicator pass its
# collectives in one order. A reader that has passed more of them than the writer had at its last operation is behind it.
# That needs no graph of events, and repeats are counted without being unfolded.
#
# Why no wait is put where a step beside it may wait itself: two waits that each keep the other's signal back would stop the
# replay for ever. A race that stays may end well.
#
# Why not a barrier for each order: ranks that have no part in it would wait too, and the replay would take time that the
# application did not.

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, field

from wavetank.kernel.document import calls
from wavetank.kernel.document.kernel import Kernel
from wavetank.kernel.document.steps import mpi_openers
from wavetank.kernel.ordering.made_names import Place, made_pairs
from wavetank.kernel.ordering.name_order import NamePair, name_pairs
from wavetank.kernel.ordering.process_order import process_pairs
from wavetank.model.document.phase import Phase
from wavetank.model.document.program import DataStep, FileStep, PauseStep, Program, Step, SyncStep
from wavetank.model.document.step_walks import flat

Key = int | str  # a communicator's index, or "file N" for collective calls on an MPI file
COLLECTIVE = frozenset(
    f"MPI_File_{verb}"
    for verb in ("open", "close", "sync", "set_view", "set_size", "preallocate", "seek_shared")
)
MOST_MESSAGES = 16384  # of one wait: writers times readers; more is left to the collectives


@dataclass(frozen=True)
class Wait:
    """The readers of one phase wait for the writers of another.

    Attributes:
        number: unique in the plan.
        writers: ranks that signal.
        readers: ranks that wait.
    """

    number: int
    writers: tuple[int, ...]
    readers: tuple[int, ...]


@dataclass
class Waits:
    """Where waits and signals go: by index into ``kernel.programs`` and into its top-level steps."""

    before: dict[tuple[int, int], list[Wait]] = field(default_factory=lambda: defaultdict(list))
    after: dict[tuple[int, int], list[Wait]] = field(default_factory=lambda: defaultdict(list))
    number: int = 0
    n_certain: int = (
        0  # of them those of processes, and of names that were made and found: nothing is inferred
    )


@dataclass(frozen=True)
class _Place:
    """A phase in a program: its top-level steps and the collectives that came before, by communicator."""

    program: int
    ranks: frozenset[int]
    first: int
    last: int
    syncs_before_first: Counter[Key]
    syncs_before_last: Counter[Key]


def find_waits(kernel: Kernel) -> Waits:
    """The waits that a kernel's replay needs beside its collectives."""
    waits = Waits()
    if pairs_of_processes := list(process_pairs(kernel)):
        for pair in pairs_of_processes:
            _add_pair(kernel, pair, waits)
    _add_made_waits(kernel, waits)
    waits.n_certain = waits.number
    if not pairs_of_processes and not uses_mpi(kernel):
        _add_name_waits(kernel, waits)
    pairs = list(read_after_write(kernel))
    if not pairs:
        return waits
    wanted = {phase.ph_id for pair in pairs for phase in pair}
    places = _places(kernel, wanted)
    meetings = _meetings(kernel)
    for written, read in pairs:
        writers = [place for place in places[written.ph_id] if place.ranks]
        if not writers:
            continue
        readers = _unordered(writers, places[read.ph_id], meetings)
        from_ranks = {rank for place in writers for rank in place.ranks}
        to_ranks = {rank for place in readers for rank in place.ranks}
        if not _are_free(kernel, [(place, place.last) for place in writers]) or not _are_free(
            kernel, [(place, place.first) for place in readers]
        ):
            continue
        if (
            not readers
            or len(from_ranks | to_ranks) < 2
            or len(from_ranks) * len(to_ranks) > MOST_MESSAGES
        ):
            continue
        wait = Wait(waits.number, tuple(sorted(from_ranks)), tuple(sorted(to_ranks)))
        waits.number += 1
        for place in writers:
            steps = kernel.programs[place.program].steps
            waits.after[place.program, _close_after(steps, place.last, written.file_id)].append(
                wait
            )
        for place in readers:
            steps = kernel.programs[place.program].steps
            waits.before[place.program, _open_before(steps, place.first, read.file_id)].append(wait)
    return waits


def uses_mpi(kernel: Kernel) -> bool:
    """Whether the application's ranks are MPI's: then messages that are not in the model may order them."""
    return bool(kernel.communicators) or any(phase.level == "mpiio" for phase in kernel.phases)


def _add_name_waits(kernel: Kernel, waits: Waits) -> None:
    for pair in name_pairs(kernel):
        steps = {place: kernel.programs[place[0]].steps for place in (*pair.first, pair.then)}
        if all(_is_free(found[place[1]]) for place, found in steps.items()):
            _add_pair(kernel, pair, waits)


def _add_made_waits(kernel: Kernel, waits: Waits) -> None:
    """Where a rank finds a name that another one made, with no collective between."""
    pairs = made_pairs(kernel)
    if not pairs:
        return
    places = _at(kernel, {place for pair in pairs for place in pair})
    meetings = _meetings(kernel)
    for first, then in pairs:
        maker, user = places[first], places[then]
        steps = (kernel.programs[program].steps[index] for program, index in (first, then))
        if (
            all(map(_is_free, steps))
            and _unordered([maker], [user], meetings)
            and len(maker.ranks) * len(user.ranks) <= MOST_MESSAGES
        ):
            wait = Wait(waits.number, tuple(sorted(maker.ranks)), tuple(sorted(user.ranks)))
            waits.number += 1
            waits.after[first].append(wait)
            waits.before[then].append(wait)


def _at(kernel: Kernel, wanted: Set[Place]) -> dict[Place, _Place]:
    """Top-level steps, with the collectives before each."""
    found = {}
    for number in {program for program, _ in wanted}:
        program = kernel.programs[number]
        syncs: Counter[Key] = Counter()
        for index, step in enumerate(program.steps):
            if (number, index) in wanted:
                before = syncs.copy()
                ranks = frozenset(program.ranks)
                found[number, index] = _Place(number, ranks, index, index, before, before)
            for key, n in collectives_of(step):
                syncs[key] += n
    return found


def _add_pair(kernel: Kernel, pair: NamePair, waits: Waits) -> None:
    writers = tuple(sorted(kernel.programs[number].ranks[0] for number, _ in pair.first))
    wait = Wait(waits.number, writers, kernel.programs[pair.then[0]].ranks)
    waits.number += 1
    for number, index in pair.first:
        waits.after[number, index].append(wait)
    waits.before[pair.then].append(wait)


def read_after_write(kernel: Kernel) -> Iterator[tuple[Phase, Phase]]:
    """Phases that write a file with later phases of other ranks that read it; outside of MPI, or write it."""
    outside = not uses_mpi(kernel)
    # Phases on members that one rank alone visits are on different files.
    apart = {
        file.file_id
        for file in kernel.files
        if file.members is not None and not file.members.visits.shared
    }
    by_file: defaultdict[int, list[Phase]] = defaultdict(list)
    for phase in kernel.phases:
        if phase.file_id not in apart:
            by_file[phase.file_id].append(phase)
    for phases in by_file.values():
        writes = [p for p in phases if any(not calls.reads(m.iop_type) for m in p.pattern)]
        later = [p for p in phases if outside or any(calls.reads(m.iop_type) for m in p.pattern)]
        for read in later:
            before = [written for written in writes if _is_before(written, read)]
            if (
                before
            ):  # the latest one waits for those before it: they are the same ranks' or ordered
                for ranks in {written.ph_processid for written in before}:
                    latest = [written for written in before if written.ph_processid == ranks][-1]
                    yield latest, read


def _is_before(written: Phase, read: Phase) -> bool:
    if written is read or (written.ph_np == 1 and written.ph_processid == read.ph_processid):
        return False
    if read.collective and set(written.ph_processid) <= set(read.ph_processid):
        return False  # the replay makes the same collective call
    return written.ended_before(read)


def _places(kernel: Kernel, wanted: set[int]) -> dict[int, list[_Place]]:
    ranks_of = {phase.ph_id: set(phase.ph_processid) for phase in kernel.phases}
    places: defaultdict[int, list[_Place]] = defaultdict(list)
    for index, program in enumerate(kernel.programs):
        for ph_id, (first, last, before_first, before_last) in _walk(program, wanted).items():
            ranks = frozenset(program.ranks) & ranks_of[ph_id]
            places[ph_id].append(_Place(index, ranks, first, last, before_first, before_last))
    return places


def _walk(
    program: Program, wanted: set[int]
) -> dict[int, tuple[int, int, Counter[Key], Counter[Key]]]:
    """First and last top-level step of each wanted phase, and the collectives before each."""
    found: dict[int, tuple[int, int, Counter[Key], Counter[Key]]] = {}
    syncs: Counter[Key] = Counter()
    for index, step in enumerate(program.steps):
        inside = {ph_id for ph_id in _phases_in(step) if ph_id in wanted}
        before = syncs.copy() if inside else syncs
        for key, n in collectives_of(step):
            syncs[key] += n
        for ph_id in inside:
            first, _, before_first, _ = found.get(ph_id, (index, index, before, before))
            found[ph_id] = (first, index, before_first, syncs.copy())
    return found


def _phases_in(step: Step) -> set[int]:
    return {inner.ph_id for inner, _ in flat([step]) if isinstance(inner, DataStep)}


def collectives_of(step: Step) -> Iterator[tuple[Key, int]]:
    """The collectives that a step performs: on which communicator or MPI file, and how many."""
    for inner, times in flat([step]):
        if isinstance(inner, SyncStep):
            yield inner.communicator, times * inner.count
        elif isinstance(inner, FileStep) and inner.iop_type in COLLECTIVE:
            yield f"file {inner.file_id}", times * inner.count


def _meetings(kernel: Kernel) -> list[tuple[Key, frozenset[int]]]:
    """What orders ranks, and which: communicators, and MPI files, whose opening, closing, ... is collective."""
    together: list[tuple[Key, frozenset[int]]] = [
        (index, frozenset(ranks)) for index, ranks in enumerate(kernel.communicators)
    ]
    return together + [
        (f"file {file_id}", frozenset(ranks))
        for file_id, ranks in mpi_openers(kernel.programs).items()
    ]


def _unordered(
    writers: Sequence[_Place],
    readers: Sequence[_Place],
    meetings: Sequence[tuple[Key, frozenset[int]]],
) -> list[_Place]:
    """The readers for which no collective lies between the writers' last operation and their first."""
    from_ranks = frozenset[int]().union(*(writer.ranks for writer in writers))
    passed = [
        (key, ranks, max(writer.syncs_before_last[key] for writer in writers))
        for key, ranks in meetings
        if from_ranks <= ranks
    ]
    return [
        reader
        for reader in readers
        if not (len(from_ranks) == 1 and reader.ranks == from_ranks)
        and not any(
            reader.ranks <= ranks and reader.syncs_before_first[key] > last
            for key, ranks, last in passed
        )
    ]


def _blocks(step: Step) -> bool:
    """Whether a step may wait for other ranks, or does more than handle one file's metadata."""
    return not isinstance(step, FileStep) or calls.is_mpi(step.iop_type)


def _close_after(steps: Sequence[Step], last: int, file_id: int) -> int:
    """Where the writer signals: after the close, and a new name, that follow its write at once, else after the write."""
    found = last
    for index in range(last + 1, len(steps)):
        step = steps[index]
        if _blocks(step) or not isinstance(step, FileStep):
            break
        if step.file_id != file_id:
            continue
        named = step.new_name and not step.error
        if step.iop_type == "open" or (step.iop_type == "close" and found != last):
            break
        if named or step.iop_type == "close":
            found = index
    return found


def _open_before(steps: Sequence[Step], first: int, file_id: int) -> int:
    """Where the reader waits: before the open that comes right before its read, else before the read."""
    for index in range(first - 1, -1, -1):
        step = steps[index]
        if _blocks(step):
            break
        if isinstance(step, FileStep) and (step.iop_type, step.file_id) == ("open", file_id):
            return index
    return first


def _are_free(kernel: Kernel, places: Sequence[tuple[_Place, int]]) -> bool:
    return all(_is_free(kernel.programs[place.program].steps[index]) for place, index in places)


def _is_free(step: Step) -> bool:
    """Whether a step has no part that waits for other ranks: a wait beside it cannot be in its way."""
    return all(
        isinstance(inner, DataStep | PauseStep) or not _blocks(inner) for inner, _ in flat([step])
    )
