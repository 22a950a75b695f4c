"""Configuration of OrangeFS (PVFS2): what a specification may ask for, and the file that its servers and clients read.

The file is written here, not by pvfs2-genconfig: every value in it is checked, and servers listen on the cluster's
network only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from wavetank.cluster.components import OptionValue
from wavetank.cluster.spec import ClusterSpec

PORT = 3334
NAME = "orangefs"
STRIP_BYTES = 65536  # OrangeFS's own default of simple_stripe
# Handles are numbers from 3 to 2^63 - 3, each server with a range of its own (as pvfs2-genconfig 2.10 splits them).
FIRST_HANDLE = 3
LAST_HANDLE = 2**63 - 3
ROOT_HANDLE = 1048576

# Expert mode: option -> (context of fs.conf, kind of its value). Of OrangeFS 2.8 to 2.10, server-config.c; paths,
# names, security and modules are left out: they are this driver's own.
OPTIONS = {
    **dict.fromkeys(
        ("UnexpectedRequests", "TCPBufferSend", "TCPBufferReceive", "ServerJobBMITimeoutSecs",
         "ServerJobFlowTimeoutSecs", "ClientJobBMITimeoutSecs", "ClientJobFlowTimeoutSecs", "ClientRetryLimit",
         "ClientRetryDelayMilliSecs", "PerfUpdateInterval"), ("Defaults", "number")),
    **dict.fromkeys(("PrecreateBatchSize", "PrecreateLowThreshold"), ("Defaults", "numbers")),
    **dict.fromkeys(
        ("FlowBufferSizeBytes", "FlowBuffersPerFlow", "SmallFileSize", "TreeWidth", "TreeThreshold",
         "DistrDirServersInitial", "DistrDirServersMax", "DistrDirSplitSize"), ("FileSystem", "number")),
    "FileStuffing": ("FileSystem", "yes"),
    **dict.fromkeys(
        ("AttrCacheSize", "AttrCacheMaxNumElems", "DBCacheSizeBytes", "DBMaxSize", "HandleRecycleTimeoutSecs",
         "CoalescingHighWatermark", "CoalescingLowWatermark", "TroveMaxConcurrentIO", "DirectIOThreadNum",
         "DirectIOOpsPerQueue", "DirectIOTimeout"), ("StorageHints", "number")),
    **dict.fromkeys(("TroveSyncMeta", "TroveSyncData", "ImmediateCompletion"), ("StorageHints", "yes")),
    "TroveMethod": ("StorageHints", "alt-aio|directio|dbpf|null-aio"),
    "DBCacheType": ("StorageHints", "sys|mmap"),
}  # fmt: skip
STORAGE_DEFAULTS = {"TroveSyncMeta": "yes", "TroveSyncData": "no", "TroveMethod": "alt-aio"}
# The distribution is not in one context with the rest.
DISTRIBUTIONS = {
    "simple_stripe": "strip_size",
    "basic_dist": None,
    "varstrip_dist": "strips",
    "twod_stripe": "num_groups:strip_size:group_strip_factor",
}
STRIPE_OPTIONS = frozenset({"distribution", "distribution_params"})
MOUNT_OPTIONS = {"client": "fuse|kernel", "ro": "yes", "noatime": "yes", "max_read": "number"}


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
    """Stripes and options that OrangeFS does not have."""
    fs = spec.file_system
    if fs.stripe.kind not in ("distributed", "sharded"):
        yield f"file_system.stripe.kind {fs.stripe.kind}: orangefs has distributed (whole files) and sharded (strips)"
    for key, value in fs.options.items():
        if key in STRIPE_OPTIONS:
            continue
        if key not in OPTIONS:
            known = ", ".join(sorted([*OPTIONS, *STRIPE_OPTIONS]))
            yield f"file_system.options.{key}: orangefs has no such option; it has {known}"
        elif not _fits(value, OPTIONS[key][1]):
            yield f"file_system.options.{key}: {value!r} is not possible: write {_said(OPTIONS[key][1])}"
    yield from _distribution_problems(spec)
    for key, value in fs.mount_options.items():
        if key not in MOUNT_OPTIONS:
            yield f"file_system.mount_options.{key}: orangefs has no such option; it has {', '.join(sorted(MOUNT_OPTIONS))}"
        elif not _fits(value, MOUNT_OPTIONS[key]):
            yield f"file_system.mount_options.{key}: {value!r} is not possible: write {_said(MOUNT_OPTIONS[key])}"
    if fs.mount_options.get("client") == "kernel" and spec.provider == "local":
        yield "file_system.mount_options.client kernel: a kernel has one OrangeFS client for all its nodes, use fuse, or provider ssh"


def _distribution_problems(spec: ClusterSpec) -> Iterator[str]:
    options = spec.file_system.options
    name = options.get("distribution", "simple_stripe")
    if name not in DISTRIBUTIONS:
        yield f"file_system.options.distribution: {name!r} is none of {', '.join(DISTRIBUTIONS)}"
    if "distribution_params" not in options:
        return
    if spec.file_system.stripe.size is not None:
        yield "file_system.options.distribution_params and file_system.stripe.size say the same thing: give one"
    given = str(options["distribution_params"])
    if re.fullmatch(r"[a-z_]+:[0-9]+(/[a-z_]+:[0-9]+)*", given) is None:
        yield f"file_system.options.distribution_params: {given!r} is not like strip_size:65536, more of them apart by /"


def _fits(value: OptionValue, kind: str) -> bool:
    if kind == "yes":
        return isinstance(value, bool) or value in ("yes", "no")
    if isinstance(value, bool):
        return False
    if kind == "number":
        return re.fullmatch(r"[0-9]{1,18}", str(value)) is not None
    if kind == "numbers":
        return re.fullmatch(r"[0-9]{1,9}(,[0-9]{1,9}){0,15}", str(value)) is not None
    return value in kind.split("|")


def _said(kind: str) -> str:
    words = {"yes": "yes or no", "number": "a whole number", "numbers": "numbers like 0,1024"}
    return words.get(kind, " or ".join(kind.split("|")))


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
