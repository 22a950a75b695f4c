"""Runs a program under the preload tracer and leaves a trace folder.

Takes the user's command line; puts the preload into the ranks only, where the launcher is known. Leaves
index.json and a part for every process that did I/O.
"""

from __future__ import annotations

import logging
import os
import shlex
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from wavetank import native
from wavetank.document import provenance
from wavetank.errors import TraceError, UsageError, WavetankError
from wavetank.launchers.base import Launcher
from wavetank.launchers.registry import recognise
from wavetank.trace.dropped import dropped
from wavetank.trace.index import (
    INDEX_NAME,
    IndexClock,
    IndexFile,
    IndexRank,
    IndexStriping,
    TraceIndex,
)
from wavetank.trace.inherited import (
    current_umask,
    inherited_environment,
    interrupts_are_ignored,
)
from wavetank.trace.program import check_program, started_together
from wavetank.trace.reader import assemble, number_ranks, read_parts
from wavetank.trace.schema import Trace, TracedFile
from wavetank.trace.streams import UsersStream, as_variable, loss_warnings, users_streams
from wavetank.trace.tail import pack_tails

LEVELS = ("posix", "mpiio", "mpi")
_LEVEL_WORDS = {"posix": "posix", "mpiio": "mpiio", "mpi": "sync"}  # WAVETANK_TRACE_LEVELS
_GRACE_S = 10.0  # between asking the program to end and killing it
_MOST_FILES = 1000  # that the index lists: the parts hold all, and nobody reads a million
_NEEDED_BYTES = 1 << 20  # free space below which no run is started

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class CaptureOptions:
    """What to record.

    Attributes:
        levels: any of ``LEVELS``.
        times: "fold" (first, last and sum for each fold) or "event" (each operation on its own).
        include: paths and globs that are recorded although they would be left out.
        exclude: paths and globs that are left out. The system's own files and programs' code always are.
        standard_streams: record standard output and error too, where the user's shell sent them into files.
        force: replace an existing trace.
    """

    levels: tuple[str, ...] = LEVELS
    times: str = "fold"
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    standard_streams: bool = False
    force: bool = False


@dataclass(frozen=True)
class Captured:
    """A finished run."""

    index: TraceIndex
    trace: Trace
    interrupted: bool


def trace(argv: Sequence[str], out_dir: Path, options: CaptureOptions | None = None) -> Captured:
    """Run ``argv`` and record its I/O into ``out_dir``.

    A program that fails leaves a trace all the same; its status is in the index.

    Raises:
        UsageError: no program, or the folder exists and is not to be replaced.
        TraceError: the program cannot be run or traced, or the folder cannot be written.
        NativeError: the tracer is not built.
    """
    options = options or CaptureOptions()
    if not argv:
        raise UsageError(
            "no program to trace. Write it after --, e.g.: wavetank trace -o run.trace -- ./app"
        )
    launcher = recognise(argv)
    notes = check_program(argv, launcher)
    libraries = preload_libraries(launcher)
    out_dir = out_dir.resolve()
    prepare_folder(out_dir, options.force)
    streams = () if options.standard_streams else users_streams()
    env = tracer_environment(out_dir, options, libraries)
    env["WAVETANK_TRACE_USERS_STREAMS"] = as_variable(streams)
    if started_together(argv, launcher):
        env["WAVETANK_TRACE_TOGETHER"] = "1"
    if launcher.name == "none":
        command, process_env = list(argv), {**inherited_environment(), **env}
    else:
        command, process_env = launcher.with_environment(argv, env), inherited_environment()
    started = datetime.now(UTC)
    clock = time.monotonic()
    with interrupts_noted() as interrupts:
        try:
            status = _run(command, process_env, interrupts)
        except OSError as error:
            shutil.rmtree(out_dir, ignore_errors=True)
            raise TraceError(f"cannot run {argv[0]}: {error.strerror}") from error
        run = EndedRun(
            tuple(argv), launcher, status, started, time.monotonic() - clock, interrupts.n > 0
        )
        return conclude(run, out_dir, options, notes, streams)


@dataclass(frozen=True)
class EndedRun:
    """A command that has ended.

    Attributes:
        status: exit status; negative: ended by that signal.
        n_ranks: that were started; None: not known.
    """

    argv: tuple[str, ...]
    launcher: Launcher
    status: int
    started: datetime
    elapsed_s: float
    interrupted: bool
    n_ranks: int | None = None


