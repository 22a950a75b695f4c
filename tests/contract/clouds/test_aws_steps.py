"""Whoever brings a cluster up in a cloud sees what happens, a line a step, and a line a minute of what is waited for."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path

import pytest

pytest.importorskip("moto", reason="moto is not installed: make setup-test")

from aws_account import LUSTRE, Emulator, QuickClock, body_of, create, served_of
from click.testing import CliRunner
from recorded_hosts import Recorder

from wavetank.cli.main import cli
from wavetank.cluster import deploy
from wavetank.cluster.clouds.reach import LOOK, STARTED_WITHIN, STARTS, wait_ready
from wavetank.cluster.clouds.user_data import HAS_END
from wavetank.cluster.host import Finished
from wavetank.errors import ProviderError, RemoteCommandError
from wavetank.steps import STEPS


@pytest.fixture
def lines(caplog: pytest.LogCaptureFixture) -> Callable[[], list[str]]:
    """The steps so far."""
    caplog.set_level(logging.INFO, STEPS)
    return lambda: [each.getMessage() for each in caplog.records if each.name == STEPS]


class Starting:
    """A host that answers, and then is ready, after some looks.

    Args:
        silent: calls that are not answered.
        busy: what cloud-init writes, a line for each look while it runs.
        fails: whether its first start went wrong.
        ends: whether its end is scheduled.
    """

    def __init__(
        self, name: str, *, silent: int = 0, busy: Sequence[str] = (), fails: bool = False, ends: bool = True
    ) -> None:  # fmt: skip
        self.name, self.address = name, "192.0.2.1"
        self.silent, self.busy, self.fails, self.ends = silent, list(busy), fails, ends

    def run(self, argv: Sequence[str], **_: object) -> Finished:
        if self.silent > 0:
            self.silent -= 1
            raise RemoteCommandError(self.name, argv, 255, "ssh: Connection refused")
        if argv[-1] == LOOK and self.busy:
            return Finished(f"{STARTS}\nGet:1 packages\n{self.busy.pop(0)}\n\n", "", 0.0)
        if (argv[-1] == LOOK and self.fails) or (argv[-1] == HAS_END and not self.ends):
            raise RemoteCommandError(self.name, argv, 1, "")
        return Finished("E: no such package\n" if argv[-1].startswith("tail") else "", "", 0.0)


def wait(*hosts: Starting) -> QuickClock:
    clock = QuickClock()
    wait_ready({host.name: host for host in hosts}, clock, "lab")  # type: ignore[dict-item,misc]
    return clock


def test_up_and_down_say_every_step_without_being_asked(
    aws: Emulator, recorders: dict[str, Recorder], tmp_path: Path
) -> None:
    file = tmp_path / "lab.yaml"
    file.write_text(
        json.dumps(body_of(file_system={"kind": "nfs", "options": {"server": "kernel"}}))
    )
    # the status of what notes commands alone is not well; what was said before is what counts
    said = CliRunner().invoke(cli, ["cluster", "up", str(file), "--keep-on-failure"]).stderr
    assert recorders
    order = [
        "lab: making key-pair wavetank-lab-", "lab: making security-group ", "lab: making instances c1, c2 in us-east-1",
        "lab: making instances io1 in us-east-1", "lab: 3 instances run in us-east-1",
        "lab: waiting for ssh and the first start of c1, c2, io1", "lab: bringing wavetank's parts to c1, c2",
        "lab: 3 nodes after ", "lab: starting file system nfs", "lab: nfs serves after ", "lab: mounted after ",
    ]  # fmt: skip
    places = [said.find(each) for each in order]
    assert -1 not in places and places == sorted(places), said
    down = CliRunner().invoke(cli, ["cluster", "down", "lab"])
    assert "lab: removing everything of wavetank-lab-" in down.stderr
    assert "nothing is left in us-east-1" in down.stderr
    assert aws.left() == []


@pytest.mark.usefixtures("unreached")
def test_a_file_system_that_takes_long_is_told_of_each_minute_with_its_state(
    aws: Emulator, lines: Callable[[], list[str]]
) -> None:
    aws.behave(served_slow=18)  # a look each 5 s: a minute and some
    create(served_of(LUSTRE))
    told = [each for each in lines() if " is creating, after " in each]
    assert [each.partition("after ")[2] for each in told] == [
        f"{minutes} min (40 min at most)" for minutes in (1,)
    ]
    assert all("fs-" in each for each in told)
    deploy.take_down("lab")
    left = [each for each in lines() if each.startswith("lab: left after 1 min: ")]
    assert len(left) == 1 and "fsx-lustre fs-" in left[0]
    assert aws.left() == []


def test_hosts_that_start_are_told_of_each_minute_with_what_they_do(
    lines: Callable[[], list[str]],
) -> None:
    busy = [f"Setting up glusterfs-server ({n})\x1b[1m" for n in range(25)]
    clock = wait(Starting("c1", silent=14), Starting("c2"), Starting("io1", busy=busy))
    told = [each for each in lines() if "not ready after" in each]
    # looks are 5 s apart: the 13th is after a minute, the 25th after two
    assert told == [
        "lab: not ready after 1 min: c1 does not answer ssh: ssh: Connection refused; io1 Setting up glusterfs-server (12)[1m",
        "lab: not ready after 2 min: io1 Setting up glusterfs-server (24)[1m",
    ]
    assert [each for each in lines() if each.endswith(" is ready")] == [
        f"lab: {name} is ready" for name in ("c2", "c1", "io1")
    ]
    assert set(clock.slept) == {5.0}


def test_each_host_that_cannot_be_used_is_named_with_why_and_how_long_is_limited() -> None:
    with pytest.raises(ProviderError) as raised:
        wait(
            Starting("c1", silent=1000),
            Starting("c2", fails=True),
            Starting("c3", ends=False),
            Starting("io1", busy=["mkfs"] * (int(STARTED_WITHIN / timedelta(seconds=5)) + 3)),
        )
    first, second, third, fourth = str(raised.value).split("\n  ")
    assert first.startswith("c1 (192.0.2.1) does not answer ssh: ssh: Connection refused. Does")
    assert second == "c2: its first start failed: E: no such package"
    assert third.startswith("c3 has no end scheduled")
    assert fourth.startswith("io1: its first start did not end within 30 min: E: no such")


def test_a_connection_that_is_lost_while_a_host_starts_is_made_again() -> None:
    class Restarting(Starting):
        def run(self, argv: Sequence[str], **how: object) -> Finished:
            if argv[-1] == LOOK and self.busy and self.busy[0] == "restart":
                self.busy.pop(0)
                raise RemoteCommandError(self.name, argv, 255, "Connection closed by remote host")
            return super().run(argv, **how)

    host = Restarting("c1", busy=["one", "restart", "two"])
    wait(host)
    assert host.busy == []
