"""All repetitions of one setting of a study, with the rates of its groups."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from wavetank.compare.blocks import Rates
from wavetank.interfere.placement import Member
from wavetank.interfere.plan import Point
from wavetank.measure.together_result import TogetherMeasurement


@dataclass(frozen=True)
class Measured:
    """All repetitions of one setting.

    Attributes:
        point: one of its runs in the plan.
        runs: its repetitions.
        rates: by (group, instance); empty where there is no time in which all groups are active.
    """

    point: Point
    runs: tuple[TogetherMeasurement, ...]
    rates: Mapping[tuple[str, int], Rates]

    @property
    def members(self) -> tuple[Member, ...]:
        """Who ran."""
        return self.point.members

    @property
    def place(self) -> tuple[str, str, int | None]:
        """Cluster, mapping and object size: what is compared is alike in them."""
        return self.point.cluster, self.point.mapping, self.point.object_bytes

    def object_s(self, index: int) -> float | None:
        """Mean time of an object of a member, by its operations in the window; None without any."""
        parties = [run.parties[index] for run in self.runs]
        windows = [party.window for party in parties if party.window is not None]
        moved = sum(window.bytes for window in windows)
        objects = sum(party.operations for party in parties)
        if not moved or not objects:
            return None
        bytes_per_object = sum(party.bytes for party in parties) / objects
        return sum(window.io_time_s for window in windows) / moved * bytes_per_object

    def time_ratio(self, group: str) -> float | None:
        """Interval / time per object of a group (method, section 9); None without objects."""
        for index, member in enumerate(self.members):
            if member.group == group and member.interval_s is not None:
                object_s = self.object_s(index)
                return None if not object_s else member.interval_s / object_s
        return None

    def offset_s(self, moved: str) -> float:
        """Start of a group after the others, seconds; negative: before them."""
        own = next(member.start_s for member in self.members if member.group == moved)
        others = [member.start_s for member in self.members if member.group != moved]
        return own - max(others, default=0.0)
