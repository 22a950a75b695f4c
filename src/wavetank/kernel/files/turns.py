"""By which name each call of a rank's program goes, below the kernel's root: of members whose turn it is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from wavetank.kernel.document.kernel import KernelFile
from wavetank.model.document.file_members import name_of_member, turns_to_next
from wavetank.model.document.program import FileStep, Program
from wavetank.model.document.step_walks import file_steps


class FileNames:
    """The names of a kernel's files, which all ranks share.

    Args:
        files: of the kernel.
    """

    def __init__(self, files: Sequence[KernelFile]) -> None:
        self._names = {file.file_id: file.names for file in files}
        self._visited: dict[int, dict[int, Iterator[tuple[str, ...]]]] = {}
        for file in files:
            if file.members is not None:
                names = list(zip(*map(file.member_names, range(file.n_names)), strict=True))
                self._visited[file.file_id] = {
                    rank: map(names.__getitem__, visited.tolist())
                    for rank, visited in file.members.visits.by_rank()
                }

    def differ(self, program: Program) -> bool:
        """Whether the ranks of a program work on files of their own."""
        return bool(self._visited) and any(
            step.file_id in self._visited for step in file_steps(program.steps)
        )

    def turns_of(self, rank: int) -> Turns:
        """The names by which one rank's calls go, from its first call on; of each rank once."""
        visited = {
            file_id: of_ranks.get(rank, iter(())) for file_id, of_ranks in self._visited.items()
        }
        return Turns(self._names, visited)


class Turns:
    """The names of one rank's calls. Steps are told in the order of its program, one by one.

    Args:
        names: of each file.
        visited: of files with members, the names of each visit's member.
    """

    def __init__(
        self, names: dict[int, tuple[str, ...]], visited: dict[int, Iterator[tuple[str, ...]]]
    ) -> None:
        self._names, self._visited = names, visited
        self._at_hand: dict[int, tuple[str, ...]] = {}

    def calls(self, step: FileStep) -> Iterator[tuple[str, int]]:
        """The name, and how many calls are made by it; several where each call is on another member."""
        if step.file_id in self._visited:
            which = name_of_member(step.name)
            if turns_to_next(step.name):
                for _ in range(step.count):
                    self._at_hand[step.file_id] = next(self._visited[step.file_id], ())
                    yield self.at_hand(step.file_id, which), 1
                return
            yield self.at_hand(step.file_id, which), step.count
        elif (names := self._names.get(step.file_id)) is not None:
            yield names[step.name if step.name < len(names) else 0], step.count

    def at_hand(self, file_id: int, which: int = 0) -> str:
        """The first name of a file; of members one name of that whose turn it is."""
        if file_id in self._visited:
            names = self._at_hand.get(file_id, ())
            return names[which] if which < len(names) else ""
        return self._names.get(file_id, ("",))[0]
