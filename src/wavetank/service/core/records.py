"""What the service knows, as records: tenants, servers, requests, spaces, where they lie, and what happened to them.

Sizes are bytes. Records are immutable; what does not fit is refused by pydantic with its place.
"""

from __future__ import annotations

import ipaddress
import re
from datetime import datetime
from typing import Annotated, Literal, Self

from pydantic import ConfigDict, Field, StringConstraints, field_validator, model_validator

from wavetank.document import Record
from wavetank.service.core import certificates
from wavetank.service.core.states import State
from wavetank.units import Size

Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$")]
"""Of a tenant, a space or a node: letters, digits, dot, underscore, dash; a letter or digit first."""

Kind = Literal["nfs", "glusterfs", "cephfs", "orangefs", "lustre"]
Mode = Literal["shared", "dedicated"]
AccessKind = Literal["ip", "certificate", "key"]
Level = Literal["rw", "ro"]

SMALLEST_SPACE_BYTES = 2**20
LARGEST_BYTES = 2**58  # sums of many stay below 2^63, where the integers of SQLite end

MOST_OF_A_KIND = 2**31 - 1  # servers, spaces; far below what an integer of SQLite holds
LAST_NUMBER = 2**63 - 1  # of an event, an audit row or a generation: an integer of SQLite

_SUBJECT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,127}")

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


class Asked(Record):
    """The body of a request. It is built at once: FastAPI takes a record that is built at first use for a faulty one, and warns."""

    model_config = ConfigDict(defer_build=False)


class Quota(Asked):
    """The most that a tenant may have. None: no limit."""

    bytes: Annotated[Size, Field(le=LARGEST_BYTES)] | None = Field(
        default=None, description="of all of its spaces together, as asked for (without copies)"
    )
    servers: int | None = Field(
        default=None,
        ge=0,
        le=MOST_OF_A_KIND,
        description="servers of its dedicated spaces together",
    )
    spaces: int | None = Field(
        default=None, ge=0, le=MOST_OF_A_KIND, description="spaces that are not gone"
    )


class Usage(Record):
    """What a tenant has of its quota."""

    bytes: int = 0
    servers: int = 0
    spaces: int = 0


class Tenant(Record):
    """Who asks for spaces."""

    name: Name
    quota: Quota = Quota()


class Token(Record):
    """What is known of a token: never its secret."""

    id: str
    tenant: str
    created_utc: datetime
    expires_utc: datetime | None = Field(
        default=None, description="it is refused from then on; null: it does not expire"
    )

    def has_expired(self, now: datetime) -> bool:
        """Whether it is refused by now."""
        return self.expires_utc is not None and self.expires_utc <= now


class Device(Record):
    """A storage device of a server."""

    name: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9/][A-Za-z0-9/._:-]{0,127}$")] = (
        Field(description="where it is on the server, e.g. /storage or /dev/nvme0n1")
    )
    size: Annotated[Size, Field(ge=1, le=LARGEST_BYTES)] = Field(
        description="bytes that spaces may have of it"
    )


class Server(Record):
    """A server that spaces are placed on."""

    node: Name
    devices: tuple[Device, ...] = Field(min_length=1)
    kinds: tuple[Kind, ...] = Field(min_length=1, description="file systems that it can serve")

    @model_validator(mode="after")
    def _once_each(self) -> Self:
        names = [device.name for device in self.devices]
        if len(set(names)) != len(names):
            raise ValueError(
                f"devices of {self.node}: each name may stand once: {', '.join(names)}"
            )
        return self


class Held(Record):
    """A server with what spaces have of it."""

    server: Server
    free: dict[str, int] = Field(description="device -> bytes that no space has")
    tenants: frozenset[str] = Field(
        default=frozenset(), description="those that have something on it"
    )
    dedicated_to: str | None = Field(
        default=None, description="the space that has it alone, if one has"
    )

    @property
    def free_bytes(self) -> int:
        """Bytes that no space has, of all devices."""
        return sum(self.free.values())


def _network(text: str) -> Network:
    """The network that a text names, made from its number: nothing else of the text remains.

    Raises:
        ValueError: it names none, or one within a zone, which says nothing to other machines.
    """
    try:
        found = ipaddress.ip_network(text, strict=True)
    except ValueError as error:
        raise ValueError(
            f"{text!r} is no address and no network: {error}. Write 10.0.0.7 or 10.0.0.0/24"
        ) from None
    if found.version == 4:
        return ipaddress.IPv4Network((int(found.network_address), found.prefixlen))
    if found.network_address.scope_id is not None:
        raise ValueError(
            f"{text!r} has a zone, which counts on one machine alone. Write the address without '%' and what follows"
        )
    mapped = found.network_address.ipv4_mapped
    if mapped is not None and found.prefixlen >= 96:
        return ipaddress.IPv4Network((int(mapped), found.prefixlen - 96))
    return ipaddress.IPv6Network((int(found.network_address), found.prefixlen))


def _written(network: Network) -> str:
    """A network as text: an address alone without its prefix."""
    alone = network.prefixlen == network.max_prefixlen
    return str(network.network_address if alone else network)


