"""Which clusters ``wavetank try`` compares for a user who is not root.

Servers of most file systems need root. What such a user can choose between is where files lie: the file systems that are mounted
and writable. Beside them is a node in a user namespace, whose storage is memory: what the application takes where storage costs nothing.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from wavetank.campaign.candidates import Choice, io_processes, storage_bytes
from wavetank.cluster.spec import ClusterSpec
from wavetank.errors import UsageError
from wavetank.kernel.document.kernel import Kernel
from wavetank.units import format_size

MEASURED_HERE = (
    "Nothing is limited: the file systems are measured as they are mounted here, by the processes of this node, with whatever others "
    "do on them. Only root empties page caches."
)
MOST_SHOWN = 40
"""Characters of a path in a title."""
NOTE = (
    "Without root no server is started and nothing is limited: file systems that are mounted here are compared, and only root empties "
    "page caches. Run with sudo to compare NFS and parallel file systems under the rates of an instance."
)


def directories_of_a_user(folder: Path) -> dict[str, Path]:
    """Where a user may put files, one of each file system: the folder of the attempt, the user's home, the temporary folder.

    Args:
        folder: of the attempt; existing.
    """
    found: dict[str, Path] = {}
    devices: set[int] = set()
    home = os.environ.get("HOME")
    for name, path in (
        ("folder", folder.resolve()),
        *([("home", Path(home))] if home else []),
        ("temporary", Path(tempfile.gettempdir())),
    ):
        if path.is_dir() and os.access(path, os.W_OK | os.X_OK):
            device = path.stat().st_dev
            if device not in devices:
                devices.add(device)
                found[name] = path
    return found


def directories_asked(paths: Sequence[Path]) -> dict[str, Path]:
    """The directories that a user names, each by what it is called in names of clusters.

    Raises:
        UsageError: one is no directory that can be written, or is named twice.
    """
    found: dict[str, Path] = {}
    for path in paths:
        if not path.is_dir() or not os.access(path, os.W_OK | os.X_OK):
            raise UsageError(f"--on {path}: this is no directory that you may write to")
        whole = path.resolve()
        if whole in found.values():
            raise UsageError(f"--on {path}: it is named twice")
        slug = re.sub(r"[^a-z0-9]+", "-", str(whole).lower()).strip("-")[-20:].strip("-") or "root"
        name = slug if slug not in found else f"{slug}-{len(found)}"
        found[name] = whole
    return found


def mount_kind(path: Path) -> str:
    """Type of the file system that a path lies on, as the mount table has it: "lustre", "nfs4", "ext4"."""
    deepest, kind = "", "unknown"
    for line in (
        Path("/proc/self/mounts").read_text(encoding="utf-8", errors="replace").splitlines()
    ):
        _, target, found, *_ = line.split(" ")
        target = re.sub(
            r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), target
        )  # \040 is a space
        if path.is_relative_to(target) and len(target) >= len(deepest):
            deepest, kind = target, found
    return kind


def clusters_of_a_user(
    kernel: Kernel,
    directories: dict[str, Path],
    *,
    problems: Callable[[ClusterSpec], Sequence[str]] = lambda spec: (),
    free_memory_bytes: int | None = None,
    prefix: str = "try",
    alone: bool = False,
) -> Choice:
    """The file systems that are mounted here, and memory of a node in a user namespace.

    Args:
        kernel: of the application.
        directories: to compare, by what they are called in names of clusters.
        problems: why a cluster cannot come up on this machine.
        free_memory_bytes: of this machine; None: not known, and taken to be enough.
        prefix: of the clusters' names.
        alone: these directories, and no node.
    """
    size = storage_bytes(kernel)
    common = {
        "instance": {"name": "this-machine"},
        "nodes": {"compute": 1},
        "storage": {"size": size},
    }
    mounted = [
        ClusterSpec.model_validate(
            {
                **common,
                "name": f"{prefix}-{name}",
                "title": _title(path),
                "provider": "null",
                "file_system": {"kind": "existing", "path": str(path)},
            }
        )
        for name, path in directories.items()
    ]
    if alone:
        return Choice(tuple(mounted), (MEASURED_HERE,))
    node = ClusterSpec.model_validate(
        {
            **common,
            "name": f"{prefix}-node",
            "title": "memory of a node",
            "file_system": {"kind": "none"},
        }
    )
    against = list(problems(node))
    if free_memory_bytes is not None and size > free_memory_bytes:
        against.append(
            f"its storage of {format_size(size)} is memory, and {format_size(free_memory_bytes)} are free"
        )
    if against:
        left_out = f"A node in a user namespace is not compared: {'; '.join(against)}."
        return Choice(tuple(mounted), (NOTE, left_out))
    return Choice((*mounted, node), (NOTE,))


def _title(path: Path) -> str:
    """Of a directory, with what is mounted there; of a long path its end."""
    text = str(path)
    shown = text if len(text) <= MOST_SHOWN else f"\N{HORIZONTAL ELLIPSIS}{text[-MOST_SHOWN:]}"
    return f"{shown} ({mount_kind(path)})"


def mapping_of_a_user(kernel: Kernel) -> str:
    """All I/O processes on the one node that there is."""
    return f"{io_processes(kernel)}PxCN"
