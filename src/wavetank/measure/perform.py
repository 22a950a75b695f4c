"""Performing kernels by the replay program under an MPI launcher."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

from wavetank.job import Placement
from wavetank.kernel.document.kernel import Kernel
from wavetank.kernel.execution.moved import CountsElsewhere
from wavetank.kernel.execution.pauses import Pauses
from wavetank.kernel.execution.replay import ReplayOptions, run_replay
from wavetank.kernel.execution.scratch import scratch_folder
from wavetank.kernel.results.result import ReplayResult
from wavetank.launchers.base import Launcher
from wavetank.launchers.registry import launcher, launcher_of_library


@dataclass(frozen=True)
class RawOutput:
    """All that the launcher and the replay program wrote, as they wrote it."""

    stdout: str
    stderr: str


@runtime_checkable
class KeepsRawOutput(Protocol):
    """A performer that still has what its last run wrote."""

    raw_output: RawOutput | None


def raw_of(performer: object) -> RawOutput | None:
    """What the last run of a performer wrote; None when it does not keep it."""
    return performer.raw_output if isinstance(performer, KeepsRawOutput) else None


def campaign_options(*, flush: bool, pauses: Pauses, verify: bool = False) -> ReplayOptions:
    """How a measurement performs kernels: what is written is flushed at the end of the run, or left to the application."""
    return ReplayOptions(flush="end" if flush else "none", pauses=pauses, verify=verify)


class ReplayPerformer:
    """Runs the replay program, by default with the MPI library of the traced run."""

    def __init__(
        self,
        launcher_name: str | None = None,
        options: ReplayOptions | None = None,
        scratch: Path | None = None,
        on_moved: Callable[[int], None] | None = None,
        elsewhere: CountsElsewhere | None = None,
    ) -> None:
        """Prepare to perform kernels.

        Args:
            launcher_name: starts the ranks; None: the launcher of each kernel's MPI library, where that is installed.
            options: how to perform them.
            scratch: folder for plans and lists of hosts, seen wherever rank 0 runs; this machine's
                folder for temporary files by default.
            on_moved: is given the bytes that ranks have moved so far; None: nobody looks.
            elsewhere: counts for ``on_moved`` what ranks move that this machine does not see.
        """
        self._named = launcher_name is not None
        self._launcher: Launcher = launcher(launcher_name or "openmpi")
        self._options = options or ReplayOptions()
        self._scratch = scratch
        self._on_moved = on_moved
        self._elsewhere = elsewhere
        self.raw_output: RawOutput | None = None

    def perform(self, kernel: Kernel, root: str, placement: Placement) -> ReplayResult:
        """Run the kernel below ``root``, a directory of the ranks' hosts."""
        self.raw_output = None
        if not self._named:
            self._launcher = launcher_of_library(kernel.mpi_library)
        # Nodes of this machine see its /tmp as it was when they look, so the plan is found there.
        with scratch_folder(self._scratch) as scratch:
            return run_replay(
                kernel,
                root,
                self._launcher,
                scratch,
                placement=placement,
                options=self._options,
                on_output=self._keep,
                on_moved=self._on_moved,
                elsewhere=self._elsewhere,
            )

    def versions(self) -> dict[str, str]:
        """Of the launcher."""
        return {self._launcher.name: self._launcher.available() or "not found"}

    def _keep(self, stdout: str, stderr: str) -> None:
        self.raw_output = RawOutput(stdout, stderr)
