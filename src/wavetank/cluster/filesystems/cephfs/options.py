"""Options of CephFS: what a specification may ask for, ceph.conf, and how files are laid out over objects.

A name and a value become a line of ceph.conf or a word to ``ceph``. What names a file, a program or an address of
a server is not for a specification to say.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from wavetank.cluster.access import client_memory
from wavetank.cluster.components import OptionValue
from wavetank.cluster.devices import n_mounted
from wavetank.cluster.filesystems.options import (
    FLAG,
    NUMBER,
    Table,
    Value,
    all_option_problems,
    one_of,
    option_words,
)
from wavetank.cluster.spec import ClusterSpec
from wavetank.units import MIB, format_size, parse_size

# Mount options of the kernel's client: numbers, and words that are there or not (Linux 6.1, fs/ceph/super.c).
KERNEL_MOUNT_OPTIONS = Table("the kernel's client of cephfs", {
    **dict.fromkeys(("rsize", "wsize", "rasize", "caps_max", "readdir_max_bytes", "readdir_max_entries"), NUMBER),
    **dict.fromkeys(("wsync", "nodcache", "nocrc"), FLAG),
})  # fmt: skip


def client_of(spec: ClusterSpec) -> str | None:
    """The client that is asked for, "kernel" or "fuse"; None: the kernel's where a guest's kernel has it, else ceph-fuse.

    Mount options say it too: each client has its own.
    """
    asked = spec.file_system.options.get("client")
    if asked is not None:
        return str(asked)
    if not spec.clients_in_guests:
        return "fuse"
    names = set(spec.file_system.mount_options)
    if not names:
        return None
    return "kernel" if names <= set(KERNEL_MOUNT_OPTIONS.values) else "fuse"


def kernel_mount_words(spec: ClusterSpec) -> list[str]:
    """Mount options as the kernel reads them; none of another client."""
    return option_words(spec.file_system.mount_options) if client_of(spec) == "kernel" else []


def options_of_ceph_fuse(spec: ClusterSpec) -> Mapping[str, OptionValue]:
    """Mount options as ceph-fuse reads them; none of another client."""
    return {} if client_of(spec) == "kernel" else spec.file_system.mount_options


def client_problems(spec: ClusterSpec) -> Iterator[str]:
    """Finding: the kernel's client where nodes have none of their own."""
    if spec.file_system.options.get("client") == "kernel" and not spec.clients_in_guests:
        yield (
            "file_system.options.client: kernel is for guests that mount (provider vm, access virtual or client): other "
            "nodes have ceph-fuse"
        )


STATE = (
    "/run/wavetank-ceph"  # configuration, sockets, the monitor's and the metadata servers' state
)
CONFIGURATION = f"{STATE}/ceph.conf"
SMALLEST_UNIT_BYTES = 64 * 2**10  # CEPH_MIN_STRIPE_UNIT of 16.2
DEFAULT_OBJECT_BYTES = 4 * MIB  # of 16.2
LARGEST_OBJECT_BYTES = 128 * MIB  # osd_max_object_size of 16.2
SECTIONS = ("global", "mon", "osd", "mds", "client")
# Measured with 16.2.15: a bluestore OSD 45 to 60 MiB and its caches, monitor 40, metadata server 28,
# client 15 MiB and thrice its cache of objects while it writes.
SERVER_BYTES = 128 * MIB
OSD_BYTES = 96 * MIB
CLIENT_BYTES = 192 * MIB
BLUESTORE_BYTES = 512 * MIB  # of the disk; the tool that makes a store crashes on one of 240 MiB

LARGEST_FULL_RATIO, SMALLEST_FULL_RATIO = 0.85, 0.6
LOOKS_EVERY_S = 1.5  # at most, with osd_heartbeat_interval 1: half a second and up to one more
ROCKSDB = (
    "compression=kNoCompression,max_write_buffer_number=4,min_write_buffer_number_to_merge=1,"
    "recycle_log_file_num=2,write_buffer_size=8388608,writable_file_max_buffer_size=0,"
    "compaction_readahead_size=2097152,max_background_compactions=2,max_total_wal_size=33554432"
)

_NAME = re.compile(rf"({'|'.join(SECTIONS)})\.([a-z][a-z0-9_]*)")


