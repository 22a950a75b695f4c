"""What a campaign's folder says, also when the campaign was killed before it compared."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from wavetank.campaign.clusters import cluster_reader
from wavetank.campaign.comparison import compare_campaign
from wavetank.campaign.database import COMPARISON, SPEC
from wavetank.campaign.invocations import Ending
from wavetank.campaign.load import Loaded, load_campaign
from wavetank.campaign.plan import Plan, forecast, make_plan
from wavetank.campaign.spec import UntilRule, read_campaign
from wavetank.campaign.store import Store
from wavetank.compare.comparison import Comparison
from wavetank.cost.prices import ExchangeRate
from wavetank.errors import MeasurementError


@dataclass(frozen=True)
class HowFar:
    """How far a campaign or a study is.

    Attributes:
        kind: what it is called: "campaign".
        done: of its measurements, or of its runs.
        total: those that it has in all, as far as is known.
        unit: of both: "measurements".
        left_s: wall time that the rest takes, estimated, seconds.
        at_most: whether the total may become less.
        ending: of its last run; None where it is not known.
    """

    kind: str
    done: int
    total: int
    unit: str
    left_s: float
    at_most: bool = False
    ending: Ending | None = None


def how_far(store: Store, loaded: Loaded, plan: Plan) -> HowFar:
    """How far a campaign is whose plan was recalled; what its strategy leaves out is not known here."""
    ahead = forecast(plan, store.done(), spent_s=store.spent_s(), prices=None)
    spec = loaded.spec
    at_most = spec.ends_what_is_futile or isinstance(spec.strategy, UntilRule)
    return HowFar(
        "campaign",
        ahead.n_done,
        ahead.n_runs,
        "measurements",
        ahead.duration_s,
        at_most,
        store.ending(),
    )


def current_comparison(store: Store, rate: ExchangeRate | None = None) -> Comparison:
    """The comparison of all that is in the store.

    It is the file that the campaign's last run left, or made from the store and the folder's copies
    where that run was killed before it compared. Nothing is written.

    Args:
        store: of the campaign.
        rate: takes the prices into another currency; the comparison is then made again. None: the campaign's own.

    Raises:
        MeasurementError: nothing was measured, or something in the folder is damaged.
        SpecError: a copy of the campaign's files is damaged.
    """
    kept = (store.folder / COMPARISON).is_file()
    last = store.last_finished_utc()
    if kept and rate is None:
        comparison = store.comparison()
        # It is written after the last measurement, and its time has whole seconds.
        made = datetime.fromisoformat(comparison.provenance.created_utc)
        if last is None or (datetime.fromisoformat(last) - made).total_seconds() < 1:
            return comparison
    if last is None or not (store.folder / SPEC).is_file():
        raise MeasurementError(
            f"{store.folder} holds no comparison ({COMPARISON} is missing): the campaign was stopped "
            "before its first measurement ended. Run "
            f"'wavetank run CAMPAIGN.yaml -o {store.folder}': it goes on where it was"
        )
    return _compared(store, rate)


def stored_plan(store: Store, rate: ExchangeRate | None = None) -> tuple[Loaded, Plan]:
    """The campaign that a folder has copies of, and its plan; ``rate``: in place of its own rate of exchange.

    Raises:
        SpecError: a copy of the campaign's files is missing or damaged.
    """
    spec = read_campaign(store.folder / SPEC)
    if rate is not None:
        spec = spec.model_copy(update={"currency": rate})
    loaded = load_campaign(spec, store.folder, cluster_reader(spec.executor))
    # What cannot come up on this machine now may have been measured on another.
    clusters = [replace(cluster, unavailable=None, lacks={}) for cluster in loaded.clusters]
    return loaded, make_plan(spec, loaded.applications, clusters)


def _compared(store: Store, rate: ExchangeRate | None) -> Comparison:
    loaded, plan = stored_plan(store, rate)
    return compare_campaign(loaded.spec, plan, store, loaded.prices, loaded.other_prices)
