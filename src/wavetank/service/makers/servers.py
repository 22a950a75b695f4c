"""Servers of one kind of spaces, with what is of them there: what makers of spaces in images share."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from wavetank.cluster.facade import Host, Needs
from wavetank.errors import ServiceError
from wavetank.service.core.classes import KINDS
from wavetank.service.core.orders import Order
from wavetank.service.core.records import Access, Held, Kind, Network, Server
from wavetank.service.core.refusals import Refused
from wavetank.service.makers import packet_filter
from wavetank.service.makers.images import FOLDERS, Image, Images, problems_of

_TURNS: dict[str, threading.Lock] = {}
"""Of each server: its filter is set by what is wanted at that moment, so that no older rules come after newer ones."""


class Known(Protocol):
    """What a maker asks the service: its store is one."""

    def servers(self) -> Iterable[Held]:
        """All servers."""

    def order(self, space: str) -> Order:
        """A space with its places on servers."""


@dataclass(frozen=True)
class Servers:
    """Servers of one kind of spaces.

    Attributes:
        kind: of the spaces.
        known: what the service knows.
        hosts: node -> how to run commands there, as root. A device of a server is a folder there on which a local file system is mounted
            that is its alone.
    """

    kind: Kind
    known: Known
    hosts: Mapping[str, Host]

    @property
    def images(self) -> Images:
        """Spaces of this kind."""
        return Images(FOLDERS[self.kind])

    def see(self, server: Server, needed: Needs) -> None:
        """See that a server is reached, has the programs, and that its devices are local file systems for spaces alone.

        Raises:
            ServiceError: naming all that is wrong.
        """
        devices = [(device.name, device.size) for device in server.devices]
        if problems := problems_of(self.host(server.node), needed, devices):
            title = KINDS[self.kind].title
            raise ServiceError(f"server {server.node} cannot serve {title}: {'; '.join(problems)}")
        packet_filter.see(self.host(server.node))

    def wanted(self, space: str) -> tuple[Access, ...]:
        """Rules that a space is to have now; none of one that goes, or that nobody knows."""
        try:
            found = self.known.order(space).space
        except Refused:
            return ()
        return () if found.state in ("deleting", "gone") else found.access

    def guard(
        self, node: str, space: str, ports: Collection[int], others: Collection[Network] = ()
    ) -> None:
        """Let through to a space whom its rules let in now, and nobody else.

        Args:
            node: the server.
            space: its identity.
            ports: of what serves it there.
            others: networks that are let through, too.

        Raises:
            ServiceError: the server does not do it.
        """
        with _TURNS.setdefault(node, threading.Lock()):
            networks = (*packet_filter.networks_of(self.wanted(space)), *others)
            packet_filter.put(self.host(node), space, networks, ports)

    def is_guarded(
        self,
        filters: Mapping[str, str],
        space: str,
        ports: Collection[int],
        others: Collection[Network] = (),
    ) -> bool:
        """Whether ``guard`` would change nothing of the filters that are in force."""
        networks = (*packet_filter.networks_of(self.wanted(space)), *others)
        return filters.get(space) == packet_filter.hash_of(networks, ports)

    def nodes(self) -> list[str]:
        """Those for this kind."""
        return [held.server.node for held in self.known.servers() if self.kind in held.server.kinds]

    def nodes_of(self, space: str) -> list[str]:
        """Those that have, or had, a share of a space; all, where none does. Servers of its own that are not there yet have nothing."""
        order = self.known.order(space).reached()
        return sorted({share.node for share in order.shares} or self.nodes())

    def host(self, node: str) -> Host:
        """How to run commands on one.

        Raises:
            ServiceError: nobody knows.
        """
        try:
            return self.hosts[node]
        except KeyError:
            raise ServiceError(
                f"server {node} cannot be reached: the service does not know how"
            ) from None

    def all_on(self, node: str) -> tuple[Image, ...]:
        """All that is of spaces on a server.

        Raises:
            ServiceError: it is not known, or cannot be asked.
        """
        held = next((each for each in self.known.servers() if each.server.node == node), None)
        if held is None:
            raise ServiceError(f"server {node} is not known any more. Add it again")
        return self.images.on(self.host(node), [each.name for each in held.server.devices])

    def one_on(self, node: str, space: str) -> Image | None:
        """What is of a space on a server."""
        return next((each for each in self.all_on(node) if each.space == space), None)

    def made_on(self, node: str, space: str, device: str | None = None) -> Image:
        """What is of a space that is made, on a device; None: on any.

        Raises:
            ServiceError: nothing is.
        """
        its = (each for each in self.all_on(node) if each.space == space)
        there = next((each for each in its if device in (None, each.device)), None)
        if there is None or there.state == "unmade":
            raise ServiceError(f"server {node} has no such space any more")
        return there
