"""What an account holds of wavetank's clusters: by tags, whoever made it and from wherever."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal

from wavetank.cluster.clouds.bill import spent_so_far
from wavetank.cluster.clouds.cloud import Cloud, Key, Made
from wavetank.cluster.clouds.engine import noted_lease
from wavetank.cluster.state import ClusterDirectory, directories


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
        spent_usd: so far, see bill.spent_so_far; None where it is not known, or a part of it has no price.
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
        found[1]: directory
        for directory in directories()
        if (found := noted_lease(directory)) is not None
    }
    by_key: dict[Key, list[Made]] = {}
    for made in cloud.found(None):
        by_key.setdefault(Key(made.cluster, made.token), []).append(made)
    return [
        _holding(key, things, cloud.region, now, here=here.get(key))
        for key, things in sorted(by_key.items(), key=lambda item: (item[0].cluster, item[0].token))
    ]


def _holding(
    key: Key,
    things: Sequence[Made],
    region: str,
    now: datetime,
    *,
    here: ClusterDirectory | None,
) -> Holding:
    bill = spent_so_far(things, region, now, here)
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
        is_here=here is not None,
        spent_usd=None if bill is None or bill.missing else bill.total,
    )
