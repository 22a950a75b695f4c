"""Options of MooseFS: what a specification may ask for, and the files and words that ask MooseFS for it.

A value becomes a line of a file or a word of ``mount -o``: it may name no path, user or address, and hold no comma or line break.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from wavetank.cluster.components import OptionValue
from wavetank.cluster.filesystems.options import FLAG, Table, Value, names_lacking, option_words
from wavetank.cluster.spec import ClusterSpec
from wavetank.programs import find_program
from wavetank.units import format_size

MIB = 2**20
CHUNK_BYTES = 64 * MIB  # fixed in MooseFS: no option and no call changes it
MOST_COPIES = 9
STATE = "/run/wavetank-moosefs"  # configuration and pid files

# Resident after the start, measured with 3.0.117: master 459 MiB, chunk server 136 MiB, client 14 MiB and its caches.
MASTER_BYTES = 512 * MIB
CHUNKSERVER_BYTES = 160 * MIB
CLIENT_BYTES = 128 * MIB

PROGRAMS = {"master": "mfsmaster", "chunkserver": "mfschunkserver"}
_NAME = re.compile(rf"({'|'.join(PROGRAMS)})\.([A-Z][A-Z0-9_]*)")
OPTIONS = Table(
    "moosefs",
    families={
        _NAME.pattern: Value(
            r"-?[A-Za-z0-9][A-Za-z0-9.,%]{0,63}", "letters, digits and . , % -", truth=True
        )
    },
    family_words="master.NAME and chunkserver.NAME, e.g. chunkserver.HDD_FSYNC_BEFORE_CLOSE",
    reaches_out=r"[._](PATH|FILENAME|USER|GROUP|HOST|PORT|IDENT|AUTH|LABELS|IP|BITS)(_|$)",
)
# mfsmount 3.0.117: options with a value, and without. Left out: those that name files, passwords or addresses.
MOUNT_OPTIONS = Table("moosefs", {
    **dict.fromkeys((
    "mfscachemode", "mfsattrcacheto", "mfsxattrcacheto", "mfsentrycacheto", "mfsdirentrycacheto", "mfsnegentrycacheto",
    "mfssymlinkcacheto", "mfsgroupscacheto", "mfsfsyncmintime", "mfswritecachesize", "mfsreadaheadsize", "mfsreadaheadleng",
    "mfsreadaheadtrigger", "mfsioretries", "mfstimeout", "mfslogretry", "mfsnice", "mfsrlimitnofile", "mfslimitarenas",
    "mfsmkdircopysgid", "mfssugidclearmode", "max_threads", "max_idle_threads",
    ), Value(r"-?[A-Za-z0-9][A-Za-z0-9.]{0,31}", "letters, digits, . and -")),
    **dict.fromkeys((
    "mfserroronnospace", "mfserroronlostchunk", "mfsnoxattrs", "mfsnoposixlocks", "mfsnobsdlocks", "mfsmemlock",
    "mfsallowoomkiller", "clone_fd", "ro", "noatime", "noexec",
    ), FLAG),
})  # fmt: skip


def check_stripe(spec: ClusterSpec) -> Iterator[str]:
    """Findings: stripes and servers that MooseFS does not have, and memory that is too small."""
    stripe, servers = spec.file_system.stripe, len(spec.server_names())
    if stripe.kind == "replicated" and not 2 <= servers <= MOST_COPIES:
        yield f"file_system.stripe.kind replicated needs 2 to {MOST_COPIES} data servers, there is {servers}"
    if stripe.size not in (None, CHUNK_BYTES):
        yield (
            f"file_system.stripe.size {format_size(stripe.size or 0)}: chunks of MooseFS have 64 MiB, always. "
            "Leave it out, or take glusterfs, cephfs or orangefs"
        )
    if stripe.count is not None and stripe.count != servers:
        yield (
            f"file_system.stripe.count {stripe.count}: the master puts each chunk on any of the {servers} data servers. "
            "Leave it out, or take cephfs or orangefs"
        )
    if len(spec.metadata_names()) > 1:
        yield f"file_system has {len(spec.metadata_names())} metadata servers, and MooseFS 3.0 has one master: name one"
    for name in dict.fromkeys((*spec.metadata_names(), *spec.server_names(), *spec.compute_names())):  # fmt: skip
        parts = {
            "the master": MASTER_BYTES * (name in spec.metadata_names()),
            "a chunk server": CHUNKSERVER_BYTES * (name in spec.server_names()),
            "the client": CLIENT_BYTES * (name in spec.compute_names()),
        }
        if spec.instance_of(name).memory < sum(parts.values()):
            of = " and ".join(what for what, size in parts.items() if size)
            yield f"memory of {name} is too small for {of} of moosefs: give its instance {format_size(sum(parts.values()))} or more"


def unknown_options(spec: ClusterSpec) -> list[str]:
    """Options that this machine's servers do not have; empty where they are not installed. Their programs hold the names."""
    asked: dict[str, dict[str, str]] = {}
    for option in spec.file_system.options:
        if match := _NAME.fullmatch(option):
            asked.setdefault(PROGRAMS[match[1]], {})[option] = match[2]
    found = {name: program for name in asked if (program := find_program(name)) is not None}
    return [
        finding
        for name, program in found.items()
        for finding in names_lacking(
            asked[name], name, Path(program).read_bytes(), rb"[A-Z]{2,}_[A-Z_]+"
        )
    ]


