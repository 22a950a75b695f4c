"""Kept pauses need pauses in the kernel; how a person asks for them."""

from __future__ import annotations

import kernel_models as km
import pytest

from wavetank.errors import KernelError
from wavetank.kernel.construction.from_model import make_kernel
from wavetank.kernel.execution.pauses import holds_pauses
from wavetank.kernel.execution.replay import ReplayOptions, scaled
from wavetank.model.document.program import DataStep, PauseStep, Program, RepeatStep


def kernel_of(steps, tmp_path):
    one = km.phase(1, 1, (0, 1), 4, [km.member("write", 10, 10)], [km.linear(b=10)])
    made = km.model(2, [km.model_file(1, "out", 40)], [one], [Program(ranks=(0, 1), steps=steps)])
    return make_kernel(made, km.written(made, tmp_path))


def test_a_pause_is_found_in_a_loop_too(tmp_path):
    data = DataStep(ph_id=1, n=1)
    loop = RepeatStep(times=4, steps=(PauseStep(seconds=0.1), data))
    assert holds_pauses(kernel_of((loop,), tmp_path))
    assert not holds_pauses(kernel_of((DataStep(ph_id=1, n=4),), tmp_path))


def test_a_person_writes_how_pauses_are_treated():
    options = ReplayOptions()
    assert scaled(options, "drop") == options
    assert scaled(options, "keep").argv()[0] == "--pauses=keep"
    assert scaled(options, "scale=0.5").argv()[0] == "--pauses=0.5"
    assert scaled(options, "at-most=0.1").argv()[:2] == ["--pauses=keep", "--longest-pause=0.1"]
    for wrong in ("kept", "scale=", "at-most=-1", "at-most=long", "factor=2"):
        with pytest.raises(KernelError, match="at-most=SECONDS"):
            scaled(options, wrong)
