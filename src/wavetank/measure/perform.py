"""Performing kernels by the replay program under an MPI launcher."""

from __future__ import annotations

import tempfile
from functools import cached_property
from pathlib import Path

from wavetank.job import Placement
from wavetank.kernel.plan import Kernel
from wavetank.kernel.replay import ReplayOptions, run_replay
from wavetank.kernel.result import ReplayResult
from wavetank.launchers.base import Launcher
from wavetank.launchers.registry import launcher


class ReplayPerformer:
    """Runs the replay program, by default with Open MPI."""

    def __init__(
        self, launcher_name: str = "openmpi", options: ReplayOptions | None = None
    ) -> None:
        self._launcher: Launcher = launcher(launcher_name)
        self._options = options or ReplayOptions()

    def perform(self, kernel: Kernel, root: str, placement: Placement) -> ReplayResult:
        """Run the kernel below ``root``, a directory of the ranks' hosts."""
        # Nodes of this machine see its /tmp as it was when they look, so the plan is found there.
        with tempfile.TemporaryDirectory(prefix="wavetank-replay-") as scratch:
            return run_replay(
                kernel,
                root,
                self._launcher,
                Path(scratch),
                placement=placement,
                options=self._options,
            )

    def versions(self) -> dict[str, str]:
        """Of the launcher."""
        return {self._launcher.name: self._version or "not found"}

    @cached_property
    def _version(self) -> str | None:
        return self._launcher.available()
