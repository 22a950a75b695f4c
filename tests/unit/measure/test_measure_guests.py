"""What is said of numbers from guests."""

import pytest
from measure_fakes import MB, abyss_kernel
from measure_fakes import phase as made_phase

from wavetank.cluster.guests.hypervisors import RATES, RATES_KEY
from wavetank.cluster.guests.nodes import GuestHost
from wavetank.cluster.host import Finished
from wavetank.errors import MeasurementError, RemoteCommandError
from wavetank.measure.guests import (
    are_calls_comparable,
    doubts_of_guests,
    doubts_of_memory,
    incomparable_phases,
    notes_of_guests,
)

KERNEL = abyss_kernel(weight=40 * MB)


def test_phases_with_small_requests_in_user_mode_linux_are_named():
    large = made_phase(9, 1, [0], 40 * MB, rs=MB)
    kernel = KERNEL.model_copy(update={"phases": (KERNEL.phases[0], large)})
    (doubt,) = doubts_of_guests(kernel, {RATES_KEY: RATES["uml"]})
    assert "1 of 2 phases have requests below 64.0 KiB" in doubt
    assert "not comparable with hardware (phases 1)" in doubt
    only_large = KERNEL.model_copy(update={"phases": (large,)})
    assert doubts_of_guests(only_large, {RATES_KEY: RATES["uml"]}) == []


class Guest:
    name = "c1"

    def __init__(self, said="52000 1234567\n"):
        self.said = said

    def run(self, argv, **_):
        assert argv[1:] == ["costs"]
        return Finished(self.said, "", 2.0)


@pytest.fixture
def program(tmp_path, monkeypatch):
    """A program that says this machine's costs."""
    (tmp_path / "bin").mkdir()
    path = tmp_path / "bin/wavetank-node"
    path.write_text("#!/bin/sh\necho 195 93798\n")
    path.chmod(0o755)
    monkeypatch.setenv("WAVETANK_NATIVE_DIR", str(tmp_path))


@pytest.mark.usefixtures("program")
def test_a_characterisation_of_guests_has_the_cost_of_a_system_call_and_an_interrupt():
    assert notes_of_guests(Guest(), {"compute memory": "1 GiB"}) == []
    worth, call, interrupt = notes_of_guests(Guest(), {RATES_KEY: RATES["uml"]})
    assert RATES["uml"] in worth
    assert call.startswith("a system call takes 52 us in c1 and 0.2 us on this machine")
    assert interrupt.startswith("an interrupt takes 1200 us in c1 and 94 us on this machine")


@pytest.mark.usefixtures("program")
def test_a_guest_that_does_not_say_its_costs_is_an_error():
    with pytest.raises(MeasurementError, match="usage: wavetank-node create"):
        notes_of_guests(Guest("usage: wavetank-node create\n"), {RATES_KEY: RATES["uml"]})


def test_what_is_not_comparable_with_hardware():
    large = made_phase(9, 1, [0], 40 * MB, rs=MB)
    kernel = KERNEL.model_copy(update={"phases": (KERNEL.phases[0], large)})
    small = KERNEL.phases[0].ph_id
    for limits, phases, calls in (
        ({}, (), True),
        ({RATES_KEY: RATES["kvm"]}, (), True),
        ({RATES_KEY: RATES["uml"]}, (small,), False),
        ({RATES_KEY: RATES["tcg"]}, (small, 9), False),
    ):
        assert incomparable_phases(kernel, limits) == phases
        assert are_calls_comparable(limits) == calls


class GuestWithMemory(GuestHost):
    """A guest whose kernel says how much of its 200,000 KiB is left; None: it does not answer."""

    def __init__(self, name, left_kib, folder):
        super().__init__(name, "10.77.0.1", (), folder, None)
        self.left_kib = left_kib

    def run(self, argv, **_):
        assert argv == ["cat", "/proc/meminfo"]
        if self.left_kib is None:
            raise RemoteCommandError(self.name, argv, 1, "does not answer")
        said = f"MemTotal: 200000 kB\nMemFree: 1 kB\nMemAvailable: {self.left_kib} kB\n"
        return Finished(said, "", 0.0)


def test_guests_with_less_than_a_twentieth_of_their_memory_left_are_named_once(tmp_path):
    # a twentieth of 200,000 KiB is 10,000 KiB; 9,999 KiB are 9.8 MiB
    short, enough, gone = (
        GuestWithMemory(name, left, tmp_path)
        for name, left in (("c1", 9_999), ("c2", 10_000), ("c3", None))
    )
    (doubt,) = doubts_of_memory([short, enough, gone, short, Guest()])
    assert doubt.startswith("guest c1 had 9.8 MiB of 195.3 MiB of memory left after the run")
    assert doubts_of_memory([]) == []
