"""What ``down`` or ``prune`` makes of a wavetank that is killed (SIGKILL) after each of its calls to AWS: a line for each try.

Usage: aws_killed.py up|down|prune URL FOLDER KIND: killed after each call, of a cluster with a file system of that kind. With one that
AWS runs, from the first call that makes, or deletes, what serves it: those before are as of the others.
A kill leaves the account and the folder as they are then: a try works on copies of both. Meanwhile a twin of the process that was killed,
forked just before, waits; it goes on with the account and the folder themselves, to be killed after the next call.
Each runs in a process of its own, forked: boto3 reads its data once.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import shutil
import signal
import struct
import sys
import traceback
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from http.client import HTTPException
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
    create,
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
TWIN = struct.Struct("i")  # process id
SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER of prctl(2)
FIRST_OF_SERVED = {
    "up": ("CreateFileSystem",),
    "prune": ("CreateFileSystem",),
    "down": ("DeleteFileSystem", "DeleteMountTarget"),
}


class Elsewhere(Emulator):
    """The emulator of whoever called this program."""

    def __init__(self, url: str) -> None:
        self.url = url

    def end(self) -> None:
        """End it, where it is a copy."""
        with contextlib.suppress(OSError, HTTPException):  # it ends without an answer
            self._ask("end")


def up() -> None:
    """As deploy does it, without hosts."""
    create(SPECS[sys.argv[4]])


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


def in_a_process(action: Callable[[], None], at_call: Callable[[int], None] | None = None) -> None:
    """Do it; after each of its calls the process is killed, ``at_call`` is called with the number of calls so far, and a twin goes on."""
    calls, calling = os.pipe()
    waiting, going_on = os.pipe()
    running = os.fork()
    if running == 0:
        status = 1
        try:
            os.close(calls)
            os.close(going_on)
            if at_call is not None:
                _stop_at_calls(calling, waiting)
            action()
            status = 0
        except BaseException:
            traceback.print_exc()
            raise
        finally:
            sys.stderr.flush()
            os._exit(status)
    os.close(calling)
    os.close(waiting)
    n = 0
    while told := os.read(calls, TWIN.size):
        n += 1
        os.kill(running, signal.SIGKILL)
        _, status = os.waitpid(running, 0)
        if not os.WIFSIGNALED(status) or os.WTERMSIG(status) != signal.SIGKILL:
            raise SystemExit(f"{action.__name__} was not killed after call {n}")
        assert at_call is not None
        at_call(n)
        (running,) = TWIN.unpack(told)  # a child of this process since its parent is gone
        os.write(going_on, b".")
    os.close(calls)
    os.close(going_on)
    if os.waitpid(running, 0)[1] != 0:
        raise SystemExit(f"{action.__name__} failed")


def _stop_at_calls(calling: int, waiting: int) -> None:
    """After each call make a twin, tell of it, and wait to be killed; the twin goes on when it may."""
    call = account.Account.call

    def stopped(
        self: account.Account, service: str, operation: str, **asked: Any
    ) -> dict[str, Any]:
        try:
            return call(self, service, operation, **asked)
        finally:  # an answer that is an error is one too
            twin = os.fork()
            if twin != 0:
                os.write(calling, TWIN.pack(twin))
                while True:
                    signal.pause()
            os.read(waiting, 1)

    account.Account.call = stopped  # type: ignore[method-assign]


def later() -> QuickClock:
    """When this try's own calls are shown: tries may take longer than that together."""
    return QuickClock(datetime.now(UTC) + AFTER)


class Kills:
    """What comes of a kill after each call."""

    def __init__(self, how: str, aws: Elsewhere, folder: Path, kind: str) -> None:
        self.how, self.aws, self.folder = how, aws, folder
        self.first_calls = FIRST_OF_SERVED[how] if kind != "glusterfs" else None

    def at_call(self, n: int) -> None:
        """Try it with copies of the account and of the folder as they are now."""
        if self.first_calls:
            if self.aws.calls()[-1].partition(":")[2] not in self.first_calls:
                return
            self.first_calls = None
        copy = self.folder.with_name("copy")
        shutil.copytree(self.folder, copy, symlinks=True)
        aws = Elsewhere(self.aws.copy())
        point_to(aws, copy)
        self.report(aws, n)
        point_to(self.aws, self.folder)
        aws.end()
        shutil.rmtree(copy)

    def report(self, aws: Elsewhere, killed_after: int | None) -> None:
        """Have down, or prune, remove what there is, and print what is left."""
        then, calls = len(aws.left()), aws.calls()
        clock = CloudProvider.clock
        CloudProvider.clock = later()
        in_a_process(prune if self.how == "prune" else down)
        CloudProvider.clock = clock
        line = {
            "killed_after": killed_after, "call": calls[-1] if calls else "", "calls": calls, "left_then": then,
            "left": aws.left(), "folder": directory_of("lab").path.exists(),
        }  # fmt: skip
        print(json.dumps(line), flush=True)


def point_to(aws: Elsewhere, folder: Path) -> None:
    """Have what comes use this account, and keep its clusters there."""
    os.environ |= {"AWS_ENDPOINT_URL": aws.url, "WAVETANK_STATE_DIR": str(folder)}


def main() -> None:
    how, url, folder, kind = sys.argv[1:]
    assert ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0) == 0
    os.environ |= ENVIRONMENT
    aws = Elsewhere(url)
    point_to(aws, Path(folder))
    session = boto3.Session(region_name="us-east-1")
    for service in ("ec2", "sts", "ssm", "scheduler", "fsx", "efs"):
        session.client(service)
    account.boto3.Session = lambda **_: session
    CloudProvider.wait_ready = lambda self, spec: None  # type: ignore[method-assign]
    CloudProvider.prepare_launches = lambda self, nodes: None  # type: ignore[method-assign]
    engine.LOOKS_AT_NOTHING = 1  # kills between looks that are alike say nothing new
    hosts.take = lambda spec, leave: hosts.SshNodes(
        spec, directory_of(spec.name), {}, "/storage/data"
    )
    hosts.examine = lambda spec, needs: []
    kills = Kills(how, aws, Path(folder), kind)
    for clock, once in ((QuickClock(), up), (later(), down)):
        CloudProvider.clock = clock
        in_a_process(once)  # so that the account has read how services answer: else each copy does
    aws.reset()
    CloudProvider.clock = QuickClock()
    if how == "down":
        in_a_process(up)
        CloudProvider.clock = later()
    in_a_process(down if how == "down" else up, kills.at_call)
    kills.report(aws, None)


if __name__ == "__main__":
    main()
