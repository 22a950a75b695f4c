"""Runs a program under the preload tracer and leaves a trace folder.

Takes the user's command line; puts the preload into the ranks only, where the launcher is known. Leaves
index.json and a part for every process that did I/O.
"""

from __future__ import annotations

import logging
import os
import shutil
import signal
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from wavetank import native
from wavetank.document import provenance
from wavetank.errors import TraceError, UsageError, WavetankError
from wavetank.launchers.base import Launcher
from wavetank.launchers.registry import recognise
from wavetank.notes import Note, notes_of, texts
from wavetank.trace.dropped import dropped
from wavetank.trace.index import (
    INDEX_NAME,
    IndexClock,
    IndexFile,
    IndexRank,
    IndexStriping,
    TraceIndex,
)
from wavetank.trace.inherited import added_environment, inherited_environment
from wavetank.trace.program import check_program, started_together
from wavetank.trace.program_run import interrupts_noted, run_to_its_end
from wavetank.trace.ranks import number_ranks
from wavetank.trace.reader import assemble, read_parts
from wavetank.trace.schema import LEVEL_NAMES, Int64Array, Trace
from wavetank.trace.streams import UsersStream, as_variable, loss_warnings, users_streams
from wavetank.trace.tail import pack_tails
from wavetank.trace.traced_files import TracedFiles

LEVELS = tuple(LEVEL_NAMES.values())
_LEVEL_WORDS = {"posix": "posix", "mpiio": "mpiio", "mpi": "sync"}  # WAVETANK_TRACE_LEVELS
_MOST_FILES = 1000  # that the index lists: the parts hold all, and nobody reads a million
_NEEDED_BYTES = 1 << 20  # free space below which no run is started
_ROOM = ".room"
"""A file that takes space before the program runs: given back for the index, which a full disk would have no room for."""
_ROOM_BYTES = 64 << 10

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
    """A finished run.

    Attributes:
        index: as it was written.
        trace: without its rows: ``read_trace`` reads them.
        n_operations: that the rows stand for.
        interrupted: by Ctrl-C.
    """

    index: TraceIndex
    trace: Trace
    n_operations: int
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
    notes = notes_of("unseen", "programs", check_program(argv, launcher))
    libraries = preload_libraries(launcher)
    out_dir = out_dir.resolve()
    prepare_folder(out_dir, options.force)
    _take_room(out_dir)
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
            status = run_to_its_end(command, process_env, interrupts)
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
    notes: Sequence[Note],
    streams: Sequence[UsersStream],
) -> Captured:
    """Read what was recorded, and write the index.

    Raises:
        TraceError: a launcher failed, and no rank left anything.
    """
    launcher, status = run.launcher, run.status
    pack_tails(out_dir)
    parts, damages = read_parts(out_dir, loops=True, rows=False)
    if launcher.mpi_family and status != 0 and not any(part.rank is not None for part in parts):
        shutil.rmtree(out_dir, ignore_errors=True)
        raise TraceError(
            f"{run.argv[0]} started no rank of the program (status {status}); its message is above. "
            "Check the program's name and the launcher's options"
        )
    recorded = assemble(parts, [*notes, *damages])
    recorded = replace(recorded, n_ranks=max(recorded.n_ranks, run.n_ranks or 0))
    ranks, _ = number_ranks(parts)
    traced = TracedFiles.of(recorded.files)
    names = _one_of_each_path(traced)
    files = [traced[number] for number in names[:_MOST_FILES].tolist()]
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
        environment=added_environment(),
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
            for f in files
        ),
        n_files=len(names),
        hints=tuple(
            (traced[number].path, key, value)
            for number in traced.numbers(attribute="hints")
            for key, value in traced[number].hints
        ),
        clocks=tuple(IndexClock(**asdict(clock)) for clock in recorded.clocks),
        notes=(
            *recorded.notes,
            *notes_of(
                "unfinished", "run", _run_warnings(recorded, launcher, status, run.interrupted)
            ),
            *notes_of("unseen", "programs", dropped(run.argv, launcher, parts)),
            *notes_of("unseen", "standard streams", loss_warnings(streams)),
        ),
    )
    _give_room(out_dir)
    try:
        index.write(out_dir / INDEX_NAME)
    except WavetankError as error:
        raise TraceError("; ".join([*texts(recorded.notes, "lost"), str(error)])) from error
    n_operations = sum(part.totals.operations for part in parts)
    return Captured(index, recorded, n_operations, run.interrupted)


def _one_of_each_path(files: TracedFiles) -> Int64Array:
    """The first file of each name, by number: one may have taken another's place."""
    first = files.paths.first_equal()
    return np.flatnonzero(first == np.arange(len(first)))


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
    """Environment that puts the tracer into a process, and keeps the process's calls in its sight.

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
        **added_environment(),
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
        _take_room(out_dir)
        _give_room(out_dir)
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


def _take_room(out_dir: Path) -> None:
    (out_dir / _ROOM).write_bytes(bytes(_ROOM_BYTES))


def _give_room(out_dir: Path) -> None:
    (out_dir / _ROOM).unlink(missing_ok=True)


def _clear(out_dir: Path, force: bool) -> None:
    ours = [
        p
        for p in out_dir.iterdir()
        if p.name in (INDEX_NAME, _ROOM)
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
