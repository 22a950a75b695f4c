"""Darshan logs that were written on a machine of the other byte order: older POWER machines, Blue Gene."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import pytest

from wavetank.notes import texts
from wavetank.trace.importers import darshan_header
from wavetank.trace.importers.dxt import RECORD, SEGMENT
from wavetank.trace.open import open_trace
from wavetank.trace.schema import Trace

SAMPLES = Path(__file__).parents[2] / "data" / "darshan"
HEADER, N_MODULES = 1328, 64  # struct darshan_header, format 3.41: bytes
COUNTERS, DXT = (1, 2, 9), (10, 11)  # numbers of modules
JOB = struct.Struct("<7q")


def swapped(content: bytes) -> bytes:
    """Numbers of eight bytes in the other byte order."""
    n = len(content) // 8
    return struct.pack(f">{n}Q", *struct.unpack(f"<{n}Q", content))


def unpacked(content: bytes) -> bytes:
    """What one zlib stream after the other holds: processes wrote one each."""
    out = b""
    while content:
        stream = zlib.decompressobj()
        out += stream.decompress(content)
        content = stream.unused_data
    return out


def of_names(content: bytes) -> bytes:
    out, at = b"", 0
    while at < len(content):
        end = content.index(b"\0", at + 8) + 1
        out += swapped(content[at : at + 8]) + content[at + 8 : end]
        at = end
    return out


def of_segments(content: bytes) -> bytes:
    out, at = b"", 0
    while at < len(content):
        *ids, host, writes, reads = RECORD.unpack_from(content, at)
        at += RECORD.size
        n = (writes + reads) * SEGMENT.itemsize
        out += struct.pack(">Qqq64sqq", *ids, host, writes, reads) + swapped(content[at : at + n])
        at += n
    return out


def big_endian(log: bytes) -> bytes:
    """The same log as a machine of the other byte order writes it; of its modules those that are imported."""
    maps = struct.unpack_from(f"<{2 + 2 * N_MODULES}Q", log, darshan_header.MODULE_MAP - 16)
    places = list(zip(maps[::2], maps[1::2], strict=True))
    job = unpacked(log[HEADER : places[0][0]])
    out = zlib.compress(swapped(job[: JOB.size]) + job[JOB.size :])
    new = []
    for number, (offset, length) in enumerate(places, start=-1):
        if not length or number not in (-1, *COUNTERS, *DXT):
            new.append((0, 0))
            continue
        part = unpacked(log[offset : offset + length])
        part = (
            of_names(part) if number < 0 else of_segments(part) if number in DXT else swapped(part)
        )
        packed = zlib.compress(part)
        new.append((HEADER + len(out), len(packed)))
        out += packed
    versions = struct.unpack_from(f"<{N_MODULES}I", log, HEADER - 4 * N_MODULES)
    magic, compression, partial = struct.unpack_from("<QB7xQ", log, 8)
    head = log[:8] + struct.pack(">QB7xQ", magic, compression, partial)
    head += struct.pack(f">{2 * len(new)}Q", *(number for place in new for number in place))
    return head + struct.pack(f">{N_MODULES}I", *versions) + out


def told(trace: Trace) -> tuple[object, ...]:
    folds = trace.folds
    columns = (
        folds.rank,
        folds.op,
        folds.file,
        folds.count,
        folds.size,
        folds.offset,
        folds.start_ns,
    )
    return (
        trace.command, trace.n_ranks, trace.started_utc, trace.ranks, trace.files, trace.levels,
        [column.tolist() for column in columns], tuple(trace.counters), texts(trace.notes), texts(trace.notes, "lost"),
    )  # fmt: skip


@pytest.mark.parametrize(
    "name",
    [
        "bt.W.4.mpi_io_full.darshan",
        "ior_seq_fpp_posix_1m.darshan",
        "recorded/checkpoints-counters.mpich.darshan",
    ],
)
def test_a_log_of_a_big_endian_machine_tells_what_the_same_one_of_a_little_endian_does(
    name: str, tmp_path: Path
) -> None:
    pytest.importorskip("darshan")
    other = tmp_path / "big-endian.darshan"
    other.write_bytes(big_endian((SAMPLES / name).read_bytes()))
    assert told(open_trace(other)) == told(open_trace(SAMPLES / name))
