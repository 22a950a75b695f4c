"""Drivers by name: ours from a table of places, those of other packages by entry points. Imported when asked for."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping

from wavetank.errors import WavetankError
from wavetank.nearest import did_you_mean


def registered_names(ours: Mapping[str, str], group: str) -> Iterator[str]:
    """All names, ours first. Installed packages are looked through when ours have been taken.

    Args:
        ours: name -> "module" or "module:attribute".
        group: of the entry points.
    """
    yield from ours
    from importlib.metadata import entry_points  # noqa: PLC0415 - seldom asked for, and slow

    yield from (name for name in entry_points(group=group).names if name not in ours)


def load_registered(
    what: str, name: str, ours: Mapping[str, str], group: str, error: type[WavetankError]
) -> object:
    """The attribute or module that a name stands for.

    Args:
        what: kind of driver, for people.
        name: of it.
        ours: name -> "module" or "module:attribute".
        group: of the entry points.
        error: raised where there is none of this name, or where it cannot be loaded from another package.
    """
    if name in ours:
        module, _, attribute = ours[name].partition(":")
        found = importlib.import_module(module)
        return getattr(found, attribute) if attribute else found
    from importlib.metadata import entry_points  # noqa: PLC0415 - likewise

    for entry in entry_points(group=group, name=name):
        try:
            return entry.load()
        except Exception as problem:  # code of somebody else's
            raise error(
                f"{what} {name} cannot be loaded from {entry.value}: {problem}. Mend or remove that package"
            ) from problem
    names = sorted(registered_names(ours, group))
    raise error(
        f"no {what} is called {name!r}; there are {', '.join(names)}.{did_you_mean(name, names)}"
    )
