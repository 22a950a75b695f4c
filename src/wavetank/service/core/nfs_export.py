"""How an NFS space is mounted: its server and its ports as one line, and as what mount(8) takes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Self

# A URL of RFC 2224, e.g. "nfs://10.77.0.3:28102/sp-1f".
_EXPORT = re.compile(r"nfs://([0-9.]+):(\d+)/([A-Za-z0-9_-]+)")


@dataclass(frozen=True)
class NfsExport:
    """The export of a space.

    Attributes:
        address: of its server.
        port: of NFS; that of mounts is the next one.
        space: identity, and name of the export.
    """

    address: str
    port: int
    space: str

    @classmethod
    def of(cls, export: str) -> Self:
        """An export from its line.

        Raises:
            ValueError: it is no such line.
        """
        found = _EXPORT.fullmatch(export)
        if found is None:
            raise ValueError(f"{export!r} is no export of NFS")
        return cls(found[1], int(found[2]), found[3])

    def export(self) -> str:
        """The export as a line."""
        return f"nfs://{self.address}:{self.port}/{self.space}"

    def source(self) -> str:
        """What mount(8) takes."""
        return f"{self.address}:/{self.space}"

    @property
    def ports(self) -> tuple[int, int]:
        """Of NFS, and of mounts."""
        return self.port, self.port + 1

    def mount_options(self) -> dict[str, str]:
        """Options with which mount(8) finds its server; nothing else tells its ports."""
        port, mount_port = map(str, self.ports)
        return {
            "vers": "3",
            "proto": "tcp",
            "nolock": "",
            "port": port,
            "mountport": mount_port,
            "mountproto": "tcp",
        }
