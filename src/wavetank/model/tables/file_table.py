"""The file level of a model (P18 table 1)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from posixpath import commonpath

from wavetank.model.document.file import FileName, ModelFile
from wavetank.model.document.model import Model
from wavetank.model.document.name_shapes import name_shape, where_they_differ
from wavetank.tables.table import Cell, Column, Definition, Table
from wavetank.tables.words import DASH, size_words

MAX_FILES = 200
_ALIKE = 16  # files that differ in numbers only, from which on people are shown one line for them


@dataclass(frozen=True)
class _File:
    """One file, or for people several alike.

    Attributes:
        file: of several the first, with the sums of all.
        folder: that all files share.
        alike: the files' numbers, and their name with * for what differs; () and "" for one.
    """

    file: ModelFile
    folder: str
    alike: tuple[int, ...] = ()
    pattern: str = ""

    @property
    def title(self) -> str:
        """The name without the common folder; of several how many they are."""
        if not self.alike:
            return self.file.title(self.folder)
        return f"{self.pattern.removeprefix(self.folder)} ({len(self.alike):,} files)"

    @property
    def other_names(self) -> str:
        """Further names without the common folder; symbolic links marked."""
        return ", ".join(
            name.path.removeprefix(self.folder) + (" (symbolic link)" if name.symlink else "")
            for name in self.file.other_names
        )


def _id(item: _File) -> Cell:
    number = item.file.file_id
    return Cell(f"{number} ... {item.alike[-1]}" if item.alike else str(number), number)


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
        Column("file_id", "Id", _id, kind="integer"),
        Column("file_name", "Name", lambda i: Cell(i.title, i.file.file_name), wide=True),
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
    """Files with data operations; the others are counted in the caption.

    People see one line for many files whose names differ in numbers only and that are used alike.
    """
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
        people=_for_people(files, folder),
        caption=" ".join(notes),
        max_rows=MAX_FILES,
        columns={key: {"machine": True} for key, hidden in needless.items() if hidden},
    )


def _for_people(files: Sequence[ModelFile], folder: str) -> list[_File]:
    """A line for each file; one, with their sums, for many of equal names but for numbers that are used alike."""
    groups: dict[tuple[object, ...], list[ModelFile]] = {}
    for file in files:
        own = file.file_id if file.members is not None else None
        links = tuple(name.symlink for name in file.other_names)
        use = (
            links,
            file.file_accessmode,
            file.file_fileaccesstype,
            file.file_accesstype,
            file.file_np,
        )
        groups.setdefault((name_shape(file.file_name), *use, own), []).append(file)
    shown = []
    for alike in groups.values():
        if len(alike) < _ALIKE:
            shown += [_File(file, folder) for file in alike]
            continue
        pattern = where_they_differ([file.file_name for file in alike])
        shown.append(_File(_sum(alike), folder, tuple(file.file_id for file in alike), pattern))
    return shown


def _sum(files: Sequence[ModelFile]) -> ModelFile:
    """The first of some files with the sizes and counts of all; a count that one of them does not tell is not known."""
    sums: dict[str, int | None] = {}
    for name in ("file_size", "file_size_weights", "file_nphase", "n_operations", "n_sequential", "n_consecutive"):  # fmt: skip
        values: list[int | None] = [getattr(file, name) for file in files]
        told = [value for value in values if value is not None]
        sums[name] = sum(told) if len(told) == len(values) else None
    others = zip(*(file.other_names for file in files), strict=True)
    names = tuple(
        FileName(path=_pattern([name.path for name in of_all]), symlink=of_all[0].symlink)
        for of_all in others
    )
    return files[0].model_copy(update={**sums, "other_names": names})


def _pattern(paths: Sequence[str]) -> str:
    """One name for several, with * for what differs."""
    if len(set(map(name_shape, paths))) == 1:
        return where_they_differ(paths)
    return f"{common_folder(paths)}*"


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
