"""A campaign's folder and its database: where files lie, how a statement is committed, how a document is read back.

The folder: ``store.sqlite``, ``campaign.yaml``, ``comparison.json``,
``applications/<name>.kernel.json`` and ``.model.json``, ``clusters/<name>.yaml``.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

from wavetank.document import Document
from wavetank.errors import MeasurementError

DocumentT = TypeVar("DocumentT", bound=Document)

DATABASE = "store.sqlite"
COMPARISON = "comparison.json"
SPEC = "campaign.yaml"


class Database:
    """An open folder."""

    def __init__(self, folder: Path, connection: sqlite3.Connection) -> None:
        self.folder = folder
        self._connection = connection

    def kernel_path(self, application: str) -> Path:
        """Where an application's kernel is kept."""
        return self.folder / "applications" / f"{file_stem(application)}.kernel.json"

    def model_path(self, application: str) -> Path:
        """Where an application's model is kept, if one was named."""
        return self.folder / "applications" / f"{file_stem(application)}.model.json"

    def cluster_path(self, cluster: str) -> Path:
        """Where a cluster's specification is kept."""
        return self.folder / "clusters" / f"{file_stem(cluster)}.yaml"

    def _write(self, statement: str, values: tuple[object, ...]) -> None:
        self._write_all([(statement, values)])

    def _write_all(self, statements: Sequence[tuple[str, tuple[object, ...]]]) -> None:
        """All of some statements, or none."""
        try:
            with self._connection:
                for statement, values in statements:
                    self._connection.execute(statement, values)
        except sqlite3.Error as error:
            raise MeasurementError(
                f"cannot write to {self.folder / DATABASE}: {error}. Is the disk full?"
            ) from error

    def _parse(self, what: str, document: str, kind: type[DocumentT]) -> DocumentT:
        try:
            body = json.loads(document)
            body.pop("schema")
            return kind.model_validate(body)
        except (ValueError, KeyError) as error:  # pydantic's and json's are ValueErrors
            raise MeasurementError(
                f"{what} in {self.folder / DATABASE} is damaged: {error}"
            ) from error


def file_stem(name: str) -> str:
    """A file name out of a title: letters, digits, dot, dash; never empty, never hidden."""
    kept = "".join(letter if letter.isalnum() or letter in "._-" else "-" for letter in name)
    return kept.lstrip(".-") or "unnamed"
