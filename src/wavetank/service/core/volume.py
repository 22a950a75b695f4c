"""How a GlusterFS space is mounted: its bricks as one line, as what mount(8) takes, and as the file that its servers give to clients."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from wavetank.service.core import certificates

SMALLEST_STRIPE_BYTES = 4 * 2**20  # of GlusterFS 10.3

# Sample: "glusterfs:10.77.0.3:24100,10.77.0.4:24100/sp-1f?stripe=4194304".
TOLD_AT_PORT = 24099
"""Where a server tells clients what a volume is: below the ports of bricks."""
_BRICK = r"[0-9.]+:\d+"
_EXPORT = re.compile(
    rf"glusterfs:({_BRICK}(?:,{_BRICK})*)/([A-Za-z0-9_-]+)(?:\?stripe=(\d+))?(?:[?&]certificate=([A-Za-z0-9_-]+))?"
)


@dataclass(frozen=True)
class Identity:
    """What one side of TLS shows, and whom it trusts: files on its machine, as PEM, that are read at each new connection.

    Attributes:
        certificate: with the name.
        key: of the certificate, without a password.
        authority: certificates of those that sign for the other side.
    """

    certificate: str
    key: str
    authority: str

    def options(self) -> dict[str, str]:
        """Of a translator that connects, or is connected to."""
        return {
            **TLS,
            "transport.socket.ssl-own-cert": self.certificate,
            "transport.socket.ssl-private-key": self.key,
            "transport.socket.ssl-ca-list": self.authority,
        }


TLS = {"transport.socket.ssl-enabled": "on"}
"""Alone: with the files that GlusterFS has for its machine, below /etc/ssl."""


@dataclass(frozen=True)
class Volume:
    """A volume as its clients know it.

    Attributes:
        space: identity; its bricks are called so.
        bricks: address and port of each, those that came first in front.
        stripe_bytes: files are cut into parts of so many bytes, which are spread as files are; None: each file is on one brick.
        certificate: that all bricks show, as PEM; None: they do not speak TLS.
    """

    space: str
    bricks: tuple[tuple[str, int], ...]
    stripe_bytes: int | None = None
    certificate: str | None = None

    @classmethod
    def of(cls, export: str) -> Self:
        """A volume from its line.

        Raises:
            ValueError: it is no such line.
        """
        found = _EXPORT.fullmatch(export)
        if found is None:
            raise ValueError(f"{export!r} is no volume of GlusterFS")
        pairs = (brick.split(":") for brick in found[1].split(","))
        return cls(
            space=found[2],
            bricks=tuple((address, int(port)) for address, port in pairs),
            stripe_bytes=int(found[3]) if found[3] else None,
            certificate=certificates.of_word(found[4]) if found[4] else None,
        )

    def export(self) -> str:
        """The volume as a line."""
        bricks = ",".join(f"{address}:{port}" for address, port in self.bricks)
        asked = [f"stripe={self.stripe_bytes}"] if self.stripe_bytes else []
        asked += (
            [f"certificate={certificates.as_word(self.certificate)}"] if self.certificate else []
        )
        return f"glusterfs:{bricks}/{self.space}{'?' if asked else ''}{'&'.join(asked)}"

    @property
    def servers(self) -> tuple[str, ...]:
        """Addresses of its servers, each once."""
        return tuple(dict.fromkeys(address for address, _ in self.bricks))

    def source(self) -> str:
        """What mount(8) takes: a server that tells what the volume is, and its name."""
        return f"{self.servers[0]}:/{self.space}"

    def mount_options(self) -> dict[str, str]:
        """Options with which mount(8) finds the servers; the others are asked where the first one is away."""
        others = ":".join(self.servers[1:])
        return {
            "server-port": str(TOLD_AT_PORT),
            **({"backup-volfile-servers": others} if others else {}),
        }

    def client_file(self, spread: bool = True, identity: Identity | None = None) -> str:
        """What a client is told: from the bricks up to the mount.

        Args:
            spread: whether all directories are spread over all bricks. A client begins anew when that changes, so that it knows
                where they are. The first line says it, after the volume as a line.
            identity: of the client, where bricks speak TLS; None: the one that GlusterFS has for its machine.
        """
        name = f"{'over' if spread else 'to'}-{len(self.bricks)}"
        parts, below = self._bricks(name, identity, spread), name
        if self.stripe_bytes:
            size = {"shard-block-size": str(self.stripe_bytes)}
            parts.append(translator("parts", "features/shard", size, below))
            below = "parts"
        parts.append(translator("writes", "performance/write-behind", {}, below))
        parts.append(translator(self.space, "performance/md-cache", {}, "writes"))
        return "".join((f"# {self.told(spread)}\n", *parts))

    def told(self, spread: bool = True) -> str:
        """What tells files for clients apart, as a line."""
        return f"{self.export()} {'over' if spread else 'to'}"

    def mover_file(self, identity: Identity) -> str:
        """What whoever moves data between bricks reads: parts of files are files to it. The identity counts where bricks speak TLS."""
        return "".join(self._bricks("over", identity))

    def _bricks(self, spreads: str, identity: Identity | None, spread: bool = True) -> list[str]:
        """The bricks, and what spreads files over them, by that name.

        A brick keeps its name when others come: files that were moved or renamed name it on disk.
        """
        names = [f"brick-{address}-{port}" for address, port in self.bricks]
        tls = {} if self.certificate is None else TLS if identity is None else identity.options()
        parts = [
            translator(
                name,
                "protocol/client",
                {
                    "transport-type": "tcp",
                    "transport.address-family": "inet",
                    "remote-host": address,
                    "remote-port": str(port),
                    "remote-subvolume": self.space,
                    "ping-timeout": "42",
                    **tls,
                },
            )
            for name, (address, port) in zip(names, self.bricks, strict=True)
        ]
        # Files that are still to be moved to a new brick are looked for on all of them.
        how = {"lookup-optimize": "off"}
        if not spread:
            # Directories are listed by the first brick, which has all. Else one is by the brick that its name belongs to; a new one may not
            # have it yet, and nobody sees it in its parent.
            how["readdir-optimize"] = "on"
        if self.stripe_bytes:
            # Below 10 % free, new parts would go to other bricks; parallel writes of one part then race to make two (10.3).
            how["min-free-disk"] = "0"
        return [*parts, translator(spreads, "cluster/distribute", how, *names)]


def translator(name: str, kind: str, options: Mapping[str, str], *below: str) -> str:
    """One part of a file that GlusterFS reads, with the parts below it."""
    lines = [f"volume {name}", f"  type {kind}"]
    lines += [f"  option {key} {value}" for key, value in options.items()]
    lines += [f"  subvolumes {' '.join(below)}"] if below else []
    return "\n".join((*lines, "end-volume\n"))


def as_comment(name: str, *pems: str) -> str:
    """PEM as lines that GlusterFS does not read, from which a script makes the file of that name."""
    return "".join(f"#{name} {line}\n" for pem in pems for line in pem.splitlines())


def shown(export: str) -> str:
    """How to mount a space, for people: a certificate in it is not whole."""
    return re.sub(r"(certificate=.{8})[A-Za-z0-9_-]+", r"\1...", export)
