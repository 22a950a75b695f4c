"""A certificate that was renewed is taken while the service runs: connections that begin from then on have it."""

from __future__ import annotations

import asyncio
import logging
import ssl
from pathlib import Path

from wavetank.errors import WavetankError
from wavetank.service.daemon.listening import load_certificate, tls_of
from wavetank.service.daemon.settings import Settings

_log = logging.getLogger(__name__)


class Renewal:
    """Looks whether the files of a certificate and its key are others than those in use."""

    def __init__(self, settings: Settings, tls: ssl.SSLContext) -> None:
        """The files as they are now are taken to be in use.

        Args:
            settings: with a certificate and a key.
            tls: what connections begin with.
        """
        self._settings = settings
        self._tls = tls
        self._seen = self._files()

    async def run(self) -> None:
        """Look again and again, until it is cancelled."""
        while True:
            await asyncio.sleep(self._settings.certificate_s)
            self.look()

    def look(self) -> None:
        """Take what was renewed. Files that cannot be used are told, and what was in use stays so.

        Both files are seldom replaced in one moment: a certificate beside the old key is told, and looked at again with the new one.
        """
        found = self._files()
        if found == self._seen:
            return
        self._seen = found
        try:
            # first apart: in use, a pair that does not fit would take the place of one that does
            tls_of(self._settings)
            load_certificate(self._tls, self._settings)
        except WavetankError as error:
            _log.error("%s. The certificate from before stays in use", error)
        else:
            _log.warning(
                "the certificate %s was renewed, and is in use", self._settings.certificate
            )

    def _files(self) -> list[tuple[int, int, int] | None]:
        return [_told(path) for path in (self._settings.certificate, self._settings.key)]


def _told(path: Path | None) -> tuple[int, int, int] | None:
    """What tells a file from another one in its place; None: there is none."""
    try:
        found = path.stat() if path is not None else None
    except OSError:
        return None
    return found and (found.st_ino, found.st_mtime_ns, found.st_size)
