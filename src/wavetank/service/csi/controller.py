"""The controller: volumes are made, grown, listed and removed, and nodes are let in, by asking the service of spaces."""

from __future__ import annotations

import ipaddress

from wavetank.service.client.connection import AnsweredError
from wavetank.service.core.classes import KINDS, class_of
from wavetank.service.core.records import LARGEST_BYTES, Access, Level, Space, SpaceRequest
from wavetank.service.csi import messages
from wavetank.service.csi.messages import Message, made
from wavetank.service.csi.requests import (
    request_of,
    see_capability,
    see_is_that,
    see_range,
    see_usable,
    see_volume,
    why_not,
)
from wavetank.service.csi.statuses import CallError, Code, invalid
from wavetank.service.csi.turns import Call, Turns
from wavetank.service.csi.volumes import Volumes

CAPABILITIES = (
    messages.CREATE_DELETE,
    messages.PUBLISH_UNPUBLISH,
    messages.LIST,
    messages.CAPACITY,
    messages.PUBLISH_READONLY,
    messages.EXPAND,
)
MOST_OF_A_PAGE = 1000
AFTER = "after:"
"""Before the name in the token of a page."""


class Controller:
    """Answers the controller's calls.

    Attributes:
        volumes: of one tenant.
    """

    service = "Controller"

    def __init__(self, volumes: Volumes) -> None:
        self.volumes = volumes
        self._turns = Turns()

    def controller_get_capabilities(self, request: Message, call: Call) -> Message:
        """Which calls there are."""
        del request, call
        found = [made("RpcCapability", rpc=made("TypeOf", type=each)) for each in CAPABILITIES]
        return made("ControllerGetCapabilitiesResponse", capabilities=found)

    def create_volume(self, request: Message, call: Call) -> Message:
        """Make a volume. Asked again with the same name, it is the same one."""
        if not request.name:
            raise invalid("name: say which volume")
        see_usable(request.volume_capabilities)
        if request.HasField("volume_content_source"):
            raise invalid("a space begins empty: neither snapshots nor other volumes are copied")
        if request.mutable_parameters:
            raise invalid("no parameter of a space can be changed by a VolumeAttributesClass")
        capacity = _capacity(request)
        asked = request_of(request.name, capacity, request.parameters)
        with self._turns.of(asked.name, call):
            space = self.volumes.named(asked.name) or self._created(asked)
            if space.state == "deleting" or space.failed_in == "deleting":
                raise CallError(
                    Code.ABORTED, f"space {space.name!r} is being deleted: repeat this later"
                )
            see_is_that(space, asked, capacity)
            return made("CreateVolumeResponse", volume=_volume(self.volumes.made(space, call)))

    def _created(self, asked: SpaceRequest) -> Space:
        try:
            return self.volumes.create(asked)
        except AnsweredError as error:
            there = self.volumes.named(asked.name) if error.code == "exists" else None
            if there is None:
                raise
            return there

    def delete_volume(self, request: Message, call: Call) -> Message:
        """Remove a volume and its data. One that is not there is removed."""
        see_volume(request)
        with self._turns.of(request.volume_id, call):
            space = self.volumes.find(request.volume_id)
            if space is not None:
                self.volumes.delete(space, call)
        return made("DeleteVolumeResponse")

    def controller_publish_volume(self, request: Message, call: Call) -> Message:
        """Let a node mount a volume, by its address; it can when this is answered."""
        see_volume(request)
        if not request.node_id:
            raise invalid("node_id: say which node")
        see_capability(request)
        mode = request.volume_capability.access_mode.mode
        read_only = request.readonly or mode in messages.READERS_ONLY
        with self._turns.of(request.volume_id, call):
            space = self.volumes.get(request.volume_id)
            address = _address(request.node_id)
            if address is None:
                raise CallError(
                    Code.NOT_FOUND,
                    f"node {request.node_id!r} is none: a node is known by its address",
                )
            space = self._published(space, address, "ro" if read_only else "rw", mode, call)
            context = {"kind": space.kind, "export": str(space.export)}
            return made("ControllerPublishVolumeResponse", publish_context=context)

    def _published(self, space: Space, address: str, level: Level, mode: int, call: Call) -> Space:
        if "ip" not in KINDS[space.kind].access:
            raise CallError(
                Code.FAILED_PRECONDITION,
                f"{KINDS[space.kind].title} does not tell nodes apart by their addresses: it cannot be mounted on claim",
            )
        rules = _of_nodes(space)
        there = {rule.subject: rule for rule in rules}.get(address)
        if there is not None and there.level != level:
            raise CallError(
                Code.ALREADY_EXISTS,
                f"{space.name!r} is published to {address} as {there.level}, not {level}",
            )
        others = [rule.subject for rule in rules if rule.subject != address]
        if others and mode in messages.SINGLE_NODE:
            raise CallError(
                Code.FAILED_PRECONDITION,
                f"{space.name!r} is published to {', '.join(others)}, and is asked for one node alone",
            )
        if there is not None:
            return self.volumes.settled(space, call)
        return self.volumes.allow(space, Access(kind="ip", subject=address, level=level), call)

    def controller_unpublish_volume(self, request: Message, call: Call) -> Message:
        """Let a node, or without one all of them, mount a volume no more."""
        see_volume(request)
        with self._turns.of(request.volume_id, call):
            space = self.volumes.find(request.volume_id)
            if space is not None and space.state != "deleting":
                address = _address(request.node_id) if request.node_id else None
                gone = [
                    rule
                    for rule in _of_nodes(space)
                    if not request.node_id or rule.subject == address
                ]
                if gone:
                    space = self.volumes.forbid(space, gone, call)
                self.volumes.settled(space, call)
        return made("ControllerUnpublishVolumeResponse")

    def validate_volume_capabilities(self, request: Message, call: Call) -> Message:
        """Whether a volume can be used so."""
        del call
        see_volume(request)
        if not request.volume_capabilities:
            raise invalid("volume_capabilities: say how it is to be used")
        self.volumes.get(request.volume_id)
        lack = why_not(request.volume_capabilities)
        if lack is not None:
            return made("ValidateVolumeCapabilitiesResponse", message=lack)
        confirmed = made(
            "Confirmed",
            volume_context=request.volume_context,
            volume_capabilities=request.volume_capabilities,
            parameters=request.parameters,
        )
        return made("ValidateVolumeCapabilitiesResponse", confirmed=confirmed)

    def list_volumes(self, request: Message, call: Call) -> Message:
        """Volumes by name, page by page."""
        del call
        if request.max_entries < 0:
            raise invalid("max_entries: less than none")
        token = request.starting_token
        if token and not token.startswith(AFTER):
            raise CallError(Code.ABORTED, f"{token!r} is no token of a page: begin again")
        most = min(request.max_entries or MOST_OF_A_PAGE, MOST_OF_A_PAGE)
        page = self.volumes.page(token.removeprefix(AFTER), most)
        return made(
            "ListVolumesResponse",
            entries=[
                made("ListedVolume", volume=_volume(space))
                for space in page.spaces
                if space.state != "deleting"
            ],
            next_token=f"{AFTER}{page.next}" if page.next else "",
        )

    def get_capacity(self, request: Message, call: Call) -> Message:
        """What is left of the tenant's quota: tenants do not see servers. Without a quota, the most that a space can have."""
        del call
        parameters = dict(request.parameters)
        if why_not(request.volume_capabilities) is not None:
            return made("GetCapacityResponse", available_capacity=0)
        if parameters:
            asked = request_of("volume", (0, 0), parameters)
            if not class_of(asked.kind, asked.mode).offered:
                return made("GetCapacityResponse", available_capacity=0)
        tenant = self.volumes.tenant()
        quota = LARGEST_BYTES if tenant.quota.bytes is None else tenant.quota.bytes
        return made("GetCapacityResponse", available_capacity=max(0, quota - tenant.used.bytes))

    def controller_expand_volume(self, request: Message, call: Call) -> Message:
        """Give a volume more bytes while it is used. Its node has nothing to do."""
        see_volume(request)
        least, most = capacity = _capacity(request)
        if capacity == (0, 0):
            raise invalid("capacity_range: say how large it is to be")
        see_range(capacity)
        with self._turns.of(request.volume_id, call):
            space = self.volumes.get(request.volume_id)
            if 0 < most < space.size or least > LARGEST_BYTES:
                raise CallError(
                    Code.OUT_OF_RANGE,
                    f"{space.name!r} has {space.size} bytes, and {least} to {most} are asked for",
                )
            if space.size < least or space.state == "failed":
                space = self.volumes.grow(space, max(least, space.size), call)
            space = self.volumes.settled(space, call)
        return made("ControllerExpandVolumeResponse", capacity_bytes=space.size)


def _volume(space: Space) -> Message:
    return made("Volume", capacity_bytes=space.size, volume_id=space.id)


def _capacity(request: Message) -> tuple[int, int]:
    return request.capacity_range.required_bytes, request.capacity_range.limit_bytes


def _of_nodes(space: Space) -> list[Access]:
    """Rules of single addresses: of networks, people decide."""
    return [rule for rule in space.access if rule.kind == "ip" and _address(rule.subject)]


def _address(node: str) -> str | None:
    try:
        return str(ipaddress.ip_address(node))
    except ValueError:
        return None
