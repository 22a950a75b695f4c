"""Options of GlusterFS: what a specification may ask for, and the words that ask gluster for it.

A value becomes a word of a command line and a line in gluster's own files, so it may not look like an
option of the command line, name a path of the server, or hold a line break.
"""

from __future__ import annotations

from pathlib import Path

from wavetank.cluster.components import OptionValue
from wavetank.cluster.devices import n_mounted
from wavetank.cluster.filesystems.options import FLAG, Table, Value, names_lacking
from wavetank.cluster.spec import ClusterSpec
from wavetank.units import format_size

SMALLEST_SHARD_BYTES = 4 * 2**20  # gluster 10.3 refuses less
FROM_STRIPE = Value("(?!)", "it as file_system.stripe (kind: sharded, size: ...)")
OPTIONS = Table(
    "glusterfs",
    {"features.shard": FROM_STRIPE, "features.shard-block-size": FROM_STRIPE},
    {
        r"[a-z][a-z0-9-]*(\.[a-z0-9_-]+)+": Value(
            r"-?[A-Za-z0-9*][A-Za-z0-9 _.,:/%+*@=-]{0,199}",
            "letters, digits and * _ . , : / % + @ = -",
            truth=True,
        )
    },
    "options of a volume, e.g. performance.io-cache",
)

# mount.glusterfs 10.3: options with a value, and without. Those that write files where they are told
# (log-file, dump-fuse), choose the volume, or reach inside the translators are left out.
MOUNT_WITH_VALUE = frozenset({
    "log-level", "direct-io-mode", "attribute-timeout", "entry-timeout", "negative-timeout", "gid-timeout", "lru-limit",
    "invalidate-limit", "background-qlen", "fetch-attempts", "congestion-threshold", "use-readdirp", "event-history",
    "reader-thread-count", "auto-invalidation", "kernel-writeback-cache", "attr-times-granularity", "io-engine",
    "root-squash", "no-root-squash", "fuse-flush-handle-interrupt", "halo-max-latency", "halo-max-replicas",
    "halo-min-replicas", "fopen-keep-cache",
})  # fmt: skip
MOUNT_WITHOUT_VALUE = frozenset({
    "ro", "acl", "selinux", "worm", "enable-ino32", "mem-accounting", "thin-client", "resolve-gids", "global-threading",
    "localtime-logging", "noatime", "relatime", "strictatime", "nodiratime", "nodev", "noexec", "nosuid",
})  # fmt: skip
_MOUNT_VALUE = Value(
    r"[A-Za-z0-9][A-Za-z0-9_.:+-]{0,63}", "letters, digits and _ . : + -", truth=True
)
MOUNT_OPTIONS = Table(
    "glusterfs",
    {**dict.fromkeys(MOUNT_WITH_VALUE, _MOUNT_VALUE), **dict.fromkeys(MOUNT_WITHOUT_VALUE, FLAG)},
)
# These take yes/no; everything else takes on/off where YAML read a truth value.
YES_NO = frozenset({"use-readdirp", "auto-invalidation", "kernel-writeback-cache", "event-history"})


def check_stripe(spec: ClusterSpec) -> list[str]:
    """Whether the volume type has the servers and the sizes that it needs."""
    stripe, servers = spec.file_system.stripe, len(spec.server_names())
    devices = n_mounted(spec.storage)
    if devices > 1 and stripe.kind in ("replicated", "disperse"):
        return [
            f"storage.devices {devices} with file_system.stripe.kind {stripe.kind}: copies and fragments are made of one device a "
            "server. Take distributed or sharded, or leave devices out"
        ]
    if stripe.kind == "sharded" and stripe.size is not None and stripe.size < SMALLEST_SHARD_BYTES:
        return [
            f"file_system.stripe.size {format_size(stripe.size)} is too small: shards of glusterfs have "
            f"{format_size(SMALLEST_SHARD_BYTES)} or more"
        ]
    if stripe.count is not None and stripe.count != servers * devices:
        return [
            f"file_system.stripe.count {stripe.count}: glusterfs spreads the shards of a file over all {servers * devices} data "
            "servers. Leave it out, or use cephfs or orangefs"
        ]
    if stripe.kind == "replicated" and servers < 2:
        return [
            f"file_system.stripe.kind replicated needs 2 data servers or more, there is {servers}"
        ]
    if stripe.kind == "disperse":
        redundancy = stripe.redundancy or 1
        if servers < 3 or 2 * redundancy >= servers:
            return [
                f"file_system.stripe.kind disperse with redundancy {redundancy} needs {max(3, 2 * redundancy + 1)} "
                f"data servers or more, there are {servers}"
            ]
    return []


def unknown_options(spec: ClusterSpec, libraries: Path = Path("/usr")) -> list[str]:
    """Volume options that the glusterd of this machine does not have; empty where there is none.

    Only a running glusterd lists its options, but its library holds their names (10.3: 400 of them).
    """
    asked = [name for name in spec.file_system.options if not name.startswith("user.")]
    if not asked:
        return []
    # lib/x86_64-linux-gnu (Debian), lib64 (Fedora); all of /usr has tens of thousands of folders
    places = (f"lib*/{arch}glusterfs/*/xlator/mgmt/glusterd.so" for arch in ("", "*/"))
    library = next(iter(sorted(path for place in places for path in libraries.glob(place))), None)
    if library is None:
        return []
    return names_lacking(
        dict(zip(asked, asked, strict=True)), f"glusterfs {library.parents[2].name}", library.read_bytes(),
        rb"[a-z][a-z0-9-]*\.[a-z0-9_.-]+",
    )  # fmt: skip


def word(value: OptionValue, truth: tuple[str, str] = ("on", "off")) -> str:
    """A value as gluster reads it."""
    if isinstance(value, bool):
        return truth[0] if value else truth[1]
    return str(value)


def volume_words(spec: ClusterSpec) -> list[str]:
    """The volume's type, as ``gluster volume create`` reads it."""
    stripe, servers = spec.file_system.stripe, len(spec.server_names())
    if stripe.kind == "replicated":
        return ["replica", str(servers)]
    if stripe.kind == "disperse":
        return ["disperse", str(servers), "redundancy", str(stripe.redundancy or 1)]
    return []


def volume_options(spec: ClusterSpec) -> dict[str, str]:
    """Options of the volume: ours, those of the stripe, then those of expert mode."""
    stripe = spec.file_system.stripe
    # The check writes a file every 30 s and ends the brick when it cannot, on a full disk too (10.3).
    chosen = {"storage.health-check-interval": "0"}
    if stripe.kind == "sharded":
        chosen["features.shard"] = "on"
        # Below 10 % free, shards go to other bricks; parallel writes of one shard then race to make two (10.3).
        chosen["cluster.min-free-disk"] = "0"
        if stripe.size is not None:
            chosen["features.shard-block-size"] = str(stripe.size)
    return chosen | {name: word(value) for name, value in spec.file_system.options.items()}


def mount_words(spec: ClusterSpec) -> list[str]:
    """Options of the mount, as ``mount -o`` reads them."""
    words = []
    for name, value in spec.file_system.mount_options.items():
        if isinstance(value, bool) and name in {*MOUNT_WITHOUT_VALUE, "fopen-keep-cache"}:
            words += [name] if value else []
        else:
            truth = ("yes", "no") if name in YES_NO else ("on", "off")
            words.append(f"{name}={word(value, truth)}")
    return words
