"""Notes: what a reader of a trace, model, kernel, measurement or comparison must know to judge it.

A document holds its notes in one list. Code reads their kind and subject; people read their text.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

Kind = Literal[
    "lost",  # the run did it, and its trace does not hold it
    "unrecorded",  # recorders of this kind do not record it
    "assumed",  # chosen, because nothing was recorded
    "library",  # the MPI library may do it otherwise in a replay
    "inferred",  # concluded from what was recorded, or corrected by it
    "unfinished",  # a process did not end in order, or has no trace
    "unseen",  # whether the run did it is not on record
    "omitted",  # the kernel does not do it
    "replaced",  # the kernel, or a benchmark's line, does it otherwise
    "suspect",  # of the cluster or the machine while it was measured
    "remark",  # how to read the numbers
]
DOUBTS: tuple[Kind, ...] = ("lost", "unrecorded", "assumed")
"""Kinds that make a kernel doubtful whatever it does: each later document repeats these notes."""
Value = int | float | str


@dataclass(frozen=True)
class Note:
    """Something that may be wrong, or that numbers do not show.

    Attributes:
        kind: how it bears on the document.
        subject: what it is about, in a word or two.
        text: a sentence; with ``values`` a format string of them.
        values: numbers and names in the text.
    """

    kind: Kind
    subject: str
    text: str
    values: Mapping[str, Value] = field(default_factory=dict, hash=False)

    def __str__(self) -> str:
        """The sentence."""
        return self.text.format(**self.values) if self.values else self.text


def note(kind: Kind, subject: str, text: str, **values: Value) -> Note:
    """A note whose text is a format string of some values; without values it is taken as it is."""
    return Note(kind, subject, f"the trace is PARTIAL: {text}" if kind == "lost" else text, values)


def notes_of(kind: Kind, subject: str, sentences: Iterable[str]) -> tuple[Note, ...]:
    """A note for each of several sentences of one kind."""
    return tuple(note(kind, subject, each) for each in sentences)


def of_kinds(notes: Iterable[Note], *kinds: Kind) -> tuple[Note, ...]:
    """The notes of some kinds, each once; without kinds all."""
    return tuple(dict.fromkeys(each for each in notes if not kinds or each.kind in kinds))


def texts(notes: Iterable[Note], *kinds: Kind) -> tuple[str, ...]:
    """The sentences of the notes of some kinds, likewise."""
    return tuple(dict.fromkeys(map(str, of_kinds(notes, *kinds))))


def carried(notes: Iterable[Note]) -> tuple[Note, ...]:
    """The notes that a document takes over from the one that it is made from."""
    return of_kinds(notes, *DOUBTS)


def about(whom: str, notes: Iterable[Note]) -> tuple[Note, ...]:
    """The notes with what they are about before their sentences."""
    return tuple(Note(each.kind, each.subject, f"{whom}: {each}") for each in notes)
