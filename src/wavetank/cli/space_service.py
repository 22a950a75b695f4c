"""The service of spaces that a tenant asks: the environment names it, and says who asks."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from wavetank.errors import ServiceError, UsageError

if TYPE_CHECKING:
    from wavetank.service.client.spaces import Spaces

URL, TOKEN, AUTHORITY = "WAVETANK_SERVICE", "WAVETANK_TOKEN", "WAVETANK_SERVICE_CA"
"""Variables of the environment: a token in an argument could be read by every user of the machine."""


@contextmanager
def service_of_tenant() -> Iterator[Spaces]:
    """The service that the environment names.

    Raises:
        UsageError: it names none, or no token.
    """
    url, token, authority = (os.environ.get(name) for name in (URL, TOKEN, AUTHORITY))
    if not url or not token:
        missing = " and ".join(name for name, value in ((URL, url), (TOKEN, token)) if not value)
        raise UsageError(
            f"set {missing} in the environment: {URL} is the URL of the service, {TOKEN} a token of yours from its administrator"
        )
    try:
        from wavetank.service.client.connection import as_tenant
        from wavetank.service.client.spaces import Spaces
    except ModuleNotFoundError as error:
        raise ServiceError(
            f"spaces need more Python packages: pip install 'wavetank[service]' ({error.name} is missing)"
        ) from error
    with as_tenant(url, token, Path(authority) if authority else None) as connection:
        yield Spaces(connection)
