"""Recorder 3's folders: known calls come back from each of its layouts and patterns; damage is a message."""

from __future__ import annotations

import os
import shutil
import struct
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from wavetank.errors import TraceError
from wavetank.notes import texts
from wavetank.trace.events import unfold
from wavetank.trace.importers.recorder_calls import refuse_rounded
from wavetank.trace.importers.recorder_format import RankCalls, Signature, read_folder
from wavetank.trace.importers.recorder_parts import read_parts
from wavetank.trace.importers.recorder_patterns import distances_begin, without_patterns
from wavetank.trace.open import kind_of, open_trace
from wavetank.trace.ops import OPS, OPS_BY_NAME
from wavetank.trace.schema import Level, OpKind, Trace

SAMPLES = Path(__file__).parents[2] / "data" / "recorder" / "3.0"
KINDS = ("merged", "apart", "between", "within", "between-and-within")
N = 4  # ranks
Rows = list[tuple[str, int, int]]  # call, bytes, offset (0 where it moves nothing)


def of_rank(trace: Trace, rank: int, name: str) -> Rows:
    """The calls of a rank on a file."""
    events, path = unfold(trace.folds), f"/scratch/known/{name}"
    found = []
    for i in np.flatnonzero(events.rank == rank):
        op = OPS[int(events.op[i])]
        if events.file[i] >= 0 and trace.files[events.file[i]].path == path:
            moves = op.kind in {OpKind.READ, OpKind.WRITE}
            found.append((op.name, int(events.size[i]) * moves, int(events.offset[i]) * moves))
    return found


def own(_rank: int) -> Rows:
    """What the program does with the file of a rank (tests/data/recorder/README.md)."""
    written = [row for i in range(40) for row in (("write", 1000, 1024 * i), ("lseek", 0, 0))]
    read = [("pread", 512, 4096 * (i % 8)) for i in range(20)]
    return [("open", 0, 0), *written, *read, ("fsync", 0, 0), ("close", 0, 0)]


def strided(rank: int) -> Rows:
    regular = [("pwrite", 4096, (i * N + rank) * 4096) for i in range(10)]
    square = [("pwrite", 100, 1_000_000 + rank * rank * 7000 + i * 100) for i in range(3)]
    # Rank 0 makes fewer calls: a pattern's r counts the other three from 0 on.
    others = [("pwrite", 64, 2_000_000 + (i * N + rank) * 64) for i in range(4 if rank else 0)]
    return [("open", 0, 0), *regular, *square, *others, ("close", 0, 0)]


def shared(rank: int) -> Rows:
    written = [("MPI_File_write_at_all", 16_384, (N * i + rank) * 16_384) for i in range(8)]
    start = 1024 * rank  # of the view that is set then
    read = [("MPI_File_read", 250, start + 250 * i) for i in range(4)]
    at = ("MPI_File_read_at", 300, start + 5000)
    opened, view, closed = ((f"MPI_File_{name}", 0, 0) for name in ("open", "set_view", "close"))
    return [opened, *written, view, *read, at, closed]


def assert_known_calls(trace: Trace) -> None:
    for rank in range(N):
        assert of_rank(trace, rank, f"own.{rank}") == own(rank)
        assert of_rank(trace, rank, "strided") == strided(rank)
        assert of_rank(trace, rank, "shared") == shared(rank)


@pytest.mark.parametrize("kind", KINDS)
def test_the_programs_calls_come_back_with_sizes_and_places(kind: str) -> None:
    assert kind_of(SAMPLES / kind) == "recorder"
    trace = open_trace(SAMPLES / kind)
    assert_known_calls(trace)
    assert trace.levels == (Level.POSIX, Level.MPIIO) and not texts(trace.notes, "lost")


def test_communication_is_an_order_between_its_ranks() -> None:
    trace = open_trace(SAMPLES / "merged")
    events = unfold(trace.folds)
    for rank in range(N):
        mine = (events.rank == rank) & (events.op == OPS_BY_NAME["MPI_Barrier"].code)
        on = trace.folds.details.communicator[events.given[mine]]
        members = [trace.communicators[i] for i in on.tolist()]
        half = tuple(r for r in range(N) if r % 2 == rank % 2)
        assert members == [(0, 1, 2, 3), half, (0, 1, 2, 3)]


def test_what_is_not_told_is_said(tmp_path: Path) -> None:
    assert any("no results" in w for w in texts(open_trace(SAMPLES / "merged").notes))
    within = texts(open_trace(SAMPLES / "within").notes)
    assert any("distances" in warning for warning in within)
    folder = copied("merged", tmp_path)
    switch(folder, 1, on=False)
    assert any("RECORDER_MPI_TRACING=1" in warning for warning in texts(open_trace(folder).notes))
    switch(folder, 2, on=False)
    trace = open_trace(folder)
    assert trace.levels == (Level.POSIX,)
    assert any("tracing of MPI-IO was off" in warning for warning in texts(trace.notes))


# The layouts of other versions, made from a folder of 3.0.0 as tools/reader.c of Recorder reads them.


