"""A program that brings a cluster up on machines that are nodes, is killed (SIGKILL) on the way, and removes it: a line for each kill.

Usage: killed_there.py down|prune NAME [STEP...], as a command of cloud_loopback.py: killed after these steps, or after each until it comes
up whole. A step is a call to the account, from the first that makes machines on, or a command on a machine; of OpenStack only calls that
change something. Those of several machines at once come in any order. "down" has the cluster's folder, "prune" does not.
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
from emulated_account import MOUNT, account_of, ask, prune_all

from waiting import until
from wavetank.cluster import deploy
from wavetank.cluster.remote.host import SshHost
from wavetank.cluster.spec import ClusterSpec
from wavetank.cluster.state import directory_of

CLOUD, URL = os.environ["WAVETANK_TEST_CLOUD"], os.environ["WAVETANK_TEST_CLOUD_URL"]
HERE = account_of(CLOUD)


def cluster(name: str) -> ClusterSpec:
    """The smallest one with a file system of its own."""
    body = HERE.body_of(
        name,
        nodes={"compute": 1, "io": 1},
        file_system={"kind": "nfs", "mount": MOUNT},
        storage={"size": "20 GiB"},
        cloud=HERE.OWN_IMAGE,  # nodes have no kernel's NFS server
    )
    return ClusterSpec.model_validate(body)


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
    steps, account, run = Steps(last), HERE.account_class(), SshHost.run
    call = account.call

    def called(self: Any, *words: str, **asked: Any) -> dict[str, Any]:
        steps.counts |= HERE.makes_machines(words) and not asked.get("DryRun")
        try:
            found: dict[str, Any] = call(self, *words, **asked)
            return found
        finally:
            if HERE.is_step(words):
                steps.done(" ".join(words))

    def ran(self: SshHost, argv: Any, **more: Any) -> Any:
        try:
            return run(self, argv, **more)
        finally:
            steps.done(f"{self.name}: {argv[0]}")

    account.call = called
    SshHost.run = ran  # type: ignore[method-assign]
    deploy.bring_up(cluster(name))
    print(f"up after {steps.n} steps")


def prune(name: str) -> None:
    """As on another machine: nothing is known but what the account has."""
    if directory_of(name).path.exists():
        directory_of(name).erase()
    prune_all(cluster(name))


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


def tries(how: str, name: str, steps: Iterator[int]) -> Iterator[dict[str, Any]]:
    """What came of each kill."""
    state = os.environ["WAVETANK_STATE_DIR"]
    for step in steps:
        with tempfile.TemporaryDirectory(prefix="wtk", dir="/tmp") as scratch:  # for short paths
            environment = {**os.environ, "TMPDIR": scratch}

            def asked(*words: str, given: dict[str, str] = environment) -> Any:
                command = [sys.executable, __file__, *words[:1], name, *words[1:]]
                return subprocess.run(
                    command, env=given, capture_output=True, text=True, check=False
                )

            came_up = asked("up", str(step))
            then = len(ask(URL, "left"))
            removed = asked(how, "now")
            until(
                lambda mark=scratch: not processes(f"{state}/clusters/{name}/", mark)
            )  # their hosts are gone
            yield {
                "step": step, "after": came_up.stdout.strip(), "status": came_up.returncode, "left_then": then,
                "left": ask(URL, "left"), "removed": [removed.returncode, removed.stderr],
                "folder": directory_of(name).path.exists(), "scratch": os.listdir(scratch),
            }  # fmt: skip
        if came_up.returncode != -signal.SIGKILL:
            return


def main() -> None:
    how, name, *words = sys.argv[1:]
    HERE.without_waits()
    if how == "up":
        up(name, int(words[0]))
    elif words == ["now"]:
        {"down": deploy.take_down, "prune": prune}[how](name)
    else:
        for each in tries(how, name, map(int, words) if words else count(1)):
            print(json.dumps(each), flush=True)


if __name__ == "__main__":
    main()
