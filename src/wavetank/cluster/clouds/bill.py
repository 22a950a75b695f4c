"""The computed bill of a cluster in a cloud: the time for which each resource was there, at the prices of the estimate, and beside it.

The journal has the prices, the estimate and when each instance began and ended, as the account said. The bill outlives the
cluster's folder. Instances are seen by the account's own times; volumes and addresses go with their instance.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import ClassVar

from pydantic import Field

from wavetank.cluster.clouds.cloud import SERVED, Cloud, Key, Made
from wavetank.cluster.clouds.engine import ENDING, noted_lease, noted_things
from wavetank.cluster.clouds.price import (
    LEFT_OUT,
    MARGIN_S,
    estimate,
    newest_table,
    price_table,
    use_of,
    volume_time,
)
from wavetank.cluster.clouds.terms import Terms
from wavetank.cluster.managed import Stored
from wavetank.cluster.spec import ClusterSpec
from wavetank.cluster.state import ClusterDirectory, directories, state_root
from wavetank.cost.bills import AddressTime, Bill, InstanceTime, StorageTime, Used, bill_of
from wavetank.cost.prices import PriceTable
from wavetank.cost.storage import StorageUse, storage_of
from wavetank.document import Document, provenance
from wavetank.errors import ClusterError, CostError, ProviderError, WavetankError


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


MOVED = "what was read from and written to {} is not known, so it is not in this bill"


def see_served(directory: ClusterDirectory, cloud: Cloud, key: Key, now: datetime) -> None:
    """Note what the account says of a cluster's file systems, where any was made.

    Raises:
        ProviderError: it cannot be asked.
    """
    if not any(made.kind in SERVED for made in noted_things(directory)):
        return
    for made in cloud.served(key):
        if made.stored is None or made.since is None:
            continue
        directory.note(
            do="served", key=made.key, name=made.stored.name, size=made.stored.size_bytes or 0,
            rate=made.stored.throughput_bytes_per_s or 0, moved=int(made.stored.is_paid_by_moved),
            since=made.since.isoformat(), at=now.isoformat(),
        )  # fmt: skip


def served_times(
    journal: Iterable[Mapping[str, str | int]], end: datetime, assumed: list[str]
) -> Iterator[StorageTime]:
    """What was used of each file system until an end, with the most that it was seen to hold.

    Args:
        journal: of the cluster.
        end: when all was gone, or now.
        assumed: what is not known is added to it.
    """
    by_key: dict[str, list[Mapping[str, str | int]]] = {}
    for entry in journal:
        if entry["do"] == "served":
            by_key.setdefault(str(entry["key"]), []).append(entry)
    for key, entries in by_key.items():
        name, rate = str(entries[0]["name"]), int(entries[0]["rate"]) or None
        size = max(int(entry["size"]) for entry in entries)
        since = min(datetime.fromisoformat(str(entry["since"])) for entry in entries)
        if entries[0].get("moved"):
            assumed.append(MOVED.format(key))
        yield stored_time(Stored(name, size, rate), max(1.0, (end - since).total_seconds()))


def stored_time(stored: Stored, seconds: float) -> StorageTime:
    """What a file system uses in a time."""
    use = StorageUse(stored.name, 1, stored.size_bytes, None, stored.throughput_bytes_per_s)
    return StorageTime(use, seconds)


log = logging.getLogger(__name__)

SHORTEST_S = 1.0  # an account tells times in whole seconds


class ClusterBill(Document):
    """bills/NAME-TOKEN.json: what one bringing up of a cluster cost, computed."""

    kind: ClassVar[str] = "bill"
    error: ClassVar[type[WavetankError]] = CostError

    cluster: str
    provider: str
    region: str
    token: str = Field(description="of this bringing up, as in the tags of everything")
    owner: str
    begin_utc: str = Field(description="when the first instance began")
    end_utc: str | None = Field(
        description="when the last instance ended; None while there are any"
    )
    estimate: Bill = Field(description="from before: all of it for the whole ttl and a margin")
    computed: Bill = Field(description="of the time for which each resource was there")
    assumed: tuple[str, ...] = Field(description="what the account did not say, and what was taken")
    left_out: str = Field(default=LEFT_OUT, description="in neither of them")


@dataclass(frozen=True)
class Ran:
    """An instance as the journal has it. ``until`` is None where the account did not say when it ended."""

    key: str
    node: str
    instance_type: str
    since: datetime
    until: datetime | None
    seen_ended: datetime | None
    has_public_address: bool


def note_prices(directory: ClusterDirectory, spec: ClusterSpec, terms: Terms) -> None:
    """Note the estimate and the prices of it, before anything is made: the computed bill has the same prices.

    Raises:
        CostError: there is no price table; see price.price_table.
    """
    table = price_table(terms)
    types = {spec.instance_of(node).name for node in spec.node_names()}
    names = {each.name for each in storage_of(spec)}
    storage = {
        each: price
        for each, price in table.storage.items()
        if each.startswith(("ebs-", "cinder-")) or each in names
    }
    used = table.model_copy(
        update={
            "instances": {each: table.instances[each] for each in types if each in table.instances},
            "storage": storage,
            "transfer": {},
        }
    )
    directory.note(
        do="prices", table=used.model_dump_json(), estimate=estimate(spec, table).model_dump_json()
    )


def see_instances(
    directory: ClusterDirectory, cloud: Cloud, key: Key, now: datetime, *, all_gone: bool = False
) -> None:
    """Note what the account says of a cluster's instances and file systems. That it cannot be asked keeps nothing else from happening.

    Args:
        directory: of the cluster.
        cloud: the account.
        key: of the cluster.
        now: UTC.
        all_gone: whether none is there any more, also where the account has forgotten them.
    """
    try:
        found = cloud.instances(key)
        see_served(directory, cloud, key, now)
    except ProviderError as error:
        log.info("the times of %s are not known now: %s", key.label, error)
        return
    for made in found:
        if made.since is None:
            continue
        directory.note(
            do="ran", key=made.key, node=made.node, type=made.instance_type, state=made.state,
            since=made.since.isoformat(), until=made.until.isoformat() if made.until else "",
            public=int(made.public_address is not None), at=now.isoformat(),
        )  # fmt: skip
    if all_gone:
        directory.note(do="all-gone", at=now.isoformat())


def bill_so_far(directory: ClusterDirectory, now: datetime) -> ClusterBill | None:
    """The bill of a cluster as its journal has it: until now of what is not known to have ended.

    Returns:
        None where no instance was seen, or no prices were noted.
    """
    journal = directory.journal()
    lease = next((entry for entry in journal if entry["do"] == "lease"), None)
    priced = next((entry for entry in journal if entry["do"] == "prices"), None)
    ran = tuple(_ran(journal))
    if lease is None or priced is None or not ran:
        return None
    table = PriceTable.model_validate_json(str(priced["table"]))
    gone = [_time(entry["at"]) for entry in journal if entry["do"] == "all-gone"]
    last = _time(lease["expires"]) + timedelta(seconds=MARGIN_S)
    assumed: list[str] = []
    used: list[Used] = []
    ends: list[datetime | None] = []
    spec = _spec(directory, assumed)
    for each in ran:
        seen = [at for at in (each.seen_ended, *gone[:1]) if at is not None]
        end = each.until or min([*seen, last, now])
        ends.append(end if each.until or seen else None)
        if each.until is None and seen:
            assumed.append(
                f"the account does not say when {each.node} ({each.key}) ended: counted until {_text(end)}"
            )
        seconds = max(SHORTEST_S, (end - each.since).total_seconds())
        used += _use(each, spec, seconds)
    used += served_times(journal, min([*gone[:1], now]), assumed)
    forgotten = {
        str(entry["key"])
        for entry in journal
        if entry["do"] == "cloud-made" and entry["kind"] == "instance"
    } - {each.key for each in ran}
    assumed += [
        f"{key} was made and the account says nothing of it: it is not in this bill"
        for key in sorted(forgotten)
    ]
    known = [end for end in ends if end is not None]
    return ClusterBill(
        provenance=provenance(),
        cluster=directory.name,
        provider=str(lease["provider"]),
        region=str(lease["region"]),
        token=str(lease["token"]),
        owner=str(lease["owner"]),
        begin_utc=_text(min(each.since for each in ran)),
        end_utc=_text(max(known)) if len(known) == len(ends) else None,
        estimate=Bill.model_validate_json(str(priced["estimate"])),
        computed=bill_of(used, table),
        assumed=tuple(assumed),
    )


def spent_so_far(
    things: Iterable[Made], region: str, now: datetime, directory: ClusterDirectory | None = None
) -> Bill | None:
    """What one bringing up of a cluster cost until now: by its journal where this machine has it, else by what there is.

    The account alone forgets instances that ended an hour ago; its times are those of instances and volumes that are there.

    Args:
        things: of the cluster, as the account has them.
        region: of the account.
        now: UTC.
        directory: of the cluster on this machine.

    Returns:
        None where there is neither a journal with prices nor a price table of the region.
    """
    by_journal = None if directory is None else bill_so_far(directory, now)
    if by_journal is not None:
        return by_journal.computed
    try:
        return bill_of(_used_of_things(things, now), newest_table(region))
    except CostError:
        return None


def _used_of_things(things: Iterable[Made], now: datetime) -> Iterator[Used]:
    for made in things:
        if made.since is None:
            continue
        seconds = max(SHORTEST_S, (now - made.since).total_seconds())
        if made.volume is not None:
            yield volume_time(made.volume, seconds)
        if made.stored is not None:
            yield stored_time(made.stored, seconds)
        if made.kind == "instance":
            yield InstanceTime(made.instance_type, 1, seconds)
            if made.public_address is not None:
                yield AddressTime(1, seconds)


def keep_bill(directory: ClusterDirectory, now: datetime) -> ClusterBill | None:
    """Write the bill of a cluster that is gone to where it outlives the cluster's folder; None where there is none."""
    found = bill_so_far(directory, now)
    if found is None:
        return None
    path = bill_file(Key(found.cluster, found.token))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        found.write(path)
    except (OSError, WavetankError) as error:  # a full disk must not keep instances up
        log.warning("the bill of %s cannot be kept: %s", directory.name, error)
    return found


