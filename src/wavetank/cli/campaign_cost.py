"""What a campaign costs, in words: on clusters of a cloud what their instances do, before and after; on others what rented ones would."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

import click

from wavetank.errors import ClusterError, CostError, SpecError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from wavetank.campaign.plan import Forecast
    from wavetank.cluster.clouds.bill import ClusterBill
    from wavetank.cluster.spec import ClusterSpec
    from wavetank.cost.prices import PriceTable


@dataclass(frozen=True)
class Rented:
    """What instances that a campaign makes cost from here, US dollars.

    Attributes:
        clusters: names, of those with something left to measure.
        usd: for the time that the campaign is expected to take on them; None where a price is missing.
        usd_at_most: where nobody takes them down before their ttl.
        missing: why there are no amounts.
    """

    clusters: tuple[str, ...]
    usd: Decimal | None
    usd_at_most: Decimal | None
    missing: str | None = None


def rented(specs: Iterable[ClusterSpec], ahead: Forecast) -> Rented:
    """What the instances of a forecast cost, each cluster by the price table of its own key ``cloud``."""
    from wavetank.cluster.clouds.price import cost_of, estimate, price_table

    usd, most, names = Decimal(0), Decimal(0), []
    missing: str | None = None
    for spec in specs:
        if not is_made(spec) or spec.cloud is None or spec.name not in ahead.cluster_s:
            continue
        names.append(spec.name)
        try:
            table = price_table(spec.cloud)
            expected = cost_of(spec, table, ahead.cluster_s[spec.name])
            usd, most = usd + expected.total, most + estimate(spec, table).at_most
            missing = missing or next(iter(expected.missing), None)
        except (CostError, SpecError) as error:
            missing = str(error)
    if missing is not None:
        return Rented(tuple(names), None, None, missing)
    return Rented(tuple(names), usd, most)


def cost_words(
    specs: Iterable[ClusterSpec], ahead: Forecast, prices: PriceTable | None
) -> Iterator[str]:
    """Parts of the sentence before a campaign."""
    specs = list(specs)
    of_cloud = rented(specs, ahead)
    if of_cloud.clusters:
        which = (
            "its instances"
            if len(specs) == len(of_cloud.clusters)
            else f"instances of {', '.join(of_cloud.clusters)}"
        )
        yield (
            f"no cost of {which}: {of_cloud.missing}"
            if of_cloud.usd is None
            else f"{which} cost about {of_cloud.usd:.2f} USD, and {of_cloud.usd_at_most} USD at most until they end themselves"
        )
    made = {spec.name for spec in specs if is_made(spec)}
    others = [cost for name, cost in ahead.cluster_cost.items() if name not in made]
    if prices is None or (made and made >= ahead.cluster_s.keys()):
        return
    if ahead.cost is None:
        yield f"no cost: {ahead.cost_missing}"
        return
    what = "the rest" if of_cloud.clusters else "the same"
    yield f"{what} on rented instances would cost {sum(others, Decimal(0)):.2f} {prices.currency}"


def is_made(spec: ClusterSpec) -> bool:
    """Whether bringing it up makes instances that are paid for."""
    from wavetank.cluster import registry

    return spec.cloud is not None and spec.provider in registry.CLOUDS


@contextlib.contextmanager
def bills_after(specs: Sequence[ClusterSpec]) -> Iterator[None]:
    """Say, however the block ends, what each cluster of a cloud cost that was up in it, beside its estimate."""
    made = [spec.name for spec in specs if is_made(spec)]
    if not made:
        yield
        return
    before = _tokens(_kept(made))
    try:
        yield
    finally:
        kept = [each for each in _kept(made) if each.token not in before]
        for each in kept:
            click.echo(f"wavetank: {bill_words(each)}", err=True)
        gone = {each.cluster for each in kept}
        for each in _up([name for name in made if name not in gone]):
            click.echo(f"wavetank: {bill_words(each)}", err=True)


def bill_words(found: ClusterBill) -> str:
    """One bringing up of a cluster, after or until now."""
    so_far = "" if found.end_utc else " so far"
    return (
        f"{found.cluster}: the computed bill of its instances is {found.computed.at_most} USD{so_far}; the estimate was "
        f"{found.estimate.at_most} USD at most. 'wavetank cluster bill {found.cluster}' shows it"
    )


def _tokens(bills: Iterable[ClusterBill]) -> set[str]:
    return {each.token for each in bills}


def _kept(names: Iterable[str]) -> list[ClusterBill]:
    from wavetank.cluster.clouds.bill import kept_bills

    try:
        return [each for name in names for each in kept_bills(name)]
    except CostError as error:  # a damaged one must not hide how the campaign ended
        click.echo(f"wavetank: {error}", err=True)
        return []


def _up(names: Iterable[str]) -> Iterator[ClusterBill]:
    from datetime import UTC, datetime

    from wavetank.cluster.clouds.bill import bill_so_far
    from wavetank.cluster.state import directory_of

    for name in names:
        with contextlib.suppress(ClusterError, CostError):
            found = bill_so_far(directory_of(name), datetime.now(UTC))
            if found is not None:
                yield found
