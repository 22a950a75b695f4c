"""Clusters of a user who is not root: all nodes in one user namespace, where the user is root.

There are no control groups, so what runs is found by its environment, and no loop devices, so storage is in memory.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from wavetank.cluster.namespaces.cgroups import Hierarchies
from wavetank.cluster.namespaces.disks import command
from wavetank.cluster.processes import end_all, marked
from wavetank.errors import ProviderError

NO_CONTROL_GROUPS = Hierarchies({}, None, frozenset())
# wavetank-node gives it to everything that it runs: the directory of the cluster.
MARK = "WAVETANK_CLUSTER"
END_TIMEOUT_S = 60.0
LACKS = "memory, CPU and disk rates are not limited, and storage is in memory (no control groups and loop devices for users)"


def reason_against() -> str | None:
    """Why a user cannot make namespaces here; None when one can."""
    try:
        command(
            ["unshare", "--user", "--map-root-user", "--net", "--mount", "--pid", "--fork", "true"]
        )
    except ProviderError as error:
        return str(error)
    return None


def end_marked(directory: Path) -> None:
    """End every process that has this cluster in its environment.

    Raises:
        ProviderError: some are still there after the time limit.
    """
    if left := end_all(lambda: marked(f"{MARK}={directory}"), END_TIMEOUT_S):
        raise ProviderError(f"processes {left} of {directory.name} do not end. Try again")


def open_up(directory: Path) -> None:
    """Give the user all directories below: overlays make one without any rights, and so may programs in nodes."""
    for path, names, _ in os.walk(directory):
        for name in names:
            below = Path(path) / name
            if not below.is_symlink():
                with contextlib.suppress(OSError):
                    below.chmod(0o700)
