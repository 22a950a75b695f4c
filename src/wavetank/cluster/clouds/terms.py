"""The key ``cloud`` of a cluster's file: where instances are made, for how long, and for how much at most.

``ttl`` and ``budget`` have no default: who makes instances says both.
"""

from __future__ import annotations

import ipaddress
import re
from decimal import Decimal
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, PlainSerializer, model_validator

from wavetank.cluster.components import UserAtHost
from wavetank.document import Record
from wavetank.refusals import Written
from wavetank.units import Duration, format_duration

SHORTEST_TTL_S = 600
LONGEST_TTL_S = 7 * 86400
_MONEY = re.compile(r"^\s*(\d{1,7}(?:\.\d{1,4})?)\s*USD\s*$")


def _dollars(value: object) -> object:
    """Money as people write it: "5 USD"."""
    if isinstance(value, Decimal):
        return value
    match = _MONEY.match(value) if isinstance(value, str) else None
    if match is None:
        raise ValueError(f"{value!r} is no amount of money. Write a currency too, e.g. '5 USD'")
    return Decimal(match[1])


def _network(value: object) -> object:
    """A network that may reach port 22; "caller" is this machine's public address."""
    if value == "caller":
        return value
    try:
        network = ipaddress.IPv4Network(str(value), strict=False)
    except ValueError as error:
        raise ValueError(
            f"{value!r} is no IPv4 network: {error}. Write 'caller', or e.g. '192.0.2.0/24'"
        ) from error
    if network.prefixlen < 8:
        raise ValueError(
            f"{value!r} would let the world reach port 22. Write 'caller', or your site's network"
        )
    return str(network)


Dollars = Annotated[
    Decimal,
    BeforeValidator(_dollars, json_schema_input_type=str),
    Field(gt=0),
    PlainSerializer(lambda amount: f"{amount} USD", return_type=str),
]


class Terms(Record):
    """Where and on which terms a cloud makes the hosts of a cluster."""

    region: Annotated[str, Written(r"^[a-z]{2}(-[a-z]+)+-[0-9]$", "a region, e.g. us-east-1")] = (
        Field(description="e.g. us-east-1")
    )
    zone: Annotated[
        str,
        Written(r"^(any|[a-z]{2}(-[a-z]+)+-[0-9][a-z])$", "any, or a zone, e.g. us-east-1a"),
    ] = Field(
        default="any",
        description="e.g. us-east-1a; any: the first one with room for all nodes. A cluster is in one zone",
    )
    image: Annotated[
        str,
        Written(
            r"^(debian-12|ubuntu-24\.04|amazon-linux-2023|ami-[0-9a-f]{8,17})$",
            "debian-12, ubuntu-24.04, amazon-linux-2023 or ami- with its number",
        ),
    ] = Field(
        default="debian-12", description="debian-12, ubuntu-24.04, amazon-linux-2023, or an ami-..."
    )
    ttl: Duration = Field(
        description="every instance ends itself after this time, e.g. '2 h'; from 10 min to 7 d"
    )
    budget: Dollars = Field(
        description="refused before the start where the whole ttl may cost more, e.g. '5 USD'"
    )
    spot: bool = Field(
        default=False,
        description="instances that the cloud may take back; priced, and limited, as those on demand",
    )
    subnet: Annotated[
        str,
        Written(r"^(default|subnet-[0-9a-f]{8,17})$", "default, or subnet- with its number"),
    ] = Field(default="default", description="default: those of the region's default network")
    ssh_from: Annotated[str, BeforeValidator(_network, json_schema_input_type=str)] = Field(
        default="caller",
        description="network that may reach port 22; caller: this machine's public address alone",
    )
    bastion: Literal["none"] | UserAtHost = Field(
        default="none",
        description="USER@HOST or USER@HOST:PORT that private addresses are reached by",
    )
    reaper: (
        Literal["none"]
        | Annotated[
            str,
            Written(
                r"^arn:aws[a-z-]*:iam::[0-9]{12}:role/[A-Za-z0-9+=,.@_/-]{1,128}$",
                "a role's ARN, e.g. arn:aws:iam::123456789012:role/end-instances",
            ),
        ]
    ) = Field(
        default="none",
        description="a role that may terminate instances: a schedule of the cloud then ends them too, a while after the ttl",
    )
    prices: (
        Annotated[str, Written(r"^[^\x00-\x1f]{1,250}$", "a price table's name or path")] | None
    ) = Field(
        default=None,
        description="a shipped price table's name, or an absolute path; the default is the newest shipped one of the region",
    )

    @model_validator(mode="after")
    def _fits_together(self) -> Terms:
        problems = []
        if not SHORTEST_TTL_S <= self.ttl <= LONGEST_TTL_S:
            problems.append(f"ttl {format_duration(self.ttl)} is not between 10 min and 7 d")
        if self.zone != "any" and not self.zone.startswith(self.region):
            problems.append(f"zone {self.zone} is not in region {self.region}")
        if problems:
            raise ValueError("; ".join(problems))
        return self
