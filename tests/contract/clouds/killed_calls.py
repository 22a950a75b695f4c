"""What ``down`` or ``prune`` makes of a wavetank that is killed (SIGKILL) after each of its calls to a cloud: a line for each try.

A kill leaves the account and the folder as they are then: a try works on copies of both. Meanwhile a twin of the process that was killed,
forked just before, waits; it goes on with the account and the folder themselves, to be killed after the next call.
Each runs in a process of its own, forked: libraries of clouds read their data once.
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
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))
from emulated_account import Elsewhere, QuickClock, create, prune_all

from wavetank.cluster import deploy
from wavetank.cluster.clouds import engine
from wavetank.cluster.clouds.provider import CloudProvider
from wavetank.cluster.remote import hosts
from wavetank.cluster.spec import ClusterSpec
from wavetank.cluster.state import directory_of
from wavetank.errors import ClusterError

# What a killed process asked for is shown by then; the tests of late answers do without this.
AFTER = timedelta(minutes=5)
TWIN = struct.Struct("i")  # process id
SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER of prctl(2)


@dataclass(frozen=True)
class Killed:
    """What is killed.

    Attributes:
        account: class whose method ``call`` makes each call.
        environment: by which a cloud at a URL is found.
        spec: of the cluster, whose name is lab.
        first_calls: kills begin at the first of these; None: at the first call.
        changes: which calls change something. Where it is given, a process is killed after these, and after the call that follows each:
            the account is the same then. While a cluster comes up, ``down`` follows the first kill, and ``prune`` the second.
    """

    account: Any
    environment: Callable[[str], dict[str, str]]
    spec: ClusterSpec
    first_calls: tuple[str, ...] | None = None
    changes: Callable[[str], bool] | None = None


def down() -> None:
    with contextlib.suppress(ClusterError):  # killed when nothing was left but its folder
        deploy.take_down("lab")


def in_a_process(
    action: Callable[[], None], account: Any = None, at_call: Callable[[int], None] | None = None
) -> None:
    """Do it; after each of its calls the process is killed, ``at_call`` is called with the number of calls so far, and a twin goes on."""
    calls, calling = os.pipe()
    waiting, going_on = os.pipe()

    def child() -> None:
        os.close(calls)
        os.close(going_on)
        if at_call is not None:
            _stop_at_calls(account, calling, waiting)
        action()

    running = _forked(child)
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


def _forked(child: Callable[[], None]) -> int:
    """Begin something in a process of its own, which ends with status 1 and the traceback where it fails; its number."""
    running = os.fork()
    if running == 0:
        status = 1
        try:
            child()
            status = 0
        except BaseException:
            traceback.print_exc()
            raise
        finally:
            sys.stderr.flush()
            os._exit(status)
    return running


def _stop_at_calls(account: Any, calling: int, waiting: int) -> None:
    """After each call make a twin, tell of it, and wait to be killed; the twin goes on when it may."""
    call = account.call

    def stopped(self: Any, *words: Any, **asked: Any) -> dict[str, Any]:
        try:
            found: dict[str, Any] = call(self, *words, **asked)
            return found
        finally:  # an answer that is an error is one too
            twin = os.fork()
            if twin != 0:
                os.write(calling, TWIN.pack(twin))
                while True:
                    signal.pause()
            os.read(waiting, 1)

    account.call = stopped


def later() -> QuickClock:
    """When this try's own calls are shown: tries may take longer than that together."""
    return QuickClock(datetime.now(UTC) + AFTER)


class Kills:
    """What comes of a kill after each call."""

    def __init__(self, how: str, aws: Elsewhere, folder: Path, of: Killed) -> None:
        self.how, self.aws, self.folder, self.of = how, aws, folder, of
        self.first_calls = of.first_calls
        self.has_changed = False

    def at_call(self, n: int) -> None:
        """Try it with copies of the account and of the folder as they are now."""
        if self.first_calls:
            if self.aws.calls()[-1].partition(":")[2] not in self.first_calls:
                return
            self.first_calls = None
        if self.of.changes is not None:
            before, self.has_changed = self.has_changed, self.of.changes(self.aws.calls()[-1])
            if not self.has_changed and not before:
                return
        copy = self.folder.with_name("copy")
        shutil.copytree(self.folder, copy, symlinks=True)
        aws = Elsewhere(self.aws.copy())
        self.point_to(aws, copy)
        self.report(aws, n)
        self.point_to(self.aws, self.folder)
        aws.end()
        shutil.rmtree(copy)

    def report(self, aws: Elsewhere, killed_after: int | None) -> None:
        """Have down, or prune, remove what there is, and print what is left."""
        then, calls = len(aws.left()), aws.calls()
        clock = CloudProvider.clock
        CloudProvider.clock = later()
        is_second = self.of.changes is not None and self.how == "up" and not self.has_changed
        in_a_process(self.prune if self.how == "prune" or is_second else down)
        CloudProvider.clock = clock
        line = {
            "killed_after": killed_after, "call": calls[-1] if calls else "", "calls": calls, "left_then": then,
            "left": aws.left(), "folder": directory_of("lab").path.exists(),
        }  # fmt: skip
        print(json.dumps(line), flush=True)

    def up(self) -> None:
        """As deploy does it, without hosts."""
        create(self.of.spec)

    def prune(self) -> None:
        """As on another machine: nothing is known but what the account has."""
        if directory_of("lab").path.exists():
            directory_of("lab").erase()
        prune_all(self.of.spec)

    def point_to(self, aws: Elsewhere, folder: Path) -> None:
        """Have what comes use this account, and keep its clusters there."""
        os.environ |= {**self.of.environment(aws.url), "WAVETANK_STATE_DIR": str(folder)}

    def _make_quick(self) -> None:
        """No host is there to be reached, and looks that are alike say nothing new."""
        CloudProvider.wait_ready = lambda self, spec: None  # type: ignore[method-assign]
        CloudProvider.prepare_launches = lambda self, nodes: None  # type: ignore[method-assign]
        engine.LOOKS_AT_NOTHING = 1
        hosts.take = lambda spec, leave: hosts.SshNodes(
            spec, directory_of(spec.name), {}, "/storage/data"
        )
        hosts.examine = lambda spec, needs: []

    def run(self) -> None:
        """Kill after each call, and print what came of it; at last without a kill."""
        assert ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0) == 0
        self.point_to(self.aws, self.folder)
        self._make_quick()
        for clock, once in ((QuickClock(), self.up), (later(), down)):
            CloudProvider.clock = clock
            in_a_process(
                once
            )  # so that the account has read how services answer: else each copy does
        self.aws.reset()
        CloudProvider.clock = QuickClock()
        if self.how == "down":
            in_a_process(self.up)
            CloudProvider.clock = later()
        in_a_process(down if self.how == "down" else self.up, self.of.account, self.at_call)
        self.report(self.aws, None)
