"""Opens a trace of whatever kind, by its content: ours, Darshan's, DFTracer's, Recorder's, strace's.

Every command that takes a trace comes through here.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Protocol, cast, runtime_checkable

from wavetank.errors import TraceError
from wavetank.notes import texts
from wavetank.registered import load_registered, registered_names
from wavetank.steps import doing
from wavetank.trace import packed
from wavetank.trace.importers.foreign_texts import foreign_text
from wavetank.trace.schema import PARTS, Trace

# Asked in this order whether a file is theirs; a module has recognises(path, head) and read(path).
IMPORTERS: dict[str, str] = {
    "darshan": "wavetank.trace.importers.darshan",
    "dftracer": "wavetank.trace.importers.dftracer",
    "recorder": "wavetank.trace.importers.recorder",
    "strace": "wavetank.trace.importers.strace",
}
ENTRY_POINTS = "wavetank.importers"
HEAD_BYTES = 4096  # what an importer is shown


@runtime_checkable
class NeedsSoftware(Protocol):
    """What an importer module has besides, where it does not read its logs all by itself."""

    def software(self) -> str:
        """What it reads them by, found on this machine.

        Raises:
            TraceError: it is not there; the message says how to get it.
        """


class Importer(Protocol):
    """What an importer module must have."""

    def recognises(self, path: Path, head: bytes) -> bool:
        """Whether a file or folder is of this kind; ``head`` is a file's first bytes, uncompressed."""

    def read(self, path: Path) -> Trace:
        """Import it."""


def importer_names() -> Iterator[str]:
    """All names, ours first. Installed packages are looked through when ours have been taken."""
    return registered_names(IMPORTERS, ENTRY_POINTS)


def importer(name: str) -> Importer:
    """An importer by its name.

    Raises:
        TraceError: there is none.
    """
    return cast(Importer, load_registered("importer", name, IMPORTERS, ENTRY_POINTS, TraceError))


def kind_of(path: Path) -> str:
    """The kind of a trace: wavetank, or the name of the importer that recognises the file.

    Raises:
        TraceError: it is missing, or of no kind that is known.
    """
    if path.is_dir():
        # Looking through installed packages takes as long as reading a small trace: not where the folder is our own.
        names = IMPORTERS if next(path.glob(PARTS), None) else importer_names()
        return next((name for name in names if importer(name).recognises(path, b"")), "wavetank")
    if not path.exists():
        raise TraceError(
            f"there is no trace {path}. Make one with: wavetank trace -o {path} -- PROGRAM"
        )
    if not path.is_file():
        raise TraceError(
            f"{path} is no file: a pipe (<(...), a FIFO) or device can be read only once. Write the log into a file first; "
            "logs packed by gzip, bzip2, xz or zstd are read as they are"
        )
    head = packed.head(path, HEAD_BYTES)
    if not head:
        raise TraceError(f"{path} is empty")
    if (what := foreign_text(head)) is not None:
        raise TraceError(f"{path} is {what}")
    for name in registered_names(IMPORTERS, ENTRY_POINTS):
        if importer(name).recognises(path, head):
            return name
    raise TraceError(
        f"{path} is of no kind that is known: not a wavetank trace folder, a Darshan log, a DFTracer file (.pfw, "
        ".pfw.gz), a Recorder folder or strace's output. Check that it is the right file"
    )


def open_trace(path: Path) -> Trace:
    """Read a trace of any kind.

    Raises:
        TraceError: it is missing, damaged, or of no kind that is known.
    """
    kind = kind_of(path)
    with doing(f"reading {path.name}"):
        if kind != "wavetank":
            return importer(kind).read(path)
        from wavetank.trace.reader import read_trace  # noqa: PLC0415 - logs do without it

        return read_trace(path, loops=True)


def require_whole(trace: Trace, otherwise: str) -> None:
    """Refuse a trace that does not hold all that its program did.

    Args:
        trace: of any kind.
        otherwise: ends the message "Trace again, or ...".

    Raises:
        TraceError: something is missing, and is said.
    """
    if lost := texts(trace.notes, "lost"):
        raise TraceError(f"{'; '.join(lost)}. Trace again, or {otherwise}")
