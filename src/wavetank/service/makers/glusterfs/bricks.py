"""Bricks of spaces on one server: a process each, which sees one file system of its space and the server's programs, and nothing else.

No glusterd runs: whoever reaches one may make its server a peer of its own, and have it serve any folder. A brick is told
what it is by a file, and clients are told by another where bricks are.

A client of GlusterFS 10.3 may ask for the parent of a brick, and for its parent, and so on. So a brick has a root of its own, in a mount
namespace of its own, in which no other space is mounted.

Where rules are by certificate, bricks speak TLS. All bricks of a space show one certificate, which signs itself: clients trust it, and no
other. A brick reads its key at each new connection, so the key is in the brick's root, where clients of the space may climb. So it opens
no brick: servers that move files have another one, which is in no brick's root.
"""

from __future__ import annotations

import hashlib
import ipaddress
import json
import secrets
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Literal, Self

from wavetank.cluster.facade import Host, Needs
from wavetank.service.core.records import Access
from wavetank.service.core.volume import Identity, Volume, as_comment, translator
from wavetank.service.makers.daemons import Daemons
from wavetank.service.makers.images import FOLDERS, Image, Images
from wavetank.service.makers.run import do

MOUNTS = Images(FOLDERS["glusterfs"]).mounts
FIRST_PORT, LAST_PORT = (
    24100,
    28099,
)  # below what Linux gives to clients by itself, above glusterd's
NOWHERE = "255.255.255.255"
"""An address that no client has."""

PYTHON = "[^ ]*python3[0-9.]*"
"""What python3 may be called in a command line, for sed: what PATH finds may start another one by its path."""
DAEMONS = Daemons(MOUNTS, ("glusterfsd --brick-name ", " --volfile /"), ("TERM",))
LOCKED = DAEMONS.locked
# $1 a file with comments, $2 path of the files to be made of them without their names; see ``volume.as_comment``.
FILES_OF = r"""
files_of() {
  for name in identity authority; do
    sed -n "s/^#$name //p" "$1" >"$2$name"
  done
}
"""
# See Daemons.start.
START = (
    f"""set -eu{FILES_OF}"""
    + r"""umask 077
label=$2
hash=$3
root=$(dirname "$1")/.root
flags=$(grep -m 1 '^flags' /proc/cpuinfo || :)  # with TLS it looks for "aes", and ends where there is no such file (10.3)
confine "$root" "$1" /brick
mkdir -p "$root/var/run/gluster" "$root/var/log/glusterfs"
cat >"$root/$hash"
files_of "$root/$hash" "$root/"
enter "$root"
umount -l /proc
rmdir /proc
if [ -s /identity ]; then
  mkdir /proc
  printf '%s\n' "$flags" >/proc/cpuinfo
fi
status=0
log=/var/log/glusterfs/brick
/usr/sbin/glusterfsd --brick-name "$label" --volfile "/$hash" --log-file "$log" --log-level WARNING --pid-file /var/run/gluster/pid \
  </dev/null >/dev/null 2>&1 || status=$?
if [ $status != 0 ]; then
  echo "glusterfsd ends with status $status: $(grep '\] [ECM] \[' "$log" | tail -n 2 | tr '\n' ' ')" >&2
fi
rm -f "/$hash"
exit $status
"""
)


def needs() -> Needs:
    """Programs of a server."""
    return Needs(
        {
            "glusterfsd": "apt-get install glusterfs-server",
            "openssl": "apt-get install openssl",
        }
    )


# $1 name. Prints a key and the certificate that it signs itself, for 100 years.
MAKE_KEY = """exec openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 36500 -subj "/CN=$1" -keyout - -out -
"""
IN_ROOT = Identity("/identity", "/identity", "/authority")
"""Files of a brick, in its own root."""


Stage = Literal["told", "spread", "moved"]


@dataclass(frozen=True)
class Keys:
    """Of a space, each with the certificate that it signs itself, as PEM.

    Attributes:
        bricks: that all of its bricks show.
        mover: that servers show which move files between bricks.
        mover_name: in that certificate, which nobody else knows.
    """

    bricks: str
    mover: str
    mover_name: str


