"""Reads the records of a part that are not of files: mounts, ranks, views, communicators, hints, clocks, notes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wavetank.trace.part_files import other_records

if TYPE_CHECKING:
    from wavetank.trace.part import Part

_MOST_RANKS = 1 << 24  # of a communicator; more is damage
(META_FILE, META_MOUNT, META_RANK, META_COMMAND, META_VIEW, META_COMM, META_INFO, META_END, META_NOTE,
 META_MOVED, META_CLOCK, META_STRIPING, META_HINTS, META_FILE_HINTS, META_IDENTITY,
 META_SYMLINK, META_DIRECTORY) = range(1, 18)  # fmt: skip


@dataclass
class PartView:
    """An MPI file view as recorded."""

    displacement: int
    etype_size: int
    extent: int
    runs: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class PartClock:
    """A comparison of this process's CLOCK_MONOTONIC with the reference host's."""

    clock: int  # which clock this process has
    reference: int
    role: int  # enum wt_clock_role
    at_ns: int  # since the part's start
    offset_ns: int  # reference minus own
    round_trip_ns: int


class _Fields:
    """Cursor over a record's fields."""

    def __init__(self, content: bytes) -> None:
        self.content = content
        self.at = 0

    def number(self) -> int:
        value = self.content[self.at]
        self.at += 1
        if value < 0x80:
            return value
        value, shift = value & 0x7F, 7
        while True:
            byte = self.content[self.at]
            self.at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7
            if shift > 63:
                raise IndexError

    def signed(self) -> int:
        value = self.number()
        return (value >> 1) ^ -(value & 1)

    def raw(self) -> bytes:
        n = self.number()
        if self.at + n > len(self.content):
            raise IndexError
        self.at += n
        return self.content[self.at - n : self.at]

    def text(self) -> str:
        # Names of files are bytes: what is not UTF-8 is shown escaped.
        return self.raw().decode(errors="backslashreplace")

    def bounded(self, what: int) -> int:
        """A number of things that follow: never more than the bytes that are left."""
        n = self.number()
        if n > len(self.content) - self.at or what < 0:
            raise IndexError
        return n


def read_records(part: Part, payload: bytes) -> bool:
    """Read the records that are not of files; False where one makes no sense."""
    others, n_good = other_records(payload)
    try:
        for record in others:
            fields = _Fields(payload[record.begin : record.end])
            _READERS.get(record.kind, _ignore)(part, fields)
    except IndexError:
        return False
    return n_good == len(payload)


def _ignore(part: Part, fields: _Fields) -> None:
    del part, fields  # a record of a later minor version


def _mount(part: Part, fields: _Fields) -> None:
    number = fields.number()
    part.mounts[number] = (fields.text(), fields.text(), fields.text())


def _rank(part: Part, fields: _Fields) -> None:
    rank, n_ranks, source, library = (
        fields.number(),
        fields.number(),
        fields.number(),
        fields.text(),
    )
    if source >= part.rank_source:
        part.rank = rank - 1 if rank else None
        part.n_ranks = n_ranks or None
        part.rank_source = source
        part.mpi_library = library or part.mpi_library


def _command(part: Part, fields: _Fields) -> None:
    part.command = tuple(fields.text() for _ in range(fields.bounded(1)))


def _view(part: Part, fields: _Fields) -> None:
    number, displacement, etype_size, extent = (
        fields.number(),
        fields.number(),
        fields.number(),
        fields.number(),
    )
    end = 0
    runs: list[tuple[int, int]] = []
    for _ in range(fields.bounded(2)):
        first = end + fields.signed()
        end = first + fields.number()
        runs.append((first, end - first))
    part.views[number] = PartView(displacement, etype_size, extent, tuple(runs))


def _communicator(part: Part, fields: _Fields) -> None:
    number, end = fields.number(), 0
    ranks: list[int] = []
    for _ in range(fields.bounded(1)):
        first = end + fields.signed()
        end = first + fields.number()
        if len(ranks) + end - first > _MOST_RANKS:
            raise IndexError
        ranks.extend(range(first, end))
    part.communicators[number] = tuple(ranks)


def _hints(part: Part, fields: _Fields) -> None:
    number, n = fields.number(), fields.bounded(2)
    part.hint_sets[number] = tuple((fields.text(), fields.text()) for _ in range(n))


def _file_hints(part: Part, fields: _Fields) -> None:
    part.file_hints.append((fields.number(), fields.number(), fields.number()))


def _moved(part: Part, fields: _Fields) -> None:
    number = fields.number()
    part.moved[number] = fields.number()


def _clock(part: Part, fields: _Fields) -> None:
    clock, reference, role, at_ns = (fields.number() for _ in range(4))
    part.clocks.append(PartClock(clock, reference, role, at_ns, fields.signed(), fields.number()))


def _striping(part: Part, fields: _Fields) -> None:
    number = fields.number()
    part.striping[number] = fields.raw()


def _end(part: Part, fields: _Fields) -> None:
    fields.number()  # enum wt_end
    fields.number()  # operations, for people
    part.missed = fields.number()
    part.end_ns = fields.number()
    part.ended = True


def _note(part: Part, fields: _Fields) -> None:
    number = fields.number()
    detail = fields.text()
    part.notes[number] = detail
    if detail:
        part.unseen.setdefault(number, []).append(detail)


_READERS = {
    META_MOUNT: _mount,
    META_RANK: _rank,
    META_COMMAND: _command,
    META_VIEW: _view,
    META_COMM: _communicator,
    META_END: _end,
    META_NOTE: _note,
    META_MOVED: _moved,
    META_CLOCK: _clock,
    META_STRIPING: _striping,
    META_HINTS: _hints,
    META_FILE_HINTS: _file_hints,
}
