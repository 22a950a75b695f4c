"""Everything that is wrong in the files that a specification names, collected and said at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from wavetank.compare.titles import titles_that_stand_twice
from wavetank.errors import SpecError, WavetankError

T = TypeVar("T")


class Problems:
    """What is wrong, in the order in which it was found."""

    def __init__(self) -> None:
        self._said: list[str] = []

    def attempt(self, read: Callable[[], T]) -> T | None:
        """What ``read`` gives; None where it fails, which is noted."""
        try:
            return read()
        except WavetankError as error:
            self._said.append(str(error))
            return None

    def note(self, problem: str) -> None:
        """Add a sentence."""
        self._said.append(problem)

    def note_names_that_stand_twice(self, names: Sequence[str], what: str) -> None:
        """Add a sentence for each name that two things of a kind have."""
        self._said += [
            f"two {what}s have the name {name!r}: give one another name"
            for name in dict.fromkeys(names)
            if names.count(name) > 1
        ]

    def note_titles_that_stand_twice(self, own: Mapping[str, str | None]) -> None:
        """Add a sentence for each title that people gave to two clusters: cluster name -> title."""
        self._said += titles_that_stand_twice(own)

    def stop_if_any(self, name: str) -> None:
        """Say all of them.

        Raises:
            SpecError: there are some.
        """
        if self._said:
            lines = "\n  ".join(dict.fromkeys(self._said))
            raise SpecError(f"{name} cannot start:\n  {lines}")


def check_files(name: str, base: Path, files: Iterable[Path | None]) -> None:
    """Find out whether all files that a specification names exist; relative ones below ``base``.

    Raises:
        SpecError: some do not; all of them are named.
    """
    missing = [
        f"{base / file}: no such file"
        for file in files
        if file is not None and not (base / file).is_file()
    ]
    if missing:
        raise SpecError(f"{name} names files that are not there:\n  " + "\n  ".join(missing))
