"""Records of a DXT module, in sequence: all of them are found, and what is cut short is refused."""

from pathlib import Path
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from wavetank.errors import TraceError
from wavetank.trace.importers import darshan_header
from wavetank.trace.importers.dxt import RECORD, SEGMENT, Segments, read_segments
from wavetank.trace.importers.libdarshan import DarshanLog, DarshanModule


def record(file: int, rank: int, n_writes: int, n_reads: int, first: int = 0) -> bytes:
    """A record whose segments have lengths from ``first`` on."""
    segments = np.zeros(max(n_writes + n_reads, 0), dtype=SEGMENT)
    segments["length"] = first + np.arange(len(segments))
    host = f"node{rank}".encode().ljust(64, b"\0")
    return RECORD.pack(file, rank, 0, host, n_writes, n_reads) + segments.tobytes()


def read(content: bytes, monkeypatch: pytest.MonkeyPatch) -> Segments:
    monkeypatch.setattr(darshan_header, "raw", lambda *_: content)
    monkeypatch.setattr(darshan_header, "is_big_endian", lambda _: False)
    module = DarshanModule("DXT_POSIX", 1, 10, partial=False, length=len(content))
    return read_segments(Path("a.darshan"), cast(DarshanLog, SimpleNamespace()), module)


@pytest.mark.parametrize(
    "counts", [[], [(2, 3)], [(0, 0)], [(2, 0), (0, 0), (0, 1), (4, 4)], [(1, 1)] * 50]
)
def test_every_record_and_segment_is_read_in_order(
    counts: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    content, n = b"", 0
    for rank, (n_writes, n_reads) in enumerate(counts):
        content += record((1 << 63) + rank, rank, n_writes, n_reads, n)
        n += n_writes + n_reads
    found = read(content, monkeypatch)
    assert found.rank.tolist() == list(range(len(counts)))
    assert found.file.tolist() == [(1 << 63) + rank for rank in range(len(counts))]
    assert list(zip(found.n_writes.tolist(), found.n_reads.tolist(), strict=True)) == counts
    assert found.segment["length"].tolist() == list(range(n))
    assert found.hosts == {rank: f"node{rank}" for rank in range(len(counts))}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (record(1, 0, 2, 1) + record(1, 1, 1, 0)[:50], "cut short"),
        (record(1, 0, 2, 1) + record(1, 1, 1, 0)[:-8], "damaged or cut short"),
        (record(1, 0, 2, 1)[:-3], "damaged or cut short"),
        (record(1, 0, -2, 3), "damaged or cut short"),
        (record(1, 0, 3, -2), "damaged or cut short"),
    ],
)
def test_what_is_cut_short_or_says_impossible_counts_is_refused(
    content: bytes, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(TraceError, match=f"a.darshan: the module DXT_POSIX is {message}"):
        read(content, monkeypatch)
