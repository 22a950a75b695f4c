"""What a cluster file may say of Lustre, and every way it can be wrong."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from wavetank.cluster.filesystems.lustre.targets import (
    SMALLEST_BYTES,
    backend,
    fsname,
    option,
    ost_bytes,
    ost_devices,
    targets,
)
from wavetank.cluster.filesystems.lustre_client.stripes import (
    ALL,
    LARGEST_BYTES,
    Stripes,
)
from wavetank.cluster.filesystems.lustre_client.stripes import SMALLEST_BYTES as STRIPE_UNIT
from wavetank.cluster.filesystems.options import FLAG, NUMBER, Table, Value, option_problems
from wavetank.cluster.needs import has_module
from wavetank.cluster.spec import ClusterSpec
from wavetank.units import format_size

DEVICE = r"/dev/[A-Za-z0-9_./-]{1,100}"
POOL = r"[A-Za-z0-9_-]{1,15}"  # LOV_MAXPOOLNAME of Lustre
OSTS = r"[0-9]{1,4}(-[0-9]{1,4})?"
OPTIONS: dict[str, Value] = {
    "backend": Value("ldiskfs|zfs", "ldiskfs or zfs"),
    "fsname": Value(r"[A-Za-z0-9_-]{1,8}", "letters, digits, _ and -, 8 characters at most"),
    "network": Value(r"(tcp|o2ib)[0-9]{0,3}", "a network of LNet, e.g. tcp or o2ib1"),
    "mgs": Value("mdt|own", "mdt (with the first MDT) or own (a target of its own)"),
    "osts_per_server": Value(r"[1-9]|1[0-9]|2[0-4]", "a whole number, 1 to 24"),
    "ost_devices": Value(rf"{DEVICE}(,{DEVICE}){{0,23}}", "block devices of each data server, e.g. /dev/sdb,/dev/sdc"),
    "mdt_device": Value(DEVICE, "a block device of each metadata server, e.g. /dev/sdb"),
    "mgs_device": Value(DEVICE, "a block device of the first metadata server, e.g. /dev/sdb"),
    "pools": Value(rf"{POOL}:{OSTS}(,{OSTS})*(/{POOL}:{OSTS}(,{OSTS})*)*",
              "pools with the indices of their OSTs, e.g. fast:0-1/slow:2,3"),
    "pool": Value(POOL, "a pool of option pools"),
    "directory_stripes": Value(r"-1|[1-9][0-9]{0,2}", "a whole number of MDTs, or -1 for all"),
    "tenant": Value(r"[A-Za-z0-9_]{1,15}", "letters, digits and _, 15 characters at most"),  # LUSTRE_NODEMAP_NAME_LENGTH
    "fileset": Value(r"(/[A-Za-z0-9_][A-Za-z0-9_.-]{0,62}){1,8}", "an absolute path in the file system, e.g. /tenants/a"),
}  # fmt: skip
# Parameters of lctl: of what they are; all take whole numbers but those with other words.
ON_CLIENTS: dict[str, Value] = {
    **dict.fromkeys(("osc.max_rpcs_in_flight", "osc.max_pages_per_rpc", "osc.max_dirty_mb", "osc.idle_timeout"), NUMBER),
    "osc.checksums": Value("[01]", "0 or 1"),
    **dict.fromkeys(("mdc.max_rpcs_in_flight", "mdc.max_mod_rpcs_in_flight"), NUMBER),
    **dict.fromkeys(("llite.max_read_ahead_mb", "llite.max_read_ahead_per_file_mb", "llite.max_read_ahead_whole_mb",
                     "llite.statahead_max"), NUMBER),
    "llite.fast_read": Value("[01]", "0 or 1"),
}  # fmt: skip
ON_SERVERS: dict[str, Value] = {
    "osd-ldiskfs.read_cache_enable": Value("[01]", "0 or 1"),
    "osd-ldiskfs.writethrough_cache_enable": Value("[01]", "0 or 1"),
    "obdfilter.brw_size": Value("[0-9]{1,2}", "MiB, a whole number"),
}
# Where each of them is, below its first word; ospN of metadata servers have names as osc, which the last part tells apart.
INSTANCES = {
    "osc": "{}-OST*-osc-[^mM]*",
    "mdc": "{}-MDT*-mdc-*",
    "llite": "{}-*",
    "osd-ldiskfs": "{}-OST*",
    "obdfilter": "{}-OST*",
}
# mount.lustre(8), options of clients.
MOUNT_OPTIONS = Table("lustre", dict.fromkeys(("flock", "localflock", "noflock", "lazystatfs", "nolazystatfs", "user_xattr", "nouser_xattr",
                           "always_ping", "verbose", "noverbose", "user_fid2path", "nouser_fid2path", "noencrypt",
                           "noatime", "relatime"), FLAG))  # fmt: skip
OPTION_TABLE = Table("lustre", {**OPTIONS, **ON_CLIENTS, **ON_SERVERS})
LOCKS = ("flock", "localflock", "noflock")


@dataclass(frozen=True)
class Pool:
    """OSTs with a name of their own."""

    name: str
    osts: tuple[int, ...]


def problems(spec: ClusterSpec) -> Iterator[str]:
    """What is wrong with a specification."""
    yield from _place_problems(spec)
    fs = spec.file_system
    size = fs.stripe.size
    if size is not None and (size % STRIPE_UNIT or size > LARGEST_BYTES):
        yield f"file_system.stripe.size {format_size(size)}: Lustre has multiples of 64 KiB below 4 GiB"
    wrong = list(option_problems("options", fs.options, OPTION_TABLE))
    yield from wrong
    yield from option_problems("mount_options", fs.mount_options, MOUNT_OPTIONS)
    if not wrong:
        yield from _target_problems(spec)


def _place_problems(spec: ClusterSpec) -> Iterator[str]:
    if spec.provider in ("local", "null"):
        why = "one kernel has one LNet, so that all nodes would have the same address in it"
        if not has_module("lustre"):
            why = f"this kernel has no module lustre (neither loaded nor in its modules.dep), and {why}"
        yield (
            f"file_system lustre: nodes of provider {spec.provider} share this machine's kernel, and {why}. Use hosts or guests with "
            "kernels of their own: provider ssh, aws, openstack or vm (docs/how-to/lustre.md); mounted already, it is kind: existing"
        )
    if spec.cloud is not None and not spec.cloud.has_own_image:
        yield (
            f"file_system lustre: cloud.image {spec.cloud.image} has no servers of Lustre among its packages: take an image of your "
            "own (ami-..., or own with openstack) that has them (docs/how-to/lustre.md)"
        )


def _target_problems(spec: ClusterSpec) -> Iterator[str]:
    if option(spec, "osts_per_server") is not None and ost_devices(spec):
        yield "file_system.options: osts_per_server has no meaning with ost_devices, which is an OST each: remove it"
    if option(spec, "mgs_device") is not None and option(spec, "mgs") != "own":
        yield "file_system.options.mgs_device only has a meaning with mgs: own"
    if backend(spec) == "zfs":
        for key in spec.file_system.options:
            if key.startswith("osd-ldiskfs."):
                yield f"file_system.options.{key} has no meaning with backend: zfs: remove it"
    on: dict[tuple[str, str], list[str]] = {}
    for target in targets(spec):
        if target.device is not None:
            on.setdefault((target.server, target.device), []).append(target.name)
    for (server, device), names in on.items():
        if len(names) > 1:
            yield f"file_system.options: {' and '.join(names)} would both be on {device} of {server}: name a device for each"
    if not ost_devices(spec) and ost_bytes(spec) < SMALLEST_BYTES:
        yield (
            f"storage.size {format_size(spec.storage.size)} leaves {format_size(ost_bytes(spec))} for each OST, and an OST needs "
            f"{format_size(SMALLEST_BYTES)}: give more storage.size, fewer osts_per_server, or metadata servers of their own"
        )
    yield from _pool_problems(spec)
    wanted = int(option(spec, "directory_stripes") or 1)
    if wanted > len(spec.metadata_names()):
        yield (
            f"file_system.options.directory_stripes {wanted} is more than the {len(spec.metadata_names())} metadata servers: see "
            "file_system.metadata_servers"
        )


def _pool_problems(spec: ClusterSpec) -> Iterator[str]:
    there = {target.index for target in targets(spec) if "ost" in target.kinds}
    found = pools(spec)
    for pool in found:
        unknown = [str(index) for index in pool.osts if index not in there]
        if unknown:
            yield f"file_system.options.pools: {pool.name} names OST {', '.join(unknown)}; there are 0 to {len(there) - 1}"
        if not pool.osts:
            yield f"file_system.options.pools: {pool.name} has no OST: write ranges from the lower to the higher index"
    names = [pool.name for pool in found]
    if len(set(names)) < len(names):
        yield "file_system.options.pools names a pool twice"
    default = option(spec, "pool")
    if default is not None and default not in names:
        yield f"file_system.options.pool: {default} is none of the pools of option pools ({', '.join(names) or 'there are none'})"
    for pool in found:
        count = spec.file_system.stripe.count
        if pool.name == default and count is not None and count > len(pool.osts):
            yield f"file_system.stripe.count {count} is more than the {len(pool.osts)} OSTs of pool {default}"


def pools(spec: ClusterSpec) -> tuple[Pool, ...]:
    """Pools as the specification names them."""
    text = option(spec, "pools")
    found = []
    for part in text.split("/") if text else []:
        name, _, ranges = part.partition(":")
        osts: list[int] = []
        for each in ranges.split(","):
            first, _, last = each.partition("-")
            osts += range(int(first), int(last or first) + 1)
        found.append(Pool(name, tuple(dict.fromkeys(osts))))
    return tuple(found)


def stripes_of_root(spec: ClusterSpec) -> Stripes:
    """Stripes of new files: whole files one OST each, sharded ones over ``count`` or all."""
    stripe = spec.file_system.stripe
    count = 1 if stripe.kind == "distributed" else stripe.count or ALL
    return Stripes(count=count, size=stripe.size, pool=option(spec, "pool"))


def network(spec: ClusterSpec) -> str:
    """Network of LNet, as lctl writes it: tcp0 is tcp."""
    return re.sub(r"^([a-z0-9]*[a-z])0$", r"\1", option(spec, "network") or "tcp")


def parameters(spec: ClusterSpec, known: Mapping[str, object]) -> dict[str, str]:
    """Parameters of lctl with what they are to be, of those in ``known``, with the names of this file system."""
    found = {}
    for key, value in spec.file_system.options.items():
        if key in known:
            kind, _, name = key.partition(".")
            found[f"{kind}.{INSTANCES[kind].format(fsname(spec))}.{name}"] = str(value)
    return found


def mount_words(spec: ClusterSpec) -> list[str]:
    """Options of clients' mounts: locks over all clients, which ROMIO needs, unless others are asked for."""
    asked = [key for key, value in spec.file_system.mount_options.items() if value is True]
    own = [] if set(asked) & set(LOCKS) else ["flock"]
    return ["-o", ",".join((*own, *asked))]
