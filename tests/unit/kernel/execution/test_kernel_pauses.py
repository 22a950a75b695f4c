"""Kept pauses need pauses in the kernel, and memory where they compute."""

from __future__ import annotations

import kernel_models as km
import pytest

from wavetank.errors import KernelError
from wavetank.kernel.construction.from_model import make_kernel
from wavetank.kernel.execution.pauses import holds_pauses, require_memory
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


def test_memory_of_all_ranks_must_be_available(tmp_path):
    kernel = kernel_of((DataStep(ph_id=1, n=4),), tmp_path)
    memory = tmp_path / "meminfo"
    memory.write_text("MemTotal:       2048 kB\nMemAvailable:   1024 kB\n")
    require_memory(kernel, 512 * 1024, memory)  # two ranks: just as much
    with pytest.raises(KernelError, match=r"of memory, .* are available"):
        require_memory(kernel, 512 * 1024 + 1, memory)
    require_memory(kernel, 1 << 40, tmp_path / "none")  # not told: not refused
