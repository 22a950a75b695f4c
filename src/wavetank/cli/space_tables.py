"""Tables of spaces and their rules, for tenants and administrators."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from wavetank.tables.table import Cell, Column, Definition
from wavetank.tables.words import DASH
from wavetank.units import exact_size, format_duration

if TYPE_CHECKING:
    from wavetank.campaign.evidence import Evidence
    from wavetank.cli.space_check import Check
    from wavetank.cli.space_need import Option
    from wavetank.service.core.records import Access, Event, Space, SpaceRequest
    from wavetank.tables.table import Value


def _mount(export: str) -> Cell:
    from wavetank.service.core.volume import shown

    return Cell(shown(export), export)


SPACES: Definition[Space] = Definition(
    "spaces",
    "Spaces",
    (
        Column("name", "Name", lambda i: i.name),
        Column("state", "State", lambda i: i.state),
        Column("size_bytes", "Size", lambda i: i.size, kind="integer", unit="B"),
        Column("kind", "Kind", lambda i: i.kind),
        Column("mode", "Mode", lambda i: i.mode),
        Column("servers", "Servers", lambda i: i.servers, kind="integer"),
        Column("devices_per_server", "Devices a server", lambda i: i.devices_per_server, kind="integer"),
        Column("export", "Mount", lambda i: i.export and _mount(i.export), wide=True),
        Column("reason", "Reason", lambda i: i.reason, wide=True),
        Column("id", "Identity", lambda i: i.id),
    ),
    command="space list",
)  # fmt: skip


def _authority(pem: str) -> Cell:
    from wavetank.service.core.certificates import fingerprint

    return Cell(fingerprint(pem), pem)


RULES: Definition[Access] = Definition(
    "access-rules",
    "Access rules",
    (
        Column("kind", "Kind", lambda i: i.kind),
        Column("subject", "Subject", lambda i: i.subject),
        Column("level", "Level", lambda i: i.level),
        Column(
            "authority",
            "Authority",
            lambda i: i.authority and _authority(i.authority),
            help="who signs the client's certificate, by the beginning of its SHA-256",
        ),
    ),
    command="space show",
)

EVENTS: Definition[Event] = Definition(
    "events-of-a-space",
    "Events",
    (
        Column("at_utc", "Time (UTC)", lambda i: i.at_utc.isoformat(timespec="seconds")),
        Column("kind", "Kind", lambda i: i.kind),
        Column("times", "Times", lambda i: i.times, kind="integer"),
        Column("text", "Text", lambda i: i.text, wide=True),
    ),
    command="space show",
)


def _asked(of: Callable[[SpaceRequest], Value]) -> Callable[[Option], Value]:
    return lambda item: None if item.request is None else of(item.request)


def _measured(of: Callable[[Evidence], Value]) -> Callable[[Option], Value]:
    return lambda item: None if item.evidence is None else of(item.evidence)


def _layout(item: Option) -> Cell:
    """Devices, stripe and copies in words, where a space can be asked for."""
    asked = item.request
    if asked is None:
        return Cell(DASH, None)
    words = [f"{asked.devices_per_server} a server"]
    words += [] if asked.stripe_size is None else [f"stripe {exact_size(asked.stripe_size)}"]
    words += [f"copies {asked.redundancy}"] if asked.redundancy else []
    return Cell(", ".join(words), None)


OPTIONS: Definition[Option] = Definition(
    "spaces-for-a-kernel",
    "Spaces for the kernel, the cheapest that will do first",
    (
        Column("kind", "Kind", lambda i: i.kind),
        Column("mode", "Mode", lambda i: i.mode, help="empty: a measured cluster that no space is like"),
        Column("verdict", "Verdict", lambda i: i.verdict,
               help="would do: but for doubts that were not accepted"),
        Column("io_time_s", "I/O time", lambda i: i.io_time_s, unit="s", show=format_duration, spread=True,
               help="measured; its upper end is compared with the limit"),
        Column("runs", "Runs", _measured(lambda evidence: evidence.configuration.n_repetitions), kind="integer"),
        Column("servers", "Servers", _asked(lambda asked: asked.servers), kind="integer"),
        Column("own_servers", "Servers of its own", lambda i: i.own_servers, kind="integer",
               help="that nothing else is on: what a space is cheap by, before bytes"),
        Column("layout", "Devices", _layout, people=True),
        Column("devices_per_server", "Devices a server", _asked(lambda asked: asked.devices_per_server),
               kind="integer", machine=True),
        Column("stripe_bytes", "Stripe", _asked(lambda asked: asked.stripe_size), kind="integer", unit="B", machine=True),
        Column("redundancy", "Further copies", _asked(lambda asked: asked.redundancy), kind="integer", machine=True),
        Column("size_bytes", "Size", _asked(lambda asked: asked.size), kind="integer", unit="B"),
        Column("doubts", "Doubts", lambda i: ", ".join(i.doubts), help="of the measurement, by the names that --accept takes"),
        Column("why", "Why", lambda i: i.why, wide=True),
        Column("measured_on", "Measured on", _measured(lambda evidence: evidence.where), wide=True),
        Column("campaign", "By", _measured(lambda evidence: evidence.origin), wide=True),
    ),
    command="space create",
)  # fmt: skip

CHECK: Definition[Check] = Definition(
    "check-of-a-space",
    "Check of the space",
    (
        Column("name", "Space", lambda i: i.space.name),
        Column("kind", "Kind", lambda i: i.space.kind),
        Column("mode", "Mode", lambda i: i.space.mode),
        Column("verdict", "I/O time against the limit", lambda i: i.verdict),
        Column("io_time_s", "I/O time", lambda i: i.io_time_s, unit="s", show=format_duration, spread=True,
               help="measured; its upper end is compared with the limit"),
        Column("within_s", "Limit", lambda i: i.within_s, unit="s", show=format_duration),
        Column("runs", "Runs", lambda i: len(i.io_time_s.values), kind="integer"),
        Column("caches", "Caches", lambda i: i.caches, wide=True),
        Column("at", "Mounted at", lambda i: str(i.at)),
    ),
    command="space check",
)  # fmt: skip
DEFINITIONS = (SPACES, RULES, EVENTS, OPTIONS, CHECK)