def copied(kind: str, where: Path) -> Path:
    return Path(shutil.copytree(SAMPLES / kind, where / "log"))


def switch(folder: Path, which: int, *, on: bool) -> None:
    """Set one of the switches of what is recorded: POSIX, communication, MPI-IO."""
    content = bytearray((folder / "recorder.mt").read_bytes())
    content[4 + which] = on
    (folder / "recorder.mt").write_bytes(content)


def as_development(folder: Path) -> None:
    """2.5.0 of the branch that became 3: names right behind the facts, functions of one byte."""
    (folder / "VERSION").write_text("2.5.0")
    content = (folder / "recorder.mt").read_bytes()
    (folder / "recorder.mt").write_bytes(content[:40] + content[1024:])
    for path in folder.glob("*.cst"):
        table = unpacked(path.read_bytes())
        path.write_bytes(packed(narrow(table)))


def narrow(table: bytes) -> bytes:
    (n,) = struct.unpack_from("<i", table)
    at, found = 4, table[:4]
    for _ in range(n):
        number, rank, length, count = struct.unpack_from("<iiii", table, at)
        key = table[at + 16 : at + 16 + length]
        found += struct.pack("<iiii", number, rank, length - 3, count) + key[:9] + key[12:]
        at += 16 + length
    return found


def unpacked(block: bytes) -> bytes:
    return zlib.decompress(block[16:])


def packed(content: bytes) -> bytes:
    block = zlib.compress(content)
    return struct.pack("<QQ", len(block), len(content)) + block


def without_version(folder: Path) -> None:
    """The version and names of 64 bytes in recorder.mt."""
    (folder / "VERSION").unlink()
    content = (folder / "recorder.mt").read_bytes()
    names = content[1024:].split(b"\n")[:-1]
    (ranks,) = struct.unpack_from("<i", content)
    facts = (
        struct.pack("<5i", 3, 1, 0, ranks, len(names)) + content[4:12] + bytes(4) + content[16:40]
    )
    (folder / "recorder.mt").write_bytes(facts + b"".join(name.ljust(64, b"\0") for name in names))


def as_one_file(folder: Path) -> None:
    """recorder.dat: header, index of sections, sections."""
    without_version(folder)
    kinds = {"recorder.mt": 0, "recorder.ts": 1, "recorder.cst": 2, "ug.cfg": 3, "ug.mt": 4}
    paths = sorted(folder.iterdir())
    index, content = b"", b""
    start = 16 + 24 * len(paths)
    for path in paths:
        rank = -1 if path.name in kinds else int(path.stem)
        kind = kinds.get(path.name, 5 if path.suffix == ".cst" else 6)
        part = path.read_bytes()
        index += struct.pack("<IiQQ", kind, rank, start + len(content), len(part))
        content += part
        path.unlink()
    (folder / "recorder.dat").write_bytes(
        struct.pack("<8sII", b"RECORDER", 1, len(paths)) + index + content
    )


LAYOUTS = {"development": as_development, "no VERSION": without_version, "one file": as_one_file}


@pytest.mark.parametrize("kind", ["merged", "apart"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_of_recorder_3_is_read(tmp_path: Path, kind: str, layout: str) -> None:
    folder = copied(kind, tmp_path)
    LAYOUTS[layout](folder)
    assert kind_of(folder) == "recorder"
    assert_known_calls(open_trace(folder))


def of_version_4(folder: Path) -> None:
    (folder / "VERSION").write_text("4.0.1")


def of_version_4_within(folder: Path) -> None:
    without_version(folder)
    content = (folder / "recorder.mt").read_bytes()
    (folder / "recorder.mt").write_bytes(struct.pack("<i", 4) + content[4:])


def of_another_file_format(folder: Path) -> None:
    as_one_file(folder)
    content = (folder / "recorder.dat").read_bytes()
    (folder / "recorder.dat").write_bytes(content[:8] + struct.pack("<I", 2) + content[12:])


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (of_version_4, "Recorder 4.0.1"),
        (of_version_4_within, "Recorder 4.1.0"),
        (of_another_file_format, "format 2"),
    ],
)
def test_another_version_is_refused_by_its_number_with_what_to_do(
    tmp_path: Path, change: Callable[[Path], None], named: str
) -> None:
    folder = copied("merged", tmp_path)
    change(folder)
    with pytest.raises(TraceError, match=f"{named}.*2.4, 2.5 and 3 are known.*wavetank trace"):
        open_trace(folder)


@pytest.mark.parametrize("kind", ["merged", "apart"])
@pytest.mark.parametrize("left", [0.0, 0.4, 0.95])
def test_each_file_that_is_missing_or_cut_short_is_named(
    tmp_path: Path, kind: str, left: float
) -> None:
    for name in sorted(path.name for path in (SAMPLES / kind).iterdir()):
        folder = Path(shutil.copytree(SAMPLES / kind, tmp_path / name))
        content = (folder / name).read_bytes()
        (folder / name).write_bytes(content[: int(len(content) * left)])
        if name == "VERSION" and left == 0.95:  # "3.0." still is one
            assert_known_calls(open_trace(folder))
            continue
        try:
            trace = open_trace(folder)
        except TraceError as error:
            assert str(folder) in str(error)
        else:  # times that are not packed end where the file does
            assert name == "recorder.ts" and any(
                "no times" in what for what in texts(trace.notes, "lost")
            )


