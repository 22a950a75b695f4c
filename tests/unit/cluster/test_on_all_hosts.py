"""One thing done on all hosts at once: answers and errors in the order of hosts, so many at a time."""

from __future__ import annotations

import threading

import pytest

from waiting import HANG_S
from wavetank.cluster.host import on_all


def test_answers_are_in_the_order_of_hosts() -> None:
    later = threading.Event()

    def act(host: str) -> str:
        if host == "c1":
            assert later.wait(HANG_S)
        else:
            later.set()
        return f"{host} did it"

    assert on_all({"c1": 1, "c2": 2}, act) == ["c1 did it", "c2 did it"]


def test_no_hosts_give_no_answers() -> None:
    assert on_all((), str) == []


def test_the_first_hosts_error_is_said_though_another_failed_before() -> None:
    other_failed = threading.Event()

    def act(host: str) -> None:
        if host == "c2":
            other_failed.set()
        else:
            assert other_failed.wait(HANG_S)
        raise RuntimeError(f"{host} is out of order")

    with pytest.raises(RuntimeError, match="c1 is out of order"):
        on_all(["c1", "c2"], act)


def test_an_error_waits_for_what_has_begun() -> None:
    begun, ended = threading.Barrier(2), threading.Event()

    def act(host: str) -> None:
        begun.wait(HANG_S)
        if host == "c1":
            raise RuntimeError("c1 is out of order")
        ended.set()

    with pytest.raises(RuntimeError):
        on_all(["c1", "c2"], act)
    assert ended.is_set()


def test_at_most_so_many_hosts_act_at_once() -> None:
    now, most, lock, both = 0, 0, threading.Lock(), threading.Barrier(2)

    def act(_: int) -> None:
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        both.wait(HANG_S)  # goes on only where a second one acts
        with lock:
            now -= 1

    on_all(range(6), act, at_once=2)
    assert most == 2
