"""Which kind of file system is offered in which mode, what confines a tenant there, and what each kind can do.

One table. Sources: documentation of NFS-Ganesha, GlusterFS, Ceph ("File layouts", "Client capabilities", "Quotas") and
OrangeFS, and the Lustre manual. A class is offered where tests attack one tenant's space as another tenant, and nowhere else.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

from wavetank.service.core.records import SMALLEST_SPACE_BYTES, AccessKind, Kind, Level, Mode
from wavetank.service.core.refusals import Refused
from wavetank.service.core.volume import SMALLEST_STRIPE_BYTES

NOT_PROVED = "not proved yet"
PROVED = "proved by test"
SMALLEST_IMAGE_BYTES = 320 * 2**20  # mkfs.xfs 6.1 makes nothing below 300 MiB


@dataclass(frozen=True)
class SpaceClass:
    """A kind in a mode.

    Attributes:
        kind: of file system.
        mode: shared or dedicated.
        refused: why it is not offered; None where it is.
        confined_by: what keeps other tenants out of the space, a sentence.
        size_limit: what keeps a space to its size, a sentence.
        isolation: how far that is shown by tests that attack it.
    """

    kind: Kind
    mode: Mode
    refused: str | None
    confined_by: str
    size_limit: str
    isolation: str = NOT_PROVED

    @property
    def offered(self) -> bool:
        """Whether spaces of this class can be asked for."""
        return self.refused is None


@dataclass(frozen=True)
class KindFacts:
    """What a kind of file system can do, in either mode.

    Attributes:
        title: as its project writes it.
        access: kinds of rules that it can keep.
        most_servers: that one space can be on; None: any number.
        stripes: whether a stripe size can be given.
        copies: whether it keeps further copies of each byte.
        most_devices: of one server that one space can be on; None: any number.
        smallest_bytes: that a space can have of each of its devices.
        shrinks: whether a space that is there can get fewer bytes.
        leaves: whether a space that is there can leave a server that it is on.
        levels: of rules that it can keep.
        smallest_stripe_bytes: that a stripe can have.
        tls: whether rules by certificate are kept by TLS: they say which authority signs, and a space has no others beside them.
    """

    title: str
    access: tuple[AccessKind, ...]
    most_servers: int | None
    stripes: bool
    copies: bool
    most_devices: int | None = None
    smallest_bytes: int = SMALLEST_SPACE_BYTES
    shrinks: bool = True
    leaves: bool = True
    levels: tuple[Level, ...] = ("rw", "ro")
    smallest_stripe_bytes: int = 4096
    tls: bool = False


KINDS: dict[Kind, KindFacts] = {
    "nfs": KindFacts(
        "NFS",
        ("ip",),
        most_servers=1,
        stripes=False,
        copies=False,
        most_devices=1,
        smallest_bytes=SMALLEST_IMAGE_BYTES,
        shrinks=False,
    ),
    "glusterfs": KindFacts(
        "GlusterFS",
        ("ip", "certificate"),
        most_servers=None,
        stripes=True,
        copies=False,
        smallest_bytes=SMALLEST_IMAGE_BYTES,
        shrinks=False,
        leaves=False,
        levels=("rw",),
        smallest_stripe_bytes=SMALLEST_STRIPE_BYTES,
        tls=True,
    ),
    "cephfs": KindFacts("CephFS", ("key",), most_servers=None, stripes=True, copies=True),
    "orangefs": KindFacts("OrangeFS", (), most_servers=None, stripes=True, copies=False),
    "lustre": KindFacts("Lustre", ("ip",), most_servers=None, stripes=True, copies=False),
}

_NO_MAKER = (
    "the service has no maker for it, and no test attacks one tenant's space as another tenant"
)
_OWN_SERVERS = "its servers hold nothing else, so that their devices end where the space ends"

_OWN_IMAGE = (
    "a file system of its own in an image file on the server, which is as large as the space"
)
_OWN_IMAGES = "a file system of its own in an image file on each of its devices, which is as large as its share"
_OWN_BRICKS = (
    "bricks of its own that see no other space, and a packet filter in front of them. By certificate: TLS, and the name in a "
    "certificate that an authority of the tenant's signed. By address: who can take such an address is that client"
)
_OWN_SERVER = (
    "an NFS server of its own that sees no other space, with a list of clients by address, and a packet filter in front of it; who can "
    "take such an address is that client"
)

CLASSES: tuple[SpaceClass, ...] = (
    SpaceClass(
        "nfs",
        "shared",
        None,
        _OWN_SERVER,
        _OWN_IMAGE,
        PROVED,
    ),
    SpaceClass(
        "nfs",
        "dedicated",
        None,
        f"servers of its own, and {_OWN_SERVER}",
        _OWN_IMAGE,
        PROVED,
    ),
    SpaceClass("glusterfs", "shared", None, _OWN_BRICKS, _OWN_IMAGES, PROVED),
    SpaceClass(
        "glusterfs",
        "dedicated",
        None,
        f"servers of its own, and {_OWN_BRICKS}",
        _OWN_IMAGES,
        PROVED,
    ),
    SpaceClass(
        "cephfs",
        "shared",
        _NO_MAKER,
        "a subvolume in a name space of its own, with a key that has capabilities on both alone",
        "a quota that clients keep to by themselves: a client that does not, writes past it, and others do so for seconds",
    ),
    SpaceClass(
        "cephfs",
        "dedicated",
        _NO_MAKER,
        "servers of its own, with keys of their own",
        _OWN_SERVERS,
    ),
    SpaceClass(
        "orangefs",
        "shared",
        "OrangeFS has one name space for all of its clients, believes each client's user ids, and has no quota for a part of it",
        "nothing",
        "nothing",
    ),
    SpaceClass(
        "orangefs",
        "dedicated",
        f"{_NO_MAKER}; whoever reaches its servers could mount it, under any user id",
        "servers of its own and nothing else",
        _OWN_SERVERS,
    ),
    SpaceClass(
        "lustre",
        "shared",
        f"{_NO_MAKER}; its servers and clients are modules of a kernel",
        "a fileset of its own, which a nodemap gives to a list of clients by address; who can take such an address is that client",
        "a project quota, which is none where a client may change the project of its files",
    ),
    SpaceClass(
        "lustre",
        "dedicated",
        f"{_NO_MAKER}; its servers and clients are modules of a kernel",
        "servers of its own, and a nodemap with a list of clients by address; who can take such an address is that client",
        _OWN_SERVERS,
    ),
)

_BY_KIND_AND_MODE = {(each.kind, each.mode): each for each in CLASSES}
assert set(_BY_KIND_AND_MODE) == {(k, m) for k in get_args(Kind) for m in get_args(Mode)}  # noqa: S101 - one row each
assert all(each.offered == (each.isolation == PROVED) for each in CLASSES)  # noqa: S101 - proved, or refused


def smallest_bytes(kind: Kind, devices: int) -> int:
    """That a space of a kind can have on so many devices, of all of its servers together."""
    smallest = KINDS[kind].smallest_bytes
    return smallest if smallest == SMALLEST_SPACE_BYTES else smallest * devices


def class_of(kind: Kind, mode: Mode) -> SpaceClass:
    """The class of a kind in a mode, offered or not."""
    return _BY_KIND_AND_MODE[kind, mode]


def why_not_offered(kind: Kind, mode: Mode) -> str | None:
    """Why a class is not offered, a sentence; None where it is."""
    refused = class_of(kind, mode).refused
    return refused and f"{mode} {KINDS[kind].title} is not offered: {refused}"


def see_offered(kind: Kind, mode: Mode) -> None:
    """See that a class is offered.

    Raises:
        Refused: not_offered, with the reason.
    """
    if why := why_not_offered(kind, mode):
        raise Refused("not_offered", why)


def notes(kind: Kind, mode: Mode) -> tuple[str, ...]:
    """What whoever asks for a space of a class should know: sentences."""
    found = class_of(kind, mode)
    title = f"{mode} {KINDS[kind].title}"
    return (
        f"isolation between tenants on {title} is {found.isolation}",
        f"{title} is confined by: {found.confined_by}",
        f"the size of {title} is kept by: {found.size_limit}",
    )
