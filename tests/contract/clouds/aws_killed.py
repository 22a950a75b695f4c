"""A program that kills wavetank after each of its calls to AWS, and then calls ``down`` or ``prune``: a line for each try.

Usage: aws_killed.py up|down|prune URL FOLDER FIRST EACH KIND: killed after call FIRST, FIRST + EACH and so on, of a cluster with a file
system of that kind. With one that AWS runs, calls are counted from the first that makes, or deletes, what serves it: those before are
as of the others.
It forks a process for each try: boto3 reads its data once.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
import boto3
from aws_account import (
    ENVIRONMENT,
    LUSTRE,
    NFS_BY_AWS,
    REAPER,
    Emulator,
    QuickClock,
    served_of,
    spec_of,
)

from wavetank.cluster import deploy
from wavetank.cluster.clouds import engine
from wavetank.cluster.clouds.aws import account
from wavetank.cluster.clouds.aws.cloud import AwsCloud
from wavetank.cluster.clouds.census import holdings
from wavetank.cluster.clouds.engine import remove_all
from wavetank.cluster.clouds.provider import CloudProvider
from wavetank.cluster.providers.aws import AwsProvider
from wavetank.cluster.remote import hosts
from wavetank.cluster.state import directory_of
from wavetank.errors import ClusterError

# What a killed process asked for is shown by then; the tests of late answers do without this.
AFTER = timedelta(minutes=5)
SPECS = {
    "glusterfs": spec_of(cloud={"reaper": REAPER}),
    "fsx-lustre": served_of(LUSTRE),
    "efs": served_of(NFS_BY_AWS),
}
FIRST_OF_SERVED = {
    "up": ("CreateFileSystem",),
    "prune": ("CreateFileSystem",),
    "down": ("DeleteFileSystem", "DeleteMountTarget"),
}


class Elsewhere(Emulator):
    """The emulator of whoever called this program."""

    def __init__(self, url: str) -> None:
        self.url = url


def up() -> None:
    """As deploy does it, without hosts."""
    directory = directory_of("lab")
    directory.claim()
    directory.note(do="provider", name="aws")
    AwsProvider().create(SPECS[sys.argv[6]])


def down() -> None:
    with contextlib.suppress(ClusterError):  # killed when nothing was left but its folder
        deploy.take_down("lab")


def prune() -> None:
    """As on another machine: nothing is known but what the account has."""
    if directory_of("lab").path.exists():
        directory_of("lab").erase()
    cloud = AwsCloud("us-east-1")
    for each in holdings(cloud):
        remove_all(cloud, each.key, QuickClock())


def in_a_process(action: Callable[[], None], killed_after: int | None = None) -> tuple[bool, int]:
    """Whether it was killed, and how many calls it made."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.close(reading)
            _count(writing, killed_after)
            action()
            status = 0
        finally:
            os._exit(status)
    os.close(writing)
    with os.fdopen(reading, "rb") as counted:
        n = len(counted.read())
    _, status = os.waitpid(child, 0)
    killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
    if not killed and status != 0:
        raise SystemExit(f"{action.__name__} failed")
    return killed, n


def _count(writing: int, killed_after: int | None) -> None:
    call = account.Account.call
    n = 0

    def counted(
        self: account.Account, service: str, operation: str, **asked: Any
    ) -> dict[str, Any]:
        nonlocal n
        try:
            return call(self, service, operation, **asked)
        finally:  # an answer that is an error is one too
            n += 1
            os.write(writing, b".")
            if n == killed_after:
                os.kill(os.getpid(), signal.SIGKILL)

    account.Account.call = counted  # type: ignore[method-assign]


def later() -> QuickClock:
    """When this try's own calls are shown: tries may take longer than that together."""
    return QuickClock(datetime.now(UTC) + AFTER)


def _calls_before(how: str, aws: Elsewhere) -> int:
    """Calls before the first that makes, or deletes, what serves the cluster."""
    aws.reset()
    CloudProvider.clock = QuickClock()
    in_a_process(up)
    n_before = len(aws.calls())
    CloudProvider.clock = later()
    in_a_process(down)
    calls = [call.partition(":")[2] for call in aws.calls()]
    first = next(i for i, call in enumerate(calls) if call in FIRST_OF_SERVED[how])
    return first - n_before if how == "down" else first


def main() -> None:
    how, url, folder, first, each, kind = sys.argv[1:]
    os.environ |= {**ENVIRONMENT, "AWS_ENDPOINT_URL": url, "WAVETANK_STATE_DIR": folder}
    aws = Elsewhere(url)
    session = boto3.Session(region_name="us-east-1")
    for service in ("ec2", "sts", "ssm", "scheduler", "fsx", "efs"):
        session.client(service)
    account.boto3.Session = lambda region_name: session
    CloudProvider.wait_ready = lambda self, spec: None  # type: ignore[method-assign]
    CloudProvider.prepare_launches = lambda self, nodes: None  # type: ignore[method-assign]
    engine.LOOKS_AT_NOTHING = 1  # kills between looks that are alike say nothing new
    hosts.take = lambda spec, leave: hosts.SshNodes(
        spec, directory_of(spec.name), {}, "/storage/data"
    )
    hosts.examine = lambda spec, needs: []
    n_killed = int(first) + (_calls_before(how, aws) if kind != "glusterfs" else 0)
    killed = True
    while killed:
        aws.reset()
        CloudProvider.clock = QuickClock()
        if how == "down":
            in_a_process(up)
            CloudProvider.clock = later()
            killed, n = in_a_process(down, n_killed)
        else:
            killed, n = in_a_process(up, n_killed)
        n_killed += int(each)
        then = len(aws.left())
        calls = aws.calls()
        CloudProvider.clock = later()
        in_a_process(prune if how == "prune" else down)
        last = calls[-1] if calls else ""
        line = {
            "killed": killed, "after": n, "call": last, "calls": calls, "left_then": then, "left": aws.left(),
            "folder": directory_of("lab").path.exists(),
        }  # fmt: skip
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
