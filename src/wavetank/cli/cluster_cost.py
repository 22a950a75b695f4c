"""Tables of ``wavetank cluster plan``: the cost of an hour, and the emulated cluster beside the one in a cloud."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from wavetank.cli.currency import origin_words, prices_in
from wavetank.cluster.components import MAKES_NODES
from wavetank.cluster.registry import CLOUDS
from wavetank.cost.prices import HOURS_PER_MONTH, per_month
from wavetank.tables.table import Column, Definition, Table
from wavetank.tables.words import plain_words

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from decimal import Decimal
    from pathlib import Path

    from wavetank.cluster.spec import ClusterSpec
    from wavetank.cost.prices import PriceTable
    from wavetank.cost.storage import StorageUse


@dataclass(frozen=True)
class _Priced:
    """Instances of a type or a storage: how many, and the price an hour of one and of all; None: not known."""

    what: str
    number: int
    each: Decimal | float | None = None
    all: Decimal | float | None = None

    @property
    def per_month(self) -> float | None:
        """Of all, where they stay up; two decimals."""
        return None if self.all is None else round(per_month(float(self.all)), 2)


COST_PER_HOUR: Definition[_Priced] = Definition(
    "cost-per-hour",
    "Cost per hour",
    (
        Column("instance", "Instance", lambda i: i.what),
        Column("number", "Number", lambda i: i.number, kind="integer"),
        Column(
            "price_per_h", "Price per hour", lambda i: i.each, unit="currency", show=plain_words
        ),
        Column("cost_per_h", "Cost per hour", lambda i: i.all, unit="currency", show=plain_words),
        Column(
            "cost_per_month",
            "Cost per month",
            lambda i: i.per_month,
            unit="currency",
            show=plain_words,
            help=f"where it stays up, {HOURS_PER_MONTH} h",
        ),
    ),
    command="cluster plan",
)

IN_THE_CLOUD: Definition[tuple[str, str, str]] = Definition(
    "emulated-and-in-the-cloud",
    "Emulated and in the cloud",
    (
        Column("what", "What", lambda i: i[0]),
        Column("emulated", "Emulated", lambda i: i[1], wide=True),
        Column("in_the_cloud", "In the cloud", lambda i: i[2], wide=True),
    ),
    command="cluster plan",
)
DEFINITIONS = (COST_PER_HOUR, IN_THE_CLOUD)


def price_table(spec: ClusterSpec, prices: str | None, currency: Path | None = None) -> Table:
    """Cost of an hour of all nodes and their storage, by a named price table or the first shipped one that has all types."""
    from wavetank.cost.estimate import cluster_per_h
    from wavetank.cost.storage import storage_of, storage_per_h, storage_words
    from wavetank.errors import CostError

    counted = Counter(spec.instance_of(node).name for node in spec.node_names())
    uses = storage_of(spec)
    published = _prices_for(set(counted), prices)
    found = None if published is None else prices_in(published, currency)
    if found is None:
        rows = [_Priced(name, n) for name, n in counted.items()]
        rows += [_Priced(storage_words(use), use.number) for use in uses]
        note = "No shipped price table has these instance types: give one by --prices."
        return COST_PER_HOUR.table(rows, caption=note)
    rows = [
        _Priced(name, n, found.price_per_h(name), n * found.price_per_h(name))
        for name, n in counted.items()
    ]
    priced: list[StorageUse] = []
    missing: list[str] = []
    for use in uses:
        shown: tuple[float | None, float | None] = None, None
        try:
            per_h = storage_per_h([use], found)
        except CostError as error:
            missing.append(str(error))
        else:
            priced.append(use)
            if per_h:
                shown = _rounded(per_h / use.number), _rounded(per_h)
        rows.append(_Priced(storage_words(use), use.number, *shown))
    total = cluster_per_h(counted, found, priced)
    whole = _rounded(total) if priced else total
    rows.append(_Priced("all", sum(counted.values()), None, whole))
    note = f"Computed, in {found.currency}, from {origin_words(found)}; {'; '.join(_included_words(spec, priced, missing, found))}."
    return COST_PER_HOUR.table(rows, caption=note)


def _rounded(amount: Decimal) -> float:
    return round(float(amount), 6)


def _included_words(
    spec: ClusterSpec, priced: Sequence[StorageUse], missing: Sequence[str], table: PriceTable
) -> Iterator[str]:
    """What of storage and of data transfer is in the total."""
    from wavetank.cost.storage import says_storage

    if not says_storage(spec):
        yield "storage not included: storage.on says what it is in a cloud"
    elif missing:
        yield f"without storage that has no price: {'; '.join(missing)}"
    elif not priced:
        yield "storage is in the price of the instances"
    if priced:
        dates = {str(table.storage[use.name].date or table.date) for use in priced}
        names = ", ".join(dict.fromkeys(use.name for use in priced))
        yield f"storage included at prices of {' and '.join(sorted(dates))} ({names}), a month of {HOURS_PER_MONTH} h"
    stored = spec.file_system.facts.priced(spec)
    for use in priced:
        price = table.storage[use.name]
        also = []
        if use.size_bytes is None:
            also.append(f"{price.per_gb_month} for each GB-month that is stored")
        if stored is not None and stored.is_paid_by_moved and price.per_gb_read is not None:
            also.append(
                f"{price.per_gb_read} for each GB read and {price.per_gb_written} for each GB written"
            )
        if also:
            yield f"{use.name} also costs {', '.join(also)}"
    yield "data transfer within a zone is free, and what leaves it is not included"


def _prices_for(instances: set[str], prices: str | None) -> PriceTable | None:
    from wavetank.cost.prices import load_prices, shipped_tables

    if prices is not None:
        return load_prices(prices)
    tables = sorted(
        (table for table in map(load_prices, shipped_tables()) if table.purchase == "on-demand"),
        key=lambda table: table.date,
        reverse=True,
    )
    return next((table for table in tables if instances <= table.instances.keys()), None)


def says_cloud(spec: ClusterSpec) -> bool:
    """Whether a specification says something of the cluster in a cloud that it stands for."""
    from wavetank.cost.storage import says_storage

    return says_storage(spec) or spec.placement is not None or spec.cloud is not None


def cloud_table(spec: ClusterSpec) -> Table:
    """The emulated cluster beside the one in a cloud that it stands for: each instance type, storage, what is not emulated."""
    note = None
    if spec.provider in CLOUDS:
        note = "Emulated is what the same file makes of this machine with provider: local."
    elif spec.provider not in MAKES_NODES:
        note = f"Provider {spec.provider} emulates nothing: hosts are as they are."
    return IN_THE_CLOUD.table(_beside(spec), caption=note)


def _beside(spec: ClusterSpec) -> Iterator[tuple[str, str, str]]:
    from wavetank.cluster.instance_types import aws_instances
    from wavetank.units import format_rate, format_size

    is_emulated = spec.provider in {*MAKES_NODES, *CLOUDS}
    seen = set()
    for node in spec.node_names():
        instance = spec.instance_of(node)
        if instance.name in seen:
            continue
        seen.add(instance.name)
        if spec.has_flavors:
            yield instance.name, "as written", "a flavor of the cloud"
            continue
        kind = aws_instances().get(instance.name)
        if kind is None:
            yield instance.name, "as written", "no type of the catalogue"
            continue
        cpus, memory = f"{instance.vcpus:g} vCPUs", format_size(instance.memory)
        yield (
            instance.name,
            f"{cpus}, {memory}" if is_emulated else "-",
            f"{kind.vcpus} vCPUs, {format_size(kind.memory_bytes)}",
        )
        rate = None if instance.network is None else instance.network / spec.scale
        here = "no limit" if rate is None else format_rate(rate)
        yield (
            f"{instance.name} network",
            here if is_emulated else "-",
            _network(kind.network_baseline_bytes_per_s, kind.network_text),
        )
    yield from _storage_beside(spec, is_emulated=is_emulated)
    placement = "not said" if spec.placement is None else spec.placement
    yield "placement", "one machine" if is_emulated else "-", placement


def _network(baseline: int | None, words: str) -> str:
    from wavetank.units import format_rate

    return words if baseline is None else f"{format_rate(baseline)} for long ({words})"


def _storage_beside(spec: ClusterSpec, *, is_emulated: bool) -> Iterator[tuple[str, str, str]]:
    from wavetank.cluster.clouds.disks import data_volumes
    from wavetank.cluster.devices import emulated_words, volume_rates
    from wavetank.cluster.instance_types import aws_instances
    from wavetank.cost.storage import storage_of, storage_words
    from wavetank.units import format_rate, format_size

    if (maker := spec.file_system.facts.made_by) is not None:
        for use in storage_of(spec):
            yield "file system", f"comes up with provider {maker} alone", storage_words(use)
        return
    storage, holders = spec.storage, spec.storage_names()
    what = f"storage of {', '.join(holders)}"
    n = f"{storage.devices} x " if storage.devices > 1 else ""
    rates = spec.disk_rates(holders[0], storage)
    limits = [
        format_rate(rates[key] / spec.scale) + f" {key}"
        for key in ("read", "write")
        if key in rates
    ]
    limits += [
        f"{round(rates[key] / spec.scale)} {key.replace('_iops', ' IOPS')}"
        for key in ("read_iops", "write_iops")
        if key in rates
    ]
    words = emulated_words(storage)
    limits += [words] if words else []
    here = f"{n}{format_size(storage.size)}, {', '.join(limits) or 'no limit'}"
    if storage.on == "ebs":
        rate, iops = volume_rates(storage)
        kind = aws_instances().get(spec.instance_of(holders[0]).name)
        whole = None if kind is None else kind.ebs_baseline_bytes_per_s
        there = (
            f"{n}{storage_words(next(iter(storage_of(spec))))}: {format_rate(rate)}, {iops} IOPS"
        )
        there += "" if whole is None else f"; the instance {format_rate(whole)} for long"
    elif storage.on == "instance":
        name = spec.instance_of(holders[0]).name
        kind = None if spec.has_flavors else aws_instances().get(name)
        size = "" if kind is None else f" of {kind.local_disk_bytes // 10**9} GB"
        there = f"{storage.devices} of the instance's own disks{size}; rates not published"
    elif spec.cloud is not None:
        name = data_volumes(spec, holders[0])[0].price_name
        there = f"{n}a volume ({name}) of {format_size(storage.cloud_bytes)}, as storage.on says nothing else"
    else:
        there = "not said (storage.on)"
    there += ", striped by mdadm" if storage.striped > 1 else ""
    yield what, here if is_emulated else "-", there
