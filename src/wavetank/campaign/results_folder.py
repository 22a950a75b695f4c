"""The folder of a campaign's results: opened for reading by any number of processes, for adding by one.

A lock that dies with its owner keeps a second writer out. Every commit is on disk when it returns.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from wavetank.campaign.database import COMPARISON, DATABASE
from wavetank.campaign.store import Store
from wavetank.errors import MeasurementError
from wavetank.locks import LockedError, is_taken, lock_folder

LOCK = "store.lock"
SCHEMA_VERSION = 1

_SCHEMA = """
CREATE TABLE IF NOT EXISTS measurement (
    id INTEGER PRIMARY KEY,
    application TEXT NOT NULL,
    kernel_sha256 TEXT NOT NULL,
    cluster TEXT NOT NULL,
    cluster_key TEXT NOT NULL,
    mapping TEXT NOT NULL,
    cache TEXT NOT NULL,
    repetition INTEGER NOT NULL,
    finished_utc TEXT NOT NULL,
    spent_s REAL NOT NULL,
    document TEXT NOT NULL,
    UNIQUE (kernel_sha256, cluster_key, mapping, cache, repetition)
);
CREATE TABLE IF NOT EXISTS failure (
    id INTEGER PRIMARY KEY,
    application TEXT NOT NULL,
    cluster TEXT NOT NULL,
    mapping TEXT NOT NULL,
    repetition INTEGER,
    failed_utc TEXT NOT NULL,
    reason TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS missed (
    kernel_sha256 TEXT NOT NULL,
    cluster_key TEXT NOT NULL,
    mapping TEXT NOT NULL,
    cache TEXT NOT NULL,
    repetition INTEGER NOT NULL,
    PRIMARY KEY (kernel_sha256, cluster_key, mapping, cache, repetition)
);
CREATE TABLE IF NOT EXISTS characterisation (
    cluster_key TEXT PRIMARY KEY,
    document TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS raw_output (
    measurement_id INTEGER PRIMARY KEY,
    stdout BLOB NOT NULL,
    stderr BLOB NOT NULL
);
CREATE TABLE IF NOT EXISTS own_model (
    measurement_id INTEGER PRIMARY KEY,
    document BLOB NOT NULL
);
CREATE TABLE IF NOT EXISTS together (
    key TEXT PRIMARY KEY,
    cluster_key TEXT NOT NULL,
    finished_utc TEXT NOT NULL,
    spent_s REAL NOT NULL,
    document TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS beside (
    id INTEGER PRIMARY KEY,
    cluster_key TEXT NOT NULL,
    what TEXT NOT NULL,
    seconds REAL NOT NULL
);
CREATE TABLE IF NOT EXISTS held (
    cluster_key TEXT PRIMARY KEY,
    seconds REAL NOT NULL
);
CREATE TABLE IF NOT EXISTS invocation (
    id INTEGER PRIMARY KEY,
    begun_utc TEXT NOT NULL,
    ended_utc TEXT,
    n_failed INTEGER,
    n_not_afforded INTEGER
);
CREATE TABLE IF NOT EXISTS lease (
    cluster TEXT PRIMARY KEY
);
"""


@contextmanager
def open_store(folder: Path) -> Iterator[Store]:
    """Open a campaign's results for reading.

    Raises:
        MeasurementError: there are none, or of another version.
    """
    path = folder / DATABASE
    if not path.is_file():
        raise MeasurementError(
            f"{folder} holds no campaign results ({DATABASE} is missing). "
            "Run 'wavetank run' first, or name its output folder"
        )
    connection = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)
    try:
        _check_version(connection, path)
        yield Store(folder, connection)
    finally:
        connection.close()


@contextmanager
def write_store(folder: Path) -> Iterator[Store]:
    """Open a campaign's results for adding to them, alone; made when there are none.

    The campaign counts as stopped from here on, until its run is noted to have gone to its end.

    Raises:
        MeasurementError: another process is adding to them, or the folder cannot be used.
    """
    try:
        lock = lock_folder(folder, LOCK, DATABASE)
    except LockedError as other:
        raise MeasurementError(
            f"another campaign (process {other.owner}) is writing to {folder}. "
            "Wait for it, stop it, or choose another output folder with -o"
        ) from other
    except OSError as error:
        raise _unusable(folder, error) from error
    try:
        connection = sqlite3.connect(folder / DATABASE)
        try:
            # A commit is on disk when it returns: a killed campaign loses nothing finished.
            connection.execute("PRAGMA synchronous = FULL")
            _check_version(connection, folder / DATABASE)
            with connection:
                connection.executescript(_SCHEMA)
                connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
            store = Store(folder, connection)
            store.begin_invocation()
            yield store
        except sqlite3.DatabaseError as error:
            raise MeasurementError(
                f"{folder / DATABASE} cannot be used: {error}. Move it away, or choose another "
                "folder"
            ) from error
        finally:
            connection.close()
    finally:
        os.close(lock)


def is_being_written(folder: Path) -> bool:
    """Whether a campaign adds to a folder's results now; looked at without disturbing it."""
    return is_taken(folder, LOCK)


def was_stopped(store: Store) -> bool:
    """Whether the last run of a campaign did not go to its end, and none runs now."""
    ending = store.ending()
    return ending is not None and not ending.is_whole and not is_being_written(store.folder)


def see_usable(folder: Path) -> None:
    """See that a folder can hold results: what is missing of it is made and removed again.

    Raises:
        MeasurementError: it cannot be made or written.
    """
    made = [path for path in (folder, *folder.parents) if not path.exists()]
    probe = folder / f".{LOCK}.{os.getpid()}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe.write_bytes(b"\0" * 4096)
    except OSError as error:
        raise _unusable(folder, error) from error
    finally:
        probe.unlink(missing_ok=True) if probe.parent.is_dir() else None
        for path in made:
            with suppress(OSError):
                path.rmdir()


def _unusable(folder: Path, error: OSError) -> MeasurementError:
    return MeasurementError(
        f"cannot use {folder} for results: {error.strerror}. Choose another with -o"
    )


def _check_version(connection: sqlite3.Connection, path: Path) -> None:
    try:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
    except sqlite3.DatabaseError as error:
        raise MeasurementError(
            f"{path} is not a database of results: {error}. Move it away, or choose another folder"
        ) from error
    if version not in (0, SCHEMA_VERSION):
        raise MeasurementError(
            f"{path} was written by another version of wavetank (schema {version}, this one reads "
            f"{SCHEMA_VERSION}). Use that version, or choose another folder"
        )


def forget(store: Store) -> None:
    """Remove all results of a campaign that is open for writing."""
    store.clear()
    (store.folder / COMPARISON).unlink(missing_ok=True)
