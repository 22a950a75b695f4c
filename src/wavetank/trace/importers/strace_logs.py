"""The logs of one run of strace: a file, or a folder with one for each rank.

``-o out.RANK`` gives one for each rank, numbered from 0 on.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from wavetank.errors import TraceError
from wavetank.trace import packed
from wavetank.trace.importers.strace_lines import MAKE_IT, Call, LineReader, looks_like_lines

_NUMBERED = re.compile(r"(?P<stem>.*?)(?P<number>\d+)(?P<suffix>\.[a-z]+)?(?P<packed>\.gz|\.zst)?")
_HEAD_BYTES = 4096


@dataclass
class Log:
    """One of strace's files.

    Attributes:
        path: the file.
        rank: by its name; None where that has none.
    """

    path: Path
    rank: int | None = None
    lines: LineReader = field(default_factory=LineReader)
    cut_short: bool = False

    def calls(self) -> Iterator[tuple[Log, Call]]:
        """Its calls, in the order of the file.

        Raises:
            TraceError: it cannot be read, or other options made it.
        """
        try:
            for number, line in enumerate(packed.lines(self.path), 1):
                try:
                    call = self.lines.call(line.rstrip("\n"))
                except ValueError as reason:
                    raise TraceError(
                        f"{self.path}, line {number}: {reason}: this log of strace was made with other options than "
                        f"are read. Make it by: {MAKE_IT}"
                    ) from None
                if call is not None:
                    yield self, call
        except EOFError:
            self.cut_short = True


@dataclass(frozen=True)
class Logs:
    """The logs of one run.

    Attributes:
        logs: in the order of their numbers.
        n_ranks: where their names have the numbers of ranks; else None.
        others: names of the logs of further ranks that are not read.
    """

    logs: tuple[Log, ...]
    n_ranks: int | None = None
    others: tuple[str, ...] = ()

    def calls(self) -> Iterator[tuple[Log, Call]]:
        """The calls of all logs in the order of time."""
        if len(self.logs) == 1:
            yield from self.logs[0].calls()
        else:
            yield from heapq.merge(
                *(log.calls() for log in self.logs), key=lambda found: found[1].line_ns
            )

    def count(self, of: Callable[[LineReader], int]) -> int:
        """A sum over the logs."""
        return sum(of(log.lines) for log in self.logs)


def is_log(path: Path) -> bool:
    """Whether a file is strace's output; an empty one is not."""
    try:
        head = packed.head(path, _HEAD_BYTES)
    except TraceError:
        return False
    return bool(head) and looks_like_lines(head)


def is_folder_of_logs(path: Path) -> bool:
    """Whether a folder holds strace's output and no other files; empty ones do not count."""
    files = _files(path)
    return bool(files) and all(map(is_log, files))


def _files(folder: Path) -> list[Path]:
    return sorted(one for one in folder.iterdir() if one.is_file() and one.stat().st_size > 0)


def find_logs(path: Path) -> Logs:
    """The logs at a path: a file, or a folder of them."""
    if path.is_dir():
        files = _files(path)
        numbers = _numbers(files)
        if numbers is None or not _is_ranks(numbers.values()):
            return Logs(tuple(map(Log, files)))
        logs = tuple(Log(one, rank=numbers[one]) for one in sorted(files, key=numbers.__getitem__))
        return Logs(logs, len(logs))
    family = _family(path)
    if len(family) < 2 or not _is_ranks(family.values()) or not all(map(is_log, family)):
        return Logs((Log(path),))
    others = tuple(sorted(one.name for one in family if one != path))
    return Logs((Log(path, rank=family[path]),), len(family), others)


def _family(path: Path) -> dict[Path, int]:
    """The files beside one whose names differ from its own in the number only, with their numbers."""
    mine = _NUMBERED.fullmatch(path.name)
    if mine is None:
        return {}
    found = {}
    for other in path.parent.iterdir():
        theirs = _NUMBERED.fullmatch(other.name)
        same = theirs is not None and theirs["stem"] == mine["stem"]
        if theirs is not None and same and theirs["suffix"] == mine["suffix"] and other.is_file():
            found[other] = int(theirs["number"])
    return found


def _numbers(files: list[Path]) -> dict[Path, int] | None:
    """The numbers of files that are named alike; None where they are not."""
    matches = {one: _NUMBERED.fullmatch(one.name) for one in files}
    stems = {
        None if match is None else (match["stem"], match["suffix"]) for match in matches.values()
    }
    if len(stems) > 1 or None in stems:
        return None
    return {one: int(match["number"]) for one, match in matches.items() if match is not None}


def _is_ranks(numbers: Collection[int]) -> bool:
    """Whether numbers are 0, 1, 2 and so on: ranks, and no ids of processes."""
    return sorted(numbers) == list(range(len(numbers)))
