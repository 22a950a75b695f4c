"""The launchers by name. Third parties add theirs by the entry point group ``wavetank.launchers``."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.metadata import entry_points

from wavetank.errors import UsageError
from wavetank.launchers.base import Launcher

# In the order in which they are asked whether a command line is theirs; "none" takes what is left.
LAUNCHERS: dict[str, str] = {
    "openmpi": "wavetank.launchers.openmpi:OpenMpi",
    "mpich": "wavetank.launchers.mpich:Mpich",
    "srun": "wavetank.launchers.srun:Srun",
    "none": "wavetank.launchers.none:NoLauncher",
}
ENTRY_POINTS = "wavetank.launchers"


def launcher_names() -> list[str]:
    """All names, ours first."""
    return list(
        dict.fromkeys([*LAUNCHERS, *(point.name for point in entry_points(group=ENTRY_POINTS))])
    )


@cache
def launcher(name: str) -> Launcher:
    """The launcher of that name.

    Raises:
        UsageError: there is none.
    """
    if name in LAUNCHERS:
        module, _, attribute = LAUNCHERS[name].partition(":")
        made: Launcher = getattr(importlib.import_module(module), attribute)()
        return made
    for point in entry_points(group=ENTRY_POINTS):
        if point.name == name:
            found: Launcher = point.load()()
            return found
    raise UsageError(f"there is no launcher {name!r}. Known: {', '.join(launcher_names())}")


def recognise(argv: Sequence[str]) -> Launcher:
    """The launcher whose command line this is; "none" for a plain program."""
    for candidate in _launchers():
        if candidate.name != "none" and candidate.recognises(argv):
            return candidate
    return launcher("none")


def _launchers() -> Iterator[Launcher]:
    for name in launcher_names():
        yield launcher(name)
