"""Sessions of the replay program: it runs when it is told to, for as long as it is told."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from itertools import count, takewhile
from pathlib import Path

import pytest

from waiting import HANG_S
from wavetank.errors import KernelError
from wavetank.kernel.construction.objects import object_kernel
from wavetank.kernel.execution.session import Order, ReplaySession
from wavetank.launchers.registry import launcher

SIZE = 4096
OBJECTS = 8


def now_ns() -> int:
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)


def session(
    tmp_path: Path, name: str = "none", n_clients: int = 1, operation: str = "write"
) -> ReplaySession:
    root, scratch = tmp_path / "root", tmp_path / "scratch"
    for folder in (root, scratch):
        folder.mkdir(exist_ok=True)
    kernel = object_kernel("objects", operation, SIZE, n_clients, SIZE * OBJECTS)
    for file in kernel.files:
        (root / file.name).write_bytes(bytes(file.prepare_bytes))
    return ReplaySession(kernel, str(root), launcher(name), scratch)


def longer_and_longer() -> Iterator[float]:
    """Durations in seconds: on a busy machine ranks begin late, and do little in a short one."""
    return takewhile(lambda duration: duration < HANG_S, (0.1 * 2**i for i in count()))


@pytest.mark.parametrize(("name", "n_clients"), [("none", 1), ("openmpi", 2)])
def test_a_session_performs_each_order_from_its_start_on(tmp_path, name, n_clients):
    if launcher(name).available() is None:
        pytest.skip(f"{name} is not installed")
    with session(tmp_path, name, n_clients) as running:
        running.wait_until_ready()
        goes_round = False
        for number, duration in enumerate(longer_and_longer()):
            running.order(Order(now_ns() + 100_000_000, duration, None, 0.0))
            found = running.result(HANG_S)
            assert len(found.ranks) == n_clients
            for rank in found.ranks:
                assert rank.begun_s >= 0
                assert rank.ended_s >= duration  # back to back: until the time is over
                assert all(start < duration for start, _ in rank.loops)
            moved = sum(phase.bytes for phase in found.result.phases)
            assert moved % SIZE == 0
            assert sum(n for rank in found.ranks for n, _ in rank.bins) == moved
            assert (found.latency is not None) == (moved > 0)
            goes_round = all(len(rank.loops) > 1 for rank in found.ranks)
            if goes_round and number > 0:
                break
        assert goes_round  # round and round in the file


def test_each_kernel_runs_once_where_loops_are_asked_for(tmp_path):
    with session(tmp_path) as running:
        running.wait_until_ready()
        running.order(Order(now_ns(), None, 1, 0.0))
        found = running.result(HANG_S)
    assert sum(phase.operations for phase in found.result.phases) == OBJECTS
    assert len(found.ranks[0].loops) == 1


def test_a_pause_longer_than_the_run_leaves_one_object(tmp_path):
    with session(tmp_path) as running:
        running.wait_until_ready()
        for duration in longer_and_longer():
            running.order(Order(now_ns() + 50_000_000, duration, None, 1000.0))
            found = running.result(HANG_S)
            if found.ranks[0].begun_s < duration:  # it was not too late for its first object
                break
    assert sum(phase.operations for phase in found.result.phases) == 1


def test_objects_are_read_as_well(tmp_path):
    with session(tmp_path, operation="read") as running:
        running.wait_until_ready()
        running.order(Order(now_ns(), None, 3, 0.0))
        found = running.result(HANG_S)
    assert sum(phase.bytes for phase in found.result.phases) == 3 * OBJECTS * SIZE


def test_a_file_that_is_gone_fails_the_run_with_its_name(tmp_path):
    with session(tmp_path, operation="read") as running:
        running.wait_until_ready()
        (tmp_path / "root" / "objects-0").unlink()
        running.order(Order(now_ns(), None, 1, 0.0))
        with pytest.raises(KernelError, match="objects-0"):
            running.result(HANG_S)


def test_a_session_that_is_left_ends_its_ranks(tmp_path, monkeypatch):
    monkeypatch.setattr(
        "wavetank.kernel.execution.session._GRACE_S", 0.5
    )  # they are in the middle of an order, and are ended
    with session(tmp_path) as running:
        running.wait_until_ready()
        running.order(Order(now_ns(), 3600.0, None, 0.0))
    assert running._process.poll() is not None


class OtherClock:
    """Starts a program whose clock is five seconds ahead of this one's, and has another name."""

    name, mpi_family = "other", None

    def command(self, job, scratch):
        program = (
            "import sys, time\n"
            "print('wavetank-replay-ready elsewhere/1', flush=True)\n"
            "for line in sys.stdin:\n"
            "    if line == 'clock\\n':\n"
            "        ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC) + 5_000_000_000\n"
            "        print('wavetank-replay-clock', ns, flush=True)\n"
        )
        return [sys.executable, "-c", program]


def test_clocks_of_other_machines_are_compared(tmp_path):
    kernel = object_kernel("objects", "write", SIZE, 1, SIZE)
    with ReplaySession(kernel, "/", OtherClock(), tmp_path) as running:
        running.wait_until_ready()
    assert running.clock_error_s > 0
    assert abs(running.clock_offset_s - 5) <= running.clock_error_s


def test_a_program_that_never_gets_ready_is_ended(tmp_path, monkeypatch):
    monkeypatch.setattr("wavetank.kernel.execution.session._GRACE_S", 0.5)

    class Silent(OtherClock):
        def command(self, job, scratch):
            return ["sleep", "1000000"]

    kernel = object_kernel("objects", "write", SIZE, 1, SIZE)
    with (
        pytest.raises(KernelError, match="did not get ready within 1 s"),
        ReplaySession(kernel, "/", Silent(), tmp_path) as running,
    ):
        running.wait_until_ready(timeout_s=1)
    assert running._process.poll() is not None