def bill_file(key: Key) -> Path:
    """Where the bill of one bringing up is kept."""
    return state_root() / "bills" / f"{key.cluster}-{key.token}.json"


def kept_bills(cluster: str | None = None) -> list[ClusterBill]:
    """Bills of clusters that are gone, of one name or of all; the oldest first.

    Raises:
        CostError: a file is damaged.
    """
    found = [ClusterBill.read(path) for path in sorted((state_root() / "bills").glob("*.json"))]
    return sorted(
        (each for each in found if cluster in (None, each.cluster)), key=lambda each: each.begin_utc
    )


def _ran(journal: Iterable[Mapping[str, str | int]]) -> Iterator[Ran]:
    """Each instance once: an end and an address that were said once hold."""
    by_key: dict[str, list[Mapping[str, str | int]]] = {}
    for entry in journal:
        if entry["do"] == "ran":
            by_key.setdefault(str(entry["key"]), []).append(entry)
    for key, entries in by_key.items():
        until = [_time(entry["until"]) for entry in entries if entry["until"]]
        ended = [_time(entry["at"]) for entry in entries if entry["state"] in ENDING]
        yield Ran(
            key,
            str(entries[0]["node"]),
            str(entries[0]["type"]),
            since=min(_time(entry["since"]) for entry in entries),
            until=min(until, default=None),
            seen_ended=min(ended, default=None),
            has_public_address=any(entry["public"] for entry in entries),
        )


def _use(ran: Ran, spec: ClusterSpec | None, seconds: float) -> Iterator[Used]:
    if spec is not None and ran.node in spec.node_names():
        yield from use_of(spec, ran.node, seconds, has_public_address=ran.has_public_address)
        return
    yield InstanceTime(ran.instance_type, 1, seconds)
    if ran.has_public_address:
        yield AddressTime(1, seconds)


def _spec(directory: ClusterDirectory, assumed: list[str]) -> ClusterSpec | None:
    try:
        state = directory.read_state()
    except ClusterError:
        state = None
    if state is None:
        assumed.append(
            f"{directory.state_file.name} is missing or damaged: volumes are not in this bill"
        )
        return None
    return state.spec


def _time(text: str | int) -> datetime:
    return datetime.fromisoformat(str(text))


def _text(time: datetime) -> str:
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
