"""Runs hand-made kernels by the built replay programs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from waiting import HANG_S
from wavetank import native
from wavetank.kernel.construction.from_model import make_kernel
from wavetank.kernel.execution.replay import ReplayOptions, run_replay
from wavetank.kernel.preparation.input_files import prepare_files
from wavetank.kernel.results.result import ReplayResult
from wavetank.launchers.registry import launcher
from wavetank.model.document.model import Model


def need(name: str) -> None:
    """Skip where a launcher or its replay program is missing."""
    starter = launcher(name)
    program = f"bin/wavetank-replay-{starter.mpi_family or 'serial'}"
    if starter.available() is None:
        pytest.skip(f"{name} is not installed")
    if not native.available(program):
        pytest.skip(f"{program} is not built; run 'make setup'")


def replay(
    model: Model,
    folder: Path,
    name: str,
    options: ReplayOptions | None = None,
    *,
    prepare: bool = True,
    tell: Callable[[str], None] = lambda _: None,
) -> tuple[ReplayResult, Path]:
    """Perform a model's kernel below ``folder``/root."""
    import kernel_models as km

    need(name)
    root, scratch = folder / "root", folder / "scratch"
    root.mkdir(exist_ok=True)
    scratch.mkdir(exist_ok=True)
    kernel = make_kernel(model, km.written(model, folder))
    if prepare:
        prepare_files(kernel, root)
    options = options or ReplayOptions(timeout_s=HANG_S)
    return run_replay(kernel, root, launcher(name), scratch, None, options, tell=tell), root
