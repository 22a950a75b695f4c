"""What the steps of one campaign share: what is done, what is left, what may still be afforded.

Used by whatever performs a plan: this machine (run.py) or a batch system (slurm/).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from wavetank.campaign.budget import Holds, Spending
from wavetank.campaign.plan import Plan, Run, expected_s, forecast
from wavetank.campaign.spec import CampaignSpec, UntilRule
from wavetank.campaign.store import Failure, Key, Store
from wavetank.campaign.strategy import Strategy, strategy_of
from wavetank.cost.prices import PriceTable
from wavetank.errors import WavetankError
from wavetank.measure.guests import is_comparable
from wavetank.measure.perform import RawOutput
from wavetank.measure.result import Measurement
from wavetank.model.document.model import Model

GIVE_UP_AFTER = 3
"""Failures in a row after which a cluster is given up: it is broken, not unlucky."""


class Observer(Protocol):
    """Is told what happens, for progress."""

    def says(self, text: str) -> None:
        """A sentence on what is happening."""

    def at(self, n_done: int, n_runs: int, remaining_s: float) -> None:
        """How far the campaign is."""


@dataclass(frozen=True)
class Outcome:
    """How a campaign ended.

    Attributes:
        n_measured, n_failed, n_not_afforded: measurements.
        not_down: clusters that could not be taken down.
    """

    n_measured: int
    n_failed: int
    n_not_afforded: int
    not_down: tuple[str, ...] = ()


@dataclass
class CampaignProgress:
    """How far one campaign is."""

    spec: CampaignSpec
    plan: Plan
    store: Store
    observer: Observer
    strategy: Strategy[Run]
    spending: Spending
    holds: Holds
    done: set[Key]
    n_measured: int = 0
    n_failed: int = 0
    n_not_afforded: int = 0
    failures_in_a_row: dict[str, int] = field(default_factory=dict)  # by cluster

    def end(self) -> Outcome:
        """Note that this is the campaign's end; how it ended."""
        self.store.end_invocation(self.n_failed, self.n_not_afforded)
        not_down = self.store.leases()
        return Outcome(self.n_measured, self.n_failed, self.n_not_afforded, not_down)

    def is_over(self, run: Run) -> bool:
        """Whether a measurement is finished or not needed any more."""
        return run.key in self.done or run.key in self.strategy.not_needed

    def report_progress(self) -> None:
        """Tell how far the campaign is."""
        ahead = forecast(
            self.plan,
            self.done,
            not_needed=self.strategy.not_needed,
            spent_s=self.store.spent_s(),
            prices=None,
        )
        self.observer.at(ahead.n_done, ahead.n_runs, ahead.duration_s)

    def expected_s(self, run: Run) -> float:
        """Wall time that a measurement will take."""
        spent = self.store.spent_s().get(run.key.cluster_key, ())
        return expected_s(self.plan.application(run.application), spent)

    def afford(self, left: Sequence[Run], next_s: float) -> bool:
        """Whether the budget allows the next thing; what is left is recorded if it does not."""
        cluster = self.plan.cluster(left[0].cluster)
        reason = self.spending.refuses(self.store, next_s, cluster)
        if reason is None:
            return True
        waiting = [run for run in left if not self.is_over(run) and self.strategy.is_ready(run)]
        self.n_not_afforded += len(waiting)
        for run in waiting:
            self.store.add_failure(
                Failure(run.application, run.cluster, run.mapping, reason), run.repetition
            )
        self.observer.says(f"{cluster.name}: {reason}")
        return False

    def keep(
        self,
        run: Run,
        measurement: Measurement,
        spent_s: float,
        raw: RawOutput | None,
        model: Model | None = None,
    ) -> None:
        """Store a finished measurement; ``model``: of the trace of the application itself."""
        self.store.add(measurement, run.key, spent_s, raw, model)
        self.holds.note()
        self.failures_in_a_row[run.cluster] = 0
        self.done.add(run.key)
        self.strategy.learn(
            run.key, measurement.result.io.total_s, comparable=is_comparable(measurement)
        )
        self.n_measured += 1
        for finding in measurement.findings:
            self.observer.says(f"doubt: {label(run)}: {finding}")
        self.report_progress()

    def record_failure(self, run: Run, error: WavetankError, lost: Sequence[str] = ()) -> bool:
        """Record what failed; says whether its cluster is to be given up.

        Args:
            run: the measurement.
            error: why.
            lost: findings on nodes of the cluster that are gone, if it may come from that.
        """
        self.n_failed += 1
        self.miss(run)
        reason = "; ".join([str(error), *(each for each in lost if each not in str(error))])
        self.store.add_failure(
            Failure(run.application, run.cluster, run.mapping, reason), run.repetition
        )
        self.observer.says(f"failed: {label(run)}: {reason}")
        self.failures_in_a_row[run.cluster] = self.failures_in_a_row.get(run.cluster, 0) + 1
        return self.failures_in_a_row[run.cluster] >= GIVE_UP_AFTER

    def miss(self, run: Run) -> None:
        """A search goes on without a measurement that failed; it is tried again the next time."""
        self.store.add_missed(run.key)
        self.strategy.miss(run.key)

    def give_up(self, rest: Sequence[Run], lost: Sequence[str] = ()) -> None:
        """Record that what is left on a cluster is not tried now.

        Args:
            rest: what is left there.
            lost: findings on its nodes that are gone; empty: it failed too often.
        """
        if not rest:
            return
        reason = f"given up after {GIVE_UP_AFTER} failures in a row on this cluster"
        if lost:
            reason = f"given up for now, as nodes are gone: {'; '.join(lost)}"
        due = [run for run in rest if self.strategy.is_ready(run)]
        self.n_failed += len(due)
        for run in due:
            self.miss(run)
            self.store.add_failure(
                Failure(run.application, run.cluster, run.mapping, reason), run.repetition
            )
        self.observer.says(f"{rest[0].cluster}: {reason}")


def begin(
    spec: CampaignSpec, plan: Plan, store: Store, observer: Observer, prices: PriceTable | None
) -> CampaignProgress:
    """The progress of a campaign at its start, knowing what the store holds already."""
    holds = Holds(store)
    store.forget_failures()
    progress = CampaignProgress(
        spec=spec,
        plan=plan,
        store=store,
        observer=observer,
        strategy=strategy_of(spec, plan, prices, store),
        spending=Spending(spec.budget, plan.clusters, prices, holds),
        holds=holds,
        done=store.done(),
    )
    progress.report_progress()
    return progress


def label(run: Run) -> str:
    """A measurement's name for people, without its repetition."""
    return f"{run.application} on {run.cluster} with {run.mapping}"


def announcement(progress: CampaignProgress, run: Run) -> str:
    """A measurement's name for people, with its repetition and caches."""
    spec, schedule = progress.spec, progress.plan.schedule
    final = run.repetition - schedule.selection
    if final < 0:
        which = f"selection, round {run.repetition + 1} of {schedule.selection}"
    else:
        most = "at most " if isinstance(spec.strategy, UntilRule) else ""
        which = f"repetition {final + 1} of {most}{schedule.final}"
    if schedule.selection and final >= 0:
        which = f"final, {which}"
    return f"{label(run)} ({which}, {spec.cache} caches)"
