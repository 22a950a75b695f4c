"""What all routes need: the store, which kinds can be made here, the clock, and a bell for what makes spaces."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, NoReturn

from fastapi import Depends, Request

from wavetank.errors import WavetankError
from wavetank.service.api.rates import Rates
from wavetank.service.core.classes import KINDS, why_not_offered
from wavetank.service.core.own_servers import Template
from wavetank.service.core.records import Kind, Mode, Server
from wavetank.service.core.refusals import Refused
from wavetank.service.reconcile.clusters import NoClusters
from wavetank.service.store.store import Store


@dataclass(frozen=True)
class Desk:
    """Where requests are taken.

    Attributes:
        store: open.
        kinds: that a maker is there for.
        now: the time in UTC.
        wake: called after a request that leaves something to do.
        look_at: raises a WavetankError where a server cannot serve what it is said to.
        rates: how often tenants may ask.
        strangers: how often who has no token may ask, by address.
        look_at_template: raises a WavetankError where no servers of it could come up.
    """

    store: Store
    kinds: frozenset[Kind]
    now: Callable[[], datetime]
    wake: Callable[[], None]
    look_at: Callable[[Server], None]
    rates: Rates
    strangers: Rates
    look_at_template: Callable[[Template], None] = NoClusters().see

    def lack(self, kind: Kind) -> str | None:
        """Why no space of a kind can be made here; None where one can."""
        if kind in self.kinds:
            return None
        others = ", ".join(sorted(self.kinds)) or "none"
        return (
            f"this service has no maker for {KINDS[kind].title}; kinds that it can make: {others}"
        )

    def see_made(self, kind: Kind, mode: Mode, actor: str, subject: str) -> None:
        """See that spaces of a class are offered and can be made here, before anything is kept.

        Raises:
            Refused: not_offered.
        """
        lack = why_not_offered(kind, mode) or self.lack(kind)
        if lack is not None:
            self.store.note(actor, "create space", subject, "not_offered", self.now(), lack)
            raise Refused("not_offered", lack)

    def see_serves(self, server: Server, actor: str) -> None:
        """See that a server can serve what it is said to, before it is kept.

        Raises:
            Refused: unfit, with what is wrong.
        """
        try:
            self.look_at(server)
        except WavetankError as error:
            self._refuse("put server", server.node, actor, error)

    def see_comes_up(self, template: Template, actor: str) -> None:
        """See that servers of a template could come up, before it is kept.

        Raises:
            Refused: unfit, with what is wrong.
        """
        try:
            self.look_at_template(template)
        except WavetankError as error:
            self._refuse("put template", template.name, actor, error)

    def _refuse(self, action: str, subject: str, actor: str, error: WavetankError) -> NoReturn:
        self.store.note(actor, action, subject, "unfit", self.now(), str(error))
        raise Refused("unfit", str(error)) from error


async def _desk(request: Request) -> Desk:
    desk: Desk = request.app.state.desk
    return desk


DeskHere = Annotated[Desk, Depends(_desk)]
