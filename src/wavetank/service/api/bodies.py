"""Requests are small: of a larger body no more than the limit is read."""

from __future__ import annotations

from fastapi import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MOST_BYTES = 256 * 2**10  # a space with some hundred access rules, each with its authority
TOO_LARGE = 413


class BodyLimit:
    """Lets routes read MOST_BYTES of a body, however much its sender says that there is."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        n = 0

        async def counted() -> Message:
            nonlocal n
            message = await receive()
            n += len(message.get("body", b""))
            if n > MOST_BYTES:
                # FastAPI takes every other exception for a body that is no JSON.
                raise HTTPException(
                    TOO_LARGE, f"a request has at most {MOST_BYTES} bytes", {"connection": "close"}
                )
            return message

        await self.app(scope, counted if scope["type"] == "http" else receive, send)
