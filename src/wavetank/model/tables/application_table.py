"""The application level of a model, and what it requires (method, section 2; P18 table 1)."""

from __future__ import annotations

from collections.abc import Callable

from wavetank.model.document.model import Model
from wavetank.model.tables.file_table import short_names
from wavetank.notes import texts
from wavetank.tables.table import Cell, Column, Definition, Table, text
from wavetank.tables.words import size_words
from wavetank.units import format_duration, format_rate

_Fact = tuple[str, str, Cell]

APPLICATION: Definition[_Fact] = Definition(
    "application",
    "Application",
    (
        Column("field", "Field", lambda i: i[0]),
        Column("meaning", "Meaning", lambda i: i[1]),
        Column("value", "Value", lambda i: i[2], kind="any"),
    ),
)


def application_table(model: Model) -> Table:
    """What an application is, what it moves, what it asks of a storage system."""
    need = model.requirements
    read, written = need.reached_read_bytes_per_s, need.reached_write_bytes_per_s
    facts: list[_Fact] = [
        ("application", "name of the program", text(model.application)),
        *(("trace", "what is missing", text(sentence)) for sentence in texts(model.notes, "lost")),
        ("app_np", "processes that do I/O", Cell(f"{model.app_np:,} of {model.n_ranks:,} ranks", model.app_np)),
        ("n_ranks", "ranks of the run", Cell(f"{model.n_ranks:,}", model.n_ranks)),
        ("app_nfiles", "files with data", Cell(_files_words(model), model.app_nfiles)),
        ("app_st", "bytes moved", Cell(size_words(model.app_st), model.app_st)),
        ("storage_capacity", "storage capacity required",
         Cell(size_words(need.storage_capacity_bytes), need.storage_capacity_bytes)),
        ("needs_global_file_system", "global file system", Cell(_why_global(model), need.needs_global_file_system)),
        ("elapsed_s", "elapsed, traced run", _known(model.elapsed_s, format_duration)),
        ("reached_read", "read rate, traced run", _known(read, format_rate)),
        ("reached_write", "write rate, traced run", _known(written, format_rate)),
        ("source", "recorded by", text(model.source)),
    ]  # fmt: skip
    return APPLICATION.table(facts)


def _known(value: float | None, show: Callable[[float], str]) -> Cell:
    return Cell("not known" if value is None else show(value), value)


def _why_global(model: Model) -> str:
    """Which files several ranks open, so that all nodes must see them."""
    if not model.requirements.needs_global_file_system:
        return "not required"
    names = short_names({file.file_id: file.file_name for file in model.files})
    shared = [names[file.file_id] for file in model.files if file.file_accesstype == "shared"]
    more = f" and {len(shared) - 1} more are" if len(shared) > 1 else " is"
    return f"required: {shared[0]}{more} opened by several ranks" if shared else "required"


def _files_words(model: Model) -> str:
    if model.app_nfiles or not model.metadata:
        return f"{model.app_nfiles:,}"
    n_directories = sum(file.n_files for file in model.files if file.directory)
    n_files = sum(file.n_files for file in model.files) - n_directories
    return (
        f"0 with data; {n_files:,} files and {n_directories:,} directories "
        "are made, looked at or removed"
    )