def conclude(
    run: EndedRun,
    out_dir: Path,
    options: CaptureOptions,
    notes: Sequence[str],
    streams: Sequence[UsersStream],
) -> Captured:
    """Read what was recorded, and write the index.

    Raises:
        TraceError: a launcher failed, and no rank left anything.
    """
    launcher, status = run.launcher, run.status
    pack_tails(out_dir)
    parts, warnings = read_parts(out_dir)
    if launcher.mpi_family and status != 0 and not any(part.rank is not None for part in parts):
        shutil.rmtree(out_dir, ignore_errors=True)
        raise TraceError(
            f"{run.argv[0]} started no rank of the program (status {status}); its message is above. "
            "Check the program's name and the launcher's options"
        )
    recorded = assemble(parts, [*notes, *warnings])
    recorded = replace(recorded, n_ranks=max(recorded.n_ranks, run.n_ranks or 0))
    ranks, _ = number_ranks(parts)
    files = _one_of_each_path(recorded.files)
    index = TraceIndex(
        provenance=provenance(),
        command=run.argv,
        exit_status=status,
        started_utc=run.started.isoformat(timespec="milliseconds"),
        elapsed_s=run.elapsed_s,
        launcher=launcher.name,
        mpi_library=recorded.mpi_library,
        n_ranks=recorded.n_ranks,
        levels=options.levels,
        times=options.times,
        include=options.include,
        exclude=options.exclude,
        ranks=tuple(
            IndexRank(
                rank=entry.rank,
                host=entry.parts[0].host,
                pid=entry.parts[0].pid,
                complete=all(part.ended and part.damage is None for part in entry.parts),
                parts=tuple(part.path.name for part in entry.parts),
            )
            for entry in ranks
        ),
        files=tuple(
            IndexFile(
                path=f.path,
                mount_point=f.mount_point,
                file_system=f.file_system,
                size_before=f.size_before,
                striping=tuple(IndexStriping(**asdict(striping)) for striping in f.striping),
                hints_in_force=dict(f.hints_in_force),
            )
            for f in files[:_MOST_FILES]
        ),
        n_files=len(files),
        hints=tuple((f.path, key, value) for f in recorded.files for key, value in f.hints),
        clocks=tuple(IndexClock(**asdict(clock)) for clock in recorded.clocks),
        warnings=(
            *recorded.warnings,
            *_run_warnings(recorded, launcher, status, run.interrupted),
            *dropped(run.argv, launcher, parts),
            *loss_warnings(streams),
        ),
    )
    try:
        index.write(out_dir / INDEX_NAME)
    except WavetankError as error:
        raise TraceError("; ".join([*recorded.lost, str(error)])) from error
    return Captured(index, recorded, run.interrupted)


def _one_of_each_path(files: Sequence[TracedFile]) -> list[TracedFile]:
    """The first file of each name: one may have taken another's place."""
    found: dict[str, TracedFile] = {}
    for file in files:
        found.setdefault(file.path, file)
    return list(found.values())


def preload_libraries(launcher: Launcher) -> list[Path]:
    """The preload for a launcher's ranks: its MPI family's; both where the family cannot be known.

    Raises:
        NativeError: the tracer is not built.
    """
    families = (
        [launcher.mpi_family]
        if launcher.mpi_family and launcher.name != "srun"
        else ["openmpi", "mpich"]
    )
    names = [f"lib/libwavetank-trace-{family}.so" for family in families]
    built = [name for name in names if native.available(name)]
    if not built and (launcher.mpi_family is None or launcher.name == "srun"):
        built = ["lib/libwavetank-trace.so"]
    return [native.find(name, "trace programs") for name in built or names[:1]]


def tracer_environment(
    out_dir: Path, options: CaptureOptions, libraries: Sequence[Path]
) -> dict[str, str]:
    """Environment that puts the tracer into a process.

    Args:
        out_dir: folder of the parts, as the process sees it.
        options: what to record.
        libraries: to preload, as the process sees them.

    Raises:
        UsageError: a level or a pattern that cannot be.
        TraceError: a path at which the dynamic loader would split.
    """
    unknown = [level for level in options.levels if level not in LEVELS]
    if unknown or not options.levels:
        raise UsageError(
            f"levels are any of {', '.join(LEVELS)}, not {', '.join(unknown) or 'none at all'}"
        )
    for path in [out_dir, *libraries]:
        if any(character in str(path) for character in ": ;"):
            raise TraceError(
                f"the path {path} holds a blank, colon or semicolon, at which the dynamic loader splits it. "
                "Use another place"
            )
    preload = [*map(str, libraries), *filter(None, [os.environ.get("LD_PRELOAD")])]
    env = {
        "LD_PRELOAD": ":".join(preload),
        "WAVETANK_TRACE_DIR": str(out_dir),
        "WAVETANK_TRACE_LEVELS": "+".join(_LEVEL_WORDS[level] for level in options.levels),
        "WAVETANK_TRACE_TIMES": options.times,
    }
    if options.include:
        env["WAVETANK_TRACE_INCLUDE"] = ":".join(_absolute(pattern) for pattern in options.include)
    if options.exclude:
        env["WAVETANK_TRACE_EXCLUDE"] = ":".join(_absolute(pattern) for pattern in options.exclude)
    if options.standard_streams:
        env["WAVETANK_TRACE_STANDARD_STREAMS"] = "1"
    return env


