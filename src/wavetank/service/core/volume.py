"""How a GlusterFS space is mounted: its bricks in the order of the volume, as one line and as the file that a client reads."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

SMALLEST_STRIPE_BYTES = 4 * 2**20  # of GlusterFS 10.3

# Sample: "glusterfs:10.77.0.3:24100,10.77.0.4:24100/sp-1f?stripe=4194304".
_BRICK = r"[0-9.]+:\d+"
_EXPORT = re.compile(rf"glusterfs:({_BRICK}(?:,{_BRICK})*)/([A-Za-z0-9_-]+)(?:\?stripe=(\d+))?")


@dataclass(frozen=True)
class Volume:
    """A volume as its clients know it.

    Attributes:
        space: identity; its bricks are called so.
        bricks: address and port of each.
        stripe_bytes: files are cut into parts of so many bytes, which are spread as files are; None: each file is on one brick.
    """

    space: str
    bricks: tuple[tuple[str, int], ...]
    stripe_bytes: int | None = None

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
        )

    def export(self) -> str:
        """The volume as a line."""
        bricks = ",".join(f"{address}:{port}" for address, port in self.bricks)
        stripe = f"?stripe={self.stripe_bytes}" if self.stripe_bytes else ""
        return f"glusterfs:{bricks}/{self.space}{stripe}"

    def client_file(self) -> str:
        """What ``mount -t glusterfs FILE`` reads: from the bricks up to the mount."""
        names = [f"brick-{number}" for number in range(len(self.bricks))]
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
                },
            )
            for name, (address, port) in zip(names, self.bricks, strict=True)
        ]
        # Below 10 % free, new parts would go to other bricks; parallel writes of one part then race to make two (10.3).
        room = {"min-free-disk": "0"} if self.stripe_bytes else {}
        parts.append(translator("spread", "cluster/distribute", room, *names))
        below = "spread"
        if self.stripe_bytes:
            size = {"shard-block-size": str(self.stripe_bytes)}
            parts.append(translator("parts", "features/shard", size, below))
            below = "parts"
        parts.append(translator("writes", "performance/write-behind", {}, below))
        parts.append(translator(self.space, "performance/md-cache", {}, "writes"))
        return "".join(parts)


def translator(name: str, kind: str, options: Mapping[str, str], *below: str) -> str:
    """One part of a file that GlusterFS reads, with the parts below it."""
    lines = [f"volume {name}", f"  type {kind}"]
    lines += [f"  option {key} {value}" for key, value in options.items()]
    lines += [f"  subvolumes {' '.join(below)}"] if below else []
    return "\n".join((*lines, "end-volume\n"))
