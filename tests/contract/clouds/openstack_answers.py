"""What the stand-ins of OpenStack's services share: refusals in each service's own form, filters of lists."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

T = TypeVar("T")
NO_FILTERS = ("fields", "limit", "sort_key", "sort_dir")
ALSO_CALLED = {"tenant_id": "project_id"}


class RefusedCallError(Exception):
    """A call that a service refuses.

    Attributes:
        status: of HTTP.
        words: its own.
        kind: the error's name in Neutron.
    """

    def __init__(self, status: int, words: str, kind: str = "") -> None:
        self.status, self.words, self.kind = status, words, kind

    def body(self, path: str) -> dict[str, Any]:
        """In the form of the service that is asked."""
        if path.startswith("/network"):
            return {"NeutronError": {"type": self.kind, "message": self.words, "detail": ""}}
        name = {
            400: "badRequest",
            401: "error",
            403: "forbidden",
            404: "itemNotFound",
            409: "conflictingRequest",
            413: "overLimit",
        }
        return {name.get(self.status, "computeFault"): {"code": self.status, "message": self.words}}


def need(things: Mapping[str, T], identifier: str, words: str) -> T:
    """A thing that has to be there."""
    if identifier not in things:
        raise RefusedCallError(404, words, "NotFound")
    return things[identifier]


def due(looks: dict[str, int], things: Mapping[str, T]) -> list[tuple[str, T]]:
    """One look more at all things: those whose time for their next state has come."""
    found = []
    for identifier, thing in things.items():
        left = looks.get(identifier)
        if left == 0:
            del looks[identifier]
            found.append((identifier, thing))
        elif left is not None:
            looks[identifier] = left - 1
    return found


def filtered(
    things: Iterable[dict[str, Any]], query: Mapping[str, Sequence[str]]
) -> list[dict[str, Any]]:
    """Those whose attributes are as the query says: one of the values of each."""
    asked = {
        ALSO_CALLED.get(key, key): {value.lower() for value in values}
        for key, values in query.items()
        if key not in NO_FILTERS
    }
    return [
        each
        for each in things
        if all(str(each.get(key)).lower() in values for key, values in asked.items())
    ]
