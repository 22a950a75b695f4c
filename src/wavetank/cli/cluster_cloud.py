"""``wavetank cluster`` in clouds: prices until the end, what there is in an account, removing it, the rights that it takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from wavetank.cli.cluster_tables import usd
from wavetank.cli.output import print_tables
from wavetank.errors import ClusterError, CostError, ProviderError, SpecError, UsageError
from wavetank.tables.table import Column, Definition, Table

if TYPE_CHECKING:
    from decimal import Decimal

    from wavetank.cluster.clouds.bill import Holding
    from wavetank.cluster.clouds.cloud import Cloud
    from wavetank.cluster.spec import ClusterSpec


@dataclass(frozen=True)
class _Cost:
    """One line of an estimate, US dollars; without a number it is their sum."""

    what: str
    number: int | None
    per_h: Decimal | None
    until_end: Decimal | None


@dataclass(frozen=True)
class _Held:
    """What an account has of one bringing up of a cluster, and what is or was done with it."""

    holding: Holding
    state: str


COST_UNTIL_END: Definition[_Cost] = Definition(
    "cost-until-the-ttl",
    "Cost until the ttl",
    (
        Column("what", "What", lambda i: i.what),
        Column("number", "Number", lambda i: i.number, kind="integer"),
        usd("usd_per_h", "USD per hour", lambda i: i.per_h, 4),
        usd("usd_until_end", "USD until the end", lambda i: i.until_end, 2),
    ),
    command="cluster plan",
)

HELD: Definition[_Held] = Definition(
    "in-the-account",
    "In the account",
    (
        Column("region", "Region", lambda i: i.holding.region),
        Column("cluster", "Cluster", lambda i: i.holding.key.cluster),
        Column("token", "Token", lambda i: i.holding.key.token),
        Column("owner", "Owner", lambda i: i.holding.owner or None),
        Column("instances", "Instances", lambda i: i.holding.n_instances, kind="integer"),
        Column("things", "Things", lambda i: i.holding.n_things, kind="integer", help="instances and all else"),
        Column("since_utc", "Since (UTC)", lambda i: _time(i.holding.since)),
        Column("expires_utc", "Expires (UTC)", lambda i: _time(i.holding.expires)),
        usd("usd_so_far", "USD so far", lambda i: i.holding.spent_usd, 2),
        Column("state", "State", lambda i: i.state),
    ),
)  # fmt: skip
DEFINITIONS = (COST_UNTIL_END, HELD)


def cost_until_end_table(spec: ClusterSpec) -> Table:
    """What instances of a cloud cost until they end themselves."""
    from wavetank.cluster.clouds.price import LEFT_OUT, estimate, over_budget, price_table

    terms = spec.cloud
    if terms is None:
        return COST_UNTIL_END.table([])
    try:
        found = estimate(spec, price_table(terms))
    except (CostError, SpecError) as error:
        return COST_UNTIL_END.table([], caption=str(error))
    rows = [_Cost(line.resource, line.number, line.per_h, line.amount) for line in found.lines]
    rows.append(_Cost("all", None, found.per_h, found.at_most))
    refused = over_budget(spec)
    said = (
        f"Above the budget, so 'up' refuses it: {'; '.join(refused)}."
        if refused
        else f"Within the budget of {terms.budget} USD."
    )
    spot = " Spot instances are counted as those on demand." if terms.spot else ""
    note = (
        f"{said} Computed from price table {found.table}, with a margin of {_margin(spec)}; without {LEFT_OUT}.{spot}"
        f"{_stored_words(spec)}"
    )
    return COST_UNTIL_END.table(rows, caption=note)


def _margin(spec: ClusterSpec) -> str:
    from wavetank.cluster.clouds.price import MARGIN_S, SERVED_MARGIN_S
    from wavetank.units import format_estimate

    fs = spec.file_system
    served = f", for {fs.kind} of {format_estimate(SERVED_MARGIN_S)}" if fs.facts.made_by else ""
    return format_estimate(MARGIN_S) + served


def _stored_words(spec: ClusterSpec) -> str:
    """Of one that grows: what the estimate takes for what nobody knows before."""
    from wavetank.units import format_size

    fs = spec.file_system
    stored = fs.facts.priced(spec)
    if stored is None or not fs.facts.grows or fs.capacity is None:
        return ""
    moved = ", written once and read once" if stored.is_paid_by_moved else ""
    return (
        f" {fs.kind} is counted with {format_size(fs.capacity)} stored for all that time{moved} (file_system.capacity): it enforces no "
        "capacity, and a program that stores or moves more costs more than this."
    )


def price_words(spec: ClusterSpec) -> str:
    """In one line, before anything is made: what an hour costs, and all of it at most."""
    from wavetank.cluster.clouds.price import estimate, price_table
    from wavetank.cost.bills import CENT
    from wavetank.units import format_duration

    terms = spec.cloud
    if terms is None:
        return "no price: the key cloud is missing"
    try:
        found = estimate(spec, price_table(terms))
    except (CostError, SpecError) as error:
        return f"no price: {error}"
    return (
        f"{found.per_h.quantize(CENT)} USD an hour, at most {found.at_most} USD until the instances end themselves "
        f"after {format_duration(terms.ttl)} (budget {terms.budget} USD; price table {found.table})"
    )


def kept_words(spec: ClusterSpec) -> list[str]:
    """Of a cluster that failed and stays: how its instances are reached, what it costs, and when they end."""
    from wavetank.cluster.clouds.engine import noted_end
    from wavetank.cluster.clouds.hosts import ssh_command
    from wavetank.cluster.clouds.price import estimate, price_table
    from wavetank.cluster.state import directory_of
    from wavetank.cost.bills import CENT
    from wavetank.units import format_duration

    end = noted_end(directory_of(spec.name))
    if spec.cloud is None or end is None:
        return ["nothing of it was made in the cloud, and it costs nothing"]
    commands = [(node, ssh_command(spec, node)) for node in spec.node_names()]
    reached = [f"{node}: {command}" for node, command in commands if command is not None]
    try:
        cost = f"at most {estimate(spec, price_table(spec.cloud)).per_h.quantize(CENT)} USD an hour"
    except (CostError, SpecError) as error:
        cost = f"an amount that is not known ({error})"
    return [
        *(reached or ["its instances never had an address"]),
        f"it costs {cost}, until its instances end themselves at {_time(end)} (ttl {format_duration(spec.cloud.ttl)}); "
        "keys, groups and the folder stay even then",
    ]


def clouds_of(provider: str, regions: Sequence[str], *, everywhere: bool) -> list[Cloud]:
    """The account in the regions that are named, in that of the user's own settings, or in all."""
    from wavetank.cluster import registry

    if regions and everywhere:
        raise UsageError("give --region or --all-regions, not both")
    chosen: Sequence[str | None] = regions or [None]
    if everywhere:
        chosen = registry.cloud(provider, regions[0] if regions else None).regions()
    return [registry.cloud(provider, region) for region in chosen]


