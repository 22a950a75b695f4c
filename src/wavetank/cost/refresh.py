"""Makes the data files of cost/data from public data.

Reads the DescribeInstanceTypes output inside the PyPI package moto (Apache-2.0) and the price list
inside the Go module github.com/aws/karpenter-provider-aws (Apache-2.0), and prices of all regions,
on demand, spot and reserved, inside the Go module github.com/cristim/ec2-instances-info; leaves a
CSV of instance types and YAML price tables. Run: ``wavetank instances refresh``.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
import zipfile
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from importlib import resources
from pathlib import Path
from typing import Any

from wavetank.cluster.instance_types import COLUMNS, row_of
from wavetank.cost.prices import Purchase
from wavetank.document import make_folder, write_whole
from wavetank.errors import CostError
from wavetank.nearest import did_you_mean

MOTO_MEMBER = "moto/ec2/resources/instance_types.json.gz"
INSTANCES_INFO = "github.com/cristim/ec2-instances-info"
EC2_INSTANCES_FILE = "data/instances.json"
KARPENTER_FILE = "pkg/providers/pricing/zz_generated.pricing_aws.go"


def read_moto(wheel: Path) -> list[dict[str, Any]]:
    """DescribeInstanceTypes entries inside a wheel of moto 5.

    Raises:
        CostError: not a wheel of moto, or the file moved.
    """
    try:
        with zipfile.ZipFile(wheel) as archive:
            body = json.loads(gzip.decompress(archive.read(MOTO_MEMBER)))
    except (OSError, KeyError, zipfile.BadZipFile, json.JSONDecodeError) as error:
        raise CostError(
            f"cannot read instance types out of {wheel}: {error}. Fetch it with "
            "'pip download --no-deps moto'; this reads moto 5"
        ) from error
    return list(body.values())


def _packed(wheel: Path) -> date:
    """The day on which a wheel's instance types were packed: the provider's answer is no younger."""
    with zipfile.ZipFile(wheel) as archive:
        return date(*archive.getinfo(MOTO_MEMBER).date_time[:3])


def instances_csv(entries: list[dict[str, Any]], source: str) -> str:
    """The text of instances-aws.csv.

    Args:
        entries: DescribeInstanceTypes entries.
        source: package and version, for the first line.
    """
    out = io.StringIO()
    out.write(f"# Instance types of AWS EC2: DescribeInstanceTypes output, from {source}\n")
    out.write("# Made by 'wavetank instances refresh'; sizes in bytes, rates in bytes per second\n")
    writer = csv.DictWriter(out, COLUMNS, lineterminator="\n")
    writer.writeheader()
    for entry in sorted(entries, key=lambda each: str(each["InstanceType"])):
        writer.writerow(row_of(entry))
    return out.getvalue()


_GENERATED = re.compile(r"// generated at (\S+) for (\S+)")
_REGION = re.compile(r'^\t"([a-z0-9-]+)": \{$', re.MULTILINE)
_PRICE = re.compile(r'"([a-z0-9-]+\.[a-z0-9-]+)": ([0-9]+\.[0-9]+)')


def read_karpenter(module: Path, region: str) -> tuple[datetime, dict[str, Decimal]]:
    """On-demand prices per hour in USD, and when they were taken.

    Reads lines such as (v1.14.1): ``"c3.2xlarge": 0.420000, "c3.4xlarge": 0.840000,``

    Args:
        module: the unpacked module's folder.
        region: "us-east-1".

    Raises:
        CostError: not that module, or it has no such region.
    """
    path = module / KARPENTER_FILE
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise CostError(
            f"cannot read {path}: {error.strerror}. Fetch the module with "
            "'go mod download -json github.com/aws/karpenter-provider-aws@VERSION' and name its Dir"
        ) from error
    generated = _GENERATED.search(text)
    starts = {match[1]: match.end() for match in _REGION.finditer(text)}
    if generated is None or region not in starts:
        raise CostError(
            f"{path} has no prices of {region}; it has: {', '.join(starts) or 'none'}. Those of other regions "
            f"are in {INSTANCES_INFO}: see --on-demand"
        )
    end = text.find("\n\t},", starts[region])
    prices = {
        match[1]: Decimal(match[2]).normalize()
        for match in _PRICE.finditer(text, starts[region], end)
    }
    return datetime.fromisoformat(generated[1]), prices


_PSEUDO_VERSION = re.compile(r"@v\d+\.\d+\.\d+-(?:.*\.)?(\d{14})-[0-9a-f]{12}$")


@dataclass(frozen=True)
class Bought:
    """A way to buy instances, as the module ec2-instances-info has its prices.

    Attributes:
        purchase: of the price table.
        mark: in the table's name, after the region; may be empty.
        keys: to the price, below an instance's region and "linux".
        words: for the table's source: whose price it is.
    """

    purchase: Purchase
    mark: str
    keys: tuple[str, ...]
    words: str


_RESERVED = "standard, nothing upfront, spread over all hours of the term"
ON_DEMAND = Bought("on-demand", "", ("ondemand",), "its ondemand")
SPOT = Bought("spot", "-spot", ("spot_avg",), "its spot_avg")
RESERVED = (
    Bought(
        *("reserved", "-reserved-1y", ("reserved", "yrTerm1Standard.noUpfront")),
        words=f"its yrTerm1Standard.noUpfront: reserved for one year, {_RESERVED}",
    ),
    Bought(
        *("reserved", "-reserved-3y", ("reserved", "yrTerm3Standard.noUpfront")),
        words=f"its yrTerm3Standard.noUpfront: reserved for three years, {_RESERVED}",
    ),
)


def read_instances_info(
    module: Path, region: str, bought: Bought
) -> tuple[datetime, dict[str, Decimal]]:
    """Prices of Linux per hour in USD, and when they were taken.

    Reads entries such as (May 2025): ``{"instance_type": "c5.large", "pricing": {"us-east-1":
    {"linux": {"ondemand": "0.085", "spot_avg": "0.034850", "reserved": {"yrTerm1Standard.noUpfront":
    "0.054", ...}}}}}``. The data has no date of its own; that of the module's version, when the data
    was committed, stands for it.

    Args:
        module: the unpacked module's folder, named with its version.
        region: "us-east-1", or a local zone, "us-east-1-bos-1".
        bought: which of the prices.

    Raises:
        CostError: not that module, or it has no such price of the region.
    """
    version = _PSEUDO_VERSION.search(module.name)
    path = module / EC2_INSTANCES_FILE
    how = f"'go mod download -json {INSTANCES_INFO}@latest' and name its Dir"
    if version is None:
        raise CostError(f"the folder {module} names no version with a date. Fetch it with {how}")
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))
        found = {
            (each, entry["instance_type"]): Decimal(price)
            for entry in entries
            for each, prices in entry["pricing"].items()
            if (price := _below(prices.get("linux", {}), bought.keys))
        }
    except OSError as error:
        raise CostError(f"cannot read {path}: {error.strerror}. Fetch it with {how}") from error
    except (ValueError, KeyError, TypeError, AttributeError, ArithmeticError) as error:
        raise CostError(f"{path} holds other data than this reads: {error!r}") from error
    known = {place: price.normalize() for place, price in found.items() if price > 0}
    regions = {each for each, _ in known}
    if region not in regions:
        raise CostError(
            f"{path} has no {bought.purchase} prices of {region}; it has those of {len(regions)} "
            f"regions and local zones.{did_you_mean(region, sorted(regions))}"
        )
    taken = datetime.strptime(version[1], "%Y%m%d%H%M%S").replace(tzinfo=UTC)
    return taken, {kind: price for (each, kind), price in known.items() if each == region}


def _below(prices: dict[str, Any], keys: tuple[str, ...]) -> str | None:
    """What stands below keys, one after the other; None where one of them is missing."""
    found: Any = prices
    for key in keys:
        found = None if found is None else found.get(key)
    return None if found is None else str(found)


def prices_yaml(
    *,
    name: str,
    region: str,
    taken: datetime,
    prices: dict[str, Decimal],
    source: str,
    storage: str,
    purchase: Purchase = "on-demand",
) -> str:
    """The text of a price table.

    Args:
        name: of the table.
        region: of the prices.
        taken: when the prices were taken.
        prices: USD per hour by instance type.
        source: module and version.
        storage: the table's ``storage`` key as YAML, from another source; may be empty.
        purchase: how instances are bought at these prices.
    """
    lines = [
        "# Made by 'wavetank instances refresh'.",
        f"name: {name}",
        f"date: {taken.date()}",
        f"source: {json.dumps(source)}",
        f"region: {region}",
        "currency: USD",
        f"purchase: {purchase}",
        "billing: {rule: per-second, minimum_s: 60} # Linux on EC2",
        "instances:",
        *(f'  {kind}: "{price:f}"' for kind, price in sorted(prices.items())),
    ]
    return "\n".join(lines) + "\n" + storage


def write_instances(wheel: Path, folder: Path) -> Path:
    """Write instances-aws.csv out of a wheel of moto; returns its path.

    Raises:
        CostError: not a wheel of moto.
        DocumentError: the folder cannot be made or written.
    """
    version = wheel.name.split("-")[1] if "-" in wheel.name else "of unknown version"
    entries = read_moto(wheel)
    text = instances_csv(entries, f"the PyPI package moto {version} of {_packed(wheel)}")
    make_folder(folder)
    path = folder / "instances-aws.csv"
    write_whole(path, text)
    return path


def write_prices(module: Path, region: str, folder: Path) -> Path:
    """Write a price table out of the karpenter module; returns its path.

    Storage prices are in no such source: they come from cost/data/storage, where there is a file
    of the region.

    Raises:
        CostError: not that module, or no such region.
        DocumentError: the folder cannot be made or written.
    """
    taken, prices = read_karpenter(module, region)
    source = f"Go module github.com/aws/{module.name.replace('@', ' ')} (AWS price list API)"
    return _write_table(folder, f"aws-{region}-{taken:%Y-%m}", region, taken, prices, source)


def write_info_prices(module: Path, region: str, folder: Path, bought: Bought) -> Path:
    """Write a price table out of the ec2-instances-info module; returns its path.

    Raises:
        CostError: not that module, or no such prices of the region.
        DocumentError: the folder cannot be made or written.
    """
    taken, prices = read_instances_info(module, region, bought)
    name = f"aws-{region}{bought.mark}-{taken:%Y-%m}"
    source = f"Go module github.com/cristim/{module.name.replace('@', ' ')}, {bought.words}"
    return _write_table(folder, name, region, taken, prices, source, purchase=bought.purchase)


def _write_table(
    folder: Path, name: str, region: str, taken: datetime, prices: dict[str, Decimal], source: str,
    purchase: Purchase = "on-demand",
) -> Path:  # fmt: skip
    text = prices_yaml(
        name=name,
        region=region,
        taken=taken,
        prices=prices,
        source=source,
        storage=_storage_of(region),
        purchase=purchase,
    )
    path = folder / "prices" / f"{name}.yaml"
    make_folder(path.parent)
    write_whole(path, text)
    return path


def _storage_of(region: str) -> str:
    """The recorded storage prices of a region as YAML; empty where there are none."""
    storage = resources.files("wavetank.cost").joinpath("data", "storage", f"{region}.yaml")
    return storage.read_text(encoding="utf-8") if storage.is_file() else ""
