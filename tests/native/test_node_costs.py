"""What a system call and an interrupt cost here, by the program that guests run too."""

import subprocess

import pytest

from wavetank import native
from wavetank.measure.guests import costs_us

pytestmark = pytest.mark.skipif(
    not native.available("bin/wavetank-node"), reason="wavetank-node is not built"
)


def test_both_costs_are_numbers_and_a_wrong_call_is_refused():
    program = str(native.find("bin/wavetank-node", "test it"))
    done = subprocess.run([program, "costs"], capture_output=True, text=True, check=True)
    call_us, interrupt_us = costs_us(done.stdout)
    assert call_us > 0 and interrupt_us > 0
    wrong = subprocess.run([program, "costs", "more"], capture_output=True, text=True, check=False)
    assert wrong.returncode != 0 and "usage" in wrong.stderr and wrong.stdout == ""
