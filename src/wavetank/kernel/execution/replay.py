"""Running a kernel: the replay program under a launcher, in a directory.

Only rank 0 reads the plan and prints the result; the ranks share nothing but the directory.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from wavetank import native
from wavetank.errors import KernelError
from wavetank.job import Job, Placement
from wavetank.kernel.construction.doubts import described
from wavetank.kernel.document.calls import SHARED_POINTER
from wavetank.kernel.document.kernel import Kernel
from wavetank.kernel.execution.child_process import run_to_end, wait_until_gone
from wavetank.kernel.execution.moved import CountsElsewhere, Moved
from wavetank.kernel.execution.pauses import NO_PAUSES, holds_pauses
from wavetank.kernel.lowering.collectives import require_agreement
from wavetank.kernel.lowering.plan_text import lower
from wavetank.kernel.results.rank_status import Watch
from wavetank.kernel.results.replay_output import failed, outcome
from wavetank.kernel.results.result import ReplayResult
from wavetank.launchers.base import Launcher
from wavetank.launchers.family import other_library
from wavetank.model.document.step_walks import file_steps
from wavetank.units import format_duration

PATIENCE_S = 60.0
START_PATIENCE_S = 600.0
"""A launcher that is alone on a slow machine starts thousands of ranks in less. It may wait for ever when a daemon that it
started on another host has died."""
END_PATIENCE_S = 60.0
"""Launchers end their ranks and themselves in less; Open MPI 4.1's was seen to lock itself up when all of them were gone."""
STUCK_PATIENCE_S = 300.0
"""Of ranks that all are in calls in which they wait for each other; what such a call moves is added, at 1 MB/s."""
QUEUING = frozenset({"srun"})
"""Launchers that may wait for a place, for however long."""

_NO_LOCK_FILE = {"OMPI_MCA_sharedfp": "^lockedfile"}
"""Open MPI 4.1 makes a file beside each that ranks of several hosts open, for a shared file pointer that few programs use.
Opened again at once, as by a kernel without pauses, it has the name of the one that was just removed. Clients that keep
names for a second (GlusterFS) do not find it, and their ranks leave the others waiting without end."""


@dataclass(frozen=True)
class ReplayOptions:
    """How a kernel is performed.

    Attributes:
        pauses: between operations: left out, as recorded, or as recorded times a factor.
        longest_pause_s: pauses that are kept are shortened to this; None: they are not.
        flush: have written data on storage: as the application does ("none"); or each rank flushes at its end what it
            wrote and has not flushed, within the I/O time and outside of every phase's ("end"); or at the end of each
            phase, within its time, and at the rank's end what is then left, as of MPI-IO phases that are not
            collective ("phase"). A tracer does not see the flush at the end.
        verify: compare every byte that is read with the kernel's pattern; outside of the times.
        direct: open files with O_DIRECT (POSIX level).
        null: perform nothing, to see the program's own cost.
        timeout_s: seconds after which the run is ended and counts as failed; None: none.
        patience_s: seconds without progress after which a rank says what it is at, at most a quarter of ``timeout_s``; when
            all ranks then wait for each other, the run is ended and counts as failed.
        start_patience_s: seconds within which a launcher must have started all ranks (MPI_Init is through on rank 0); then
            it is ended and the run counts as failed. Not asked of srun, which may wait for a place in a queue.
        stuck_patience_s: seconds after which ranks that all are in waits or collective calls, without progress, are ended
            and count as failed; a call's bytes are added to it at 1 MB/s.
        end_patience_s: seconds that a launcher gets to end itself when the result, or a failure, has been told; then it is
            ended, and the result counts.
        settings: further facts about the run, kept in the result.
    """

    pauses: Literal["drop", "keep"] | float = "drop"
    longest_pause_s: float | None = None
    flush: Literal["none", "phase", "end"] = "end"
    verify: bool = False
    direct: bool = False
    null: bool = False
    timeout_s: float | None = None
    patience_s: float = PATIENCE_S
    start_patience_s: float = START_PATIENCE_S
    stuck_patience_s: float = STUCK_PATIENCE_S
    end_patience_s: float = END_PATIENCE_S
    settings: tuple[tuple[str, str], ...] = ()

    def argv(self) -> list[str]:
        """The replay program's arguments."""
        pauses = self.pauses if isinstance(self.pauses, str) else repr(float(self.pauses))
        return [
            f"--pauses={pauses}",
            *(
                []
                if self.longest_pause_s is None
                else [f"--longest-pause={self.longest_pause_s!r}"]
            ),
            f"--flush={self.flush}",
            *(["--verify"] if self.verify else []),
            *(["--direct"] if self.direct else []),
            *(["--null"] if self.null else []),
            f"--watch={self._quiet_s():g}",
        ]

    def _quiet_s(self) -> float:
        """Seconds without progress that a rank tells of; of a short limit a quarter, so that it is told before the end."""
        if self.timeout_s is None:
            return self.patience_s
        return min(self.patience_s, self.timeout_s / 4)

    def described(self) -> dict[str, str]:
        """For the result."""
        flush = {
            "none": "as the application does",
            "phase": "at the end of each phase, within its time, and of the run",
            "end": "at the end of the run, within the I/O time",
        }
        pauses = self.pauses if isinstance(self.pauses, str) else f"scaled by {self.pauses:g}"
        if self.longest_pause_s is not None and self.pauses != "drop":
            pauses += f", at most {format_duration(self.longest_pause_s)} each"
        return {
            "pauses": pauses,
            "flush": flush[self.flush],
            "verify": "yes" if self.verify else "no",
            "o_direct": "yes" if self.direct else "as the application does",
            **({"backend": "null: nothing was performed"} if self.null else {}),
            **dict(self.settings),
        }


