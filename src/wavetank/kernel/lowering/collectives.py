"""Whether a kernel's ranks agree on their collective operations: if not, its replay would wait for ever.

MPI asks that all ranks of a communicator call its collective operations in one order. Read from the kernel's
programs, rank by rank and still folded; leaves a clear error instead of a replay that hangs.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from wavetank.errors import KernelError
from wavetank.kernel.document import calls
from wavetank.kernel.document.kernel import Kernel
from wavetank.kernel.lowering.sequences import (
    NOTHING,
    Folded,
    first_difference,
    joined,
    one,
    repeated,
    word_at,
)
from wavetank.kernel.lowering.step_lines import Communicators
from wavetank.model.document.phase import Phase
from wavetank.model.document.program import (
    DataStep,
    FileStep,
    Program,
    RepeatStep,
    Step,
    SyncStep,
)
from wavetank.model.document.step_walks import orders_expanded

_Lines = dict[int, Folded]  # by communicator, as far as a program has got


def require_agreement(kernel: Kernel) -> None:
    """Refuse a kernel whose ranks disagree on the collective operations of a communicator.

    Raises:
        KernelError: names communicator, ranks, place and the two operations.
    """
    for found in disagreements(kernel):
        raise KernelError(found)


def disagreements(kernel: Kernel) -> Iterator[str]:
    """For each communicator whose members differ a sentence on the first difference."""
    communicators = Communicators(kernel.communicators, kernel.programs)
    words = _Words()
    found = [
        (program.ranks, _Walk(kernel, program, communicators, words).sequences())
        for program in kernel.programs
    ]
    for index, members in enumerate(communicators.table):
        yield from _of_others(index, members, found, words)
        if len(members) > 1:
            yield from _of_communicator(index, members, found, words)


def _of_others(
    index: int,
    members: tuple[int, ...],
    found: Sequence[tuple[tuple[int, ...], _Lines]],
    words: _Words,
) -> Iterator[str]:
    """Ranks that open a file on a communicator that they are not in; barriers of others' are passed over."""
    for ranks, lines in found:
        outside = sorted(set(ranks) - set(members))
        line = lines.get(index, NOTHING)
        if not outside or not line.length:
            continue
        barriers = repeated(one(words.number("barrier", "barrier")), line.length)
        place = first_difference(line, barriers)
        if place is not None:
            yield (
                f"rank {outside[0]} performs {words.described(word_at(line, place))} on communicator {index} "
                f"({_listed(members)}), which it is not in. Make the kernel again from a trace of the whole run"
            )


def _of_communicator(
    index: int,
    members: tuple[int, ...],
    found: Sequence[tuple[tuple[int, ...], _Lines]],
    words: _Words,
) -> Iterator[str]:
    inside = set(members)
    by_rank = {
        rank: lines.get(index, NOTHING)
        for ranks, lines in found
        for rank in ranks
        if rank in inside
    }
    sequences = {rank: by_rank.get(rank, NOTHING) for rank in members}
    first = members[0]
    for rank in members[1:]:
        place = first_difference(sequences[first], sequences[rank])
        if place is None:
            continue
        told = [
            f"rank {each}'s {words.described(word_at(sequences[each], place))}"
            for each in (first, rank)
        ]
        yield (
            f"the ranks disagree on the collective operations of communicator {index} ({_listed(members)}), and would "
            f"wait for each other for ever: operation {place + 1} is {told[0]}, and {told[1]}. Make the kernel again "
            "from a trace of the whole run, or mend its programs"
        )
        return


def _listed(ranks: Sequence[int]) -> str:
    if list(ranks) == list(range(ranks[0], ranks[0] + len(ranks))) and len(ranks) > 2:
        return f"ranks {ranks[0]}-{ranks[-1]}"
    return f"ranks {', '.join(map(str, ranks[:8]))}{', ...' if len(ranks) > 8 else ''}"


class _Words:
    """Collective operations as numbers from 1."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._texts: list[str] = []

    def number(self, name: str, text: str) -> int:
        """Operations of equal ``name`` are equal; ``text`` tells the first of them."""
        if name not in self._numbers:
            self._texts.append(text)
            self._numbers[name] = len(self._texts)
        return self._numbers[name]

    def described(self, word: int | None) -> str:
        return "end of its program" if word is None else self._texts[word - 1]


@dataclass
class _State:
    """What the meaning of a program's next step depends on."""

    opened: dict[tuple[int, int], int] = field(default_factory=dict)  # (file, handle): communicator
    latest: dict[int, list[int]] = field(default_factory=dict)  # file: communicators of its opens
    next_member: dict[int, int] = field(
        default_factory=dict
    )  # phase: pattern's call that comes next

    def copied(self) -> _State:
        return _State(
            dict(self.opened),
            {file: list(opens) for file, opens in self.latest.items() if opens},
            {phase: n for phase, n in self.next_member.items() if n},
        )


