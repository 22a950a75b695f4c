"""The work of a campaign: its plan, by its strategy, within its budget."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from wavetank.campaign.budget import MOST_SHARE, Holds, Repeats, Spending
from wavetank.campaign.executor import Observer, Work
from wavetank.campaign.plan import Plan, Run, expected_s, forecast
from wavetank.campaign.spec import CampaignSpec, UntilRule
from wavetank.campaign.store import Store
from wavetank.campaign.strategy import strategy_of
from wavetank.cost.prices import PriceTable
from wavetank.measure.guests import is_comparable
from wavetank.measure.perform import RawOutput
from wavetank.measure.result import Measurement
from wavetank.model.document.model import Model
from wavetank.notes import texts


@dataclass(frozen=True)
class Made:
    """A finished measurement.

    Attributes:
        measurement: the document.
        spent_s: wall time that it took with its preparation.
        raw: what its programs wrote; None when that is not known.
        model: of the trace, where it was the application itself.
    """

    measurement: Measurement
    spent_s: float
    raw: RawOutput | None
    model: Model | None = None


class CampaignWork(Work[Run, Made]):
    """What is left of one campaign, and what became of it."""

    def __init__(
        self,
        spec: CampaignSpec,
        plan: Plan,
        store: Store,
        observer: Observer,
        prices: PriceTable | None,
    ) -> None:
        """Begin with what the store holds already."""
        strategy = strategy_of(spec, plan, prices, store.keyed_measurements())
        super().__init__(store, observer, strategy, set(store.done()))
        self.spec = spec
        self.plan = plan
        self.holds = Holds(store)
        self._spending = Spending(spec.budget, plan.clusters, prices, self.holds)
        n_again = max(round(MOST_SHARE * plan.schedule.n_at_most), 1) - store.n_disturbed()
        self._repeats = Repeats(spec.repeat_disturbed, n_again)
        self.observer.at(*self.progress())

    @property
    def runs(self) -> Sequence[Run]:
        """All that may be made, in their order."""
        return self.plan.runs

    def progress(self) -> tuple[int, int, float]:
        """Measurements that are done, those of the plan, and the wall time that the rest takes."""
        ahead = forecast(
            self.plan,
            self.done,
            not_needed=self.strategy.not_needed,
            spent_s=self.store.spent_s(),
            prices=None,
        )
        return ahead.n_done, ahead.n_runs, ahead.duration_s

    def expected_s(self, run: Run) -> float:
        """Wall time that a measurement will take."""
        spent = self.store.spent_s().get(run.key.cluster_key, ())
        return expected_s(self.plan.application(run.application), spent)

    def why_not_afforded(self, run: Run, beside: Collection[Run], up_s: float = 0.0) -> str | None:
        """Why the budget does not allow a measurement beside others; None when it does."""
        if self.spec.budget is None:
            return None
        needed_s = up_s + sum(map(self.expected_s, (run, *beside)))
        return self._spending.refuses(self.store, needed_s, self.plan.cluster(run.cluster))

    def keep(self, run: Run, result: Made) -> bool:
        """Store a result; False where other work disturbed it, and the measurement is made again."""
        measurement = result.measurement
        if self._repeats.again(run.key, measurement):
            self.store.add_disturbed(run.key.cluster_key, result.spent_s)
            reasons = () if measurement.load is None else measurement.load.disturbed
            self.observer.says(
                f"disturbed, and made again later: {run.label}: {'; '.join(reasons)}"
            )
            return False
        self.store.add(measurement, run.key, result.spent_s, result.raw, result.model)
        self.holds.note()
        self.strategy.learn(
            run.key, measurement.result.io.total_s, comparable=is_comparable(measurement)
        )
        for finding in texts(measurement.notes):
            self.observer.says(f"doubt: {run.label}: {finding}")
        return True

    def miss(self, run: Run) -> None:
        """Go on without a measurement that failed; it is tried again the next time."""
        self.store.add_missed(run.key)
        self.strategy.miss(run.key)

    def announcement(self, run: Run) -> str:
        """A measurement's name for people, with its repetition and caches."""
        schedule = self.plan.schedule
        final = run.repetition - schedule.selection
        if final < 0:
            which = f"selection, round {run.repetition + 1} of {schedule.selection}"
        else:
            most = "at most " if isinstance(self.spec.strategy, UntilRule) else ""
            which = f"repetition {final + 1} of {most}{schedule.final}"
        if schedule.selection and final >= 0:
            which = f"final, {which}"
        return f"{run.label} ({which}, {self.spec.cache} caches)"