def _absolute(pattern: str) -> str:
    if ":" in pattern:
        raise UsageError(f"the pattern {pattern!r} holds a colon; patterns cannot. Write ? for it")
    return pattern if pattern.startswith(("/", "*")) else str(Path.cwd() / pattern)


def prepare_folder(out_dir: Path, force: bool) -> None:
    """Make the folder of a trace, before the program runs.

    Raises:
        UsageError: it exists, and is not to be replaced or holds something else.
        TraceError: it cannot be written.
    """
    if not out_dir.parent.exists():
        raise TraceError(
            f"cannot write the trace folder {out_dir}: there is no folder {out_dir.parent}. Make it, or choose another "
            "place with -o"
        )
    new = not out_dir.exists()
    try:
        if out_dir.is_dir() and any(out_dir.iterdir()):
            _clear(out_dir, force)
        elif out_dir.exists() and not out_dir.is_dir():
            raise UsageError(f"{out_dir} exists and is not a folder. Choose another name with -o")
        out_dir.mkdir(exist_ok=True)
        probe = out_dir / ".probe"
        probe.write_bytes(b"\0" * 4096)
        probe.unlink()
    except OSError as error:
        raise TraceError(
            f"cannot write the trace folder {out_dir}: {error.strerror}. Choose a place that is writable and has space"
        ) from error
    space = os.statvfs(out_dir)
    # File systems in user space may tell no blocks at all: ceph-fuse does, of a mount without quota.
    if space.f_blocks and space.f_bavail * space.f_frsize < _NEEDED_BYTES:
        if new:
            out_dir.rmdir()
        raise TraceError(
            f"there is less than 1 MiB of space left at {out_dir}. Free some, or choose another place"
        )


def _clear(out_dir: Path, force: bool) -> None:
    ours = [
        p
        for p in out_dir.iterdir()
        if p.name == INDEX_NAME
        or any(p.match(pattern) for pattern in ("part-*.wt", "part-*.tail", "part-*.tail.gz"))
    ]
    if len(ours) != len(list(out_dir.iterdir())):
        raise UsageError(
            f"{out_dir} holds something else than a trace. Choose another name with -o"
        )
    if not force:
        raise UsageError(
            f"{out_dir} holds a trace already. Choose another name with -o, or replace it with --force"
        )
    for path in ours:
        path.unlink()


class Interrupts:
    """Ctrl-C while a program is traced: the terminal sends it to the program as well, which gets time to end.

    A second one kills the program. None of them costs the trace.
    """

    def __init__(self) -> None:
        self.n = 0
        self.process: subprocess.Popen[bytes] | None = None
        self._timer: threading.Timer | None = None

    def take(self, *_: object) -> None:
        """The handler of the signal."""
        self.n += 1
        if self.process is None:
            return
        if self.n > 1:
            self.process.kill()
        else:
            self._timer = threading.Timer(_GRACE_S, self.process.kill)
            self._timer.daemon = True
            self._timer.start()

    def ended(self) -> None:
        """The program has ended."""
        self.process = None
        if self._timer is not None:
            self._timer.cancel()


@contextmanager
def interrupts_noted() -> Iterator[Interrupts]:
    """Within it Ctrl-C raises nothing; it is noted."""
    interrupts = Interrupts()
    if threading.current_thread() is not threading.main_thread() or interrupts_are_ignored():
        yield interrupts
        return
    before = signal.signal(signal.SIGINT, interrupts.take)
    try:
        yield interrupts
    finally:
        signal.signal(signal.SIGINT, before)


def _run(command: Sequence[str], env: dict[str, str], interrupts: Interrupts) -> int:
    """Run to the end; the status."""
    log.info("running %s", shlex.join(command))
    # By posix_spawn glibc would make it ignore two signals of glibc's own (32 and 33); with an umask Python forks.
    with subprocess.Popen(command, env=env, close_fds=False, umask=current_umask()) as process:
        interrupts.process = process
        try:
            return process.wait()
        except BaseException:
            process.terminate()
            try:
                process.wait(_GRACE_S)
            except subprocess.TimeoutExpired:
                process.kill()
            raise
        finally:
            interrupts.ended()


def _run_warnings(recorded: Trace, launcher: Launcher, status: int, interrupted: bool) -> list[str]:
    warnings = []
    if interrupted:
        warnings.append("the run was interrupted; the trace holds what was done until then")
    elif status != 0:
        warnings.append(
            f"the program failed ({_ending(status)}); the trace holds what it did until then"
        )
    absent = sorted(set(range(recorded.n_ranks)) - {facts.rank for facts in recorded.ranks})
    if absent and (recorded.ranks or launcher.mpi_family):
        warnings.append(
            f"{len(absent)} of {recorded.n_ranks} rank(s) left nothing: they ended before MPI_Init, are static, or "
            "cannot write the trace folder from their host"
        )
    return warnings


def _ending(status: int) -> str:
    return f"status {status}" if status >= 0 else f"signal {signal.Signals(-status).name}"