def print_holdings(
    provider: str, regions: Sequence[str], output_format: str, *, everywhere: bool
) -> None:
    """List what there is of wavetank's clusters in an account."""
    from wavetank.cluster.clouds.bill import holdings

    clouds = clouds_of(provider, regions, everywhere=everywhere)
    rows = [
        _Held(each, "here" if each.is_here else _state(each))
        for cloud in clouds
        for each in holdings(cloud)
    ]
    print_tables([_table(rows, clouds)], output_format)


def prune_cloud(
    provider: str, regions: Sequence[str], token: str | None, output_format: str, *, everywhere: bool, expired: bool,
    dry_run: bool,
) -> None:  # fmt: skip
    """Remove what is over, or what has a token; list all else that has no folder on this machine."""
    from wavetank.cluster.clouds.bill import holdings
    from wavetank.cluster.clouds.engine import WallClock, remove_all

    if token is not None and expired:
        raise UsageError("give --token or --expired, not both")
    clouds = clouds_of(provider, regions, everywhere=everywhere)
    clock = WallClock()
    rows: list[_Held] = []
    failures = []
    n_left = 0
    for cloud in clouds:
        for each in holdings(cloud):
            if token is None and each.is_here:
                continue  # 'down' removes it, with its folder
            state = _state(each)
            chosen = each.key.token == token if token is not None else expired and each.is_over
            if chosen and not dry_run:
                click.echo(f"removing {each.key.label} in {cloud.region}", err=True)
                try:
                    remove_all(cloud, each.key, clock)
                    state = "removed"
                except ProviderError as error:
                    failures.append(str(error))
            n_left += state != "removed"
            rows.append(_Held(each, state))
    if token is not None and not any(row.holding.key.token == token for row in rows):
        failures.append(
            f"nothing has token {token} in {', '.join(cloud.region for cloud in clouds)}; --all-regions looks everywhere"
        )
    print_tables([_table(rows, clouds)], output_format)
    if n_left and token is None and not expired:
        click.echo(
            "'--expired' removes what is over, '--token TOKEN' one cluster's things", err=True
        )
    if failures:
        raise ClusterError("\n  ".join(failures))


def _state(holding: Holding) -> str:
    return "expired" if holding.is_over else "left"


def _time(value: datetime | None) -> str | None:
    return None if value is None else value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _table(rows: Sequence[_Held], clouds: Sequence[Cloud]) -> Table:
    where = ", ".join(cloud.region for cloud in clouds)
    note = (
        "USD so far, computed: by this machine's journal of a cluster, else instances, volumes and public addresses that are "
        "there, at the shipped prices on demand; without instances that ended, and data."
        if rows
        else f"Nothing of wavetank's is in {where}."
    )
    return HELD.table(rows, title=f"In the account ({where})", caption=note)


@click.command(short_help="Print the rights that clusters in a cloud need.")
@click.argument("provider", type=click.Choice(["aws"]))
def policy(provider: str) -> None:
    """Print the IAM policy that allows what wavetank calls in PROVIDER, and nothing else.

    Example: wavetank cluster policy aws > wavetank-policy.json
    """
    from importlib import resources

    text = resources.files("wavetank.cluster").joinpath("data", f"{provider}-policy.json")
    click.echo(text.read_text(), nl=False)
