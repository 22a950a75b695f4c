"""The key ``cloud`` of a cluster's file: where instances are made, for how long, and for how much at most.

``ttl`` and ``budget`` have no default: who makes instances says both.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, PlainSerializer, model_validator

from wavetank.cluster.components import (
    AWS,
    MAKES_NODES,
    OPENSTACK,
    UserAtHost,
)
from wavetank.cluster.registry import CLOUDS, facts
from wavetank.document import Record
from wavetank.refusals import Written
from wavetank.units import GIB, Duration, Size, format_duration

# Distributions whose packages are known; see packages.py.
KNOWN_IMAGES = ("debian-12", "ubuntu-24.04", "amazon-linux-2023")
RUN_BY = {AWS: "AWS", OPENSTACK: "an OpenStack cloud"}
SHORTEST_TTL_S = 600
LONGEST_TTL_S = 7 * 86400
_REGION = re.compile(r"^[a-z]{2}(-[a-z]+)+-[0-9]$")
_ZONE = re.compile(r"^[a-z]{2}(-[a-z]+)+-[0-9][a-z]$")
_MONEY = re.compile(r"^\s*(\d{1,7}(?:\.\d{1,4})?)\s*USD\s*$")


def _dollars(value: object) -> object:
    """Money as people write it: "5 USD"."""
    if isinstance(value, Decimal):
        return value
    match = _MONEY.match(value) if isinstance(value, str) else None
    if match is None:
        raise ValueError(
            f"{value!r} is no amount of US dollars, in which budgets are. Write e.g. '5 USD'"
        )
    return Decimal(match[1])


def _ssh_network(value: object) -> object:
    """A network that may reach port 22; "caller" is this machine's public address."""
    if value == "caller":
        return value
    return _network(value, "port 22", "'caller', or ")


def _clients_network(value: object) -> object:
    """A network that may reach all ports."""
    return _network(value, "the nodes", "")


def _network(value: object, reaches: str, otherwise: str) -> str:
    try:
        network = ipaddress.IPv4Network(str(value), strict=False)
    except ValueError as error:
        raise ValueError(
            f"{value!r} is no IPv4 network: {error}. Write {otherwise}e.g. '192.0.2.0/24'"
        ) from error
    if network.prefixlen < 8:
        raise ValueError(
            f"{value!r} would let the world reach {reaches}. Write {otherwise}your site's network"
        )
    return str(network)


Dollars = Annotated[
    Decimal,
    BeforeValidator(_dollars, json_schema_input_type=str),
    Field(gt=0),
    PlainSerializer(lambda amount: f"{amount} USD", return_type=str),
]


ThereName = Annotated[
    str, Written(r"^[A-Za-z0-9][^\x00-\x1f/?#&]{0,254}$", "a name or an id, 255 characters at most")
]


class OpenStackTerms(Record):
    """What a cluster uses that is there in an OpenStack cloud, by name or id."""

    image: ThereName = Field(description="image of Glance that servers start from")
    network: ThereName = Field(
        default="made",
        description="a network of the project that servers are in; made: one with a subnet and a router of the cluster's own",
    )
    external: ThereName | None = Field(
        default=None,
        description="external network, for the one floating address and for the router of a network that is made",
    )
    root_size: Size | None = Field(
        default=None,
        description="servers start from a volume of this size, made of the image, e.g. '20 GiB'; flavors without a root disk need it",
    )
    volume_type: ThereName | None = Field(
        default=None,
        description="of Cinder, for data devices and for volumes that servers start from; the default is the cloud's",
    )
    share_type: ThereName | None = Field(
        default=None,
        description="of Manila, for file system manila-share; the default is the cloud's",
    )
    share_network: ThereName | None = Field(
        default=None,
        description="of Manila, for file system manila-share of a type whose driver makes share servers",
    )


