"""Names of a model's files as people need them: without the folder that all of them share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from wavetank.model.application import Model


@dataclass(frozen=True)
class FileNames:
    """Names below a common folder.

    Attributes:
        folder: that holds all files; None where the files share none.
        of: file_id -> name below the folder.
    """

    folder: str | None
    of: Mapping[int, str]


def file_names(model: Model) -> FileNames:
    """Names of a model's files, as short as they can be without becoming ambiguous."""
    full = {file.file_id: file.file_name for file in model.files}
    absolute = [PurePosixPath(name) for name in full.values() if name.startswith("/")]
    if not absolute or len(absolute) < len(full):
        return FileNames(None, full)
    shared = absolute[0].parent
    while not all(path.is_relative_to(shared) for path in absolute):
        shared = shared.parent
    if str(shared) == "/":
        return FileNames(None, full)
    return FileNames(str(shared), {i: name[len(str(shared)) + 1 :] for i, name in full.items()})
