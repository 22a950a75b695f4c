"""Routes of what there is and what happened: health, classes, what a tenant has, events."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from wavetank import __version__
from wavetank.service.api.callers import CallerHere
from wavetank.service.api.desk import DeskHere
from wavetank.service.api.refusals import TOLD
from wavetank.service.api.spaces import After, Limit
from wavetank.service.core.answers import (
    ClassAnswer,
    Classes,
    EventPage,
    Health,
    Room,
    TenantAnswer,
)
from wavetank.service.core.classes import CLASSES
from wavetank.service.core.records import Mode

router = APIRouter(tags=["service"], responses=TOLD)
"""For both."""

tenants_router = APIRouter(tags=["service"], responses=TOLD)
"""For tenants alone."""

open_router = APIRouter(tags=["service"])
"""For whoever reaches the service."""


@open_router.get("/v1/health")
async def health() -> Health:
    """Say that the service answers. Needs no token, and looks at nothing."""
    return Health(version=__version__)


@router.get("/v1/classes")
async def classes(desk: DeskHere, caller: CallerHere) -> Classes:
    """Which kinds are offered in which mode, and what confines a tenant there."""
    del caller  # whoever it is
    return Classes(
        classes=tuple(
            ClassAnswer(
                kind=each.kind,
                mode=each.mode,
                refused=each.refused or desk.lack(each.kind),
                confined_by=each.confined_by,
                size_limit=each.size_limit,
                isolation=each.isolation,
            )
            for each in CLASSES
        )
    )


@router.get("/v1/events")
def events(
    desk: DeskHere,
    caller: CallerHere,
    space: Annotated[str | None, Query(description="identity: only events of this space")] = None,
    after: After = 0,
    limit: Limit = 100,
) -> EventPage:
    """What happened, in order."""
    found = desk.store.events(caller.tenant, space, after, limit)
    return EventPage(events=found, next=found[-1].number if found else after)


@router.get("/v1/room")
def room(
    desk: DeskHere,
    caller: CallerHere,
    mode: Annotated[Mode, Query(description="dedicated: of servers that hold nothing")] = "shared",
) -> Room:
    """How much room the servers have for spaces, in sum: no server is told. Dedicated: with those that templates may bring up."""
    del caller  # whoever it is
    servers = desk.store.servers()
    if mode == "shared":
        to_come, fit = 0, [each for each in servers if each.dedicated_to is None]
    else:
        stocks = desk.store.templates()
        lacking = (
            each.template.device_bytes * (each.template.most_servers - each.used) for each in stocks
        )
        to_come, fit = sum(lacking), [each for each in servers if not each.tenants]
    sizes = (device.size for each in servers for device in each.server.devices)
    return Room(bytes=sum(sizes) + to_come, free=sum(each.free_bytes for each in fit) + to_come)


@tenants_router.get("/v1/tenant")
async def tenant(desk: DeskHere, caller: CallerHere) -> TenantAnswer:
    """What the tenant may have, and what it has."""
    assert caller.tenant is not None  # noqa: S101 - this route is for tenants
    found = desk.store.tenant(caller.tenant)
    return TenantAnswer(name=found.name, quota=found.quota, used=desk.store.usage(found.name))
