"""``wavetank instances``: types of cloud instances, which of them suit, and their data."""

from __future__ import annotations

import platform
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import click

from wavetank.cli.output import print_tables, prints
from wavetank.errors import CostError, UsageError
from wavetank.tables.shapes import facts
from wavetank.tables.table import Cell, Column, Definition
from wavetank.tables.words import DASH, plain_words
from wavetank.units import format_size

if TYPE_CHECKING:
    from collections.abc import Callable
    from decimal import Decimal

    from wavetank.cost.find import Candidate, Needs
    from wavetank.cost.prices import PriceTable, StoragePrice, TransferPrice, TransferTier

SHOWN = 20

_Stored: TypeAlias = "tuple[PriceTable, str, StoragePrice]"
_Moved: TypeAlias = "tuple[PriceTable, str, TransferPrice, TransferTier]"


def _per_h(candidate: Candidate, currency: str) -> Cell:
    price = candidate.price_per_h
    return Cell(DASH, None) if price is None else Cell(f"{price:.4f} {currency}", float(price))


def _size(size_bytes: int) -> Cell:
    return Cell(format_size(size_bytes) if size_bytes else DASH, size_bytes)


_ORIGIN: tuple[Column[Any], ...] = (
    Column("date", "Date", lambda i: str(i[2].date or i[0].date)),
    Column("source", "Source", lambda i: i[2].source or i[0].source, wide=True),
    Column("note", "Note", lambda i: i[2].note, wide=True),
)

CANDIDATES: Definition[tuple[Candidate, str]] = Definition(
    "instances",
    "Instances",
    (
        Column("type", "Type", lambda i: i[0].kind.name),
        Column("compute", "Compute nodes", lambda i: i[0].n_compute, kind="integer"),
        Column("io", "I/O nodes", lambda i: i[0].n_io, kind="integer"),
        Column("cluster_per_h", "Cluster per hour", lambda i: _per_h(*i), unit="currency"),
        Column("cores", "Cores", lambda i: i[0].kind.cores, kind="integer"),
        Column("memory", "Memory", lambda i: i[0].kind.memory_bytes, unit="B"),
        Column("network", "Network", lambda i: i[0].kind.network_baseline_bytes_per_s, unit="B/s"),
        Column("ebs", "EBS", lambda i: i[0].kind.ebs_baseline_bytes_per_s, unit="B/s"),
        Column("local_storage", "Local storage", lambda i: _size(i[0].kind.local_storage_bytes), unit="B"),
        Column("ruled_out", "Ruled out", lambda i: Cell("; ".join(i[0].ruled_out) or DASH, list(i[0].ruled_out)), kind="list",
               wide=True),
    ),
    command="instances find",
)  # fmt: skip

# What hides types unless they are asked for -> how to ask.
_TO_SEE_THEM = {
    "architecture": "--architecture any",
    "burstable": "--burstable",
    "generation": "--generation any",
}

RULED_OUT: Definition[tuple[str, int]] = Definition(
    "ruled-out",
    "Ruled out",
    (
        Column("by", "By", lambda i: i[0], wide=True),
        Column("types", "Types", lambda i: i[1], kind="integer"),
        Column(
            "to_see_them",
            "To see them",
            lambda i: Cell(_TO_SEE_THEM.get(i[0], DASH), _TO_SEE_THEM.get(i[0])),
        ),
    ),
    command="instances find",
)

INSTANCE = facts("instance", "Instance", "quantity", command="instances show")

PRICES: Definition[tuple[str, PriceTable]] = Definition(
    "prices",
    "Prices",
    (
        Column("table", "Table", lambda i: i[1].name),
        Column("date", "Date", lambda i: str(i[1].date)),
        Column("region", "Region", lambda i: i[1].region),
        Column("purchase", "Purchase", lambda i: i[1].purchase),
        Column(
            "price_per_h",
            "Price per hour",
            lambda i: i[1].instances[i[0]],
            unit="currency",
            show=plain_words,
        ),
        Column("currency", "Currency", lambda i: i[1].currency),
        Column("billing", "Billing", lambda i: str(i[1].billing)),
    ),
    command="instances show",
)


def _price(key: str, title: str, of: Callable[[StoragePrice], Decimal | None]) -> Column[_Stored]:
    return Column(key, title, lambda i: of(i[2]), unit="currency", show=plain_words)


STORAGE: Definition[_Stored] = Definition(
    "storage-prices",
    "Storage",
    (
        Column("storage", "Storage", lambda i: i[1]),
        _price("per_gb_month", "Per GB and month", lambda price: price.per_gb_month),
        Column("minimum_gb", "Least GB", lambda i: i[2].minimum_gb or None, kind="number", show=plain_words),
        _price("per_iops_month", "Per IOPS and month", lambda price: price.per_iops_month),
        _price("per_mib_per_s_month", "Per MiB/s and month", lambda price: price.per_mib_per_s_month),
        _price("per_gb_read", "Per GB read", lambda price: price.per_gb_read),
        _price("per_gb_written", "Per GB written", lambda price: price.per_gb_written),
        *_ORIGIN,
    ),
    key="storage",
    command="instances storage",
)  # fmt: skip