@dataclass(frozen=True)
class Rules:
    """What is written beside the image of each brick, as one line.

    Attributes:
        port: of the brick.
        access: of the space.
        servers: addresses that move files between bricks, and are let in too.
        volume: the space's volume that clients are told of, as a line; None: none yet.
        stage: told: clients are told of its bricks; spread: all directories are spread over them, too; moved: all files are where they
            belong, too.
        keys: None: there was no rule by certificate yet.
    """

    port: int
    access: frozenset[Access]
    servers: tuple[str, ...] = ()
    volume: str | None = None
    stage: Stage = "told"
    keys: Keys | None = None

    @classmethod
    def of(cls, image: Image) -> Self:
        """Rules of a brick that is made."""
        found = json.loads(image.rules)
        return cls(
            port=int(found["port"]),
            access=frozenset(
                Access.model_construct(
                    kind=kind, subject=subject, level="rw", authority=rest[0] if rest else None
                )
                for kind, subject, *rest in found["access"]
            ),
            servers=tuple(found.get("servers", ())),
            volume=found.get("volume"),
            stage=found.get("stage", "told"),
            keys=Keys(**found["keys"]) if found.get("keys") else None,
        )

    @property
    def authorities(self) -> tuple[str, ...]:
        """That sign for clients; none where rules are by address."""
        return tuple(sorted({rule.authority for rule in self.access if rule.authority}))

    @property
    def certificate(self) -> str | None:
        """That bricks show; None: they do not speak TLS."""
        return certificate_of(self.keys.bricks) if self.keys and self.authorities else None

    def told(self) -> str | None:
        """What clients are told now, as a line."""
        return self.volume and Volume.of(self.volume).told(self.stage != "told")

    def text(self) -> str:
        """As one line."""
        access = sorted([rule.kind, rule.subject, rule.authority] for rule in self.access)
        return json.dumps({**asdict(self), "access": access})


def free_port(there: Iterable[Image]) -> int:
    """A port that no brick of a server has."""
    taken = {Rules.of(image).port for image in there if image.state != "unmade"}
    return next(n for n in range(FIRST_PORT, LAST_PORT + 1) if n not in taken)


def start(server: Host, image: Image) -> None:
    """Start a brick of a space, or start it again: its clients connect again by themselves.

    Raises:
        ServiceError: it does not start.
    """
    DAEMONS.start(server, image.label, hash_of(server, image), START, brick_text(server, image))


def hash_of(server: Host, image: Image) -> str:
    """Of what a brick of a space is to be."""
    return hashlib.sha256(brick_text(server, image).encode()).hexdigest()[:32]


def brick_text(server: Host, image: Image) -> str:
    """What a brick of a space is, as glusterfsd reads it: from the file system up to the network."""
    space, rules = image.space, Rules.of(image)
    comment = ""
    if rules.keys and rules.authorities:
        names = sorted({rule.subject for rule in rules.access if rule.authority})
        trusted = (*rules.authorities, certificate_of(rules.keys.mover))
        comment = as_comment("identity", rules.keys.bricks) + as_comment("authority", *trusted)
        let_in = ",".join([rules.keys.mover_name, *names])
        allowed = {**IN_ROOT.options(), f"auth.login.{space}.ssl-allow": let_in}
    else:
        subjects = {rule.subject for rule in rules.access if rule.kind == "ip"} | {*rules.servers}
        addresses = {pattern for subject in subjects for pattern in patterns(subject)}
        allowed = {f"auth.addr.{space}.allow": ",".join(sorted(addresses)) or NOWHERE}
    options = {
        "transport-type": "tcp",
        "transport.address-family": "inet",
        "transport.socket.bind-address": server.address,
        "transport.socket.listen-port": str(rules.port),
        "rpc-auth-allow-insecure": "on",  # an address counts, not from which port root sends
        **allowed,
    }
    return "".join(
        (
            comment,
            translator("files", "storage/posix", {"directory": "/brick", "health-check-interval": "0"}),
            translator("rights", "features/access-control", {}, "files"),
            translator("locks", "features/locks", {}, "rights"),
            translator(space, "performance/io-threads", {}, "locks"),
            translator("network", "protocol/server", options, space),
        )
    )  # fmt: skip


def certificate_of(pem: str) -> str:
    """The certificate without its key."""
    return pem[pem.index("-----BEGIN CERTIFICATE-----") :]


def make_keys(server: Host, space: str) -> Keys:
    """New keys for a space.

    Raises:
        ServiceError: the server cannot make them.
    """
    # Whoever a tenant's authority signs for may call itself after the space: nobody guesses what the mover is called.
    mover_name = f"mover-{secrets.token_hex(16)}"
    brick, mover = (
        do(server, f"make a key for {space}", MAKE_KEY, [name]).stdout
        for name in (space, mover_name)
    )
    return Keys(brick, mover, mover_name)


def patterns(subject: str) -> list[str]:
    """An address or a network as patterns of addresses.

    Networks as such are not asked for: GlusterFS 10.3 compares the wrong bits unless a prefix is a multiple of 8.
    """
    network = ipaddress.IPv4Network(subject)
    whole = -(-network.prefixlen // 8)  # bytes that all of the network's parts have in full
    if whole == 4:
        return [str(address) for address in network]
    parts = network.subnets(new_prefix=8 * whole)
    return [".".join([*str(part[0]).split(".")[:whole], "*"]) for part in parts]
