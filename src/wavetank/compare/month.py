"""The cost of a month: of so many runs, where instances are rented for each run, where servers stay up, where all does.

Method, section 7: equations 6 and 7 over other times. A month has 730 hours. Storage that is kept (``cost_fix``) is not in it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal

from wavetank.compare.configuration import Configuration
from wavetank.cost.prices import HOURS_PER_MONTH, SECONDS_PER_HOUR, per_month
from wavetank.measure.statistics import Estimate, mapped


@dataclass(frozen=True)
class Month:
    """What a configuration costs in a month, in the currency of its comparison.

    Attributes:
        runs: in the month.
        io: the I/O of all runs.
        runs_alone: the whole runs, everything rented for each of them; None where the whole run is not known.
        servers_up: likewise, where servers, head nodes and storage stay up all month; None where it is not known.
        all_up: everything all month, whatever runs.
        busy_percent: of the month's hours, one run after another; above 100 they do not fit.
    """

    runs: int
    io: Estimate
    runs_alone: Estimate | None
    servers_up: Estimate | None
    all_up: Decimal
    busy_percent: Estimate | None

    @property
    def fits(self) -> bool | None:
        """Whether so many runs, one after another, take a month at most; None where the whole run is not known."""
        return None if self.busy_percent is None else self.busy_percent.median <= 100


def month_of(configuration: Configuration, runs: int) -> Month | None:
    """The month of a configuration; None without a cost."""
    cost = configuration.cost
    if cost is None:
        return None
    per_h = cost.n_instances * cost.price_inst_per_h + cost.storage_per_h
    whole = configuration.run.whole_s if configuration.run is not None else None
    alone = None if whole is None else mapped(whole, _times(runs, per_h))
    servers = None
    if whole is not None and cost.staying_per_h is not None:
        stays = cost.staying_per_h + cost.storage_per_h
        standing = float(per_month(stays))
        rented = _times(runs, per_h - stays)
        servers = mapped(whole, lambda time_s: standing + rented(time_s))
    return Month(
        runs=runs,
        io=mapped(configuration.io_time_s, _times(runs, per_h)),
        runs_alone=alone,
        servers_up=servers,
        all_up=per_month(per_h),
        busy_percent=None
        if whole is None
        else mapped(
            whole, lambda time_s: 100 * runs * time_s / (HOURS_PER_MONTH * SECONDS_PER_HOUR)
        ),
    )


def _times(runs: int, per_h: Decimal) -> Callable[[float], float]:
    """Seconds of a run -> cost of so many."""
    per_s = float(per_h) / SECONDS_PER_HOUR
    return lambda time_s: runs * time_s * per_s
