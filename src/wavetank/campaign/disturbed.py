"""Which measurements are made again because other work disturbed them, and how often at most.

What decides is the machine's load alone, never the measured time.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from wavetank.campaign.store import Key
from wavetank.measure.result import Measurement

MOST_SHARE = 0.25
"""Of a campaign's measurements that are made again, at most: a machine that is never quiet must not double the time."""


@dataclass
class Repeats:
    """What may be made again.

    Attributes:
        most_each: times that one measurement is made again, at most.
        n_left: measurements that this campaign may still make again.
    """

    most_each: int
    n_left: int
    times: dict[Key, int] = field(default_factory=dict)

    def again(self, key: Key, measurement: Measurement) -> bool:
        """Whether a measurement that was just made is made again; counts it then."""
        load = measurement.load
        if load is None or not load.disturbed or self.n_left < 1:
            return False
        if self.times.get(key, 0) >= self.most_each:
            return False
        self.times[key] = self.times.get(key, 0) + 1
        self.n_left -= 1
        return True


def repeats_of(most_each: int, n_runs: int, n_made_again: int) -> Repeats:
    """What a campaign may make again.

    Args:
        most_each: as the campaign file says.
        n_runs: measurements of the plan.
        n_made_again: by earlier runs of this campaign.
    """
    return Repeats(most_each, max(round(MOST_SHARE * n_runs), 1) - n_made_again)
