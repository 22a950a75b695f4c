"""What an account holds of wavetank's clusters: by tags, whoever made it and from wherever."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal

from wavetank.cluster.clouds.cloud import Cloud, Key, Made
from wavetank.cluster.clouds.engine import noted_lease
from wavetank.cluster.clouds.price import newest_table
from wavetank.cluster.state import directories
from wavetank.cost.bills import InstanceTime, bill_of
from wavetank.errors import CostError


@dataclass(frozen=True)
class Holding:
    """Everything of one bringing up of a cluster.

    Attributes:
        key: cluster and token.
        region: where it is.
        owner: who made it, by its tags.
        n_instances, n_things: instances, and all things with them.
        since: when the first instance was started; None without instances.
        expires: by its tags; None where they do not say.
        is_over: whether that has passed.
        is_here: whether this machine has a folder of it.
        spent_usd: of the instances that there are, at prices on demand; None without a price table of the region.
    """

    key: Key
    region: str
    owner: str
    n_instances: int
    n_things: int
    since: datetime | None
    expires: datetime | None
    is_over: bool
    is_here: bool
    spent_usd: Decimal | None


def holdings(cloud: Cloud, now: datetime | None = None) -> list[Holding]:
    """All of them in the account and region of a cloud, by name.

    Raises:
        ProviderError: the account cannot be asked.
    """
    now = now or datetime.now(UTC)
    here = {
        found[1] for directory in directories() if (found := noted_lease(directory)) is not None
    }
    by_key: dict[Key, list[Made]] = {}
    for made in cloud.found(None):
        by_key.setdefault(Key(made.cluster, made.token), []).append(made)
    return [
        _holding(key, things, cloud.region, now, is_here=key in here)
        for key, things in sorted(by_key.items(), key=lambda item: (item[0].cluster, item[0].token))
    ]


def _holding(
    key: Key, things: Sequence[Made], region: str, now: datetime, *, is_here: bool
) -> Holding:
    instances = [made for made in things if made.kind == "instance"]
    expires = max((made.expires for made in things if made.expires is not None), default=None)
    return Holding(
        key,
        region,
        owner=next((made.owner for made in things if made.owner), ""),
        n_instances=len(instances),
        n_things=len(things),
        since=min((made.since for made in instances if made.since is not None), default=None),
        expires=expires,
        is_over=expires is not None and expires < now,
        is_here=is_here,
        spent_usd=_spent(instances, region, now),
    )


def _spent(instances: Sequence[Made], region: str, now: datetime) -> Decimal | None:
    try:
        table = newest_table(region)
    except CostError:
        return None
    used = [
        InstanceTime(made.instance_type, 1, (now - made.since).total_seconds())
        for made in instances
        if made.since is not None
    ]
    bill = bill_of(used, table)
    return None if bill.missing else bill.total
