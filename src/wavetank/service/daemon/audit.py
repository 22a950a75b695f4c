"""The audit log's file: audit rows as JSON, a line each, in order, each once. The database is where they are first."""

from __future__ import annotations

import json
import os
from pathlib import Path

from wavetank.errors import ServiceError
from wavetank.service.store.store import Store

PAGE = 1000
TAIL_BYTES = 2**16  # a line is far shorter


class AuditLog:
    """Follows the audit rows of a store. One thread calls it.

    A file that was moved away (logrotate) is begun anew, with the rows that follow.

    Attributes:
        path: of the file, for its owner only.
    """

    def __init__(self, store: Store, path: Path) -> None:
        self.path = path
        self._store = store
        self._written: int | None = None  # not known yet

    def follow(self) -> int:
        """Write what is not in the file yet; how many lines.

        Raises:
            ServiceError: it cannot be written.
        """
        try:
            return self._follow()
        except OSError as error:
            raise ServiceError(
                f"cannot write the audit log {self.path}: {error.strerror}. Is the disk full?"
            ) from error

    def _follow(self) -> int:
        if self._written is None:
            self._written = max(self._store.audit_written(), self._last_whole())
        n = 0
        while rows := self._store.audit(self._written, PAGE):
            text = "".join(f"{row.model_dump_json()}\n" for row in rows)
            self._append(text.encode())
            self._written = rows[-1].number
            self._store.set_audit_written(self._written)
            n += len(rows)
        return n

    def _append(self, text: bytes) -> None:
        descriptor = os.open(
            self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600
        )
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())

    def _last_whole(self) -> int:
        """Number of the last row that is whole in the file, after which the file is cut; 0: there is none.

        Rows are written before the database says so: a process that was killed in between has left some, the last perhaps in part.
        """
        try:
            descriptor = os.open(self.path, os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            return 0
        with os.fdopen(descriptor, "r+b") as stream:
            size = stream.seek(0, os.SEEK_END)
            start = stream.seek(max(0, size - TAIL_BYTES))
            whole = stream.read().rpartition(b"\n")[0]
            if not whole:
                if start == 0:
                    stream.truncate(0)
                return 0
            stream.truncate(start + len(whole) + 1)
            last = whole.rpartition(b"\n")[2]
        try:
            return int(json.loads(last)["number"])
        except (ValueError, KeyError, TypeError) as error:
            raise ServiceError(f"{self.path} is no audit log: move it away") from error