class Access(Record):
    """A rule of who may mount a space."""

    kind: AccessKind
    subject: str = Field(
        description="ip: an address or a network (10.0.0.0/24); certificate: the common name; key: the client's name"
    )
    level: Level = "rw"
    authority: str | None = Field(
        default=None,
        description="certificate: the authorities that sign for that name, as PEM; else None",
    )

    @model_validator(mode="before")
    @classmethod
    def _normal(cls, body: object) -> object:
        """The subject of a rule by address is written anew from its number, so that the same rule is not there twice."""
        if not isinstance(body, dict) or body.get("kind") != "ip":
            return body
        return {**body, "subject": _written(_network(str(body.get("subject", ""))))}

    @property
    def network(self) -> Network:
        """The addresses of a rule by address, as a number and a prefix."""
        return _network(self.subject)

    @model_validator(mode="after")
    def _is_a_name(self) -> Self:
        if self.kind != "ip" and not _SUBJECT.fullmatch(self.subject):
            raise ValueError(
                f"{self.subject!r} is no name of a {self.kind}: up to 128 letters, digits and . _ @ -"
            )
        if self.authority is not None and self.kind != "certificate":
            raise ValueError(f"a rule by {self.kind} has no authority: rules by certificate have")
        return self

    @field_validator("authority")
    @classmethod
    def _is_an_authority(cls, text: str | None) -> str | None:
        return None if text is None else certificates.normal(text)


class SpaceRequest(Asked):
    """What a tenant asks for."""

    name: Name = Field(
        description="one space of a tenant has it; asked again, it is the same space"
    )
    size: Annotated[Size, Field(ge=SMALLEST_SPACE_BYTES, le=LARGEST_BYTES)] = Field(
        description="bytes that the tenant can store, without copies"
    )
    kind: Kind
    mode: Mode = Field(
        default="shared",
        description="shared: servers may hold spaces of others; dedicated: its servers hold nothing else",
    )
    servers: int = Field(default=1, ge=1, le=1024)
    devices_per_server: int = Field(default=1, ge=1, le=24)
    stripe_size: Annotated[Size, Field(ge=4096, le=2**30)] | None = Field(
        default=None, description="bytes; the default is the file system's"
    )
    redundancy: int = Field(
        default=0, ge=0, le=7, description="further copies of each byte, each on another server"
    )
    access: tuple[Access, ...] = ()

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if problems := _twice(self.access):
            raise ValueError(problems)
        if self.stripe_size is not None and self.stripe_size & (self.stripe_size - 1):
            raise ValueError(f"stripe_size {self.stripe_size} must be a power of two")
        return self


def _twice(access: tuple[Access, ...]) -> str | None:
    """What is wrong with a list of rules, in which each subject may stand once."""
    seen: set[tuple[str, str]] = set()
    for rule in access:
        if (rule.kind, rule.subject) in seen:
            return f"access: {rule.kind} {rule.subject} stands twice"
        seen.add((rule.kind, rule.subject))
    return None


class AccessList(Asked):
    """All rules of a space, in place of those that it had."""

    access: tuple[Access, ...]

    @model_validator(mode="after")
    def _once_each(self) -> Self:
        if problem := _twice(self.access):
            raise ValueError(problem)
        return self


class Resize(Asked):
    """Another size, other servers, or both; what is None stays."""

    size: Annotated[Size, Field(ge=SMALLEST_SPACE_BYTES, le=LARGEST_BYTES)] | None = None
    servers: int | None = Field(default=None, ge=1, le=1024)

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if self.size is None and self.servers is None:
            raise ValueError("say size, servers or both")
        return self


class Share(Record):
    """What a space has of one device, in bytes."""

    node: str
    device: str
    made: int = Field(
        ge=0, description="when the space was last ready; 0: it was not on the device"
    )
    wanted: int = Field(
        ge=0, description="when the space is as it is wanted; 0: it leaves the device"
    )
    held: int = Field(
        ge=0, description="that no other space may have: the most that may be there meanwhile"
    )


class Space(Record):
    """A tenant's space. What is wanted of it is in its fields; its state tells how far that is."""

    id: str
    tenant: str
    name: str
    size: int
    kind: Kind
    mode: Mode
    servers: int
    devices_per_server: int
    stripe_size: int | None
    redundancy: int
    access: tuple[Access, ...] = ()
    state: State
    generation: int = Field(description="1 at first, and one more with each change that is wanted")
    made_generation: int = Field(
        default=0, description="the last generation that was made; 0: it was never ready"
    )
    failed_in: State | None = Field(default=None, description="the state in which it failed")
    reason: str | None = Field(default=None, description="why it failed")
    export: str | None = Field(
        default=None,
        description="how to mount it: what mount(8) takes; None while it was never ready",
    )
    created_utc: datetime
    changed_utc: datetime


class Event(Record):
    """Something that happened to a space or to the service."""

    number: int
    at_utc: datetime
    tenant: str | None
    space: str | None = Field(description="identity of the space")
    kind: str = Field(description="one word: requested, making, ready, failed, ...")
    text: str
    times: int = Field(
        default=1, description="how often it came in a row; at_utc is the first time"
    )


class AuditRow(Record):
    """Who asked for what, and what came of it. Never a secret."""

    number: int
    at_utc: datetime
    actor: str = Field(description="tenant:NAME, admin, or service")
    action: str
    subject: str
    outcome: str = Field(description="done, or the code of the refusal")
    detail: str = ""