def copies(spec: ClusterSpec) -> int:
    """Copies of each chunk: MooseFS's goal."""
    return len(spec.server_names()) if spec.file_system.stripe.kind == "replicated" else 1


def label_words(position: int) -> tuple[str, str]:
    """Two labels that together name one of 64 data servers; MooseFS's labels are single letters.

    Args:
        position: of the server among the data servers, from 0.
    """
    return chr(ord("A") + position // 8), chr(ord("I") + position % 8)


def master_text(spec: ClusterSpec, address: str, data: str) -> str:
    """mfsmaster.cfg: ours, then what the specification asks for.

    Args:
        spec: of the cluster.
        address: that it listens on, and no other.
        data: directory of the metadata.
    """
    chosen = {
        "WORKING_USER": "root",
        "WORKING_GROUP": "root",
        "DATA_PATH": data,
        "EXPORTS_FILENAME": f"{STATE}/mfsexports.cfg",
        "TOPOLOGY_FILENAME": f"{STATE}/mfstopology.cfg",
        **{f"{which}_LISTEN_HOST": address for which in ("MATOML", "MATOCS", "MATOCL")},
        # Nothing is moved behind a measurement's back; chunks of deleted files go soon.
        "CHUNKS_WRITE_REP_LIMIT": "0,0,0,0",
        "REPLICATIONS_DELAY_INIT": "0",
        "CHUNKS_LOOP_MIN_TIME": "60",
        "CHUNKS_SOFT_DEL_LIMIT": "1000",
        "CHUNKS_HARD_DEL_LIMIT": "1000",
    }
    return _lines(chosen | _asked(spec, "master"))


def chunkserver_text(spec: ClusterSpec, position: int, address: str, master: str, data: str) -> str:
    """mfschunkserver.cfg: ours, then what the specification asks for.

    Args:
        spec: of the cluster.
        position: of the server among the data servers, from 0.
        address: that it listens on, and no other.
        master: the master's address.
        data: directory of what it keeps about itself.
    """
    leave = max(CHUNK_BYTES, min(256 * MIB, spec.storage.mounted_bytes // 8))
    chosen = {
        "WORKING_USER": "root",
        "WORKING_GROUP": "root",
        "DATA_PATH": data,
        "HDD_CONF_FILENAME": f"{STATE}/mfshdd.cfg",
        "CSSERV_LISTEN_HOST": address,
        "BIND_HOST": address,
        "MASTER_HOST": master,
        "MASTER_RECONNECTION_DELAY": "1",
        "LABELS": ",".join(label_words(position)),
        # Zeros would be holes: the bytes of a kernel stand for an application's, which are no zeros.
        "HDD_SPARSIFY_ON_WRITE": "0",
        "HDD_LEAVE_SPACE_DEFAULT": f"{leave // MIB}MiB",
    }
    return _lines(chosen | _asked(spec, "chunkserver"))


def exports_text(clients: Sequence[str]) -> str:
    """mfsexports.cfg: the clients' addresses and nobody else."""
    return "".join(f"{address} / rw,alldirs,admin,maproot=0:0\n" for address in clients)


def mount_words(spec: ClusterSpec, memory_bytes: int) -> list[str]:
    """Options of the mount, as ``mfsmount -o`` reads them.

    Args:
        spec: of the cluster.
        memory_bytes: of the client's node: an eighth is each of the two caches, 256 MiB at most as by default.
    """
    cache = max(16, min(256, memory_bytes // 8 // MIB))
    chosen: dict[str, OptionValue] = {
        "mfswritecachesize": cache,
        "mfsreadaheadsize": cache,
        # Else a write to a full disk is tried for two minutes. A guest's disk is better late than in error: on a very busy machine
        # a write to one that was not full was refused once.
        "mfserroronnospace": not spec.has_volumes,
    }
    return option_words(chosen | spec.file_system.mount_options)


def _asked(spec: ClusterSpec, server: str) -> dict[str, str]:
    pairs = ((_NAME.fullmatch(name), value) for name, value in spec.file_system.options.items())
    return {m[2]: _server_word(value) for m, value in pairs if m is not None and m[1] == server}


def _server_word(value: OptionValue) -> str:
    return str(int(value)) if isinstance(value, bool) else str(value)


def _lines(values: dict[str, str]) -> str:
    return "".join(f"{name} = {value}\n" for name, value in values.items())
