"""Writes an imported trace as a trace folder: index.json, tables.json and folds.npz.

``read_trace`` reads it back. What the tracer itself leaves are parts; see part.py.
"""

from __future__ import annotations

import dataclasses
import io
import json
import shutil
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from wavetank.document import InputFile, provenance, sha256_of, write_whole
from wavetank.errors import DocumentError, TraceError, UsageError
from wavetank.notes import Note
from wavetank.trace.counters import DirectionCounters, FileCounters
from wavetank.trace.schema import (
    COLUMNS,
    LEVEL_NAMES,
    CallDetails,
    FileIdentity,
    FileView,
    FoldTable,
    OtherName,
    RankFacts,
    Striping,
    Trace,
    TracedFile,
)

TABLES_NAME = "tables.json"
FOLDS_NAME = "folds.npz"
SCHEMA = "wavetank.imported-trace/1"
_COLUMN = "fold_"  # before each column's name: savez has an argument "file"
_DETAIL = "detail_"


def write_imported(trace: Trace, folder: Path, source: Path) -> None:
    """Write a trace that an importer made from ``source``.

    Raises:
        UsageError: the folder exists and is not empty.
        DocumentError: it cannot be written.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder} exists. Choose another name with -o")
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise DocumentError(
            f"cannot make {folder}: {error.strerror}. Choose a place that exists and is writable with -o"
        ) from error
    try:
        _write_parts(trace, folder, source)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _write_parts(trace: Trace, folder: Path, source: Path) -> None:
    packed = io.BytesIO()
    np.savez_compressed(
        packed,
        **{_COLUMN + name: getattr(trace.folds, name) for name in COLUMNS},
        **{_DETAIL + name: column for name, column in vars(trace.folds.details).items()},
    )
    write_whole(folder / FOLDS_NAME, packed.getvalue())
    body: dict[str, Any] = {"schema": SCHEMA}
    body["provenance"] = (
        provenance()
        .model_copy(update={"inputs": (InputFile(path=str(source), sha256=sha256_of(source)),)})
        .model_dump(mode="json")
    )
    for name in (
        "source",
        "command",
        "n_ranks",
        "mpi_library",
        "started_utc",
        "elapsed_s",
        "communicators",
        "infos",
    ):
        body[name] = getattr(trace, name)
    body["levels"] = [int(level) for level in trace.levels]
    for name in ("ranks", "files", "views", "notes", "counters"):
        body[name] = [dataclasses.asdict(entry) for entry in getattr(trace, name)]
    write_whole(folder / TABLES_NAME, json.dumps(body, indent=1) + "\n")


def is_imported(folder: Path) -> bool:
    """Whether a trace folder was written by ``write_imported``."""
    return (folder / TABLES_NAME).exists()


def read_imported(folder: Path) -> Trace:
    """Read a trace that was imported before.

    Raises:
        TraceError: a part of it is missing or damaged.
    """
    try:
        body = json.loads((folder / TABLES_NAME).read_text(encoding="utf-8"))
        if body.get("schema") != SCHEMA:
            raise TraceError(
                f"{folder} is of schema {body.get('schema')!r}, expected {SCHEMA!r}. Convert it again"
            )
        with np.load(folder / FOLDS_NAME, allow_pickle=False) as packed:
            details = CallDetails(**_named(packed, _DETAIL))
            folds = FoldTable(**_named(packed, _COLUMN), details=details)
        if (folds.given < 0).any() or (folds.given >= len(details.flags)).any():
            raise ValueError("a row names what no call was given")
        return Trace(
            source=body["source"],
            command=tuple(body["command"]),
            n_ranks=body["n_ranks"],
            mpi_library=body["mpi_library"],
            started_utc=body["started_utc"],
            elapsed_s=body["elapsed_s"],
            ranks=tuple(RankFacts(**entry) for entry in body["ranks"]),
            files=tuple(_file(entry) for entry in body["files"]),
            views=tuple(_view(entry) for entry in body["views"]),
            communicators=tuple(tuple(entry) for entry in body["communicators"]),
            folds=folds,
            levels=tuple(_level(level) for level in body["levels"]),
            infos=tuple(tuple(map(tuple, info)) for info in body["infos"]),
            notes=tuple(Note(**entry) for entry in body["notes"]),
            counters=tuple(_counters(entry) for entry in body["counters"]),
        )
    except (OSError, ValueError, KeyError, TypeError, zipfile.BadZipFile) as error:
        raise TraceError(f"{folder} is damaged: {error}. Convert the log again") from error


def _named(packed: Mapping[str, Any], beginning: str) -> dict[str, np.ndarray]:
    """The arrays whose names begin so, by the rest of their names."""
    return {
        name.removeprefix(beginning): packed[name] for name in packed if name.startswith(beginning)
    }


def _file(entry: dict[str, Any]) -> TracedFile:
    hints: dict[str, Any] = {
        name: tuple(map(tuple, entry.pop(name))) for name in ("hints", "hints_in_force")
    }
    striping = tuple(
        Striping(**{**layout, "osts": tuple(layout["osts"])}) for layout in entry.pop("striping")
    )
    identity, names = entry.pop("identity"), entry.pop("other_names")
    return TracedFile(
        **entry,
        **hints,
        striping=striping,
        identity=FileIdentity(**identity) if identity else None,
        other_names=tuple(OtherName(**name) for name in names),
    )


def _counters(entry: dict[str, Any]) -> FileCounters:
    pairs: dict[str, Any] = {
        name: tuple(map(tuple, entry.pop(name))) for name in ("common_sizes", "common_gaps")
    }
    for name in ("reads", "writes"):
        way = entry.pop(name)
        pairs[name] = DirectionCounters(**{**way, "by_size": tuple(way["by_size"])})
    return FileCounters(**{**entry, "level": _level(entry["level"])}, **pairs)


def _level(number: int) -> int:
    if number not in LEVEL_NAMES:
        raise ValueError(f"{number} is no level")
    return number


def _view(entry: dict[str, Any]) -> FileView:
    return FileView(
        displacement=entry["displacement"],
        etype_size=entry["etype_size"],
        extent=entry["extent"],
        run_offsets=tuple(entry["run_offsets"]),
        run_lengths=tuple(entry["run_lengths"]),
    )
