"""``wavetank instances``: types of cloud instances, which of them suit, and their data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from wavetank.cli.output import format_option, print_tables
from wavetank.errors import CostError, UsageError
from wavetank.tables.table import Table, Value, plain_table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wavetank.cost.find import Candidate, Needs

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
@click.option("--architecture", help="x86_64 or arm64; any by default.")
@click.option(
    "--prices", default="aws-us-east-1-2026-07", show_default=True,
    help="Price table: a shipped one's name or a file.",
)  # fmt: skip
@click.option("--all", "show_all", is_flag=True, help="Print every type, also those ruled out.")
@format_option
def find(
    model: Path | None,
    processes: int | None,
    require: tuple[str, ...],
    storage: str,
    servers: int,
    max_instances: int | None,
    architecture: str | None,
    prices: str,
    show_all: bool,
    output_format: str,
) -> None:
    """List the types that can hold an application, and what rules the others out.

    Example: wavetank instances find --model abyss.model.json --require 'memory>=16GiB'
    """
    from wavetank.cluster.instance_types import aws_instances, origin
    from wavetank.cost.find import QUANTITIES, Needs, find_instances, reasons
    from wavetank.cost.prices import load_prices
    from wavetank.measure.requirement import parse_requirement
    from wavetank.model.document.model import Model

    if model is None and processes is None:
        raise UsageError("name a model with --model, or a number of processes with --processes")
    requirements = tuple(parse_requirement(text, QUANTITIES) for text in require)
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
        architecture=architecture,
        requirements=requirements,
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
    rules: list[list[Value]] = [[reason, count] for reason, count in reasons(judged)]
    print_tables(
        [
            _candidates(chosen, table.currency),
            plain_table("Ruled out", ("by", "types"), rules, note=note),
        ],
        output_format,
    )


@command.command(short_help="What an instance type has, and what it costs.")
@click.argument("name")
@format_option
def show(name: str, output_format: str) -> None:
    """Print what an instance type has, and its price in every shipped table.

    Example: wavetank instances show c3.2xlarge
    """
    from wavetank.cluster.instance_types import find_instance
    from wavetank.cost.prices import load_prices, shipped_tables

    facts: list[list[Value]] = [
        [key, value] for key, value in find_instance(name).model_dump().items()
    ]
    costs: list[list[Value]] = []
    for shipped in shipped_tables():
        table = load_prices(shipped)
        if name in table.instances:
            costs.append(
                [
                    table.name, str(table.date), table.region, table.purchase,
                    str(table.instances[name]), table.currency, str(table.billing),
                ]
            )  # fmt: skip
    print_tables(
        [
            plain_table(name, ("quantity", "value"), facts),
            plain_table(
                "Prices",
                ("table", "date", "region", "purchase", "price_per_h", "currency", "billing"),
                costs,
            ),
        ],
        output_format,
    )


@command.command(short_help="Prices of storage and data transfer.")
@click.option(
    "--prices", default="aws-us-east-1-2026-07", show_default=True,
    help="Price table: a shipped one's name or a file.",
)  # fmt: skip
@format_option
def storage(prices: str, output_format: str) -> None:
    """Print prices of storage and of data transfer, each with its date and source.

    Example: wavetank instances storage
    """
    from wavetank.cost.prices import load_prices

    table = load_prices(prices)
    stored: list[list[Value]] = [
        [
            name, float(price.per_gb_month), price.minimum_gb or None,
            *(
                None if each is None else float(each)
                for each in (price.per_iops_month, price.per_mib_per_s_month, price.per_gb_read, price.per_gb_written)
            ),
            str(price.date or table.date), price.source or table.source, price.note,
        ]
        for name, price in sorted(table.storage.items())
    ]  # fmt: skip
    moved: list[list[Value]] = [
        [border, tier.to_gb, float(tier.per_gb), str(price.date or table.date), price.source or table.source, price.note]
        for border, price in sorted(table.transfer.items())
        for tier in price.tiers
    ]  # fmt: skip
    print_tables(
        [
            plain_table(
                "Storage",
                (
                    "storage", "per_gb_month", "minimum_gb", "per_iops_month", "per_mib_per_s_month", "per_gb_read",
                    "per_gb_written", "date", "source", "note",
                ),
                stored,
                note=f"In {table.currency}, from price table {table.name} ({table.region}).",
            ),
            plain_table("Data transfer", ("border", "to_gb", "per_gb", "date", "source", "note"), moved),
        ],
        output_format,
    )  # fmt: skip


@command.command(short_help="Make the data anew from public sources.")
@click.option(
    "--moto", type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Wheel of moto 5: pip download --no-deps moto. Makes instances-aws.csv.",
)  # fmt: skip
@click.option(
    "--karpenter", type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Folder of the Go module: go mod download -json "
    "github.com/aws/karpenter-provider-aws@latest names it as Dir. Makes a price table.",
)  # fmt: skip
@click.option(
    "--spot", type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Folder of the Go module: go mod download -json "
    "github.com/cristim/ec2-instances-info@latest names it as Dir. Makes a table of spot prices.",
)  # fmt: skip
@click.option("--region", default="us-east-1", show_default=True, help="Of the price tables.")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path, file_okay=False), required=True,
    help="Folder for the new files; in a source checkout instance data belong to src/wavetank/cluster/data, prices to "
    "src/wavetank/cost/data.",
)  # fmt: skip
def refresh(
    moto: Path | None, karpenter: Path | None, spot: Path | None, region: str, output: Path
) -> None:
    """Make the instance data and price tables anew from public data.

    Example: wavetank instances refresh --moto moto-5.2.5-py3-none-any.whl -o data
    """
    from wavetank.cost.refresh import write_instances, write_prices, write_spot_prices

    if moto is None and karpenter is None and spot is None:
        raise UsageError("name what to read, with --moto, --karpenter or --spot")
    if moto is not None:
        click.echo(write_instances(moto, output))
    if karpenter is not None:
        click.echo(write_prices(karpenter, region, output))
    if spot is not None:
        click.echo(write_spot_prices(spot, region, output))


def _words(needs: Needs) -> str:
    from wavetank.units import format_size

    where = "a global file system" if needs.global_file_system else "files of its own per process"
    return f"{needs.n_processes} processes, {format_size(needs.capacity_bytes)}, {where}"


def _candidates(candidates: Sequence[Candidate], currency: str) -> Table:
    from wavetank.units import format_rate, format_size

    def rate(value: int | None) -> str:
        return "-" if value is None else format_rate(value)

    rows: list[list[Value]] = []
    shown = []
    for each in candidates:
        kind, price = each.kind, each.price_per_h
        rows.append(
            [
                kind.name, each.n_compute, each.n_io, None if price is None else float(price),
                kind.cores, kind.memory_bytes, kind.network_baseline_bytes_per_s,
                kind.ebs_baseline_bytes_per_s, kind.local_storage_bytes,
                list(each.ruled_out),
            ]
        )  # fmt: skip
        shown.append(
            [
                kind.name, str(each.n_compute), str(each.n_io),
                "-" if price is None else f"{price:.4f} {currency}", str(kind.cores),
                format_size(kind.memory_bytes), rate(kind.network_baseline_bytes_per_s),
                rate(kind.ebs_baseline_bytes_per_s),
                format_size(kind.local_storage_bytes) if kind.local_storage_bytes else "-",
                "; ".join(each.ruled_out) or "-",
            ]
        )  # fmt: skip
    columns = (
        "type", "compute", "io", "cluster_per_h", "cores", "memory", "network", "ebs",
        "local_storage", "ruled_out",
    )  # fmt: skip
    return plain_table("Instances", columns, rows, shown)
