"""Storage that is paid for while a cluster is up: volumes of its instances, and managed file systems, at a table's prices.

Reads a specification and a price table. What a table says by the month is taken by the hour: a month has 730 hours, as in the
calculator of AWS. A bill goes by the days of its month, so it is up to 3 % more or less.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

from wavetank.cluster.components import Storage
from wavetank.cluster.devices import provisioned, volume_type
from wavetank.cluster.spec import ClusterSpec
from wavetank.cost.prices import PriceTable, StoragePrice, per_hour
from wavetank.errors import CostError
from wavetank.units import GIB, MIB, exact_size


@dataclass(frozen=True)
class StorageUse:
    """Devices or a file system of one kind, all alike.

    Attributes:
        name: in price tables: "ebs-gp3", "fsx-lustre-scratch-2", "efs", "manila-default".
        number: of them.
        size_bytes: capacity of each; None where what is stored is billed, and is not known.
        iops: provisioned, of each; None: none are bought.
        throughput_bytes_per_s: likewise.
    """

    name: str
    number: int
    size_bytes: int | None
    iops: int | None = None
    throughput_bytes_per_s: int | None = None


def storage_words(use: StorageUse) -> str:
    """A storage as its row is called: "ebs-gp3 of 500 GiB, 6000 IOPS, 500 MiB/s"."""
    size = [] if use.size_bytes is None else [f"of {exact_size(use.size_bytes)}"]
    iops = [] if use.iops is None else [f"{use.iops} IOPS"]
    rate = use.throughput_bytes_per_s
    bought = [*iops, *([] if rate is None else [f"{rate / MIB:g} MiB/s"])]
    return " ".join([use.name, *size]) + "".join(f", {each}" for each in bought)


def storage_of(spec: ClusterSpec) -> tuple[StorageUse, ...]:
    """What a cluster has of storage that is paid for beside its instances.

    Disks of instances are in their price. Where the specification does not say what its storage is, there is none.
    """
    facts = spec.file_system.facts
    found = []
    if (stored := facts.priced(spec)) is not None:
        rate = stored.throughput_bytes_per_s
        found.append(StorageUse(stored.name, 1, stored.size_bytes, None, rate))
    elif not facts.outlives_nodes:
        found += _volumes(spec.storage, len(spec.storage_names()))
    if spec.temporary is not None:
        found += _volumes(spec.temporary, spec.nodes.compute)
    return tuple(found)


def says_storage(spec: ClusterSpec) -> bool:
    """Whether the specification says what its storage is in a cloud."""
    if spec.file_system.facts.made_by is not None:
        return True
    return spec.storage.on is not None


def _volumes(storage: Storage, nodes: int) -> list[StorageUse]:
    if storage.on != "ebs":
        return []
    iops, throughput = provisioned(storage)
    name = f"ebs-{volume_type(storage)}"
    return [StorageUse(name, nodes * storage.devices, storage.cloud_bytes, iops, throughput)]


def billed_gb(size_bytes: int, price: StoragePrice) -> int:
    """Capacity on the bill: whole GiB, which AWS calls GB, in the sizes that can be had."""
    return price.capacity_gb(-(-size_bytes // GIB))


def storage_per_month(use: StorageUse, price: StoragePrice) -> Decimal:
    """All of a use for a month, in the table's currency. What is stored, where that is billed and not known, is left out.

    Raises:
        CostError: it has provisioned IOPS or throughput for which the table has no price.
    """
    one = Decimal(0)
    if use.size_bytes is not None:
        one += billed_gb(use.size_bytes, price) * price.per_gb_month
    iops = max(0, (use.iops or 0) - price.included_iops)
    if iops and price.per_iops_month is None:
        raise CostError(f"no price of provisioned IOPS of {use.name}")
    if price.most_iops is not None and (use.iops or 0) > price.most_iops:
        raise CostError(
            f"the price of {use.name} is known up to {price.most_iops:,} IOPS, not of {use.iops:,}"
        )
    one += iops * (price.per_iops_month or Decimal(0))
    bought = Decimal(use.throughput_bytes_per_s or 0) / MIB - price.included_mib_per_s
    if bought > 0:
        if price.per_mib_per_s_month is None:
            raise CostError(f"no price of provisioned throughput of {use.name}")
        one += bought * price.per_mib_per_s_month
    return use.number * one


def storage_per_h(uses: Iterable[StorageUse], table: PriceTable) -> Decimal:
    """All storage of a cluster for an hour.

    Raises:
        CostError: the table lacks a price.
    """
    total = sum((storage_per_month(use, table.storage_price(use.name)) for use in uses), Decimal(0))
    return per_hour(total)