@dataclass(frozen=True)
class Layout:
    """How a file is cut: units of ``stripe_unit`` bytes go round ``stripe_count`` objects until each has ``object_size``."""

    stripe_unit: int = DEFAULT_OBJECT_BYTES
    stripe_count: int = 1
    object_size: int = DEFAULT_OBJECT_BYTES

    def words(self) -> str:
        """As the attributes ceph.dir.layout and ceph.file.layout have it."""
        return f"stripe_unit={self.stripe_unit} stripe_count={self.stripe_count} object_size={self.object_size}"

    def object_bytes(self, size: int) -> list[int]:
        """Bytes in each object of a file of ``size`` bytes, by the object's number.

        Source: Ceph's architecture, "data striping".
        """
        per_set = self.object_size * self.stripe_count
        units_per_object = self.object_size // self.stripe_unit
        held: list[int] = []
        for set_start in range(0, size, per_set):
            in_set = min(per_set, size - set_start)
            whole, rest = divmod(in_set, self.stripe_unit)
            for column in range(self.stripe_count):
                units = min(
                    units_per_object,
                    whole // self.stripe_count + (column < whole % self.stripe_count),
                )
                tail = rest if column == whole % self.stripe_count else 0
                held.append(units * self.stripe_unit + tail)
        while held and held[-1] == 0:
            held.pop()
        return held


def parse_layout(text: str, base: Layout | None = None) -> Layout:
    """Read ``stripe_unit=1MiB stripe_count=2 object_size=4MiB``; what is not said is Ceph's default.

    Raises:
        ValueError: with what is wrong.
    """
    base = base or Layout()
    said: dict[str, int] = {}
    for word in text.split():
        key, equals, value = word.partition("=")
        if key not in ("stripe_unit", "stripe_count", "object_size") or not equals or key in said:
            raise ValueError(
                f"{word!r}: write e.g. 'stripe_unit=1MiB stripe_count=2 object_size=4MiB'"
            )
        said[key] = int(value) if key == "stripe_count" else parse_size(value)
    object_size = said.get("object_size", max(base.object_size, said.get("stripe_unit", 0)))
    unit = said.get("stripe_unit", min(base.stripe_unit, object_size))
    layout = Layout(unit, said.get("stripe_count", base.stripe_count), object_size)
    if unit < SMALLEST_UNIT_BYTES or unit % SMALLEST_UNIT_BYTES:
        raise ValueError(f"stripe_unit {format_size(unit)} is no multiple of 64 KiB")
    if object_size % unit:
        raise ValueError(
            f"object_size {format_size(object_size)} is no multiple of stripe_unit {format_size(unit)}"
        )
    if object_size > LARGEST_OBJECT_BYTES:
        raise ValueError(
            f"object_size {format_size(object_size)} is more than {format_size(LARGEST_OBJECT_BYTES)}"
        )
    if not 1 <= layout.stripe_count <= 4096:
        raise ValueError(f"stripe_count {layout.stripe_count} is not between 1 and 4096")
    return layout


_VALUE = Value(
    r"[A-Za-z0-9*+-][A-Za-z0-9 _.,:%+*=-]{0,199}",
    "letters, digits and _ . , : % + * = -",
    truth=True,
)
_REACHES_OUT = (
    r"(^|[._])(file|path|dir|data|socket|addr|host|hosts|network|interface|keyring|key|user|group|command|hook|chdir|fsid|"
    r"plugins?|module|list|asok|journal|auth|bind|daemonize|type|objectstore)(_|$)"
)
OPTIONS = Table(
    "cephfs",
    {
        "objectstore": one_of("bluestore", "memstore"),
        "osds_per_server": Value("[1-8]", "1 to 8"),
        "pg_num": Value("[1-9][0-9]?|1[0-9]{2}|2[0-4][0-9]|25[0-6]", "1 to 256"),
        "client": one_of("kernel", "fuse"),
    },
    {
        r"layout(:(?!.*\.\.)[A-Za-z0-9_.-]+(/[A-Za-z0-9_.-]+)*/?)?": Value(
            ".*", "a layout", parse=parse_layout
        ),
        _NAME.pattern: _VALUE,
    },
    "layout, layout:DIRECTORY/ and layout:FILE relative to the mount, and SECTION.NAME of ceph.conf, e.g. osd.osd_max_write_size",
    _REACHES_OUT,
)
FUSE_MOUNT_OPTIONS = Table(
    "ceph-fuse",
    families={"(client|fuse|objecter)_[a-z0-9_]+": _VALUE},
    family_words="those of Ceph's clients, e.g. client_oc_size",
    reaches_out=_REACHES_OUT,
)


