"""Exports as text of ganesha.conf: what is served under which name, to whom, and who may write.

Ganesha 4.3 answers a client that no CLIENT block names with the rights of the EXPORT block: none, where there is a list.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

Level = Literal["RW", "RO"]


@dataclass(frozen=True)
class Client:
    """Who may mount an export.

    Attributes:
        subject: an address, or a network (10.0.0.0/24).
        level: RW or RO.
    """

    subject: str
    level: Level = "RW"


@dataclass(frozen=True)
class Export:
    """A directory that is served.

    Attributes:
        path: of the directory, on the server.
        fsal: the back end: its Name, and what it wants to know.
        number: of no other export of the server, 1 to 65535. It is part of all file handles.
        pseudo: its name, from the root on.
        clients: who may mount it; None: whoever reaches the server.
    """

    path: str
    fsal: Mapping[str, str]
    number: int = 1
    pseudo: str = "/export"
    clients: tuple[Client, ...] | None = None


def export_block(export: Export, options: Mapping[str, str]) -> str:
    """The block of one export.

    Args:
        export: what is served.
        options: settings of the block, which replace those that it has by itself.
    """
    settings = {
        "Export_Id": str(export.number),
        "Path": export.path,
        "Pseudo": export.pseudo,
        "Access_Type": "RW" if export.clients is None else "NONE",
        "Squash": "No_Root_Squash",
        "SecType": "sys",
        "Protocols": "3",
        "MaxRead": "1048576",
        "MaxWrite": "1048576",
        **options,
    }
    inner = f"  FSAL {{\n{lines(export.fsal, 4)}  }}\n"
    for client in most_specific_first(export.clients or ()):
        rights = {"Clients": client.subject, "Access_Type": client.level, "Protocols": "3"}
        inner += f"  CLIENT {{\n{lines(rights, 4)}  }}\n"
    return f"EXPORT {{\n{lines(settings, 2)}{inner}}}\n"


def most_specific_first(clients: Sequence[Client]) -> list[Client]:
    """Clients in the order of ganesha.conf, whose first block that fits counts: addresses before the networks around them."""
    return sorted(
        clients, key=lambda each: (-ipaddress.ip_network(each.subject).prefixlen, each.subject)
    )


def lines(settings: Mapping[str, str], indent: int) -> str:
    """Settings of a block, one a line."""
    return "".join(f"{' ' * indent}{key} = {value};\n" for key, value in settings.items())
