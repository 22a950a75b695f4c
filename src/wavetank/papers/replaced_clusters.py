"""A study on other clusters than its own: files of the same names, in another folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from wavetank.cluster.spec import read_spec
from wavetank.errors import SpecError


def in_their_place(files: Sequence[Path], folder: Path) -> tuple[Path, ...]:
    """The files of a folder that are called as a study's cluster files.

    Args:
        files: cluster files of the study.
        folder: with files in their place; some may be missing, which are left out.

    Raises:
        SpecError: there is none, or one names a cluster that no statement is about.
    """
    found = {file: folder / file.name for file in files if (folder / file.name).is_file()}
    if not found:
        names = ", ".join(sorted(file.name for file in files))
        lacks = "has no cluster file for this study" if folder.is_dir() else "is not there"
        raise SpecError(f"folder {folder} {lacks}. Call its files as the study's: {names}")
    problems = []
    for file, other in found.items():
        wanted, name = read_spec(file).name, read_spec(other).name
        if name != wanted:
            problems.append(
                f"{other}: name {name!r}: statements of the study are about cluster {wanted}: write name: {wanted}"
            )
    if problems:
        raise SpecError("; ".join(problems))
    return tuple(found.values())