def default_layout(spec: ClusterSpec) -> Layout:
    """Of the whole file system: of the stripe, then of the option ``layout``."""
    size, count = spec.file_system.stripe.size, spec.file_system.stripe.count or 1
    base = Layout() if size is None else Layout(size, 1, size)
    if count > 1:  # units of the stripe's size go round ``count`` objects
        base = Layout(
            base.stripe_unit, count, base.stripe_unit * max(1, 4 * MIB // base.stripe_unit)
        )
    return parse_layout(str(spec.file_system.options.get("layout", "")), base)


def layouts(spec: ClusterSpec) -> dict[str, Layout]:
    """Layouts of single directories (names that end with '/') and files, by path below the mount."""
    options = spec.file_system.options
    return {
        name.partition(":")[2]: parse_layout(str(value))
        for name, value in options.items()
        if name.startswith("layout:")
    }


def osds_per_server(spec: ClusterSpec) -> int:
    """Object storage daemons on each data server: one on each device unless the option says how many."""
    return int(spec.file_system.options.get("osds_per_server", n_mounted(spec.storage)))


def osds_per_device(spec: ClusterSpec) -> int:
    """Object storage daemons on each device of a data server."""
    return max(1, osds_per_server(spec) // n_mounted(spec.storage))


def objectstore(spec: ClusterSpec) -> str:
    """Of the OSDs: on the local disk (bluestore) or in memory (memstore)."""
    return str(spec.file_system.options.get("objectstore", "bluestore"))


def copies(spec: ClusterSpec) -> int:
    """Copies of each object."""
    return len(spec.server_names()) if spec.file_system.stripe.kind == "replicated" else 1


def check_options(spec: ClusterSpec) -> Iterator[str]:
    """Findings: options that cannot be handed to Ceph. Whether Ceph knows one, only Ceph says."""
    mounts = KERNEL_MOUNT_OPTIONS if client_of(spec) == "kernel" else FUSE_MOUNT_OPTIONS
    yield from all_option_problems(spec.file_system, OPTIONS, mounts)
    yield from client_problems(spec)


def check_stripe(spec: ClusterSpec) -> Iterator[str]:
    """Findings: stripes that Ceph or this driver does not have, and memory that is too small."""
    stripe = spec.file_system.stripe
    if stripe.kind == "replicated" and len(spec.server_names()) < 2:
        yield "file_system.stripe.kind replicated needs 2 data servers or more: give more nodes.io, or leave stripe out"
    if stripe.size is not None:
        try:
            default_layout(spec)
        except ValueError as error:
            yield f"file_system.stripe.size: {error}"
    devices = n_mounted(spec.storage)
    if osds_per_server_or_one(spec) % devices:
        yield f"file_system.options osds_per_server {osds_per_server_or_one(spec)} is no multiple of storage.devices {devices}"
    stores = BLUESTORE_BYTES * max(1, osds_per_server_or_one(spec) // devices)
    if objectstore(spec) == "bluestore" and spec.storage.mounted_bytes < stores:
        yield f"storage.size {format_size(spec.storage.size)} is too small for bluestore: give it {format_size(stores)}"
    if spec.has_volumes and objectstore(spec) == "memstore":
        yield (
            "access: volume with objectstore memstore: volumes are as large as storage.size allows, and memstore holds half of the "
            "servers' memory: take objectstore bluestore"
        )
    for names, needed, why in (
        (spec.server_names(), OSD_BYTES * osds_per_server_or_one(spec), "its object stores"),
        (spec.metadata_names(), SERVER_BYTES, "monitor and metadata server"),
        (spec.compute_names(), CLIENT_BYTES, "the client"),
    ):
        small = [name for name in names if spec.instance_of(name).memory < needed]
        if small:
            yield f"memory of {', '.join(small)} is too small for {why} of cephfs: give the instance {format_size(needed)} or more"


def osds_per_server_or_one(spec: ClusterSpec) -> int:
    """As osds_per_server, for a specification that may be wrong."""
    right = (
        OPTIONS.problem("osds_per_server", spec.file_system.options.get("osds_per_server", ""))
        is None
    )
    return osds_per_server(spec) if right else n_mounted(spec.storage)


def word(value: OptionValue) -> str:
    """A value as Ceph reads it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def configuration(
    spec: ClusterSpec, name: str, address: str, fsid: str, monitor: str, osd_bytes: int, osd_data: str
) -> str:  # fmt: skip
    """ceph.conf of a node: no secrets, one monitor, daemons on the cluster's own network only."""
    instance = spec.instance_of(name)
    sections: dict[str, dict[str, str]] = {
        "global": {
            "fsid": fsid,
            "mon_host": f"[v2:{monitor}:3300,v1:{monitor}:6789]",
            "public_addr": address,
            "cluster_addr": address,
            **{f"auth_{of}_required": "none" for of in ("cluster", "service", "client")},
            "osd_pool_default_size": str(copies(spec)),
            "osd_pool_default_min_size": "1",
            "osd_crush_chooseleaf_type": "1" if copies(spec) > 1 else "0",
            "osd_pool_default_pg_autoscale_mode": "off",
            "run_dir": STATE,
            "crash_dir": f"{STATE}/crash",
            "admin_socket": f"{STATE}/$name.asok",
            "pid_file": f"{STATE}/$name.pid",
            "log_to_file": "false",
            "log_to_stderr": "true",
            "err_to_stderr": "true",
            "mon_cluster_log_to_file": "false",
            "debug_rocksdb": "1/1",
        },
        "mon": {
            "mon_data": f"{STATE}/mon",
            "mon_allow_pool_size_one": "true",
            "mon_warn_on_pool_no_redundancy": "false",
            "auth_allow_insecure_global_id_reclaim": "false",
            "mon_osd_down_out_interval": "0",  # nothing is moved behind a measurement's back
            "mon_osd_full_ratio": f"{full_ratio(spec):.2f}",
            "mon_osd_backfillfull_ratio": f"{full_ratio(spec) - 0.03:.2f}",
            "mon_osd_nearfull_ratio": f"{full_ratio(spec) - 0.05:.2f}",
            "mds_beacon_grace": "60",  # a busy machine is no dead server
        },
        "mds": {
            "mds_data": f"{STATE}/$name",
            "mds_cache_memory_limit": str(instance.memory // 8),
            "mds_beacon_grace": "60",
        },
        "osd": {
            "osd_data": f"{osd_data}/osd.$id",
            "osd_objectstore": objectstore(spec),
            "osd_crush_initial_weight": "1",
            "crush_location": f"root=default host={name}",
            "osd_max_scrubs": "0",
            "osd_heartbeat_interval": "1",
            # Ceph's own log of 4 x 256 MiB would fill a small disk before the first file.
            "bluestore_rocksdb_options": ROCKSDB,
            "bluestore_block_size": str(osd_bytes),
            # Autotuning knows no target below 896 MiB.
            "bluestore_cache_autotune": "false",
            "bluestore_cache_size": str(_cache_bytes(instance.memory) // osds_per_server(spec)),
            "memstore_device_bytes": str(osd_bytes),
        },
        "client": {
            "client_oc_size": str(_cache_bytes(client_memory(spec, name))),
            "admin_socket": "",  # the mount is given one: commands and gateways are clients of this name too
        },
    }
    for option, value in spec.file_system.options.items():
        match = _NAME.fullmatch(option)
        if match is not None:
            sections[match[1]][match[2]] = word(value)
    for option, value in options_of_ceph_fuse(spec).items():
        sections["client"][option] = word(value)
    return "".join(f"[{section}]\n{_lines(values)}" for section, values in sections.items())


def full_ratio(spec: ClusterSpec) -> float:
    """Share of a store that counts as full: the rest must hold what arrives until the store looks again.

    A store that runs out of room before ends itself (bluestore 16.2).
    """
    instance = spec.instance_of(spec.server_names()[0])
    rates = [rate / spec.scale for rate in (instance.disk_write, instance.network) if rate]
    store = spec.storage.mounted_bytes if objectstore(spec) == "bluestore" else instance.memory // 2
    arriving = LOOKS_EVERY_S * min(rates, default=0.0) / (store / osds_per_device(spec))
    return min(LARGEST_FULL_RATIO, max(SMALLEST_FULL_RATIO, 1 - arriving))


def asked_names(spec: ClusterSpec) -> set[str]:
    """Names of Ceph's own options in a specification."""
    names = {match[2] for name in spec.file_system.options if (match := _NAME.fullmatch(name))}
    return names | set(options_of_ceph_fuse(spec))


def _cache_bytes(memory_bytes: int) -> int:
    """An eighth of the memory; Ceph's own default of a client is 200 MiB."""
    return max(16 * MIB, min(200 * MIB, memory_bytes // 8))


def _lines(values: Mapping[str, str]) -> str:
    return "".join(f"{key} = {value}\n" for key, value in values.items())
