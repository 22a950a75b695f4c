"""The parts of a configuration's time with their use of resources, as tables and plots show them."""

from __future__ import annotations

from dataclasses import dataclass

from wavetank.compare.configuration import Configuration
from wavetank.compare.use import UseOf
from wavetank.measure.bottleneck import UNKNOWN_WORDS, call_time, percent
from wavetank.measure.use import Kind, Resource, Use

SHOWN_SHARE = 0.05
"""People see phases that take this share of the whole; JSON and CSV hold all."""


ALL = "all of the I/O"


@dataclass(frozen=True)
class Part:
    """A phase, what lies outside of phases, or all of the I/O.

    Attributes:
        words: what it is.
        ph_id: of a phase.
        time_s: how long it took, median.
        of: use and bottleneck; None where it is not known.
        shown: whether it is long enough to be shown to people.
    """

    words: str
    ph_id: int | None
    time_s: float | None
    of: UseOf | None
    shown: bool = True

    @property
    def use(self) -> Use | None:
        """Use of resources; None where it is not known, or too short."""
        return None if self.of is None else self.of.use

    @property
    def is_whole(self) -> bool:
        """Whether it is all of the I/O."""
        return self.words == ALL

    @property
    def bottleneck(self) -> str:
        """What took the time, with its numbers."""
        return UNKNOWN_WORDS if self.of is None else self.of.bottleneck.sentence

    @property
    def bottleneck_name(self) -> str:
        """What took the time, in few words."""
        return UNKNOWN_WORDS if self.of is None else self.of.bottleneck.name


def parts_of(configuration: Configuration) -> list[Part]:
    """All of the I/O, each phase, and what lies outside of them."""
    use = configuration.use
    whole_s = _span(None if use is None else use.whole)
    least_s = SHOWN_SHARE * (configuration.io_time_s.median if whole_s is None else whole_s)
    parts = [Part(ALL, None, whole_s, None if use is None else use.whole)]
    parts += [
        Part(
            f"phase {phase.ph_id}, {phase.operation}",
            phase.ph_id,
            phase.time_s.median,
            phase.use,
            phase.time_s.median >= least_s,
        )
        for phase in configuration.phases
    ]
    outside = None if use is None else use.outside
    outside_s = _span(outside)
    parts.append(
        Part(
            "outside of phases", None, outside_s, outside,
            outside_s is not None and outside_s >= least_s,
        )
    )  # fmt: skip
    return parts


def share(use: Use | None, resource: Resource, *kinds: Kind) -> float | None:
    """Use of a resource by the busiest node of some kinds; None where it is not known."""
    found = (
        [each.busiest for each in use.resources if each.resource == resource and each.kind in kinds]
        if use is not None
        else []
    )
    return max(found, default=None)


def shares_words(*shares: float | None) -> str:
    """Shares for people, side by side: "4 / 61 %"; a dash where one is not known."""
    if all(each is None for each in shares):
        return "-"
    words = ["-" if each is None else percent(each).removesuffix(" %") for each in shares]
    return f"{' / '.join(words)} %"


def calls_words(use: Use | None) -> str:
    """Calls of the ranks: how many at a time, and how long each took."""
    if use is None or use.call_s is None:
        return "-"
    each = f"{call_time(use.call_s)} each"
    return each if use.in_flight is None else f"{use.in_flight:.1f} at a time, {each}"


def _span(of: UseOf | None) -> float | None:
    return None if of is None or of.use is None else of.use.span_s
