"""Who asks: a tenant by its bearer token, or the administrator by the socket that nobody else can open."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request

from wavetank.errors import ServiceError
from wavetank.service.api.desk import Desk


@dataclass(frozen=True)
class Caller:
    """Who asks.

    Attributes:
        tenant: whose spaces it may see and change; None: all.
        actor: as audit rows name it.
    """

    tenant: str | None
    actor: str


class Unauthorized(ServiceError):  # noqa: N818 - an answer, no fault of the service
    """Nobody, as far as the service knows."""


class TooMany(ServiceError):  # noqa: N818
    """Somebody asks too often.

    Attributes:
        wait_s: whole seconds after which it may ask again.
    """

    def __init__(self, who: str, rate: float, wait_s: float) -> None:
        self.wait_s = math.ceil(wait_s)
        super().__init__(
            f"{who} asks more than {rate:g} times in a second: ask again in {self.wait_s} s"
        )


async def _caller(request: Request) -> Caller:
    desk: Desk = request.app.state.desk
    if request.app.state.is_for_the_administrator:
        return Caller(None, "admin")
    scheme, _, text = request.headers.get("authorization", "").partition(" ")
    token = desk.store.token_of(text.strip()) if scheme.lower() == "bearer" else None
    address = request.client.host if request.client else "unknown"
    if token is None:
        _turn_away(desk, address)
        raise Unauthorized(
            "this needs the token of a tenant: Authorization: Bearer TOKEN. Ask the administrator for one"
        )
    if token.has_expired(desk.now()):
        told = f"token {token.id} of tenant {token.tenant} expired at {token.expires_utc:%Y-%m-%d %H:%M:%S} UTC"
        _turn_away(desk, address, told)
        raise Unauthorized(f"{told}. Ask the administrator for another one")
    tenant = token.tenant
    if wait_s := desk.rates.take(tenant):
        raise TooMany(f"tenant {tenant}", desk.rates.per_s, wait_s)
    return Caller(tenant, f"tenant:{tenant}")


def _turn_away(desk: Desk, address: str, why: str = "") -> None:
    """Note who has no token, as often as strangers may ask, so that they fill no disk.

    Raises:
        TooMany: oftener than that.
    """
    if wait_s := desk.strangers.take(address):
        raise TooMany(f"{address}, without a valid token,", desk.strangers.per_s, wait_s)
    desk.store.note(f"address:{address}", "authenticate", "token", "unauthorized", desk.now(), why)


CallerHere = Annotated[Caller, Depends(_caller)]
