"""Rates as multiples of the baseline's, beside what the paper says of the same: figures that are bars of one another.

Reads a comparison with a baseline. The published multiples are in the study's statements, and nowhere else.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from wavetank.compare.comparison import Comparison
from wavetank.compare.configuration import Configuration
from wavetank.measure.statistics import Estimate
from wavetank.papers.claims import Better, NoGain
from wavetank.papers.study import Study
from wavetank.units import format_rate

HYPERVISOR = "hypervisor"
"""Key of a configuration's limits where its nodes, or some of them, are guests."""


@dataclass(frozen=True)
class Ratio:
    """A configuration against the baseline.

    Attributes:
        configuration: that was measured.
        times: its rate over the baseline's; None of the baseline itself.
        published: the same in the paper; None where it says nothing of it.
    """

    configuration: Configuration
    times: Estimate | None
    published: float | None

    @property
    def is_baseline(self) -> bool:
        """Whether the others are multiples of this one."""
        return self.configuration.against is None

    @property
    def guests(self) -> str | None:
        """What makes its guests, without why that was chosen; None where nodes are none."""
        words = self.configuration.limits.get(HYPERVISOR)
        return None if words is None else words.split(" (")[0]

    @property
    def waits_for(self) -> str | None:
        """What took its time; None where that was not recorded."""
        use = self.configuration.use
        return None if use is None else use.whole.bottleneck.name


def ratios(study: Study, comparison: Comparison) -> tuple[Ratio, ...]:
    """All configurations against the baseline, those of an application together; none without a baseline.

    Args:
        study: with its statements.
        comparison: of its campaign.
    """
    base = comparison.baseline
    if base is None:
        return ()
    return tuple(
        Ratio(
            each,
            None if each.against is None else each.against.times_as_fast,
            published(study, each, base),
        )
        for application in dict.fromkeys(each.application for each in comparison.configurations)
        for each in comparison.configurations
        if each.application == application and (each.cluster == base or each.against is not None)
    )


def published(study: Study, configuration: Configuration, baseline: str) -> float | None:
    """How many times the baseline's rate the paper gives a configuration; 1 where it sees no gain; None: it says nothing."""
    if configuration.cluster == baseline:
        return 1.0
    return next(_of_statements(study, configuration, baseline), None)


def _of_statements(study: Study, configuration: Configuration, baseline: str) -> Iterator[float]:
    for statement in study.statements:
        says = statement.says
        if not isinstance(says, Better | NoGain) or says.by != "time":
            continue
        if says.applications and configuration.application not in says.applications:
            continue
        this, base = (says.these, says.those) if isinstance(says, Better) else (says.after, says.before)  # fmt: skip
        if this.takes(configuration.cluster, configuration.mapping) and base.clusters == (
            baseline,
        ):
            if isinstance(says, NoGain):
                yield 1.0
            elif says.times is not None:
                yield says.times


def order_words(rows: Sequence[Ratio]) -> list[str]:
    """A sentence for each application: whether the paper's order of configurations was found, and what came otherwise.

    Two configurations are in another order where their intervals do not overlap; where these do, it cannot be told.
    """
    return [
        f"{application}: {_order([row for row in rows if row.configuration.application == application])}"
        for application in dict.fromkeys(row.configuration.application for row in rows)
    ]


def _order(rows: Sequence[Ratio]) -> str:
    known = sorted(
        (row for row in rows if row.published is not None), key=lambda row: -(row.published or 0.0)
    )
    pairs = [
        (first, second)
        for first, second in combinations(known, 2)
        if first.published != second.published
    ]
    if not pairs:
        return "the paper has no order of these configurations."
    otherwise = [pair for pair in pairs if _is_above(pair[1], pair[0])]
    unknown = [pair for pair in pairs if pair not in otherwise and not _is_above(pair[0], pair[1])]
    words = [
        f"{_title(second)} ({_rate(second)}) is above {_title(first)} ({_rate(first)}), published below it"
        for first, second in otherwise
    ]
    if unknown:
        words.append(f"{len(unknown)} of {len(pairs)} pairs cannot be told apart")
    return f"{'; '.join(words)}." if words else "all are in the published order."


def _is_above(one: Ratio, other: Ratio) -> bool:
    rate, below = one.configuration.rate_bytes_per_s, other.configuration.rate_bytes_per_s
    return rate.low is not None and below.high is not None and rate.low > below.high


def _title(row: Ratio) -> str:
    several = f" with {row.configuration.mapping}"
    return row.configuration.cluster_title + ("" if row.configuration.mapping == "1PxCN" else several)  # fmt: skip


def _rate(row: Ratio) -> str:
    return format_rate(row.configuration.rate_bytes_per_s.median)
