"""Refusals in HTTP: each code of the core has one status, and every answer that is no success is a ``Refusal``."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import ValidationError
from pydantic_core import InitErrorDetails
from starlette.exceptions import HTTPException

from wavetank.errors import ServiceError
from wavetank.refusals import findings_of
from wavetank.service.api.bodies import TOO_LARGE
from wavetank.service.api.callers import TooMany, Unauthorized
from wavetank.service.core.answers import Refusal
from wavetank.service.core.refusals import Code, Refused

STATUS: Mapping[Code, int] = {
    "invalid": 422,
    "unfit": 422,
    "not_offered": 422,
    "unknown": 404,
    "exists": 409,
    "quota": 403,
    "no_room": 507,
    "changed": 412,
    "state": 409,
    "in_use": 409,
}
OTHERS: Mapping[str, int] = {
    "unauthorized": 401,
    "too_many": 429,
    "too_large": TOO_LARGE,
    "unavailable": 503,
}
"""Codes that the core does not know, with their status."""

TOLD: dict[int | str, dict[str, Any]] = {
    status: {"model": Refusal} for status in sorted({*STATUS.values(), *OTHERS.values()})
}
"""For OpenAPI: what answers with these statuses hold."""

BAD_REQUEST = 400

_log = logging.getLogger(__name__)


def add_handlers(app: FastAPI) -> None:
    """Answer with refusals where routes raise."""
    app.add_exception_handler(Refused, _refused)
    app.add_exception_handler(Unauthorized, _unauthorized)
    app.add_exception_handler(TooMany, _too_many)
    app.add_exception_handler(ServiceError, _unavailable)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _plain)


def _answer(status: int, code: str, message: str, **headers: str) -> JSONResponse:
    return JSONResponse({"code": code, "message": message}, status_code=status, headers=headers)


async def _refused(request: Request, error: Exception) -> JSONResponse:
    del request
    assert isinstance(error, Refused)  # noqa: S101 - registered for it alone
    return _answer(STATUS[error.code], error.code, str(error))


async def _unauthorized(request: Request, error: Exception) -> JSONResponse:
    del request
    return _answer(401, "unauthorized", str(error), **{"www-authenticate": "Bearer"})


async def _too_many(request: Request, error: Exception) -> JSONResponse:
    del request
    assert isinstance(error, TooMany)  # noqa: S101
    return _answer(429, "too_many", str(error), **{"retry-after": str(error.wait_s)})


async def _unavailable(request: Request, error: Exception) -> JSONResponse:
    """The store cannot be read or written: the reason is the administrator's."""
    _log.error("%s %s: %s", request.method, request.url.path, error)
    told = str(error) if request.app.state.is_for_the_administrator else "ask the administrator"
    return _answer(503, "unavailable", f"the service cannot do this now: {told}")


async def _invalid(request: Request, error: Exception) -> JSONResponse:
    del request
    assert isinstance(error, RequestValidationError)  # noqa: S101
    return _answer(422, "invalid", "; ".join(_findings(error)))


def _findings(error: RequestValidationError) -> list[str]:
    """In the words of all other refusals: where, and what to write."""
    details = [
        InitErrorDetails(
            type=each["type"],
            loc=tuple(each["loc"][1:]),
            input=each.get("input"),
            ctx=each.get("ctx", {}),
        )
        for each in error.errors()
    ]
    try:
        return findings_of(ValidationError.from_exception_data("request", details))
    except (KeyError, TypeError, ValueError):  # of a type that is not pydantic's: no JSON, no body
        return [
            f"{'.'.join(str(part) for part in each['loc'])}: {each['msg']}"
            for each in error.errors()
        ]


async def _plain(request: Request, error: Exception) -> JSONResponse:
    """No such route, or not with this method; or a body that is too large."""
    assert isinstance(error, HTTPException)  # noqa: S101
    told = f"{request.method} {request.url.path}: {error.detail}"
    if error.status_code == TOO_LARGE:
        return _answer(TOO_LARGE, "too_large", told, **dict(error.headers or {}))
    code = "invalid" if error.status_code == BAD_REQUEST else "unknown"
    return _answer(error.status_code, code, f"{told}. See /v1/openapi.json")
