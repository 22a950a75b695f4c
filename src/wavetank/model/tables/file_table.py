"""The file level of a model (P18 table 1)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from posixpath import commonpath

from wavetank.model.document.file import ModelFile
from wavetank.model.document.model import Model
from wavetank.tables.table import Cell, Column, Definition, Table
from wavetank.tables.words import DASH, size_words

MAX_FILES = 200


@dataclass(frozen=True)
class _File:
    file: ModelFile
    folder: str  # that all files share

    @property
    def other_names(self) -> str:
        """Further names without the common folder; symbolic links marked."""
        return ", ".join(
            name.path.removeprefix(self.folder) + (" (symbolic link)" if name.symlink else "")
            for name in self.file.other_names
        )


def _consecutive(item: _File) -> Cell:
    n, of = item.file.n_consecutive, item.file.n_operations
    return Cell(DASH if n is None or not of else f"{100 * n / of:.0f} %", n)


def _known(word: str) -> Cell:
    """A word; a dash where no data operation tells."""
    return Cell(DASH if word in {"unknown", "none"} else word, word)


def _by_weights(item: _File) -> Cell:
    size = item.file.file_size_weights
    return Cell("the same" if size == item.file.file_size else size_words(size), size)


FILES: Definition[_File] = Definition(
    "files",
    "Files",
    (
        Column("file_id", "Id", lambda i: i.file.file_id, kind="integer"),
        Column("file_name", "Name", lambda i: Cell(i.file.title(i.folder), i.file.file_name), wide=True),
        Column("file_size", "Size", lambda i: i.file.file_size, unit="B", show=size_words, help="what a kernel needs"),
        Column("file_size_weights", "By weights", _by_weights, unit="B", help="P15 eq. 2, 3"),
        Column("file_np", "Processes", lambda i: i.file.file_np, kind="integer", help="that open it"),
        Column("file_accessmode", "Access mode", lambda i: _known(i.file.file_accessmode)),
        Column("file_fileaccesstype", "R/W", lambda i: _known(i.file.file_fileaccesstype)),
        Column("file_accesstype", "Access type", lambda i: i.file.file_accesstype),
        Column("file_nphase", "Phases", lambda i: i.file.file_nphase, kind="integer"),
        Column("n_operations", "Operations", lambda i: i.file.n_operations, kind="integer"),
        Column("n_sequential", "Sequential", lambda i: i.file.n_sequential, kind="integer",
               help="Darshan: starts behind where the last ended"),
        Column("n_consecutive", "Consecutive", _consecutive, kind="integer", help="Darshan: starts where the last ended"),
        Column("other_names", "Other names", lambda i: Cell(i.other_names or DASH, [n.path for n in i.file.other_names]),
               kind="list", help="links, and what it was renamed to"),
    ),
)  # fmt: skip


def file_table(model: Model, *, largest_first: bool = False) -> Table:
    """Files with data operations; the others are counted in the caption."""
    folder = common_folder(file.file_name for file in model.files)
    files = [file for file in model.files if file.n_operations]
    if largest_first:
        files.sort(key=lambda file: (-file.file_size, file.file_id))
    n_without = len(model.files) - len(files)
    notes = [f"Names are below {folder}."] if folder else []
    if n_without:
        notes.append(f"{n_without:,} more files were touched without moving data.")
    needless = {
        "file_size_weights": all(file.file_size_weights == file.file_size for file in files),
        "other_names": not any(file.other_names for file in files),
    }
    return FILES.table(
        [_File(file, folder) for file in files],
        caption=" ".join(notes),
        max_rows=MAX_FILES,
        columns={key: {"machine": True} for key, hidden in needless.items() if hidden},
    )


def common_folder(paths: Iterable[str]) -> str:
    """The deepest folder that all absolute paths lie in, with its slash; "" for none below the root."""
    folders = [path.rsplit("/", 1)[0] or "/" for path in paths if path.startswith("/")]
    common = commonpath(folders) if folders else "/"
    return "" if common == "/" else f"{common}/"


def short_names(names: Mapping[int, str]) -> dict[int, str]:
    """File names without the folder that they share, by file_id."""
    folder = common_folder(names.values())
    return {file_id: name.removeprefix(folder) for file_id, name in names.items()}


def names_of(model: Model) -> dict[int, str]:
    """Names of a model's files without the folder that they share, by file_id."""
    return short_names({file.file_id: file.file_name for file in model.files})
