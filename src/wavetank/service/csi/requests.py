"""What a claim asks for, as a request for a space: names, sizes, parameters of its class, how it is to be mounted."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import ValidationError

from wavetank.document import explain
from wavetank.service.core.classes import KINDS, smallest_bytes
from wavetank.service.core.records import LARGEST_BYTES, Kind, Space, SpaceRequest
from wavetank.service.csi.messages import MODES, Message
from wavetank.service.csi.statuses import CallError, Code, invalid

DEFAULT_BYTES = 2**30
"""Of a volume whose claim names no size."""

PARAMETERS: Mapping[str, str] = {
    "kind": "kind",
    "mode": "mode",
    "servers": "servers",
    "devices": "devices_per_server",
    "stripe": "stripe_size",
    "redundancy": "redundancy",
}
"""Parameter of a StorageClass -> field of the request."""
OF_KUBERNETES = "csi.storage.k8s.io/"
"""Parameters that the provisioner adds begin so: they name the claim."""
_NAME = re.compile(r"^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$")


def space_name(volume: str) -> str:
    """Name of a volume's space: its own, or a hash of one that no space can have."""
    if _NAME.match(volume):
        return volume
    return f"csi-{hashlib.sha256(volume.encode()).hexdigest()[:40]}"


def request_of(
    volume: str, capacity: tuple[int, int], parameters: Mapping[str, str]
) -> SpaceRequest:
    """A request for a new space, as small as the claim lets it be.

    Args:
        volume: the name of the volume.
        capacity: bytes at least and at most; 0: not said.
        parameters: of the StorageClass.

    Raises:
        CallError: INVALID_ARGUMENT, or OUT_OF_RANGE.
    """
    chosen: dict[str, Any] = {}
    for key, value in parameters.items():
        if key in PARAMETERS:
            chosen[PARAMETERS[key]] = int(value) if value.isdecimal() else value
        elif not key.startswith(OF_KUBERNETES):
            raise invalid(
                f"parameter {key!r} of the StorageClass is none; there are {', '.join(PARAMETERS)}"
            )
    if chosen.get("kind") not in KINDS:
        raise invalid(f"parameter kind of the StorageClass must be one of {', '.join(KINDS)}")
    try:
        counts = [chosen.get(key, 1) for key in ("servers", "devices_per_server")]
        devices = math.prod(n for n in counts if isinstance(n, int))  # others are told below
        size = _size(chosen["kind"], devices, capacity)
        return SpaceRequest(name=space_name(volume), size=size, **chosen)
    except ValidationError as error:
        raise invalid(f"no such space can be: {explain(error)}") from error


def see_range(capacity: tuple[int, int]) -> None:
    """See that there is a size between the two.

    Raises:
        CallError: INVALID_ARGUMENT.
    """
    least, most = capacity
    if least < 0 or most < 0 or 0 < most < least:
        raise invalid(f"no size is at least {least} and at most {most} bytes")


def _size(kind: Kind, devices: int, capacity: tuple[int, int]) -> int:
    see_range(capacity)
    least, most = capacity
    smallest = smallest_bytes(kind, devices)
    if least > LARGEST_BYTES or 0 < most < smallest:
        raise CallError(
            Code.OUT_OF_RANGE,
            f"a space of {kind} has {smallest} to {LARGEST_BYTES} bytes, not {least} to {most or 'any number'}",
        )
    return max(least or min(DEFAULT_BYTES, most or DEFAULT_BYTES), smallest)


def see_is_that(space: Space, asked: SpaceRequest, capacity: tuple[int, int]) -> None:
    """See that the space that has a volume's name is what is asked for.

    Raises:
        CallError: ALREADY_EXISTS.
    """
    least, most = capacity
    fields = [name for name in PARAMETERS.values() if getattr(space, name) != getattr(asked, name)]
    if space.size < least or 0 < most < space.size:
        fields.append("size")
    if fields:
        raise CallError(
            Code.ALREADY_EXISTS,
            f"space {space.name!r} is there, and differs from what is asked for in {', '.join(fields)}",
        )


def why_not(capabilities: Iterable[Message]) -> str | None:
    """Why volumes cannot be used so; None: they can."""
    for each in capabilities:
        if each.HasField("block"):
            return "a space is a file system: it cannot be a block device"
        if not each.HasField("mount"):
            return "say how it is to be used: as a mounted file system"
        if each.mount.volume_mount_group:
            return "group of the mount: leave it out, files keep their own"
        if each.access_mode.mode not in MODES:
            return f"access mode {each.access_mode.mode} is not offered"
    return None


def see_volume(request: Message) -> None:
    """See that a request names a volume.

    Raises:
        CallError: INVALID_ARGUMENT.
    """
    if not request.volume_id:
        raise invalid("volume_id: say which volume")


def see_capability(request: Message) -> None:
    """See that a request says how a volume is to be used, and that it can be.

    Raises:
        CallError: INVALID_ARGUMENT.
    """
    if not request.HasField("volume_capability"):
        raise invalid("volume_capability: say how it is to be used")
    see_usable([request.volume_capability])


def see_usable(capabilities: Iterable[Message]) -> None:
    """See that volumes can be used so.

    Raises:
        CallError: INVALID_ARGUMENT.
    """
    found = list(capabilities)
    lack = why_not(found) if found else "say how it is to be used: there is no capability"
    if lack is not None:
        raise invalid(lack)
