"""The folder of the service: opened by one process at a time, which alone writes.

A copy of the folder that is made while no process has it open is a backup.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from wavetank.errors import ServiceError
from wavetank.locks import LockedError, lock_folder
from wavetank.service.store.connections import Connections
from wavetank.service.store.schema import SCHEMA, SCHEMA_VERSION
from wavetank.service.store.store import Store

DATABASE = "service.sqlite"
LOCK = "service.lock"


@contextmanager
def open_store(folder: Path) -> Iterator[Store]:
    """Open the service's folder, alone; it is made where there is none, for its owner only.

    Raises:
        ServiceError: another process has it open, or it cannot be used, or another version of wavetank wrote it.
    """
    try:
        lock = lock_folder(folder, LOCK, DATABASE, mode=0o700)
    except LockedError as other:
        raise ServiceError(
            f"process {other.owner} has {folder} open: one service at a time works on a folder. Stop that one, "
            "or choose another folder"
        ) from other
    except OSError as error:
        raise ServiceError(
            f"cannot use {folder} for the service: {error.strerror}. Choose another folder"
        ) from error
    try:
        connections = _connections(folder / DATABASE)
        try:
            yield Store(connections)
        finally:
            connections.close()
    finally:
        os.close(lock)


def _connections(path: Path) -> Connections:
    """Connections to the database, whose tables are made where there are none."""
    path.touch(mode=0o600, exist_ok=True)
    try:
        connections = Connections(path)
    except sqlite3.Error as error:
        raise _unusable(path, error) from error
    try:
        _prepare(connections, path)
    except BaseException:
        connections.close()
        raise
    return connections


def _prepare(connections: Connections, path: Path) -> None:
    try:
        with connections.reading() as connection:
            (version,) = connection.execute("PRAGMA user_version").fetchone()
        if version == SCHEMA_VERSION:
            return
        if version:
            raise ServiceError(
                f"{path} was written by another version of wavetank (schema {version}, this one reads "
                f"{SCHEMA_VERSION}). Use that version, or choose another folder"
            )
        with connections.changing() as connection:
            for statement in SCHEMA.split(";"):
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
    except ServiceError as error:
        if isinstance(error.__cause__, sqlite3.Error):
            raise _unusable(path, error.__cause__) from error
        raise


def _unusable(path: Path, error: sqlite3.Error) -> ServiceError:
    return ServiceError(
        f"{path} cannot be used as the service's database: {error}. Move it away, or choose another folder"
    )
