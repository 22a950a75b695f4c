"""What a cloud must be able to do, and what is said of each thing that it makes.

A cloud keeps no state of its own here: what was made is found by its tags, also when this machine's folder is lost.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any, Protocol, TypeVar

from wavetank.cluster.clouds.disks import Volume
from wavetank.cluster.clouds.terms import Terms
from wavetank.cluster.managed import Service, Stored
from wavetank.cluster.needs import Examined
from wavetank.cluster.spec import ClusterSpec
from wavetank.errors import ProviderError

# Names of things that have no tags.
LABEL = re.compile(r"^wavetank-(?P<cluster>[a-z][a-z0-9-]{0,30})-(?P<token>[0-9a-f]{8})(-.*)?$")


def is_of(tags: Mapping[str, str], key: Key | None) -> bool:
    """Whether tags are of a cluster, or of any of wavetank."""
    if key is None:
        return TOKEN_TAG in tags
    return (tags.get(f"{PREFIX}cluster"), tags.get(TOKEN_TAG)) == (key.cluster, key.token)


def findings(ask: Iterable[T]) -> list[T | str]:
    """Findings, also where an answer of the account ends them, which is one."""
    found: list[T | str] = []
    try:
        found.extend(ask)
    except ProviderError as error:
        found.append(str(error))
    return found


def looks(pause: Callable[[int], None], most: int) -> Iterator[int]:
    """Numbers of looks at what an account shows late, with a pause between two of them.

    Args:
        pause: of the account; given the number of the look before.
        most: pauses.
    """
    for look in range(most + 1):
        yield look
        if look < most:
            pause(look)


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


def keep_unlogged(talkers: Iterable[str]) -> None:
    """Have loggers log warnings alone, whatever is asked of wavetank: no log holds credentials or keys.

    Args:
        talkers: names of the loggers of a library.
    """
    for name in talkers:
        talker = logging.getLogger(name)
        talker.setLevel(max(logging.WARNING, talker.getEffectiveLevel()))


T = TypeVar("T")
PREFIX = "wavetank:"
TOKEN_TAG = f"{PREFIX}token"
# Kinds of what serves files without being an instance.
SERVED = ("fsx-lustre", "efs", "mount-target", "manila-share")


class CapacityError(ProviderError):
    """A zone has no room for the instances that were asked for; another one may have."""


class RefusedError(ProviderError):
    """The account refuses: no credentials, expired ones, or a right that is missing. Trying again does not help."""


class Removal(Enum):
    """What came of removing something."""

    GONE = "gone"
    AGAIN = "again"  # in use, or still ending: later


@dataclass(frozen=True)
class Lease:
    """For whom, for how long and for how much at most a cluster is made. All of it is in the tags of everything.

    Attributes:
        cluster: its name.
        token: 8 hexadecimal digits, of this bringing up alone.
        region: of the cloud.
        owner: who the account says that the caller is.
        expires: when instances end themselves.
        budget: USD.
        spec_sha256: hash of the specification, first 16 digits.
    """

    cluster: str
    token: str
    region: str
    owner: str
    expires: datetime
    budget: Decimal
    spec_sha256: str

    @property
    def label(self) -> str:
        """Name of what is made, and the beginning of the names of what there are several of."""
        return label_of(self.cluster, self.token)

    def tags(self, node: str | None = None) -> dict[str, str]:
        """Tags of a thing: of one node, or of the whole cluster."""
        return {
            "Name": self.label if node is None else f"{self.label}-{node}",
            f"{PREFIX}cluster": self.cluster,
            TOKEN_TAG: self.token,
            f"{PREFIX}owner": self.owner[:255],
            f"{PREFIX}expires": self.expires.strftime("%Y-%m-%dT%H:%M:%SZ"),
            f"{PREFIX}budget": f"{self.budget} USD",
            f"{PREFIX}spec": self.spec_sha256,
            f"{PREFIX}node": node or "all",
        }


def label_of(cluster: str, token: str) -> str:
    """Name of what is made for a cluster."""
    return f"wavetank-{cluster}-{token}"


def terms_of(spec: ClusterSpec) -> Terms:
    """What a cluster's specification says of the cloud.

    Raises:
        ProviderError: nothing.
    """
    if spec.cloud is None:
        raise ProviderError(f"cluster {spec.name} has no key cloud")
    return spec.cloud


def new_lease(spec: ClusterSpec, token: str, owner: str, now: datetime) -> Lease:
    """A lease that begins now.

    Raises:
        ProviderError: the specification has no key ``cloud``.
    """
    terms = terms_of(spec)
    expires = (now + timedelta(seconds=terms.ttl)).astimezone(UTC).replace(microsecond=0)
    return Lease(spec.name, token, terms.region, owner, expires, terms.budget, spec.sha256()[:16])


@dataclass(frozen=True)
class Wanted:
    """One thing to make, by one call that either makes all of it or nothing.

    Attributes:
        kind: "key-pair", "security-group", "placement-group", "instances", "fsx-lustre", "efs", "mount-target" (of EFS),
            "schedule"; of OpenStack also "network", "subnet", "router", "server-group", "volume", "address", "manila-share",
            "share-access" (who may mount it).
        name: in the account; of instances and file systems also what makes the call idempotent.
        zone: of instances, and of file systems, which are where these are.
        nodes: of instances, in the order of their numbers.
        detail: what else the cloud was given by its own plan. Where "of" is "instances", it is made when these run.
    """

    kind: str
    name: str
    zone: str | None = None
    nodes: tuple[str, ...] = ()
    detail: Mapping[str, object] = field(default_factory=dict)

    def in_zone(self, zone: str) -> Wanted:
        """The same in a zone; the name says which, as a call of one name is done once."""
        if self.kind in SERVED:
            return replace(self, zone=zone)
        if self.kind != "instances":
            return self
        return replace(self, zone=zone, name=f"{self.name}-{zone}")


@dataclass(frozen=True)
class Made:
    """One thing that is there, as the account says.

    Attributes:
        kind: "key-pair", "security-group", "placement-group", "instance", "volume", "network-interface", "fsx-lustre", "efs",
            "mount-target", "schedule", "network", "subnet", "router", "server-group", "address", "manila-share".
        key: by which it is removed: its id or its name.
        state: as the cloud calls it, in small letters; empty where things of the kind have none.
        node: of an instance.
        since, until: of an instance: when it began and, where the cloud says it, when it ended. since also of a volume and a file
            system.
        instance_type, private_address, public_address, is_spot: of an instance.
        reason: why it is in this state, of an instance or a file system.
        volume: of a volume: what is paid for.
        is_root: of a volume: whether a server starts from it.
        stored: of a file system: likewise.
        service: of a file system or a mount target that is there: how it is reached.
    """

    kind: str
    key: str
    cluster: str
    token: str
    owner: str = ""
    expires: datetime | None = None
    state: str = ""
    node: str = ""
    instance_type: str = ""
    since: datetime | None = None
    until: datetime | None = None
    private_address: str | None = None
    public_address: str | None = None
    reason: str = ""
    is_spot: bool = False
    volume: Volume | None = None
    is_root: bool = False
    stored: Stored | None = None
    service: Service | None = None


class Cloud(Protocol):
    """One account in one region."""

    name: str
    region: str

    def check(self, spec: ClusterSpec) -> Examined:
        """Why the account cannot make this cluster, and what it does not tell: asks it, and changes nothing."""

    def owner(self) -> str:
        """Who the account says that the caller is.

        Raises:
            RefusedError: there are no credentials, or they are not accepted.
        """

    def zones(self, spec: ClusterSpec) -> tuple[str, ...]:
        """Zones that have a subnet and all instance types, in the order in which they are tried."""

    def plan(self, spec: ClusterSpec, lease: Lease, keys: Keys) -> tuple[Wanted, ...]:
        """Everything to make for a cluster, in an order that works."""

    def make(self, wanted: Wanted, lease: Lease) -> tuple[str, ...]:
        """Make it, whole or not at all. Calling again with the same name and lease makes no second one.

        Returns:
            Its key; of instances one for each node, in order.

        Raises:
            CapacityError: the zone has no room.
            RefusedError: the account refuses.
            ProviderError: any other reason.
        """

    def found(self, key: Key | None) -> tuple[Made, ...]:
        """What there is of a cluster by tags and names; None: of all clusters of wavetank in the region."""

    def instances(self, key: Key) -> tuple[Made, ...]:
        """Instances of a cluster, also those that ended, as long as the cloud remembers them."""

    def served(self, key: Key) -> tuple[Made, ...]:
        """File systems and mount targets of a cluster, as they are now; those that are gone are left out."""

    def remove(self, made: Made) -> Removal:
        """Begin to remove a thing, or see that it is gone. Calling again is no error."""

    def regions(self) -> tuple[str, ...]:
        """All regions that the account may use."""

    def public_address(self) -> str:
        """Of this machine, as the cloud sees it.

        Raises:
            ProviderError: it cannot be asked.
        """


@dataclass(frozen=True)
class Key:
    """What tells the things of one cluster from all others: cluster and token."""

    cluster: str
    token: str

    @property
    def label(self) -> str:
        """As Lease.label."""
        return label_of(self.cluster, self.token)


@dataclass(frozen=True)
class Keys:
    """Keys made for one cluster.

    Attributes:
        user_public: line of the user's public key.
        host_private, host_public: of every host: known before its first packet.
    """

    user_public: str
    host_private: str = field(repr=False)
    host_public: str = ""
