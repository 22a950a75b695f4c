"""The kernel's files as a benchmark's tasks see them: on this machine, or on the nodes of a cluster."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from wavetank.kernel.preparation.input_files import write_content


class TaskFiles(Protocol):
    """What is done with files before and after a run. Paths are those of the tasks.

    All raise OSError, or a WavetankError that says which node failed.
    """

    def size(self, path: Path) -> int | None:
        """Bytes; None when there is no such file."""

    def fill(self, path: Path, content_id: int, size_bytes: int) -> None:
        """Make a file of so many bytes."""

    def link(self, path: Path, name: Path) -> None:
        """Give a file that is there a second name, in place of whatever has it."""

    def remove(self, path: Path) -> None:
        """Remove a name; nothing happens when there is none."""

    def move(self, path: Path, name: Path) -> None:
        """Give a file that is there another name."""


class LocalFiles:
    """Files of this machine."""

    def size(self, path: Path) -> int | None:
        """Bytes; None when there is no such file."""
        return path.stat().st_size if path.exists() else None

    def fill(self, path: Path, content_id: int, size_bytes: int) -> None:
        """Make a file of the kernel's pattern."""
        write_content(path, content_id, size_bytes)

    def link(self, path: Path, name: Path) -> None:
        """A hard link."""
        if path.exists():
            name.unlink(missing_ok=True)
            name.hardlink_to(path)

    def remove(self, path: Path) -> None:
        """Remove a name."""
        path.unlink(missing_ok=True)

    def move(self, path: Path, name: Path) -> None:
        """Rename."""
        if path.exists():
            path.replace(name)
