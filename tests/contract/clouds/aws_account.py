"""The emulator of AWS, and clusters in it, for tests."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from wavetank.cluster import deploy
from wavetank.cluster.clouds.aws.account import Account
from wavetank.cluster.clouds.provider import CloudProvider
from wavetank.cluster.providers.aws import AwsProvider
from wavetank.cluster.spec import ClusterSpec
from wavetank.cluster.state import directory_of

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


class Emulator:
    """AWS as a process of this machine.

    Args:
        program: and its arguments; the default has instances that are no machines.
    """

    def __init__(self, *program: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, *(program or (str(EMULATOR),))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        assert self.process.stdout is not None
        self.url = f"http://127.0.0.1:{int(self.process.stdout.readline())}"

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()

    def reset(self) -> None:
        self._ask("reset", {})

    def behave(self, **how: Any) -> None:
        self._ask("", how)

    def calls(self) -> list[str]:
        return list(self._ask("calls")["calls"])

    def made(self) -> list[dict[str, list[str]]]:
        return list(self._ask("calls")["made"])

    def left(self) -> list[str]:
        """What there is in the account, beside what each has."""
        return list(self._ask("left"))

    def copy(self) -> str:
        """The URL of another emulator, whose account is as this one's is now."""
        return f"http://127.0.0.1:{int(self._ask('copy'))}"

    def _ask(self, path: str, body: object = None) -> Any:
        return ask(self.url, path, body)


def ask(url: str, path: str, body: object = None) -> Any:
    """Tell an emulator something, or have it tell."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"{url}/hostile/{path}".rstrip("/"), data=data)
    with urllib.request.urlopen(request) as answer:
        return json.loads(answer.read())


class QuickClock:
    """Time that passes only by being waited for."""

    def __init__(self, start: datetime | None = None) -> None:
        self.time = start or datetime.now(UTC)
        self.slept: list[float] = []

    def now(self) -> datetime:
        return self.time

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.time += timedelta(seconds=seconds)


def without_waits() -> None:
    """Have this process wait for no account: the emulator shows everything at once."""
    Account.pause = lambda self, n_before: None  # type: ignore[method-assign]
    CloudProvider.clock = QuickClock()


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


def create(spec: ClusterSpec) -> None:
    """As deploy does it, without a file system on hosts that do not exist."""
    directory = directory_of(spec.name)
    directory.claim()
    directory.note(do="provider", name=spec.provider)
    deploy._write_state(directory, spec, "starting")
    AwsProvider().create(spec)


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