TRANSFER: Definition[_Moved] = Definition(
    "data-transfer",
    "Data transfer",
    (
        Column("border", "Border", lambda i: i[1]),
        Column("to_gb", "To GB", lambda i: i[3].to_gb, kind="number", show=plain_words),
        Column("per_gb", "Per GB", lambda i: i[3].per_gb, unit="currency", show=plain_words),
        *_ORIGIN,
    ),
    command="instances storage",
)
DEFINITIONS = (CANDIDATES, RULED_OUT, INSTANCE, PRICES, STORAGE, TRANSFER)


@click.group()
def command() -> None:
    """Instance types: which can hold an application, what they have, what they cost.

    Example: wavetank instances find --model abyss.model.json --require 'network>=1Gbit/s'
    """


@command.command(short_help="List the types that can hold an application.")
@click.option(
    "--model",
    type=click.Path(path_type=Path),
    help="Model of the application: processes, capacity.",
)
@click.option("--processes", type=click.IntRange(1), help="Instead of the model's number.")
@click.option(
    "--require", "require", multiple=True, metavar="QUANTITY>=VALUE",
    help="Of each instance, e.g. 'network>=1Gbit/s', 'memory>=16GiB', 'cores>=8', 'ebs>=100MB/s', "
    "'read>=200MB/s' (the slower of network and volumes). May be given several times.",
)  # fmt: skip
@click.option(
    "--storage", type=click.Choice(["local", "ebs"]), default="ebs", show_default=True,
    help="Files on the instances' own disks, or on volumes of any size.",
)  # fmt: skip
@click.option(
    "--servers", type=click.IntRange(1), default=1, show_default=True,
    help="I/O nodes, when the application needs a global file system.",
)  # fmt: skip
@click.option("--max-instances", type=click.IntRange(1), help="Of the whole cluster.")
@click.option(
    "--architecture", type=click.Choice(["x86_64", "arm64", "any"]),
    help="Of the processors; this machine's by default.",
)  # fmt: skip
@click.option(
    "--generation", type=click.Choice(["current", "previous", "any"]), default="current", show_default=True,
    help="Of the types, as AWS calls it.",
)  # fmt: skip
@click.option(
    "--burstable", is_flag=True, help="Also types with CPU credits: full speed for a time only."
)
@click.option("--network", metavar="RATE", help="At least, for long, e.g. 10Gbit/s.")
@click.option(
    "--local-disk", type=click.Choice(["yes", "no", "ssd", "hdd"]),
    help="With disks of their own, without, or with this kind; all by default.",
)  # fmt: skip
@click.option(
    "--prices", default="aws-us-east-1-2026-07", show_default=True,
    help="Price table: a shipped one's name or a file.",
)  # fmt: skip
@click.option("--all", "show_all", is_flag=True, help="Print every type, also those ruled out.")
@prints(lambda: (CANDIDATES, RULED_OUT))
def find(
    model: Path | None,
    processes: int | None,
    require: tuple[str, ...],
    storage: str,
    servers: int,
    max_instances: int | None,
    architecture: str | None,
    generation: Literal["current", "previous", "any"],
    burstable: bool,
    network: str | None,
    local_disk: Literal["yes", "no", "ssd", "hdd"] | None,
    prices: str,
    show_all: bool,
    output_format: str,
) -> None:
    """List the types that can hold an application, and what rules the others out.

    Burstable types, those of previous generations and of other architectures are hidden unless asked for.

    Example: wavetank instances find --model abyss.model.json --require 'memory>=16GiB'
    """
    from wavetank.cluster.instance_types import aws_instances, origin
    from wavetank.cost.find import QUANTITIES, Needs, find_instances, reasons
    from wavetank.cost.prices import load_prices
    from wavetank.measure.requirement import parse_requirement
    from wavetank.model.document.model import Model

    if model is None and processes is None:
        raise UsageError("name a model with --model, or a number of processes with --processes")
    asked = (*require, *(() if network is None else (f"network>={network}",)))
    requirements = tuple(parse_requirement(text, QUANTITIES) for text in asked)
    try:
        table = load_prices(prices)
    except CostError as error:
        raise UsageError(str(error)) from error
    asks = None if model is None else Model.read(model)
    needs = Needs(
        n_processes=processes or (asks.n_ranks if asks else 1),
        capacity_bytes=asks.requirements.storage_capacity_bytes if asks else 0,
        global_file_system=asks.requirements.needs_global_file_system if asks else True,
        storage="local" if storage == "local" else "ebs",
        n_servers=servers,
        max_instances=max_instances,
        architecture=_architecture(architecture),
        requirements=requirements,
        generation=generation,
        burstable=burstable,
        local_disk=local_disk,
    )
    judged = find_instances(aws_instances().values(), needs, table)
    suited = [each for each in judged if not each.ruled_out]
    chosen = judged if show_all or output_format != "table" else suited[:SHOWN]
    note = (
        f"{len(suited)} of {len(judged)} types suit {_words(needs)}; "
        + (
            f"the {SHOWN} cheapest are shown; "
            if chosen is not judged and len(suited) > SHOWN
            else ""
        )
        + f"prices: {table.name}, {table.date}. {origin()[0]}"
    )
    candidates = CANDIDATES.table((each, table.currency) for each in chosen)
    print_tables([candidates, RULED_OUT.table(reasons(judged), caption=note)], output_format)


