"""Configuration of OrangeFS (PVFS2): what a specification may ask for, and the file that its servers and clients read.

The file is written here, not by pvfs2-genconfig: every value in it is checked, and servers listen on the cluster's
network only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from wavetank.cluster.components import OptionValue
from wavetank.cluster.filesystems.options import NUMBER, Table, Value, all_option_problems, one_of
from wavetank.cluster.spec import ClusterSpec

PORT = 3334
NAME = "orangefs"
STRIP_BYTES = 65536  # OrangeFS's own default of simple_stripe
# Handles are numbers from 3 to 2^63 - 3, each server with a range of its own (as pvfs2-genconfig 2.10 splits them).
FIRST_HANDLE = 3
LAST_HANDLE = 2**63 - 3
ROOT_HANDLE = 1048576

NUMBERS = Value("[0-9]{1,9}(,[0-9]{1,9}){0,15}", "numbers like 0,1024")
YES = Value("yes|no", "yes or no", truth=True)
# Expert mode: option -> (context of fs.conf, its value). Of OrangeFS 2.8 to 2.10, server-config.c; paths,
# names, security and modules are left out: they are this driver's own.
OPTIONS = {
    **dict.fromkeys(
        ("UnexpectedRequests", "TCPBufferSend", "TCPBufferReceive", "ServerJobBMITimeoutSecs",
         "ServerJobFlowTimeoutSecs", "ClientJobBMITimeoutSecs", "ClientJobFlowTimeoutSecs", "ClientRetryLimit",
         "ClientRetryDelayMilliSecs", "PerfUpdateInterval"), ("Defaults", NUMBER)),
    **dict.fromkeys(("PrecreateBatchSize", "PrecreateLowThreshold"), ("Defaults", NUMBERS)),
    **dict.fromkeys(
        ("FlowBufferSizeBytes", "FlowBuffersPerFlow", "SmallFileSize", "TreeWidth", "TreeThreshold",
         "DistrDirServersInitial", "DistrDirServersMax", "DistrDirSplitSize"), ("FileSystem", NUMBER)),
    "FileStuffing": ("FileSystem", YES),
    **dict.fromkeys(
        ("AttrCacheSize", "AttrCacheMaxNumElems", "DBCacheSizeBytes", "DBMaxSize", "HandleRecycleTimeoutSecs",
         "CoalescingHighWatermark", "CoalescingLowWatermark", "TroveMaxConcurrentIO", "DirectIOThreadNum",
         "DirectIOOpsPerQueue", "DirectIOTimeout"), ("StorageHints", NUMBER)),
    **dict.fromkeys(("TroveSyncMeta", "TroveSyncData", "ImmediateCompletion"), ("StorageHints", YES)),
    "TroveMethod": ("StorageHints", one_of("alt-aio", "directio", "dbpf", "null-aio")),
    "DBCacheType": ("StorageHints", one_of("sys", "mmap")),
}  # fmt: skip
STORAGE_DEFAULTS = {"TroveSyncMeta": "yes", "TroveSyncData": "no", "TroveMethod": "alt-aio"}
# The distribution is not in one context with the rest.
DISTRIBUTION = {
    "distribution": one_of("simple_stripe", "basic_dist", "varstrip_dist", "twod_stripe"),
    "distribution_params": Value(
        "[a-z_]+:[0-9]+(/[a-z_]+:[0-9]+)*", "e.g. strip_size:65536, more of them apart by /"
    ),
}
OPTION_TABLE = Table(
    "orangefs", {name: value for name, (_, value) in OPTIONS.items()} | DISTRIBUTION
)
MOUNT_OPTIONS = Table(
    "orangefs",
    {"client": one_of("fuse", "kernel"), "ro": YES, "noatime": YES, "max_read": NUMBER},
)


@dataclass(frozen=True)
class Distribution:
    """How a file is spread: over how many datafiles (one a server), and how its bytes go round them."""

    n_datafiles: int
    name: str
    params: tuple[tuple[str, str], ...]


def distribution(spec: ClusterSpec) -> Distribution:
    """By the stripe: each file whole on one server, or in strips over ``count`` servers, all without one."""
    stripe = spec.file_system.stripe
    servers = len(spec.server_names())
    n = 1 if stripe.kind == "distributed" else stripe.count or servers
    name = str(spec.file_system.options.get("distribution", "simple_stripe"))
    given = str(spec.file_system.options.get("distribution_params", ""))
    if given:
        pairs = tuple(
            (key, value) for key, _, value in (p.partition(":") for p in given.split("/"))
        )
        return Distribution(n, name, pairs)
    strip = (("strip_size", str(stripe.size or STRIP_BYTES)),) if name == "simple_stripe" else ()
    return Distribution(n, name, strip)


def problems(spec: ClusterSpec) -> Iterator[str]:
    """Options that OrangeFS does not have."""
    fs = spec.file_system
    yield from all_option_problems(fs, OPTION_TABLE, MOUNT_OPTIONS)
    if "distribution_params" in fs.options and fs.stripe.size is not None:
        yield "file_system.options.distribution_params and file_system.stripe.size say the same thing: give one"
    if fs.mount_options.get("client") == "kernel" and spec.provider == "local":
        yield "file_system.mount_options.client kernel: a kernel has one OrangeFS client for all its nodes, use fuse, or provider ssh"


def _word(value: OptionValue) -> str:
    return (
        {True: "yes", False: "no"}.get(value, str(value)) if isinstance(value, bool) else str(value)
    )


def fs_conf(
    spec: ClusterSpec, addresses: dict[str, str], storage_path: str, log: str, fs_id: int
) -> str:
    """The configuration file.

    Args:
        spec: of the cluster.
        addresses: of every data and metadata server, by node name.
        storage_path: of the local file system on each.
        log: file that each server writes to.
        fs_id: number of the file system.
    """
    data, metadata = spec.server_names(), spec.metadata_names()
    by_context: dict[str, dict[str, str]] = {
        "Defaults": {},
        "FileSystem": {
            "FileStuffing": "no"
        },  # else a file has all its datafiles only when it has grown
        "StorageHints": dict(STORAGE_DEFAULTS),
    }
    for key, value in spec.file_system.options.items():
        if key in OPTIONS:
            by_context[OPTIONS[key][0]][key] = _word(value)
    spread = distribution(spec)
    half = (LAST_HANDLE - FIRST_HANDLE + 1) // 2
    meta_ranges = _ranges(FIRST_HANDLE, half, len(metadata))
    data_ranges = _ranges(FIRST_HANDLE + half, half, len(data))
    lines = [
        *_block("Defaults", [
            "UnexpectedRequests 50" if "UnexpectedRequests" not in by_context["Defaults"] else "",
            "EventLogging none", "LogStamp datetime", "BMIModules bmi_tcp", "FlowModules flowproto_multiqueue",
            f"DataStorageSpace {storage_path}/orangefs-data", f"MetadataStorageSpace {storage_path}/orangefs-metadata",
            f"LogFile {log}", "TCPBindSpecific yes",
            *(f"{key} {value}" for key, value in by_context["Defaults"].items()),
            *_block("Security", ["TurnOffTimeouts yes"]),
        ]),
        *_block("Aliases", [f"Alias {name} tcp://{address}:{PORT}" for name, address in addresses.items()]),
        *_block("FileSystem", [
            f"Name {NAME}", f"ID {fs_id}", f"RootHandle {ROOT_HANDLE}", f"DefaultNumDFiles {spread.n_datafiles}",
            *(f"{key} {value}" for key, value in by_context["FileSystem"].items()),
            *_block("MetaHandleRanges", _range_lines(metadata, meta_ranges)),
            *_block("DataHandleRanges", _range_lines(data, data_ranges)),
            *_block("StorageHints", [f"{key} {value}" for key, value in by_context["StorageHints"].items()]),
            *_block("Distribution", [f"Name {spread.name}", *(
                line for key, value in spread.params for line in (f"Param {key}", f"Value {value}"))]),
        ]),
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def _block(name: str, lines: Sequence[str]) -> list[str]:
    return [f"<{name}>", *(f"  {line}" for line in lines if line), f"</{name}>"]


def _range_lines(names: Sequence[str], ranges: Sequence[tuple[int, int]]) -> list[str]:
    return [
        f"Range {name} {first}-{last}" for name, (first, last) in zip(names, ranges, strict=True)
    ]


def _ranges(first: int, length: int, n: int) -> list[tuple[int, int]]:
    """``n`` ranges of one length, one after the other, first and last handle of each."""
    each = length // n
    return [(first + i * each, first + (i + 1) * each - 1) for i in range(n)]
