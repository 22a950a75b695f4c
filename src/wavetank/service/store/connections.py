"""Connections to the service's database: one that writes, as many that read as there are readers at a time."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from wavetank.errors import ServiceError

WAIT_S = 60.0  # for a lock of another process, e.g. one that copies the database


class Connections:
    """All connections of this process to a database in WAL mode. Any thread may use them."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._idle: list[sqlite3.Connection] = []  # list.append and list.pop are atomic
        self._writer = self._connect()
        try:
            self._writer.execute("PRAGMA journal_mode = WAL")
            # A commit is on disk when it returns: nothing that was answered is lost.
            self._writer.execute("PRAGMA synchronous = FULL")
        except sqlite3.Error:
            self._writer.close()
            raise

    def _connect(self) -> sqlite3.Connection:
        return sqlite3.connect(
            self.path, timeout=WAIT_S, isolation_level=None, check_same_thread=False
        )

    @contextmanager
    def changing(self) -> Iterator[sqlite3.Connection]:
        """One transaction that writes: all of it when the block ends, nothing of it when the block raises.

        Raises:
            ServiceError: it cannot be written.
        """
        with self._lock:
            try:
                self._writer.execute("BEGIN IMMEDIATE")
                try:
                    yield self._writer
                    self.commit()
                finally:
                    if self._writer.in_transaction:
                        self._writer.execute("ROLLBACK")
            except sqlite3.Error as error:
                raise ServiceError(
                    f"cannot write to {self.path}: {error}. Is the disk full?"
                ) from error

    def commit(self) -> None:
        """Put the open transaction on disk."""
        self._writer.execute("COMMIT")

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """One state of the database, the last that was committed, whatever is written meanwhile.

        Raises:
            ServiceError: it cannot be read.
        """
        connection = None
        try:
            connection = self._reader()
            connection.execute("BEGIN")
            yield connection
        except sqlite3.Error as error:
            raise ServiceError(f"cannot read {self.path}: {error}") from error
        finally:
            if connection is not None:
                self._give_back(connection)

    def _reader(self) -> sqlite3.Connection:
        try:
            return self._idle.pop()
        except IndexError:
            connection = self._connect()
            connection.execute("PRAGMA query_only = 1")
            return connection

    def _give_back(self, connection: sqlite3.Connection) -> None:
        try:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
        except sqlite3.Error:
            with suppress(sqlite3.Error):
                connection.close()
        else:
            self._idle.append(connection)

    def close(self) -> None:
        """Close all."""
        for connection in (*self._idle, self._writer):
            connection.close()
        self._idle.clear()