@pytest.mark.parametrize("layout", ["", *LAYOUTS])
def test_random_damage_never_is_anything_but_a_trace_error(tmp_path: Path, layout: str) -> None:
    random = np.random.default_rng(3)
    folder = copied("between", tmp_path)
    LAYOUTS.get(layout, os.fspath)(folder)
    for path in sorted(folder.iterdir()):
        whole = path.read_bytes()
        for _ in range(15):
            content = bytearray(whole)
            for place in random.integers(0, len(content), 3):
                content[place] = int(random.integers(0, 256))
            path.write_bytes(content)
            try:
                open_trace(folder)
            except TraceError as error:
                assert str(folder) in str(error)
        path.write_bytes(whole)


def test_a_block_that_unpacks_to_more_than_it_says_is_refused(tmp_path: Path) -> None:
    folder = copied("merged", tmp_path)
    block = zlib.compress(bytes(10_000_000))
    (folder / "recorder.cst").write_bytes(struct.pack("<QQ", len(block), 1000) + block)
    with pytest.raises(TraceError, match=r"recorder\.cst is damaged"):
        open_trace(folder)


def test_calls_without_offsets_are_refused() -> None:
    rounded = Signature("pread", ("/data/x", "%p", "4000"))
    with pytest.raises(TraceError, match="without offsets"):
        refuse_rounded([rounded], Path("log"))
    refuse_rounded([replace(rounded, arguments=(*rounded.arguments, "0"))], Path("log"))


def calls(*signatures: Signature) -> RankCalls:
    """A rank that makes each call once."""
    n = len(signatures)
    return RankCalls(signatures, np.arange(n), np.arange(n) * 10, np.arange(n) * 10 + 5)


def test_a_patterns_rank_counts_the_ranks_with_as_many_different_calls() -> None:
    def wrote(*offsets: str) -> RankCalls:
        return calls(*(Signature("pwrite", ("/f", "%p", "8", offset)) for offset in offsets))

    # Ranks 0, 2 and 3 make two different calls, rank 1 makes one.
    pattern = ("-8*r+100", "16*r+-4")
    found = without_patterns([wrote(*pattern), wrote("7"), wrote(*pattern), wrote(*pattern)])
    offsets = [[int(one.arguments[3]) for one in rank.signatures] for rank in found]
    assert offsets == [[100, -4], [7], [92, 12], [84, 28]]


def test_distances_begin_at_each_functions_first_call_in_any_file() -> None:
    one = calls(
        Signature("pwrite", ("/a", "%p", "8", "500")),
        Signature("lseek", ("/b", "40", "0")),
        Signature("pwrite", ("/b", "%p", "8", "-500")),
        Signature("pread", ("/a", "%p", "8", "500")),  # kept as it is
        Signature("pread", ("/a", "%p", "8", "600")),
        Signature("lseek", ("/b", "-30", "1")),
    )
    assert distances_begin(one).tolist() == [0, 0, 500, 0, 0, 40]


def test_the_times_of_a_rank_without_calls_are_none() -> None:
    parts = read_parts(SAMPLES / "merged")
    assert parts.resolution_s == pytest.approx(1e-7) and len(parts.times) == N
    started = [read_folder(SAMPLES / "merged").ranks[rank].start_ns for rank in range(N)]
    assert all((np.diff(one) >= 0).all() for one in started)


def test_iors_files_of_each_rank_are_written_and_read_in_order() -> None:
    trace = open_trace(SAMPLES / "ior-posix")  # -F -t 64k -b 256k
    for rank in range(N):
        rows = of_rank(trace, rank, f"ior.{rank:08}")
        moved = [row for row in rows if row[1]]
        assert moved == [(call, 65_536, 65_536 * i) for call in ("write", "read") for i in range(4)]


def test_iors_collective_calls_are_strided() -> None:
    trace = open_trace(SAMPLES / "ior-mpiio")  # -c -t 64k -b 64k -s 4
    for rank in range(N):
        moved = [row for row in of_rank(trace, rank, "ior") if row[1]]
        assert moved == [
            (f"MPI_File_{call}_at_all", 65_536, 65_536 * (N * i + rank))
            for call in ("write", "read")
            for i in range(4)
        ]


def test_a_python_programs_calls_come_back() -> None:
    trace = open_trace(SAMPLES / "python")
    assert trace.n_ranks == 1
    table = [row for row in of_rank(trace, 0, "table") if row[1]]
    assert table == [("write", 777, 777 * i) for i in range(30)] + [
        ("read", 777, 777 * i) for i in (5, 3, 9, 27, 1)
    ]
    places = [row for row in of_rank(trace, 0, "places") if row[1]]
    assert places == [("pwrite", 512, 2048 * i) for i in range(12)] + [
        ("pread", 256, 4096 * i) for i in range(6)
    ]
