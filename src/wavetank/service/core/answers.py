"""What requests and answers over HTTP hold beside the records of the core."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from wavetank.document import Record
from wavetank.service.core.own_servers import Stock
from wavetank.service.core.records import (
    Asked,
    AuditRow,
    Device,
    Event,
    Held,
    Kind,
    Mode,
    Quota,
    Space,
    Token,
    Usage,
)

LONGEST_LIFETIME_S = 100 * 365 * 86400.0


class Refusal(Record):
    """Why a request was not carried out."""

    code: str = Field(description="one word for programs, the same in every version")
    message: str = Field(description="what, where and what to do, for people")


class Health(Record):
    """That the service answers."""

    version: str


class SpacePage(Record):
    """Some spaces, in order."""

    spaces: tuple[Space, ...]
    next: str | None = Field(description="give it as after= for the next page; null: there is none")


class EventPage(Record):
    """Some events, in order."""

    events: tuple[Event, ...]
    next: int = Field(description="give it as after= for what comes later")


class AuditPage(Record):
    """Some audit rows, in order."""

    rows: tuple[AuditRow, ...]
    next: int = Field(description="give it as after= for what comes later")


class ClassAnswer(Record):
    """A kind of file system in a mode: whether it is offered, and what to know before asking for it."""

    kind: Kind
    mode: Mode
    refused: str | None = Field(description="why it is not offered; null: it is")
    confined_by: str
    size_limit: str
    isolation: str


class Classes(Record):
    """All kinds in all modes."""

    classes: tuple[ClassAnswer, ...]


class TenantAnswer(Record):
    """A tenant, what it may have and what it has."""

    name: str
    quota: Quota
    used: Usage


class Room(Record):
    """What devices of the servers have for shared spaces, of a kind where one is named."""

    bytes: int = Field(description="of all devices")
    free: int = Field(description="that no space has")


class Tenants(Record):
    """All tenants, by name."""

    tenants: tuple[TenantAnswer, ...]


class TokenRequest(Asked):
    """What a new token is to be."""

    lifetime_s: float | None = Field(
        default=None,
        gt=0,
        le=LONGEST_LIFETIME_S,
        description="seconds after which it expires; null: it does not",
    )


class TokenMade(Record):
    """A new token: its text is in this answer, and nowhere else."""

    token: Token
    text: str


class Tokens(Record):
    """Tokens, the oldest first."""

    tokens: tuple[Token, ...]


class Revoked(Record):
    """How many tokens were taken back."""

    n: int


class ServerSetting(Asked):
    """What a server gives."""

    devices: tuple[Device, ...] = Field(min_length=1)
    kinds: tuple[Kind, ...] = Field(min_length=1)


class TemplateSetting(Asked):
    """What servers of a template are like."""

    cluster: dict[str, Any]
    devices: tuple[Device, ...] = Field(min_length=1)
    kinds: tuple[Kind, ...] = Field(min_length=1)
    most_servers: int = Field(ge=1, le=1024)


class Templates(Record):
    """All templates, by name."""

    templates: tuple[Stock, ...]


class Servers(Record):
    """All servers, by name."""

    servers: tuple[Held, ...]
