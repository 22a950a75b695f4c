"""The rules by which operations are put into phases: what is similar, what lies between two phases.

Source: method, section 2, "Boundaries" and "Similarity".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite

from wavetank.errors import ModelError, UsageError
from wavetank.model.document.model import Boundaries
from wavetank.model.document.thresholds import DEFAULT_THRESHOLDS, Thresholds
from wavetank.trace.schema import LEVEL_NAMES, Level

LEVELS = {LEVEL_NAMES[level]: level for level in (Level.POSIX, Level.MPIIO)}
LEVEL_SETS = {"none": (), "posix": ("posix",), "mpiio": ("mpiio",), "both": ("posix", "mpiio")}
"""Levels at which communication separates phases, by the word for them."""


@dataclass(frozen=True)
class Rules:
    """How phases are split.

    Attributes:
        split_at_communication: by level; MPI communication between two operations separates them.
        split_at_computation_s: seconds without I/O that separate two operations; None: never.
        similarity: least and greatest ratio of similar values; None asks for equality.
        levels: those that are modelled; None: all that the trace has.
        pauses_s: seconds without I/O from which on a pause is kept in the programs; None: none is.
        families: whether files that are used alike, one at a time, are one file with members.
        thresholds: the numbers of all other rules.
    """

    split_at_communication: Mapping[int, bool] = field(
        default_factory=lambda: {Level.POSIX: False, Level.MPIIO: True}
    )
    split_at_computation_s: float | None = None
    similarity: tuple[float, float] | None = (0.8, 1.2)
    levels: tuple[int, ...] | None = None
    pauses_s: float | None = None
    families: bool = True
    thresholds: Thresholds = DEFAULT_THRESHOLDS

    def __post_init__(self) -> None:
        low, high = self.similarity or (1.0, 1.0)
        if not (0 < low <= 1 <= high and isfinite(high)):
            raise ModelError(
                f"similarity {low} to {high} is no window around 1. "
                "Give a low value in (0, 1] and a high one of at least 1, e.g. 0.8 and 1.2"
            )
        for what, seconds in (
            ("the computation gap", self.split_at_computation_s),
            ("the shortest pause to keep", self.pauses_s),
        ):
            if seconds is not None and not (seconds > 0 and isfinite(seconds)):
                raise ModelError(f"{what} must be a positive number of seconds, not {seconds}")

    @property
    def shortest_gap_s(self) -> float | None:
        """The shortest time without I/O that means anything; None if none does."""
        gaps = [gap for gap in (self.split_at_computation_s, self.pauses_s) if gap is not None]
        return min(gaps, default=None)

    def alike(self, first: int, second: int) -> bool:
        """Whether second/first lies in the window; equality for values <= 0."""
        if first == second:
            return True
        if self.similarity is None or first <= 0 or second <= 0:
            return False
        return self.similarity[0] * first <= second <= self.similarity[1] * first

    def boundaries(self) -> Boundaries:
        """The rules as a model file states them."""
        return Boundaries.model_construct(
            split_at_communication={
                name: self.split_at_communication.get(level, False)
                for name, level in LEVELS.items()
            },
            split_at_computation_s=self.split_at_computation_s,
            similarity=self.similarity,
        )


def rules_of(
    communication: str,
    gap_s: float | None,
    similarity: tuple[float, float] | None,
    levels: Sequence[str] | None,
    pauses_s: float | None,
    families: bool,
) -> Rules:
    """Rules as people name them. Arguments are those of ``Rules``, with levels by their names.

    Raises:
        UsageError: there is no such level.
        ModelError: a number cannot be.
    """
    if communication not in LEVEL_SETS:
        raise UsageError(
            f"{communication!r} names no levels at which communication separates phases. Choose one of {', '.join(LEVEL_SETS)}"
        )
    for one in levels or ():
        if one not in LEVELS:
            raise UsageError(f"{one!r} is no level. Levels are {' and '.join(LEVELS)}")
    return Rules(
        split_at_communication={
            level: name in LEVEL_SETS[communication] for name, level in LEVELS.items()
        },
        split_at_computation_s=gap_s,
        similarity=similarity,
        levels=None if levels is None else tuple(LEVELS[one] for one in levels),
        pauses_s=pauses_s,
        families=families,
    )
