"""What a comparison says of the search that it comes from."""

from __future__ import annotations

from wavetank.campaign.criterion import criterion_of
from wavetank.campaign.plan import Plan, Run
from wavetank.campaign.spec import CampaignSpec
from wavetank.campaign.store import Store
from wavetank.campaign.strategy import Search, Strategy
from wavetank.compare.comparable import behind_words
from wavetank.compare.metrics import configuration_id
from wavetank.compare.search_record import Search as SearchRecord
from wavetank.cost.prices import PriceTable


def search_of(
    spec: CampaignSpec,
    plan: Plan,
    strategy: Strategy[Run],
    store: Store,
    prices: PriceTable | None,
) -> SearchRecord | None:
    """What a search did so far, for the document; None of any other strategy."""
    if not isinstance(strategy, Search):
        return None
    done = store.done()
    names = [
        application.name
        for application in plan.applications
        if application.name in plan.schedule.applications
    ]
    return SearchRecord(
        by=criterion_of(spec, prices),
        n_measured=sum(run.key in done and strategy.is_part(run) for run in plan.runs),
        n_at_most=plan.schedule.n_at_most,
        n_grid=plan.schedule.n_grid,
        final_repetitions=plan.schedule.final,
        finished=all(strategy.is_decided(name) for name in names),
        rounds=tuple(strategy.rounds),
        finalists=tuple(
            configuration_id(name, *place) for name in names for place in strategy.finalists(name)
        ),
        dropped=tuple(strategy.dropped),
    )


def search_notes(search: SearchRecord | None) -> tuple[str, ...]:
    """What a search can claim, and what not."""
    if search is None:
        return ()
    share = f"{search.n_measured} measurements; the full grid takes {search.n_grid}"
    if not search.finished:
        return (
            f"This is a search that is not finished: {share}. No configuration is ranked before the final is "
            "measured. Run the campaign again to go on.",
        )
    if not search.dropped:
        return (f"Search: nothing was dropped ({share}).",)
    behind = tuple(
        f"{name}: {said}"
        for name in dict.fromkeys(each.application for each in search.dropped)
        if (said := behind_words(search, name)) is not None
    )
    return (
        f"Search: {share}. {len(search.dropped)} configurations were dropped after few measurements, by their medians "
        f"({search.by}), and {len(search.finalists)} reached the final.",
        "What is told apart holds between finalists. It rests on repetitions that were made after they were selected, so "
        "the rate of false alarms is that of a full grid of the finalists. A configuration that was dropped may be as good "
        "as they are, or better: a slow moment can drop it, and the search tests no difference to it.",
        *behind,
    )
