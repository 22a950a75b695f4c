"""``wavetank instances``: types of cloud instances, which of them suit, and their data."""

from __future__ import annotations

import platform
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from wavetank.cli.currency import currency_option, origin_words, prices_in
from wavetank.cli.instance_tables import (
    CANDIDATES,
    INSTANCE,
    PRICES,
    RULED_OUT,
    STORAGE,
    TRANSFER,
)
from wavetank.cli.output import print_tables, prints
from wavetank.errors import CostError, UsageError
from wavetank.units import format_size

if TYPE_CHECKING:
    from wavetank.cost.find import Needs

SHOWN = 20


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
@currency_option
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
    currency: Path | None,
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
        table = prices_in(load_prices(prices), currency)
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
        + f"by {origin_words(table)}. {origin()[0]}"
    )
    candidates = CANDIDATES.table((each, table.currency) for each in chosen)
    print_tables([candidates, RULED_OUT.table(reasons(judged), caption=note)], output_format)


@command.command(short_help="What an instance type has, and what it costs.")
@click.argument("name")
@currency_option
@prints(lambda: (INSTANCE, PRICES))
def show(name: str, currency: Path | None, output_format: str) -> None:
    """Print what an instance type has, and its price in every shipped table.

    Example: wavetank instances show c3.2xlarge
    """
    from wavetank.cluster.instance_types import find_instance
    from wavetank.cost.prices import load_prices, shipped_tables

    quantities = INSTANCE.table(find_instance(name).model_dump().items(), title=name)
    tables = [(name, prices_in(load_prices(each), currency)) for each in shipped_tables()]
    prices = PRICES.table(each for each in tables if name in each[1].instances)
    print_tables([quantities, prices], output_format)


@command.command(short_help="Prices of storage and data transfer.")
@click.option(
    "--prices", default="aws-us-east-1-2026-07", show_default=True,
    help="Price table: a shipped one's name or a file.",
)  # fmt: skip
@currency_option
@prints(lambda: (STORAGE, TRANSFER))
def storage(prices: str, currency: Path | None, output_format: str) -> None:
    """Print prices of storage and of data transfer, each with its date and source.

    Example: wavetank instances storage
    """
    from wavetank.cost.prices import load_prices

    table = prices_in(load_prices(prices), currency)
    stored = STORAGE.table(
        ((table, name, price) for name, price in sorted(table.storage.items())),
        caption=f"In {table.currency}, from {origin_words(table)}.",
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
