"""What an account says of an instance type, held against the catalogue by which wavetank plans, prices and emulates it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from wavetank.cluster.instance_types import GIGABYTE, InstanceType, row_of
from wavetank.errors import ProviderError

NETWORK, RATE = "network", "rate of the network"
RENEW = "'wavetank instances refresh' renews it"


def differences(known: InstanceType, entry: Mapping[str, Any]) -> Iterator[str]:
    """Findings, one for each property that both name, and name otherwise.

    Args:
        known: of the catalogue.
        entry: of the answer of EC2's DescribeInstanceTypes.

    Raises:
        ProviderError: the answer lacks what EC2 says of every type.
    """
    try:
        said = row_of(entry)
    except KeyError as error:
        raise ProviderError(
            f"AWS: ec2:DescribeInstanceTypes says nothing of {error} of {known.name}, as it should"
        ) from error
    here, there = _words(known.model_dump()), _words(said)
    both = [what for what in here if what in there]
    if RATE in both:  # the words are of it
        both.remove(NETWORK)
    for what in both:
        if here[what] != there[what]:
            yield (
                f"instance {known.name} has {there[what]} in this account, and {here[what]} in wavetank's catalogue: {RENEW}"
            )


def _words(row: Mapping[str, Any]) -> dict[str, str]:
    """Properties that decide what is measured, in the units of AWS; without those that the row does not have."""
    n, size = row["n_local_disks"], row["local_disk_bytes"] / GIGABYTE
    network, volumes = row["network_baseline_bytes_per_s"], row["ebs_baseline_bytes_per_s"]
    found = {
        "vcpus": f"{row['vcpus']} vCPUs",
        "memory": f"{row['memory_bytes'] // 2**20} MiB of memory",
        NETWORK: f"a network of {row['network_text']!r}",
        "disks": f"{n} x {size:g} GB of local disks" if n else "no local disks",
    }
    if network is not None:
        found[RATE] = f"{network * 8 / GIGABYTE:g} Gbit/s of network for long"
    if volumes is not None:
        found["volumes"] = f"{volumes / 10**6:g} MB/s to its volumes for long"
    if row["ebs_baseline_iops"] is not None:
        found["iops"] = f"{row['ebs_baseline_iops']} IOPS of its volumes for long"
    return found
