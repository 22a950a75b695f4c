"""A program that brings a cluster up on instances that are nodes, is killed (SIGKILL) on the way, and takes it down: a line for each kill.

Usage: aws_killed_there.py NAME [STEP...], as a command of aws_loopback.py: killed after these steps, or after each until it comes up whole.
A step is a call to the account, from the first RunInstances on, or a command on an instance. Those of several instances at once come in any
order.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))
from aws_account import ask, spec_of, without_waits

from waiting import until
from wavetank.cluster import deploy
from wavetank.cluster.clouds.aws.account import Account
from wavetank.cluster.remote.host import SshHost
from wavetank.cluster.spec import ClusterSpec
from wavetank.cluster.state import directory_of

URL = os.environ["WAVETANK_TEST_AWS"]


def cluster(name: str) -> ClusterSpec:
    """The smallest one with a file system of its own."""
    return spec_of(
        name,
        nodes={"compute": 1, "io": 1},
        file_system={"kind": "nfs", "mount": "/made-by-aws/mount"},
        cloud={"image": "ami-12c6146b"},  # nodes have no kernel's NFS server
    )


class Steps:
    """Kills this process after a step."""

    def __init__(self, last: int) -> None:
        self.last, self.n, self.counts = last, 0, False
        self.one_by_one = threading.Lock()

    def done(self, what: str) -> None:
        with self.one_by_one:
            self.n += self.counts
            if self.n == self.last:
                os.write(1, f"{what}\n".encode())
                os.kill(os.getpid(), signal.SIGKILL)


def up(name: str, last: int) -> None:
    """Bring it up, until it is killed."""
    steps, call, run = Steps(last), Account.call, SshHost.run

    def called(self: Account, service: str, operation: str, **asked: Any) -> dict[str, Any]:
        steps.counts |= operation == "RunInstances" and not asked.get("DryRun")
        try:
            return call(self, service, operation, **asked)
        finally:
            steps.done(operation)

    def ran(self: SshHost, argv: Any, **more: Any) -> Any:
        try:
            return run(self, argv, **more)
        finally:
            steps.done(f"{self.name}: {argv[0]}")

    Account.call, SshHost.run = called, ran  # type: ignore[method-assign]
    deploy.bring_up(cluster(name))
    print(f"up after {steps.n} steps")


def processes(*marks: str) -> list[str]:
    """Command lines that name one of these."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            except OSError:
                continue
            if any(mark in line for mark in marks):
                found.append(line)
    return found


def tries(name: str, steps: Iterator[int]) -> Iterator[dict[str, Any]]:
    """What came of each kill."""
    state = os.environ["WAVETANK_STATE_DIR"]
    for step in steps:
        with tempfile.TemporaryDirectory(prefix="wtk", dir="/tmp") as scratch:  # for short paths
            environment = {**os.environ, "TMPDIR": scratch}

            def asked(*words: str, given: dict[str, str] = environment) -> Any:
                command = [sys.executable, __file__, name, *words]
                return subprocess.run(
                    command, env=given, capture_output=True, text=True, check=False
                )

            came_up = asked("up", str(step))
            then = len(ask(URL, "left"))
            down = asked("down")
            until(
                lambda mark=scratch: not processes(f"{state}/clusters/{name}/", mark)
            )  # their hosts are gone
            yield {
                "step": step, "after": came_up.stdout.strip(), "status": came_up.returncode, "left_then": then,
                "left": ask(URL, "left"), "down": [down.returncode, down.stderr],
                "folder": directory_of(name).path.exists(), "scratch": os.listdir(scratch),
            }  # fmt: skip
        if came_up.returncode != -signal.SIGKILL:
            return


def main() -> None:
    name, *words = sys.argv[1:]
    without_waits()
    if words[:1] == ["up"]:
        up(name, int(words[1]))
    elif words == ["down"]:
        deploy.take_down(name)
    else:
        for each in tries(name, map(int, words) if words else count(1)):
            print(json.dumps(each), flush=True)


if __name__ == "__main__":
    main()
