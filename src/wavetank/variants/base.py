"""What every knob provides: the values that are worth a try, and the kernel with it turned."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Protocol

from wavetank.errors import KernelError
from wavetank.kernel.plan import Kernel


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