@command.command(short_help="What an instance type has, and what it costs.")
@click.argument("name")
@prints(lambda: (INSTANCE, PRICES))
def show(name: str, output_format: str) -> None:
    """Print what an instance type has, and its price in every shipped table.

    Example: wavetank instances show c3.2xlarge
    """
    from wavetank.cluster.instance_types import find_instance
    from wavetank.cost.prices import load_prices, shipped_tables

    quantities = INSTANCE.table(find_instance(name).model_dump().items(), title=name)
    tables = [(name, load_prices(shipped)) for shipped in shipped_tables()]
    prices = PRICES.table(each for each in tables if name in each[1].instances)
    print_tables([quantities, prices], output_format)


@command.command(short_help="Prices of storage and data transfer.")
@click.option(
    "--prices", default="aws-us-east-1-2026-07", show_default=True,
    help="Price table: a shipped one's name or a file.",
)  # fmt: skip
@prints(lambda: (STORAGE, TRANSFER))
def storage(prices: str, output_format: str) -> None:
    """Print prices of storage and of data transfer, each with its date and source.

    Example: wavetank instances storage
    """
    from wavetank.cost.prices import load_prices

    table = load_prices(prices)
    stored = STORAGE.table(
        ((table, name, price) for name, price in sorted(table.storage.items())),
        caption=f"In {table.currency}, from price table {table.name} ({table.region}).",
    )
    moved = TRANSFER.table(
        (table, border, price, tier)
        for border, price in sorted(table.transfer.items())
        for tier in price.tiers
    )
    print_tables([stored, moved], output_format)


@command.command(short_help="Make the data anew from public sources.")
@click.option(
    "--moto", type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Wheel of moto 5: pip download --no-deps moto. Makes instances-aws.csv.",
)  # fmt: skip
@click.option(
    "--karpenter", type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Folder of the Go module: go mod download -json "
    "github.com/aws/karpenter-provider-aws@latest names it as Dir. Makes a table of prices on demand, "
    "of us-east-1 alone.",
)  # fmt: skip
@click.option(
    "--on-demand", type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Folder of the Go module: go mod download -json "
    "github.com/cristim/ec2-instances-info@latest names it as Dir. Makes a table of prices on demand, "
    "of any region.",
)  # fmt: skip
@click.option(
    "--spot", type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="The same folder. Makes a table of spot prices.",
)  # fmt: skip
@click.option(
    "--reserved", type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="The same folder. Makes two tables of prices reserved for one and for three years.",
)  # fmt: skip
@click.option("--region", default="us-east-1", show_default=True, help="Of the price tables.")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path, file_okay=False), required=True,
    help="Folder for the new files, made where it is missing; in a source checkout instance data belong to "
    "src/wavetank/cluster/data, prices to src/wavetank/cost/data.",
)  # fmt: skip
def refresh(
    moto: Path | None,
    karpenter: Path | None,
    on_demand: Path | None,
    spot: Path | None,
    reserved: Path | None,
    region: str,
    output: Path,
) -> None:
    """Make the instance data and price tables anew from public data.

    Example: wavetank instances refresh --moto moto-5.2.5-py3-none-any.whl -o data
    """
    from wavetank.cost.refresh import (
        ON_DEMAND,
        RESERVED,
        SPOT,
        write_info_prices,
        write_instances,
        write_prices,
    )

    asked = [(on_demand, ON_DEMAND), (spot, SPOT), *((reserved, each) for each in RESERVED)]
    if not any((moto, karpenter, *(module for module, _ in asked))):
        raise UsageError(
            "name what to read, with --moto, --karpenter, --on-demand, --spot or --reserved"
        )
    if moto is not None:
        click.echo(write_instances(moto, output))
    if karpenter is not None:
        click.echo(write_prices(karpenter, region, output))
    for module, bought in asked:
        if module is not None:
            click.echo(write_info_prices(module, region, output, bought))


def _architecture(asked: str | None) -> str | None:
    """The one that types must have: programs of this machine run there. None: any."""
    here = {"x86_64": "x86_64", "aarch64": "arm64"}.get(platform.machine())
    return here if asked is None else None if asked == "any" else asked


def _words(needs: Needs) -> str:
    where = "a global file system" if needs.global_file_system else "files of its own per process"
    return f"{needs.n_processes} processes, {format_size(needs.capacity_bytes)}, {where}"
