"""Accounts of clouds as processes of this machine, and clusters in them, for tests."""

from __future__ import annotations

import contextlib
import importlib
import json
import subprocess
import sys
import urllib.request
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from http.client import HTTPException
from typing import TYPE_CHECKING, Any, Protocol

from wavetank.cluster import deploy, registry
from wavetank.cluster.clouds.bill import holdings
from wavetank.cluster.clouds.engine import remove_all
from wavetank.cluster.clouds.provider import CloudProvider
from wavetank.cluster.spec import ClusterSpec
from wavetank.cluster.state import directory_of

if TYPE_CHECKING:
    import pytest

MOUNT = "/made-by-cloud/mount"  # of clusters whose machines are nodes


class AccountOfTests(Protocol):
    """What the modules aws_account and openstack_account have: an account of a cloud, and clusters in it.

    Attributes:
        OWN_IMAGE: terms of a cluster whose image has all that is needed.
    """

    OWN_IMAGE: dict[str, str]

    def environment(self, url: str) -> dict[str, str]:
        """By which the account at a URL is found."""

    def without_waits(self) -> None:
        """Have this process wait for no account: emulators show everything at once."""

    def body_of(self, name: str = "lab", **changes: Any) -> dict[str, Any]:
        """A small cluster."""

    def account_class(self) -> Any:
        """Class whose method ``call`` makes each call."""

    def makes_machines(self, words: Sequence[str]) -> bool:
        """Whether a call, by its words, makes machines."""

    def is_step(self, words: Sequence[str]) -> bool:
        """Whether a process is killed after a call."""


def account_of(provider: str) -> AccountOfTests:
    """That of a provider. Only its cloud's library is loaded."""
    found: AccountOfTests = importlib.import_module(f"{provider}_account")  # type: ignore[assignment]
    return found


class Emulator:
    """A cloud as a process of this machine.

    Args:
        program: and its arguments.
    """

    def __init__(self, *program: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, *program],
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


def wait_for_none(account: type) -> None:
    """Have this process wait neither for an account of this class nor by the clock."""
    account.pause = lambda self, n_before: None  # type: ignore[attr-defined]
    CloudProvider.clock = QuickClock()


class Elsewhere(Emulator):
    """The emulator of whoever called this program."""

    def __init__(self, url: str) -> None:
        self.url = url

    def end(self) -> None:
        """End it, where it is a copy."""
        with contextlib.suppress(OSError, HTTPException):  # it ends without an answer
            self._ask("end")


def prune_all(spec: ClusterSpec) -> None:
    """Remove all that an account has of any cluster, as prune does; what was asked for is shown by now.

    Args:
        spec: a cluster of the account's region.
    """
    assert spec.cloud is not None
    cloud = registry.cloud(spec.provider, spec.cloud.region)
    for each in holdings(cloud):
        remove_all(cloud, each.key, QuickClock())


def create(spec: ClusterSpec) -> None:
    """As deploy does it, without a file system on hosts that do not exist."""
    directory = directory_of(spec.name)
    directory.claim()
    directory.note(do="provider", name=spec.provider)
    deploy._write_state(directory, spec, "starting")
    registry.provider(spec.provider).create(spec)


def make_twice(monkeypatch: pytest.MonkeyPatch, cloud: type, method: str) -> None:
    """Have each thing be made by two calls, as after an answer that was lost; the second one tells what the first did."""
    make = getattr(cloud, method)

    def twice(self: object, wanted: object, lease: object) -> object:
        first = make(self, wanted, lease)
        assert make(self, wanted, lease) == first
        return first

    monkeypatch.setattr(cloud, method, twice)