def require_installed(launcher: Launcher) -> None:
    """Refuse a launcher that is not there, before anything is prepared for it.

    Raises:
        KernelError: it is not installed.
    """
    if launcher.available() is None:
        raise KernelError(
            f"the launcher {launcher.name} is not installed. Install it, or choose another one (wavetank doctor tells "
            "which are there)"
        )


def replay_program(launcher: Launcher) -> Path:
    """The replay program for a launcher.

    Raises:
        NativeError: it is not built.
    """
    name = launcher.mpi_family or "serial"
    return native.find(f"bin/wavetank-replay-{name}", "perform a kernel")


def require_launcher(kernel: Kernel, launcher: Launcher) -> Path:
    """The replay program with which a launcher can start a kernel's ranks.

    Raises:
        KernelError: the launcher starts one rank only, and the kernel has more.
        NativeError: the program is not built.
    """
    if launcher.mpi_family is None and kernel.n_ranks != 1:
        raise KernelError(
            f"the kernel has {kernel.n_ranks} ranks; without MPI only one can be started. Choose the launcher "
            "openmpi or mpich"
        )
    return replay_program(launcher)


def run_replay(
    kernel: Kernel,
    root: str | Path,
    launcher: Launcher,
    scratch: Path,
    placement: Placement | None = None,
    options: ReplayOptions | None = None,
    on_output: Callable[[str, str], None] | None = None,
    tell: Callable[[str], None] = lambda _: None,
    on_moved: Callable[[int], None] | None = None,
    elsewhere: CountsElsewhere | None = None,
) -> ReplayResult:
    """Perform a kernel once.

    Args:
        kernel: the kernel.
        root: directory that holds its files, the same path on every host.
        launcher: starts the ranks.
        scratch: directory for the plan and the launcher's files; visible where rank 0 and the launcher run.
        placement: hosts of the ranks; None: this one.
        options: how to perform it.
        on_output: is given all that the launcher wrote to standard output and standard error.
        tell: is given a sentence on each rank that makes no progress for long.
        on_moved: is given the bytes that ranks have moved so far, about once a second. Looking takes a little of
            the processor: for what people watch, not for campaigns.
        elsewhere: counts for ``on_moved`` what ranks move that this machine does not see.

    Returns:
        The result; ``status`` "failed" with the reason when a rank failed, died, or time ran out.

    Raises:
        KernelError: the kernel cannot be started at all (a launcher for one rank, an operation without offset,
            ranks that disagree on collective operations).
        NativeError: the replay program is not built.
    """
    options = options or ReplayOptions()
    argv, settings = replay_command(kernel, root, launcher, scratch, placement, options)
    watch = Watch(kernel.n_ranks, tell)
    moved = None if on_moved is None else Moved(_plan_of(argv), on_moved, elsewhere)

    def must_end(seconds: float) -> bool:
        if moved is not None:
            moved.look()
        late = seconds >= options.start_patience_s and not watch.has_started
        if late and launcher.mpi_family is not None and launcher.name not in QUEUING:
            return True
        return watch.over_for() >= options.end_patience_s or watch.is_stuck_for(
            options.stuck_patience_s
        )

    with moved or nullcontext():
        status, stdout, stderr = run_to_end(
            argv, options.timeout_s, on_line=watch.line, on_late=watch.close, must_end=must_end
        )
    if status != 0:
        wait_until_gone(_plan_of(argv))
    if on_output is not None:
        on_output(stdout, stderr)
    if status is None and watch.over_for() > 0:
        late = f"the launcher {launcher.name} did not end by itself when the run was over, and was ended"
        return outcome(stdout, stderr, 1, kernel.n_ranks, {**settings, "launcher_end": late})
    if status is None and watch.is_stuck:
        return failed(f"all ranks wait for each other: {watch.told()}", settings)
    if status is None and not watch.has_started:
        return failed(_not_started(launcher, placement, options, stderr), settings)
    if status is None:
        return failed(
            f"the time limit of {options.timeout_s:g} s ran out: {watch.told()}", settings
        )
    return outcome(stdout, stderr, status, kernel.n_ranks, settings)


