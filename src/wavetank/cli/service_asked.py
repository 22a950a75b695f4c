"""The service of this machine, as its administrator asks it: by the socket in its folder."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wavetank.cli.space import size_of
from wavetank.errors import ServiceError, UsageError

if TYPE_CHECKING:
    from wavetank.service.client.connection import Connection

EXTRA = "the service needs more Python packages: pip install 'wavetank[service]'"


@contextmanager
def service_here(folder: Path) -> Iterator[Connection]:
    """The service of this machine, as its administrator."""
    try:
        from wavetank.service.client.connection import as_administrator
    except ModuleNotFoundError as error:
        raise ServiceError(f"{EXTRA} ({error.name} is missing)") from error
    from wavetank.service.core.places import admin_socket

    with as_administrator(admin_socket(folder)) as connection:
        yield connection


def segment(text: str) -> str:
    """A name as a part of a path, so that nothing in it has a meaning there."""
    from urllib.parse import quote

    return quote(text, safe="")


def device_of(text: str) -> dict[str, Any]:
    """A device of an option ``--device``.

    Raises:
        UsageError: it is none.
    """
    name, equals, size = text.rpartition("=")
    if not equals or not name:
        raise UsageError(f"--device {text}: write NAME=SIZE, e.g. /srv/d0=100GiB")
    return {"name": name, "size": size_of("--device", size)}
