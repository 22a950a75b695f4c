"""What tags and names say of a thing that a cloud has: whose it is, and until when."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from wavetank.cluster.clouds.cloud import PREFIX, TOKEN_TAG

# Names of things that have no tags.
LABEL = re.compile(r"^wavetank-(?P<cluster>[a-z][a-z0-9-]{0,30})-(?P<token>[0-9a-f]{8})(-.*)?$")


def of_tags(tags: Mapping[str, str]) -> dict[str, Any]:
    """What tags say of a thing: attributes of Made."""
    return {
        "cluster": tags.get(f"{PREFIX}cluster", ""),
        "token": tags.get(TOKEN_TAG, ""),
        "owner": tags.get(f"{PREFIX}owner", ""),
        "expires": _time(tags.get(f"{PREFIX}expires", "")),
    }


def _time(text: str) -> datetime | None:
    """Time of a tag; None where somebody changed it to what is none."""
    try:
        return datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
    except ValueError:
        return None
