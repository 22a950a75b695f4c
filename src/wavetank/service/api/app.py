"""The two applications: one for tenants, by tokens; one for the administrator, who is whoever reaches it."""

from __future__ import annotations

from fastapi import FastAPI

from wavetank import __version__
from wavetank.service.api import administration, happenings, spaces
from wavetank.service.api.bodies import BodyLimit
from wavetank.service.api.desk import Desk
from wavetank.service.api.refusals import add_handlers

OPENAPI = "/v1/openapi.json"


def tenants_app(desk: Desk) -> FastAPI:
    """The application for tenants. Everything but its health and its description needs a token."""
    app = _app(desk, "wavetank: spaces for tenants")
    app.state.is_for_the_administrator = False
    app.include_router(spaces.tenants_router)
    app.include_router(happenings.tenants_router)
    return app


def administrators_app(desk: Desk) -> FastAPI:
    """The application for the administrator. It asks nobody who they are: it is for a socket that nobody else can open."""
    app = _app(desk, "wavetank: administration of spaces")
    app.state.is_for_the_administrator = True
    app.include_router(administration.router)
    return app


def _app(desk: Desk, title: str) -> FastAPI:
    # The pages that FastAPI makes of the description load programs from another site: they are not served.
    app = FastAPI(
        title=title, version=__version__, openapi_url=OPENAPI, docs_url=None, redoc_url=None
    )
    app.state.desk = desk
    app.add_middleware(BodyLimit)
    add_handlers(app)
    app.include_router(happenings.open_router)
    app.include_router(happenings.router)
    app.include_router(spaces.router)
    return app
