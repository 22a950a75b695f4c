"""Routes of spaces: for tenants their own, for the administrator all. Who asks decides what there is to see."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response

from wavetank.service.api.callers import Caller, CallerHere
from wavetank.service.api.desk import Desk, DeskHere
from wavetank.service.api.refusals import TOLD
from wavetank.service.core.answers import SpacePage
from wavetank.service.core.records import LAST_NUMBER, AccessList, Name, Resize, Space, SpaceRequest
from wavetank.service.core.refusals import Refused
from wavetank.service.core.states import UNSETTLED

ACCEPTED = 202
MOST_OF_A_PAGE = 1000

router = APIRouter(tags=["spaces"], responses=TOLD)
"""For both."""

tenants_router = APIRouter(tags=["spaces"], responses=TOLD)
"""For tenants alone."""

After = Annotated[
    int, Query(ge=0, le=LAST_NUMBER, description="number of the last row that is known")
]
Limit = Annotated[int, Query(ge=1, le=MOST_OF_A_PAGE, description="rows at most")]


@tenants_router.post("/v1/spaces", status_code=ACCEPTED)
def create(asked: SpaceRequest, response: Response, desk: DeskHere, caller: CallerHere) -> Space:
    """Ask for a space. Its name makes it one request: asked again with the same values, the same space is the answer.

    202: it is to be made, or is being made. 200: it is there already and nothing is to be done.
    """
    assert caller.tenant is not None  # noqa: S101 - this route is for tenants
    desk.see_made(asked.kind, asked.mode, caller.actor, f"{caller.tenant}/{asked.name}")
    space, _ = desk.store.create_space(caller.tenant, asked, desk.now(), caller.actor)
    response.headers["location"] = f"/v1/spaces/{space.id}"
    return _taken(space, response, desk)


@router.get("/v1/spaces")
def page(
    desk: DeskHere,
    caller: CallerHere,
    name: Annotated[Name | None, Query(description="only the space of this name (tenants)")] = None,
    after: Annotated[str, Query(description="next of the page before")] = "",
    limit: Limit = 100,
) -> SpacePage:
    """Spaces that are not gone, by name; for the administrator by tenant and name."""
    if name is not None:
        if caller.tenant is None:
            raise Refused("invalid", "name: only tenants ask for one of their spaces by its name")
        found = desk.store.space_named(caller.tenant, name)
        return SpacePage(spaces=(found,) if found else (), next=None)
    spaces = desk.store.spaces(caller.tenant, _place(caller, after), limit)
    last = spaces[-1] if len(spaces) == limit else None
    return SpacePage(spaces=spaces, next=last and _next(caller, last))


@router.get("/v1/spaces/{space}")
async def show(space: str, desk: DeskHere, caller: CallerHere) -> Space:
    """One space by its identity, gone or not."""
    return desk.store.space(space, caller.tenant)


@router.post("/v1/spaces/{space}/resize", status_code=ACCEPTED)
def resize(
    space: str, asked: Resize, response: Response, desk: DeskHere, caller: CallerHere
) -> Space:
    """Ask for another size, other servers, or both."""
    after = desk.store.resize_space(space, asked, desk.now(), caller.actor, caller.tenant)
    return _taken(after, response, desk)


@router.put("/v1/spaces/{space}/access", status_code=ACCEPTED)
def set_access(
    space: str,
    asked: AccessList,
    response: Response,
    desk: DeskHere,
    caller: CallerHere,
    generation: Annotated[
        int | None,
        Query(ge=0, le=LAST_NUMBER, description="that the space must still have; else 412"),
    ] = None,
) -> Space:
    """Ask for these access rules in place of those that there are."""
    after = desk.store.set_access(space, asked, desk.now(), caller.actor, caller.tenant, generation)
    return _taken(after, response, desk)


@router.delete("/v1/spaces/{space}", status_code=ACCEPTED)
def delete(space: str, response: Response, desk: DeskHere, caller: CallerHere) -> Space:
    """Ask for a space and its data to go. Asked again, nothing more happens."""
    after = desk.store.delete_space(space, desk.now(), caller.actor, caller.tenant)
    return _taken(after, response, desk)


@router.post("/v1/spaces/{space}/retry", status_code=ACCEPTED)
def retry(space: str, response: Response, desk: DeskHere, caller: CallerHere) -> Space:
    """Try again what failed."""
    after = desk.store.retry_space(space, desk.now(), caller.actor, caller.tenant)
    return _taken(after, response, desk)


def _taken(space: Space, response: Response, desk: Desk) -> Space:
    if space.state in UNSETTLED:
        desk.wake()
    else:
        response.status_code = 200
    return space


def _place(caller: Caller, after: str) -> tuple[str, str] | None:
    if not after:
        return None
    if caller.tenant is not None:
        return caller.tenant, after
    tenant, _, name = after.partition("/")
    return tenant, name


def _next(caller: Caller, last: Space) -> str:
    return f"{last.tenant}/{last.name}" if caller.tenant is None else last.name
