"""Between the service and what makes spaces: what is to be there, and what is there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Self

from wavetank.errors import ServiceError
from wavetank.service.core.own_servers import OwnServers
from wavetank.service.core.records import Access, Share, Space


class UnfinishedError(ServiceError):
    """A call to a maker did what it can do now: it is to be made again later. The text says what it waits for."""


@dataclass(frozen=True)
class Found:
    """A space as it is there.

    Attributes:
        space: its identity.
        whole: whether all that it consists of is there; False: it was left half made, half changed or half removed.
        shares: (node, device) -> bytes that it may use of the device.
        access: rules in force.
        export: how to mount it, as mount(8) takes it.
    """

    space: str
    whole: bool
    shares: Mapping[tuple[str, str], int]
    access: frozenset[Access]
    export: str


@dataclass(frozen=True)
class There:
    """What is on the servers, as far as they can be asked.

    Attributes:
        spaces: by identity, whole or not.
        away: server -> why it cannot be asked. Of its spaces nothing is known: not that they are not there.
    """

    spaces: Mapping[str, Found]
    away: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Order:
    """What is to be there: a space and where it lies.

    Attributes:
        space: with all that is wanted of it.
        shares: what it is to have of each device; those that it leaves have wanted 0.
        own: servers that are brought up for it alone; None: it lies on servers that were added.
    """

    space: Space
    shares: tuple[Share, ...]
    own: OwnServers | None = None

    def reached(self) -> Self:
        """The same without shares of servers that are not there yet."""
        if self.own is None or not self.own.pending:
            return self
        shares = tuple(each for each in self.shares if each.node not in self.own.pending)
        return replace(self, shares=shares)

    def wanted_shares(self) -> dict[tuple[str, str], int]:
        """(node, device) -> bytes, of the devices that it is to be on."""
        return {(each.node, each.device): each.wanted for each in self.shares if each.wanted}
