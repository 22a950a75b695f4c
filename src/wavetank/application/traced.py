"""The tracer in the ranks of the user's own program on a cluster.

Puts it onto every node, gives each rank the environment that loads it, and brings the parts to this machine:
leaves a trace folder like that of ``wavetank trace``. The folder on a node is its own, below no file system of
the cluster, so that recording takes nothing from what is recorded.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from wavetank.application.program import local_copy
from wavetank.cluster.host import Host, on_all
from wavetank.errors import ClusterError, RemoteCommandError, TraceError
from wavetank.launchers.base import Launcher
from wavetank.notes import note, notes_of
from wavetank.trace.capture import (
    Captured,
    CaptureOptions,
    EndedRun,
    conclude,
    preload_libraries,
    prepare_folder,
    tracer_environment,
)
from wavetank.trace.program import unseen

_PART = re.compile(r"^part-([A-Za-z0-9_.-]+)-(\d+)-(\d+)\.(wt|tail)$")
# Sample (glibc 2.36): ERROR: ld.so: object '/x.so' from LD_PRELOAD cannot be preloaded (...): ignored.
_NOT_LOADED = "cannot be preloaded"


@dataclass(frozen=True)
class TracerOnNodes:
    """The tracer where the ranks will be.

    Attributes:
        hosts: that ranks run on, each once.
        folder: of the parts, on each of them.
        environment: of each rank.
        notes: sentences on what will not be seen.
    """

    hosts: tuple[Host, ...]
    folder: str
    environment: dict[str, str]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Collected:
    """The trace of a run.

    Attributes:
        captured: what ``wavetank trace`` leaves too.
        absent: ranks that were started and left nothing.
    """

    captured: Captured
    absent: tuple[int, ...]


def put_on_nodes(
    hosts: Sequence[Host],
    storage_path: str,
    mark: str,
    launcher: Launcher,
    program: str,
    scratch: Path,
    options: CaptureOptions,
) -> TracerOnNodes:
    """Make the folder of the parts on every node, and see that the tracer loads there.

    Args:
        hosts: that ranks will run on.
        storage_path: of the nodes' own storage: the folder is beside it.
        mark: of the run.
        launcher: of the ranks; "none" for a serial program.
        program: its path on the nodes.
        scratch: folder of this machine, for a copy of the program's file.
        options: what to record.

    Raises:
        ClusterError: a node cannot have the folder, or cannot load the tracer.
        TraceError: nothing of the program would be recorded.
        NativeError: the tracer is not built.
    """
    libraries = preload_libraries(launcher)
    folder = f"{storage_path.rstrip('/')}.trace-{mark}"

    def prepare(host: Host) -> tuple[str, ...]:
        there = [host.bring(library) for library in libraries]
        host.run(["mkdir", "-p", folder])
        said = host.run(["env", f"LD_PRELOAD={':'.join(there)}", "true"]).stderr
        if _NOT_LOADED in said:
            raise ClusterError(
                f"{host.name} cannot load the tracer: {said.strip().splitlines()[0]}. Its C library may be older than "
                "that of this machine, or another directory than this one's is what it sees: see docs/how-to"
            )
        return tuple(there)

    there = on_all(hosts, prepare)[0]
    notes = unseen(local_copy(hosts[0], program, scratch), program)
    if notes and launcher.mpi_family is None:
        raise TraceError(f"nothing would be recorded: {notes[0]}")
    environment = tracer_environment(Path(folder), options, [Path(path) for path in there])
    if launcher.mpi_family is not None and not notes:
        environment["WAVETANK_TRACE_TOGETHER"] = "1"
    return TracerOnNodes(tuple(hosts), folder, environment, tuple(notes))


def collect(
    tracer: TracerOnNodes, run: EndedRun, out_dir: Path, options: CaptureOptions
) -> Collected:
    """Bring the parts from all nodes, remove them there, and make the trace.

    Raises:
        TraceError: nothing was recorded, or the folder cannot be written.
    """
    out_dir = out_dir.resolve()
    prepare_folder(out_dir, force=True)
    notes = list(notes_of("unseen", "programs", tracer.notes))
    for host in tracer.hosts:
        try:
            _bring_parts(host, tracer.folder, out_dir)
        except ClusterError as error:
            text = "the parts on {host} could not be brought here: {error}"
            notes.append(note("lost", "parts", text, host=host.name, error=str(error)))
    captured = conclude(run, out_dir, options, notes, ())
    there = {facts.rank for facts in captured.trace.ranks}
    expected = run.n_ranks or 0 if run.launcher.mpi_family is not None else 0
    absent = tuple(rank for rank in range(expected) if rank not in there)
    return Collected(captured, absent)


def remove(tracer: TracerOnNodes) -> None:
    """Remove the folder of the parts from every node; what does not answer keeps it until the cluster goes down."""

    def clear(host: Host) -> None:
        try:
            host.run(["rm", "-rf", "--", tracer.folder])
        except RemoteCommandError:
            return

    on_all(tracer.hosts, clear)


def _bring_parts(host: Host, folder: str, out_dir: Path) -> None:
    taken: dict[str, str] = {}
    for name in host.run(["ls", "--", folder]).stdout.splitlines():
        found = _PART.match(name)
        if found is None:
            continue
        stem = taken.setdefault(name.rpartition(".")[0], _free_stem(out_dir, found))
        host.get(f"{folder}/{name}", out_dir / f"{stem}.{found[4]}")
        host.run(["rm", "-f", "--", f"{folder}/{name}"])


def _free_stem(out_dir: Path, part: re.Match[str]) -> str:
    """The part's own name, or the next free number: hosts may have one name."""
    host, pid, number, _ = part.groups()
    at = int(number)
    while any((out_dir / f"part-{host}-{pid}-{at}.{kind}").exists() for kind in ("wt", "tail")):
        at += 1
    return f"part-{host}-{pid}-{at}"