class Terms(Record):
    """Where and on which terms a cloud makes the hosts of a cluster."""

    region: Annotated[
        str, Written(r"^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$", "a region, e.g. us-east-1")
    ] = Field(description="e.g. us-east-1; of OpenStack often RegionOne")
    zone: Annotated[
        str,
        Written(r"^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$", "any, or a zone, e.g. us-east-1a"),
    ] = Field(
        default="any",
        description="e.g. us-east-1a; any: the first one with room for all nodes. A cluster is in one zone",
    )
    image: Annotated[
        str,
        Written(
            r"^(debian-12|ubuntu-24\.04|amazon-linux-2023|ami-[0-9a-f]{8,17}|own)$",
            "debian-12, ubuntu-24.04, amazon-linux-2023 or ami- with its number; own with openstack",
        ),
    ] = Field(
        default="debian-12",
        description="debian-12, ubuntu-24.04, amazon-linux-2023, or an ami-...; with openstack what openstack.image is of, or own",
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
    ssh_from: Annotated[str, BeforeValidator(_ssh_network, json_schema_input_type=str)] = Field(
        default="caller",
        description="network that may reach port 22; caller: this machine's public address alone",
    )
    clients_from: tuple[
        Annotated[str, BeforeValidator(_clients_network, json_schema_input_type=str)], ...
    ] = Field(
        default=(),
        description="networks that may reach all ports of all nodes over TCP, as clients that are no nodes of the cluster do",
    )
    packages: tuple[
        Annotated[str, Written(r"^[a-z0-9][a-z0-9.+-]{0,99}$", "a package's name")], ...
    ] = Field(
        default=(),
        description="further packages of all nodes, as the distribution of a known image calls them",
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
        description="a shipped price table's name, or an absolute path; the default is the newest shipped one of the region; with "
        "openstack an absolute path of the site's prices",
    )
    openstack: OpenStackTerms | None = Field(
        default=None, description="of provider openstack: what is there in that cloud"
    )

    @property
    def has_own_image(self) -> bool:
        """Whether instances start from an image of somebody's own, which has all that is needed."""
        return self.image not in KNOWN_IMAGES

    @model_validator(mode="after")
    def _fits_together(self) -> Terms:
        problems = []
        if not SHORTEST_TTL_S <= self.ttl <= LONGEST_TTL_S:
            problems.append(f"ttl {format_duration(self.ttl)} is not between 10 min and 7 d")
        if self.packages and self.has_own_image:
            problems.append(
                f"packages: what image {self.image} has is not known here: have {', '.join(self.packages)} in it, or take "
                f"{' or '.join(KNOWN_IMAGES)}"
            )
        problems += self._of_aws() if self.openstack is None else self._of_openstack(self.openstack)
        if problems:
            raise ValueError("; ".join(problems))
        return self

    def _of_aws(self) -> Iterator[str]:
        if _REGION.match(self.region) is None:
            yield f"region {self.region}: write a region, e.g. us-east-1"
        elif self.zone != "any" and _ZONE.match(self.zone) is None:
            yield f"zone {self.zone}: write any, or a zone, e.g. us-east-1a"
        elif self.zone != "any" and not self.zone.startswith(self.region):
            yield f"zone {self.zone} is not in region {self.region}"
        if self.image == "own":
            yield "image own is of openstack: write an ami- with its number"

    def _of_openstack(self, there: OpenStackTerms) -> Iterator[str]:
        if self.image not in ("debian-12", "ubuntu-24.04", "own"):
            yield f"image {self.image}: with openstack write debian-12, ubuntu-24.04 or own, and the image's name as openstack.image"
        for key in ("spot", "subnet", "reaper"):
            if getattr(self, key) != type(self).model_fields[key].default:
                yield f"{key} is of AWS: remove it"
        if self.prices is None or not self.prices.startswith("/"):
            yield "prices: there is no public table of OpenStack clouds: write the absolute path of a file of the site's prices"
        if self.ssh_from == "caller":
            yield "ssh_from: an OpenStack cloud does not tell this machine's address: write your site's network, e.g. '192.0.2.0/24'"
        if there.root_size is not None and (there.root_size == 0 or there.root_size % GIB):
            yield "openstack.root_size: volumes of Cinder have whole GiB, e.g. '20 GiB'"
        if there.external is None and (there.network == "made" or self.bastion == "none"):
            yield (
                "openstack.external is needed for the address of the jump host and the router of a network that is made: name the "
                "external network, or give openstack.network and bastion"
            )


def terms_have_flavors(terms: object) -> bool:
    """Whether terms, as they are written or validated, are of an OpenStack cloud: its instance types are flavors of its own."""
    if isinstance(terms, Terms):
        return terms.openstack is not None
    return isinstance(terms, Mapping) and terms.get("openstack") is not None


def terms_problems(provider: str, terms: Terms | None, on: str | None, kind: str) -> Iterator[str]:
    """What of a cluster's file and the terms of a cloud does not go together.

    Args:
        provider: of the cluster.
        terms: its key ``cloud``.
        on: what its storage is on.
        kind: of its file system.
    """
    if terms is None:
        if provider in CLOUDS:
            yield f"provider {provider} needs the key cloud, with region, ttl and budget at least"
        return
    if provider not in {*CLOUDS, *MAKES_NODES}:
        yield f"the key cloud has no meaning with provider {provider}: remove it"
    of_openstack = terms.openstack is not None
    if provider == "openstack" and not of_openstack:
        yield "provider openstack needs the key cloud.openstack, with image at least"
    elif provider in CLOUDS and of_openstack and provider != "openstack":
        yield f"the key cloud.openstack has no meaning with provider {provider}: remove it"
    if of_openstack and on == "ebs":
        yield "storage.on: ebs is of AWS: leave it out for volumes of Cinder, or write on: instance"
    cloud = OPENSTACK if of_openstack else AWS
    maker = facts(kind).made_by or cloud
    if maker != cloud:
        yield f"file_system {kind} is run by {RUN_BY[maker]}: take another kind"
    for key in ("share_type", "share_network"):
        if getattr(terms.openstack, key, None) is not None and kind != "manila-share":
            yield f"cloud.openstack.{key} only has a meaning with file_system manila-share: remove it"
