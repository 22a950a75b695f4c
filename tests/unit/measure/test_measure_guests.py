"""What is said of numbers from guests."""

import subprocess

import pytest
from measure_fakes import MB, abyss_kernel
from measure_fakes import phase as made_phase

from wavetank.cluster.guests.hypervisors import RATES, RATES_KEY
from wavetank.cluster.host import Finished
from wavetank.errors import MeasurementError
from wavetank.measure.guests import CALLS, call_s, doubts_of_guests, notes_of_guests

KERNEL = abyss_kernel(weight=40 * MB)


def test_phases_with_small_requests_in_user_mode_linux_are_named():
    large = made_phase(9, 1, [0], 40 * MB, rs=MB)
    kernel = KERNEL.model_copy(update={"phases": (KERNEL.phases[0], large)})
    (doubt,) = doubts_of_guests(kernel, {RATES_KEY: RATES["uml"]})
    assert "1 of 2 phases have requests below 64.0 KiB" in doubt
    assert "not comparable with hardware (phases 1)" in doubt
    only_large = KERNEL.model_copy(update={"phases": (large,)})
    assert doubts_of_guests(only_large, {RATES_KEY: RATES["uml"]}) == []


def test_nothing_that_tcg_measures_is_comparable():
    large = KERNEL.model_copy(update={"phases": (made_phase(9, 1, [0], 40 * MB, rs=MB),)})
    (doubt,) = doubts_of_guests(large, {RATES_KEY: RATES["tcg"]})
    assert "not comparable with hardware" in doubt


@pytest.mark.parametrize("limits", [{}, {RATES_KEY: RATES["kvm"]}])
def test_without_guests_or_with_kvm_nothing_is_doubted(limits):
    assert doubts_of_guests(KERNEL, limits) == []


class Guest:
    name = "c1"

    def run(self, argv, **_):
        assert argv == CALLS
        return Finished("", "20000 bytes (20 kB, 20 KiB) copied, 2 s, 10 kB/s\n", 2.0)


def test_a_characterisation_of_guests_has_the_cost_of_a_system_call():
    assert notes_of_guests(Guest(), {"compute memory": "1 GiB"}) == []
    worth, cost = notes_of_guests(Guest(), {RATES_KEY: RATES["uml"]})
    assert RATES["uml"] in worth
    assert cost.startswith("a system call takes 50 us in c1 and ")  # 2 s / 20,000 / 2


def test_the_time_that_dd_says_is_read_and_its_absence_is_an_error():
    said = subprocess.run(CALLS, capture_output=True, text=True, check=True, env={"LC_ALL": "C"})
    assert 0 < call_s(said.stderr) < 1
    with pytest.raises(MeasurementError, match="no such device"):
        call_s("dd: no such device\n")
