"""The emulator of AWS, and clusters in it, for tests."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from emulated_account import Elsewhere, Emulator, QuickClock, ask, create, wait_for_none

from wavetank.cluster.clouds.aws.account import Account
from wavetank.cluster.spec import ClusterSpec

__all__ = ["Elsewhere", "Emulator", "QuickClock", "ask", "create"]  # of all clouds
OWN_IMAGE = {"image": "ami-12c6146b"}  # terms of a cluster whose image has all that is needed
EMULATOR = Path(__file__).parent / "aws_emulator.py"
# Not credentials: the emulator takes any. The file names keep those of whoever runs the tests out.
ENVIRONMENT = {
    "AWS_ACCESS_KEY_ID": "AKIAIOSFODNN7EXAMPLE",
    "AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMI-EXAMPLEKEY",
    "AWS_SESSION_TOKEN": "FwoGZXIvYXdzEXAMPLETOKEN",
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_CONFIG_FILE": "/dev/null",
    "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
    "AWS_EC2_METADATA_DISABLED": "true",
}
SECRETS = (ENVIRONMENT["AWS_SECRET_ACCESS_KEY"], ENVIRONMENT["AWS_SESSION_TOKEN"])


def without_waits() -> None:
    """Have this process wait for no account: the emulator shows everything at once."""
    wait_for_none(Account)


def account_class() -> type[Account]:
    return Account


def makes_machines(words: Sequence[str]) -> bool:
    return words[1] == "RunInstances"


def is_step(words: Sequence[str]) -> bool:
    """Each call."""
    return bool(words)


def environment(url: str) -> dict[str, str]:
    """By which the emulator at a URL is found."""
    return {**ENVIRONMENT, "AWS_ENDPOINT_URL": url}


def body_of(name: str = "lab", **changes: Any) -> dict[str, Any]:
    """A cluster of three instances in two roles."""
    cloud = {
        "region": "us-east-1", "ttl": "2 h", "budget": "5 USD", "ssh_from": "192.0.2.0/24",
        **changes.pop("cloud", {}),
    }  # fmt: skip
    return {
        "name": name,
        "provider": "aws",
        "instance": {"name": "c5.large"},
        "nodes": {"compute": 2, "io": 1},
        "file_system": {"kind": "glusterfs"},
        "storage": {"size": "20 GiB"},
        "cloud": cloud,
        **changes,
    }


def spec_of(name: str = "lab", **changes: Any) -> ClusterSpec:
    return ClusterSpec.model_validate(body_of(name, **changes))


LUSTRE = {"kind": "fsx-lustre"}
NFS_BY_AWS = {"kind": "efs", "capacity": "10 GiB"}
REAPER = "arn:aws:iam::123456789012:role/reaper"


def served_of(file_system: dict[str, Any], **changes: Any) -> ClusterSpec:
    """A cluster whose file system is run by the cloud."""
    cloud = {"reaper": REAPER, "image": "ubuntu-24.04", **changes.pop("cloud", {})}
    nodes = {"compute": 2}
    return spec_of(file_system=file_system, nodes=nodes, cloud=cloud, **changes)


def of(made: list[dict[str, list[str]]], action: str) -> list[dict[str, str]]:
    return [
        {key: value[0] for key, value in each.items()}
        for each in made
        if each["Action"] == [action]
    ]