class _Walk:
    """Goes through one program."""

    def __init__(
        self, kernel: Kernel, program: Program, communicators: Communicators, words: _Words
    ) -> None:
        self._program = program
        self._communicators = communicators
        self._words = words
        self._phases = {phase.ph_id: phase for phase in kernel.phases}
        self._names = {file.file_id: file.name for file in kernel.files}
        self._state = _State()

    def sequences(self) -> _Lines:
        """The program's collective operations by communicator."""
        return self._of(self._program.steps)

    def _of(self, steps: Sequence[Step]) -> _Lines:
        parts: defaultdict[int, list[Folded]] = defaultdict(list)
        for step in orders_expanded(steps):
            for communicator, part in self._of_step(step).items():
                parts[communicator].append(part)
        return {communicator: joined(of_one) for communicator, of_one in parts.items()}

    def _of_step(self, step: Step) -> _Lines:
        if isinstance(step, SyncStep):
            barrier = one(self._words.number("barrier", "barrier"))
            return {step.communicator: repeated(barrier, step.count)}
        if isinstance(step, FileStep):
            return self._of_file_step(step)
        if isinstance(step, DataStep):
            return self._of_data_step(step)
        if isinstance(step, RepeatStep):
            return self._of_repeat(step)
        return {}

    def _of_file_step(self, step: FileStep) -> _Lines:
        name = calls.performed(step.iop_type)
        if name is None or not calls.is_mpi(name):
            return {}
        key = (step.file_id, step.handle)
        communicator = self._communicators.of_open(step)
        if communicator is not None:
            self._state.opened[key] = communicator
            self._state.latest.setdefault(step.file_id, []).append(communicator)
        found = self._where(*key)
        if name == "MPI_File_close" and found is not None:
            self._state.opened.pop(key, None)
            self._state.latest[step.file_id].remove(found)
        if found is None or not calls.is_collective(name):
            return {}
        return {found: repeated(self._word(name, step.file_id), step.count)}

    def _where(self, file_id: int, handle: int) -> int | None:
        """The communicator through which a file is open; None: it is not."""
        found = self._state.opened.get((file_id, handle))
        opens = self._state.latest.get(file_id)
        return found if found is not None else opens[-1] if opens else None

    def _of_data_step(self, step: DataStep) -> _Lines:
        phase = self._phases[step.ph_id]
        n = len(phase.pattern)
        start = self._state.next_member.get(step.ph_id, 0)
        if step.single:
            self._state.next_member[step.ph_id] = (start + step.n) % n
        names = [calls.performed(member.iop_type) or "" for member in phase.pattern]
        if not any(calls.is_collective(name) for name in names):
            return {}

        def pattern_from(first: int, count: int) -> _Lines:
            parts: defaultdict[int, list[Folded]] = defaultdict(list)
            for index in range(first, first + count):
                word = self._of_member(step, phase, index % n, names[index % n])
                if word is not None:
                    parts[word[0]].append(word[1])
            return {communicator: joined(of_one) for communicator, of_one in parts.items()}

        whole, rest = divmod(step.n, n) if step.single else (step.n, 0)
        return _both(_times(pattern_from(start, n), whole), pattern_from(start, rest))

    def _of_member(
        self, step: DataStep, phase: Phase, index: int, name: str
    ) -> tuple[int, Folded] | None:
        if not calls.is_collective(name):
            return None
        handle = phase.pattern[index].handle if step.handle is None else step.handle
        communicator = self._where(phase.file_id, handle)
        return None if communicator is None else (communicator, self._word(name, phase.file_id))

    def _of_repeat(self, step: RepeatStep) -> _Lines:
        """Bodies are alike once the state before them recurs, mostly at once."""
        before: list[_State] = []
        bodies: list[_Lines] = []
        while len(bodies) < step.times and self._state.copied() not in before:
            before.append(self._state.copied())
            bodies.append(self._of(step.steps))
        if len(bodies) == step.times:
            return _all(bodies)
        start = before.index(self._state.copied())
        rounds, rest = divmod(step.times - start, len(bodies) - start)
        for _ in range(rest):  # leaves the state as after the last body
            self._of(step.steps)
        return _all(
            [*bodies[:start], _times(_all(bodies[start:]), rounds), *bodies[start : start + rest]]
        )

    def _word(self, name: str, file_id: int) -> Folded:
        # Ranks may say a place or go by their pointers: the libraries make the same call of both.
        alike = name.replace("_at_all", "_all")
        file = self._names[file_id]
        return one(self._words.number(f"{alike} {file_id}", f"{name} of {file}"))


def _mapped(change: Callable[[Folded], Folded], lines: _Lines) -> _Lines:
    return {communicator: change(part) for communicator, part in lines.items()}


def _times(lines: _Lines, times: int) -> _Lines:
    return _mapped(lambda part: repeated(part, times), lines)


def _both(first: _Lines, then: _Lines) -> _Lines:
    return _all([first, then])


def _all(lines: Sequence[_Lines]) -> _Lines:
    parts: defaultdict[int, list[Folded]] = defaultdict(list)
    for some in lines:
        for communicator, part in some.items():
            parts[communicator].append(part)
    return {communicator: joined(of_one) for communicator, of_one in parts.items()}
