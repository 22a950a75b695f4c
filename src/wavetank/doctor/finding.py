"""A finding: one ability of this machine, and how to look for what gives it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from wavetank.programs import find_program, search_path

State = Literal["ok", "missing", "limited"]
_TIMEOUT_S = 60.0


@dataclass(frozen=True)
class Finding:
    """One ability of this machine.

    Attributes:
        area: what it belongs to: "trace and replay", "virtual clusters", "file systems", ...
        ability: what it is.
        found: version, path or mechanism, for people.
        cost: what does not work without it; empty when it is there.
        remedy: how to get it; empty when it is there.
    """

    area: str
    ability: str
    state: State
    found: str
    cost: str = ""
    remedy: str = ""


def there_or_not(
    area: str, ability: str, found: str | None, lack: str, cost: str, remedy: str
) -> Finding:
    """A finding of what is there, as ``found`` says, or else is missing, as ``lack`` says."""
    if found is not None:
        return Finding(area, ability, "ok", found)
    return Finding(area, ability, "missing", lack, cost, remedy)


def tried(area: str, ability: str, argv: list[str], found: str, cost: str, remedy: str) -> Finding:
    """A finding by running a harmless command."""
    if find_program(argv[0]) is None:
        return Finding(
            area, ability, "missing", f"{argv[0]} not found", cost, "apt-get install util-linux"
        )
    try:
        done = subprocess.run(
            argv, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False,
            env={**os.environ, "PATH": search_path()},
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        return Finding(area, ability, "missing", str(error), cost, remedy)
    if done.returncode != 0:
        said = done.stderr.strip().splitlines()
        return Finding(area, ability, "missing", said[-1] if said else "refused", cost, remedy)
    return Finding(area, ability, "ok", found)


def kernel_has(
    name: str, run: Callable[..., subprocess.CompletedProcess[str]] = subprocess.run
) -> bool:
    """Whether the kernel has a file system, loaded or as a module that could be."""
    lines = Path("/proc/filesystems").read_text(encoding="ascii").splitlines()
    if any(line.split("\t")[-1] == name for line in lines):
        return True
    modprobe = find_program("modprobe")
    if modprobe is None:
        return False
    return (
        run([modprobe, "--dry-run", "--quiet", name], capture_output=True, check=False).returncode
        == 0
    )
