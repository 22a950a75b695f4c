"""A search that a comparison comes from: its rounds, what it dropped and why, and what it measured."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from wavetank.document import Record


class Dropped(Record):
    """A configuration that did not go on. Nothing is said of it but what is here."""

    application: str
    cluster: str
    mapping: str
    round: int = Field(description="after which it was dropped, from 1")
    place: int = Field(description="in this round, by the median of its measurements until then")
    of: int = Field(description="configurations that were measured in this round")
    io_times_s: tuple[float, ...] = Field(description="its measurements")
    first_s: float = Field(description="median I/O time until then of the one in the first place")
    comparable: bool = Field(default=True, description="with hardware; not in guests of some kinds")
    incomparable_kept: int = Field(
        default=0,
        description="configurations before it that went on and are not comparable with hardware; 0 of one that is not either",
    )


class SearchRound(Record):
    """A round of the selection."""

    application: str
    round: int = Field(description="from 1")
    measured: int = Field(description="configurations, once each")
    went_on: int


class Search(Record):
    """Successive halving in place of the full grid."""

    by: Literal["time", "cost", "ratio"] = Field(description="that configurations were selected by")
    n_measured: int = Field(description="measurements of the search so far")
    n_at_most: int = Field(description="measurements of the whole search")
    n_grid: int = Field(description="measurements that the full grid takes")
    final_repetitions: int = Field(
        description="of each finalist, made after the selection; all estimates are of these alone"
    )
    finished: bool = Field(description="whether the finalists of every application are known")
    rounds: tuple[SearchRound, ...]
    finalists: tuple[str, ...] = Field(description="configurations, by id, as far as known")
    dropped: tuple[Dropped, ...]

    def n_dropped(self, application: str) -> int:
        """Configurations of an application that did not reach the final."""
        return sum(each.application == application for each in self.dropped)

    def n_behind_incomparable(self, application: str) -> int:
        """Those of them that are comparable with hardware, and were dropped where others went on that are not."""
        return sum(
            each.application == application and each.incomparable_kept > 0 for each in self.dropped
        )

    def last_dropped_first(self) -> list[Dropped]:
        """By application; of each those that came farthest before the others, best first."""
        return sorted(self.dropped, key=lambda each: (each.application, -each.round, each.place))
