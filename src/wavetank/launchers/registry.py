"""The launchers by name. Third parties add theirs by the entry point group ``wavetank.launchers``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import cast

from wavetank.errors import UsageError
from wavetank.launchers.base import Launcher
from wavetank.launchers.family import family_of_library
from wavetank.registered import load_registered, registered_names

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
    return list(registered_names(LAUNCHERS, ENTRY_POINTS))


@cache
def launcher(name: str) -> Launcher:
    """The launcher of that name.

    Raises:
        UsageError: there is none.
    """
    made = load_registered("launcher", name, LAUNCHERS, ENTRY_POINTS, UsageError)
    return cast("type[Launcher]", made)()


def launcher_of_library(library: str | None) -> Launcher:
    """The launcher of the MPI library of a run where that is installed, else one that is; Open MPI's where none is.

    Args:
        library: what it says of itself; None: not known.
    """
    own = family_of_library(library)
    names = dict.fromkeys([*([own] if own else []), "openmpi", "mpich"])
    found = next((name for name in names if launcher(name).available() is not None), "openmpi")
    return launcher(found)


def recognise(argv: Sequence[str]) -> Launcher:
    """The launcher whose command line this is; "none" for a plain program."""
    for candidate in _launchers():
        if candidate.name != "none" and candidate.recognises(argv):
            return candidate
    return launcher("none")


def _launchers() -> Iterator[Launcher]:
    for name in launcher_names():
        yield launcher(name)
