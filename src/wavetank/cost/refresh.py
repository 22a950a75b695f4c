"""Makes the data files of cost/data from public data.

Reads the DescribeInstanceTypes output inside the PyPI package moto (Apache-2.0) and the price list
inside the Go module github.com/aws/karpenter-provider-aws (Apache-2.0), and spot prices inside the
Go module github.com/cristim/ec2-instances-info; leaves a CSV of instance types and YAML price
tables. Run: ``wavetank instances refresh``.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
import zipfile
from datetime import UTC, date, datetime
from decimal import Decimal
from importlib import resources
from pathlib import Path
from typing import Any, Literal

from wavetank.cluster.instance_types import COLUMNS, GIGABYTE
from wavetank.document import write_whole
from wavetank.errors import CostError

MOTO_MEMBER = "moto/ec2/resources/instance_types.json.gz"
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
        writer.writerow(_row(entry))
    return out.getvalue()


def _row(entry: dict[str, Any]) -> dict[str, Any]:
    cpu = entry["VCpuInfo"]
    cards = entry["NetworkInfo"].get("NetworkCards", [])
    ebs = entry.get("EbsInfo", {}).get("EbsOptimizedInfo", {})
    disks = entry.get("InstanceStorageInfo", {}).get("Disks", [])
    return {
        "name": entry["InstanceType"],
        "vcpus": cpu["DefaultVCpus"],
        "cores": cpu.get("DefaultCores", cpu["DefaultVCpus"]),
        "memory_bytes": entry["MemoryInfo"]["SizeInMiB"] * 2**20,
        "network_baseline_bytes_per_s": _gigabits(cards, "BaselineBandwidthInGbps"),
        "network_peak_bytes_per_s": _gigabits(cards, "PeakBandwidthInGbps"),
        "network_text": entry["NetworkInfo"]["NetworkPerformance"],
        "ebs_baseline_bytes_per_s": _megabytes(ebs.get("BaselineThroughputInMBps")),
        "ebs_maximum_bytes_per_s": _megabytes(ebs.get("MaximumThroughputInMBps")),
        "ebs_baseline_iops": ebs.get("BaselineIops"),
        "ebs_maximum_iops": ebs.get("MaximumIops"),
        "n_local_disks": sum(disk["Count"] for disk in disks),
        "local_disk_bytes": disks[0]["SizeInGB"] * GIGABYTE if disks else 0,
        "local_disk_type": disks[0]["Type"] if disks else None,
        "architecture": "+".join(entry["ProcessorInfo"]["SupportedArchitectures"]),
        "current_generation": entry["CurrentGeneration"],
        "burstable": entry["BurstablePerformanceSupported"],
    }


def _gigabits(cards: list[dict[str, Any]], key: str) -> int | None:
    rates = [card[key] for card in cards if card.get(key)]
    return round(sum(rates) * GIGABYTE / 8) if rates else None


def _megabytes(rate: float | None) -> int | None:
    return None if rate is None else round(rate * 10**6)


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
        raise CostError(f"{path} has no prices of {region}; it has: {', '.join(starts) or 'none'}")
    end = text.find("\n\t},", starts[region])
    prices = {
        match[1]: Decimal(match[2]).normalize()
        for match in _PRICE.finditer(text, starts[region], end)
    }
    return datetime.fromisoformat(generated[1]), prices


_PSEUDO_VERSION = re.compile(r"@v\d+\.\d+\.\d+-(?:.*\.)?(\d{14})-[0-9a-f]{12}$")


def read_spot_prices(module: Path, region: str) -> tuple[datetime, dict[str, Decimal]]:
    """Mean spot prices per hour in USD (its spot_avg), and when they were taken.

    Reads entries such as (May 2025): ``{"instance_type": "c5.large", "pricing": {"us-east-1":
    {"linux": {"ondemand": "0.085", "spot_avg": "0.034850", ...}}}}``. The data has no date of its
    own; that of the module's version, when the data was committed, stands for it.

    Args:
        module: the unpacked module's folder, named with its version.
        region: "us-east-1".

    Raises:
        CostError: not that module, or it has no such region.
    """
    version = _PSEUDO_VERSION.search(module.name)
    path = module / EC2_INSTANCES_FILE
    how = "'go mod download -json github.com/cristim/ec2-instances-info@latest' and name its Dir"
    if version is None:
        raise CostError(f"the folder {module} names no version with a date. Fetch it with {how}")
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))
        prices = {
            entry["instance_type"]: Decimal(spot).normalize()
            for entry in entries
            if (spot := entry["pricing"].get(region, {}).get("linux", {}).get("spot_avg"))
        }
    except OSError as error:
        raise CostError(f"cannot read {path}: {error.strerror}. Fetch it with {how}") from error
    except (ValueError, KeyError, TypeError, AttributeError, ArithmeticError) as error:
        raise CostError(f"{path} holds other data than this reads: {error!r}") from error
    known = {kind: price for kind, price in prices.items() if price > 0}
    if not known:
        raise CostError(f"{path} has no spot prices of {region}")
    taken = datetime.strptime(version[1], "%Y%m%d%H%M%S").replace(tzinfo=UTC)
    return taken, known


def prices_yaml(
    *,
    name: str,
    region: str,
    taken: datetime,
    prices: dict[str, Decimal],
    source: str,
    storage: str,
    purchase: Literal["on-demand", "spot"] = "on-demand",
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
        DocumentError: the folder cannot be written.
    """
    version = wheel.name.split("-")[1] if "-" in wheel.name else "of unknown version"
    entries = read_moto(wheel)
    text = instances_csv(entries, f"the PyPI package moto {version} of {_packed(wheel)}")
    path = folder / "instances-aws.csv"
    write_whole(path, text)
    return path


def write_prices(module: Path, region: str, folder: Path) -> Path:
    """Write a price table out of the karpenter module; returns its path.

    Storage prices are in no such source: they come from cost/data/storage, where there is a file
    of the region.

    Raises:
        CostError: not that module, or no such region.
        DocumentError: the folder cannot be written.
    """
    taken, prices = read_karpenter(module, region)
    source = f"Go module github.com/aws/{module.name.replace('@', ' ')} (AWS price list API)"
    return _write_table(folder, f"aws-{region}-{taken:%Y-%m}", region, taken, prices, source)


def write_spot_prices(module: Path, region: str, folder: Path) -> Path:
    """Write a table of spot prices out of the ec2-instances-info module; returns its path.

    Raises:
        CostError: not that module, or no such region.
        DocumentError: the folder cannot be written.
    """
    taken, prices = read_spot_prices(module, region)
    name = f"aws-{region}-spot-{taken:%Y-%m}"
    source = f"Go module github.com/cristim/{module.name.replace('@', ' ')}, its spot_avg"
    return _write_table(folder, name, region, taken, prices, source, purchase="spot")


def _write_table(
    folder: Path, name: str, region: str, taken: datetime, prices: dict[str, Decimal], source: str,
    purchase: Literal["on-demand", "spot"] = "on-demand",
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
    write_whole(path, text)
    return path


def _storage_of(region: str) -> str:
    """The recorded storage prices of a region as YAML; empty where there are none."""
    storage = resources.files("wavetank.cost").joinpath("data", "storage", f"{region}.yaml")
    return storage.read_text(encoding="utf-8") if storage.is_file() else ""
