"""Recorder's traces: the grammar unfolds to the program's known calls, and damage is a message."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from wavetank.errors import TraceError
from wavetank.notes import texts
from wavetank.trace.events import Events, unfold
from wavetank.trace.importers.positions import LOST, follow
from wavetank.trace.importers.recorder_format import read_folder
from wavetank.trace.open import kind_of, open_trace
from wavetank.trace.ops import OPS_BY_NAME
from wavetank.trace.schema import UNKNOWN, Trace

SAMPLES = Path(__file__).parents[2] / "data" / "recorder"
KINDS = ("a-rank-a-grammar", "merged")


@pytest.fixture(params=KINDS)
def sample(request: pytest.FixtureRequest) -> Path:
    return SAMPLES / str(request.param)


def of(trace: Trace, events: Events, op: str, rank: int, path: str) -> np.ndarray:
    file = [one.path for one in trace.files].index(path)
    return np.flatnonzero(
        (events.op == OPS_BY_NAME[op].code) & (events.rank == rank) & (events.file == file)
    )


def test_a_folder_of_recorder_is_known_by_its_content(sample: Path) -> None:
    assert kind_of(sample) == "recorder"


def test_posix_calls_have_the_programs_sizes_and_offsets(sample: Path) -> None:
    trace = open_trace(sample)
    events = unfold(trace.folds)
    for rank in range(2):
        path = f"/scratch/known/own.{rank}"
        writes = of(trace, events, "write", rank, path)
        assert events.size[writes].tolist() == [1000] * 100
        assert events.offset[writes].tolist() == [1024 * i for i in range(100)]
        reads = of(trace, events, "pread", rank, path)
        assert events.size[reads].tolist() == [512] * 50
        assert events.offset[reads].tolist() == [4096 * (i % 20) for i in range(50)]
        assert len(of(trace, events, "fsync", rank, path)) == 1
        assert writes.max() < reads.min()


def test_mpi_io_calls_have_sizes_offsets_and_the_individual_pointer(sample: Path) -> None:
    trace = open_trace(sample)
    events = unfold(trace.folds)
    for rank in range(2):
        writes = of(trace, events, "MPI_File_write_at_all", rank, "/scratch/known/shared")
        assert events.size[writes].tolist() == [16_384 * 4] * 8
        assert events.offset[writes].tolist() == [(2 * i + rank) * 65_536 for i in range(8)]
        reads = of(trace, events, "MPI_File_read", rank, "/scratch/known/shared")
        assert events.size[reads].tolist() == [250] * 4
        assert events.offset[reads].tolist() == [1000 * rank + 250 * i for i in range(4)]


def test_both_ranks_meet_in_the_barrier(sample: Path) -> None:
    trace = open_trace(sample)
    events = unfold(trace.folds)
    barriers = events.op == OPS_BY_NAME["MPI_Barrier"].code
    assert sorted(events.rank[barriers].tolist()) == [0, 1]
    first = events.given[barriers][0]
    assert trace.communicators[trace.folds.details.communicator[first]] == (0, 1)


def test_what_recorder_does_not_keep_is_said(sample: Path) -> None:
    trace = open_trace(sample)
    assert any("no results" in sentence for sentence in texts(trace.notes, "unrecorded"))
    assert set(texts(trace.notes, "unrecorded")) < set(
        texts(trace.notes)
    )  # the clocks are no matter of the operations


def test_a_merged_grammar_stands_for_the_same_calls_as_one_a_rank() -> None:
    apart, merged = (read_folder(SAMPLES / kind) for kind in KINDS)
    for one, other in zip(apart.ranks, merged.ranks, strict=True):
        calls = [
            [(c.signatures[i].function, c.signatures[i].arguments) for i in c.signature.tolist()]
            for c in (one, other)
        ]
        named = [
            [
                call
                for call in sequence
                if call[0].startswith("MPI_File_write") or "/scratch/known/own" in call[1][0]
            ]
            for sequence in calls
        ]
        assert named[0] == named[1] and len(named[0]) > 250


@pytest.mark.parametrize("name", ["recorder.mt", "0.cst", "1.cfg", "0.ts"])
@pytest.mark.parametrize("left", [0.0, 0.3, 0.9])
def test_files_that_are_cut_short_are_refused_or_said_to_lack_calls(
    tmp_path: Path, name: str, left: float
) -> None:
    folder = tmp_path / "log"
    shutil.copytree(SAMPLES / "a-rank-a-grammar", folder)
    content = (folder / name).read_bytes()
    (folder / name).write_bytes(content[: int(len(content) * left)])
    try:
        trace = open_trace(folder)
    except TraceError as error:
        assert str(folder) in str(error)
        return
    assert name == "0.ts" and any("rank 0" in what for what in texts(trace.notes, "lost"))


def test_random_damage_never_is_anything_but_a_trace_error(tmp_path: Path) -> None:
    random = np.random.default_rng(7)
    folder = tmp_path / "log"
    shutil.copytree(SAMPLES / "merged", folder)
    for name in ("recorder.mt", "0.cst", "0.cfg", "1.cfg", "ug.mt", "0.ts"):
        whole = (folder / name).read_bytes()
        for _ in range(30):
            content = bytearray(whole)
            for place in random.integers(0, len(content), 3):
                content[place] = int(random.integers(0, 256))
            (folder / name).write_bytes(bytes(content))
            try:
                open_trace(folder)
            except TraceError as error:
                assert str(folder) in str(error)
        (folder / name).write_bytes(whole)


def test_another_version_is_refused_by_its_number(tmp_path: Path) -> None:
    folder = tmp_path / "log"
    shutil.copytree(SAMPLES / "merged", folder)
    (folder / "VERSION").write_text("9.1.0")
    with pytest.raises(TraceError, match=r"Recorder 9\.1\.0"):
        open_trace(folder)


def test_positions_follow_opens_seeks_and_transfers_of_each_stream() -> None:
    none = UNKNOWN
    # stream 0: open, write 10, seek to 100, write 5, seek by 7, write 1, seek to an unknown end, write, seek to 3, read
    # stream 1 (between): read 4 before anything told its position, open, read 4, read 4
    calls = [
        (0, 0, 0), (1, none, 4), (0, none, 10), (1, 0, 0), (0, 100, 0), (1, none, 4), (0, none, 5), (0, none, 7),
        (1, none, 4), (0, none, 1), (0, LOST, 0), (0, none, 9), (0, 3, 0), (0, none, 2),
    ]  # fmt: skip
    stream, put, advance = (np.array(column) for column in zip(*calls, strict=True))
    at = follow(stream, put, advance)
    assert at[stream == 0].tolist() == [none, 0, 10, 100, 105, 112, 113, none, none, 3]
    assert at[stream == 1].tolist() == [none, none, 0, 4]
