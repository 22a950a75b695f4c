"""What every knob provides: the values that are worth a try, and the kernel with it turned."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Protocol

from wavetank.errors import KernelError, UsageError
from wavetank.kernel.document.kernel import Kernel
from wavetank.units import parse_size


class DoesNotApplyError(KernelError):
    """A knob has nothing to turn in a kernel. The message is the reason, without a full stop."""


@dataclass(frozen=True)
class Turned:
    """A kernel with a knob turned.

    Attributes:
        kernel: with the knob turned.
        before: the knob's value in the kernel as it is.
        after: its value now.
        hints: MPI-IO hints that were turned.
        notes: what a reader must know, a sentence each.
        parts: number of a file that holds a part of another one -> number of that one.
        origins: number of a new phase -> number of the phase that it is made of, where they differ.
    """

    kernel: Kernel
    before: str
    after: str
    hints: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    parts: dict[int, int] = field(default_factory=dict)
    origins: dict[int, int] = field(default_factory=dict)


class Knob(Protocol):
    """A property of the application that can be turned alone."""

    name: ClassVar[str]
    """As people write it: "request-size"."""
    title: ClassVar[str]
    """In sentences: "request size"."""
    takes: ClassVar[str]
    """What values it takes, for messages: "a size, e.g. 1MiB"."""

    def values(self, kernel: Kernel) -> tuple[str, ...]:
        """Values that are tried where none is named; one at least, also where the knob does not apply."""
        ...

    def turned(self, kernel: Kernel, value: str) -> Turned:
        """The kernel with the knob at a value.

        Raises:
            DoesNotApplyError: the kernel has nothing that the knob turns, or has that value already.
            UsageError: it is no value of the knob.
        """
        ...


def require_word(knob: Knob, value: str, words: tuple[str, ...]) -> None:
    """See that a knob's value is one of some words.

    Raises:
        UsageError: it is another one.
    """
    if value not in words:
        raise _wrong(knob, value)


def ranks_of(knob: Knob, value: str, kernel: Kernel, least: int) -> int:
    """A number of ranks: of "all", those of the kernel.

    Raises:
        UsageError: it is no number, or less than ``least``.
    """
    if value == "all":
        return kernel.n_ranks
    if not (value.isascii() and value.isdigit() and int(value) >= least):
        raise _wrong(knob, value)
    return int(value)


def size_of(knob: Knob, value: str, most_bytes: int) -> int:
    """A size in bytes.

    Raises:
        UsageError: it is none, 0 or more than ``most_bytes``.
    """
    try:
        size = parse_size(value)
    except ValueError as error:
        raise UsageError(f"{knob.name} takes {knob.takes}: {error}") from error
    if not 0 < size <= most_bytes:
        raise _wrong(knob, value)
    return size


def _wrong(knob: Knob, value: str) -> UsageError:
    return UsageError(f"{knob.name} takes {knob.takes}, and not {value!r}")