def _plan_of(argv: list[str]) -> str:
    """The word of a command line by which ranks of this very run are found."""
    return next(word for word in argv if word.startswith("--plan="))


def _not_started(
    launcher: Launcher, placement: Placement | None, options: ReplayOptions, stderr: str
) -> str:
    limit_s = min(options.start_patience_s, options.timeout_s or options.start_patience_s)
    hosts = ", ".join(host for host, _ in placement.hosts) if placement else "this host"
    said = " | ".join(line.strip() for line in stderr.splitlines() if line.strip(" -*="))[-500:]
    return (
        f"the launcher {launcher.name} had not started all ranks after {limit_s:g} s (MPI_Init was not through); it was to "
        f"start them on {hosts}. It said: {said or 'nothing'}. See whether its processes run there, and whether the hosts "
        "reach each other"
    )


def replay_command(
    kernel: Kernel,
    root: str | Path,
    launcher: Launcher,
    scratch: Path,
    placement: Placement | None,
    options: ReplayOptions,
    more: tuple[str, ...] = (),
) -> tuple[list[str], dict[str, str]]:
    """The whole argv that performs a kernel, and how it will run, for the result.

    Arguments and errors are those of ``run_replay``; ``more`` are further arguments of the replay program.
    """
    program = require_launcher(kernel, launcher)
    require_agreement(kernel)
    plan = scratch / f"plan-{kernel.model_sha256[:16]}.txt"
    text = lower(kernel)
    if not plan.exists() or plan.read_text() != text:
        plan.write_text(text)
    hosts = {host for host, _ in placement.hosts} if placement is not None else set()
    without_lock_file = (
        launcher.mpi_family == "openmpi" and len(hosts) > 1 and not _shares_pointers(kernel)
    )
    job = Job(
        argv=(str(program), f"--plan={plan}", f"--root={root}", *options.argv(), *more),
        n_ranks=kernel.n_ranks,
        env=_NO_LOCK_FILE if without_lock_file else {},
        placement=placement,
    )
    settings = {
        **options.described(),
        **(
            {"waiting": f"ranks yield: {launcher.yields_by}"}
            if job.yields and launcher.yields_by
            else {}
        ),
        **({"shared_file_pointers": "none: no call uses them"} if without_lock_file else {}),
        **_exceptions(kernel, options),
        **described(kernel),
        "launcher": launcher.name,
        "program": program.name,
    }
    if (another := other_library(kernel.mpi_library, launcher.mpi_family)) is not None:
        settings["mpi_of_run"] = another
    return launcher.command(job, scratch), settings


def _shares_pointers(kernel: Kernel) -> bool:
    """Whether any call of a kernel goes by the ranks' common file pointer."""
    calls = {member.iop_type for phase in kernel.phases for member in phase.pattern}
    for program in kernel.programs:
        calls |= {step.iop_type for step in file_steps(program.steps)}
    return bool(calls & {*SHARED_POINTER, "MPI_File_seek_shared"})


def _exceptions(kernel: Kernel, options: ReplayOptions) -> dict[str, str]:
    """What an option does not reach in this kernel, for the result."""
    mpi = [phase for phase in kernel.phases if phase.level == "mpiio"]
    found: dict[str, str] = {}
    if options.direct and mpi:
        some = "MPI-IO files" if len(mpi) < len(kernel.phases) else "no file"
        found["o_direct"] = (
            f"{'yes, without ' if some != 'no file' else ''}{some}: the MPI library opens them"
        )
    if options.pauses != "drop" and not holds_pauses(kernel):
        found["pauses"] = NO_PAUSES
    if options.flush == "phase" and any(not phase.collective for phase in mpi):
        found["flush"] = (
            "at the end of each phase, within its time, and of MPI-IO phases that are not collective at the end of the run"
        )
    return found


def with_settings(result: ReplayResult, **settings: str) -> ReplayResult:
    """The result with further facts about how it was run."""
    return result.model_copy(update={"settings": {**result.settings, **settings}})


def scaled(options: ReplayOptions, pauses: str) -> ReplayOptions:
    """Options with pauses as a person writes them: drop, keep, scale=0.5, at-most=0.1.

    Raises:
        KernelError: none of these.
    """
    if pauses in ("drop", "keep"):
        return replace(options, pauses="drop" if pauses == "drop" else "keep")
    how, _, number = pauses.partition("=")
    try:
        value = float(number)
        if how not in ("scale", "at-most") or not 0 <= value < 1e9:
            raise ValueError
    except ValueError:
        raise KernelError(
            f"pauses cannot be {pauses!r}. Write drop, keep, scale=FACTOR, e.g. scale=0.5, or at-most=SECONDS, e.g. at-most=0.1"
        ) from None
    if how == "scale":
        return replace(options, pauses=value)
    return replace(options, pauses="keep", longest_pause_s=value)
