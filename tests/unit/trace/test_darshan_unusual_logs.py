"""Darshan logs as others have them: packed, of other versions, of killed or merged runs, with numbers that cannot be."""

from __future__ import annotations

import bz2
import gzip
import lzma
import struct
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from fold_builder import PROVENANCE

from darshan_logs import DFS, DXT_MPIIO, DXT_POSIX, JOB, MPIIO, POSIX, DarshanParts, without_dxt
from wavetank.errors import ModelError, TraceError
from wavetank.model.document.model import own_phases
from wavetank.model.extract import extract_model
from wavetank.notes import of_kinds, texts
from wavetank.trace.open import kind_of, open_trace
from wavetank.trace.schema import Level, Trace

pytest.importorskip("darshan", reason="PyDarshan brings the library that reads logs")
LOGS = Path(__file__).parents[2] / "data" / "darshan"
SEPARATE, COLLECTIVE = (
    LOGS / "ior_seq_fpp_posix_1m.darshan",
    LOGS / "ior_strided_shared_mpiio_coll_256k.darshan",
)
START_S, END_S, END_NS, PROCESSES = 1, 3, 4, 5  # columns of the job record
MPIIO_BYTES_WRITTEN = 2 + 15


def with_job(parts: DarshanParts, **numbers: int) -> DarshanParts:
    """The same log with other numbers in its job record."""
    places = {"end_s": END_S, "end_ns": END_NS, "processes": PROCESSES, "start_ns": 2}
    job = bytearray(parts.parts[JOB])
    for name, value in numbers.items():
        struct.pack_into("<q", job, 8 * places[name], value)
    parts.parts[JOB] = bytes(job)
    return parts


def moved(trace: Trace) -> dict[str, int]:
    """Bytes of a model's own phases by their level."""
    found: dict[str, int] = {}
    for phase in own_phases(extract_model(trace, PROVENANCE)):
        found[phase.level] = found.get(phase.level, 0) + phase.ph_weight
    return found


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_a_log_packed_as_a_whole_is_read_as_it_is(
    pack: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    log = tmp_path / "packed.darshan"
    log.write_bytes(pack(SEPARATE.read_bytes()))
    assert kind_of(log) == "darshan"
    assert open_trace(log).counters == open_trace(SEPARATE).counters


def test_a_log_whose_parts_are_packed_by_bzip2_is_read_as_it_is(tmp_path: Path) -> None:
    log = DarshanParts(COLLECTIVE).write(tmp_path / "a.darshan", bz2.compress, compression=1)
    trace, plain = open_trace(log), open_trace(COLLECTIVE)
    assert trace.counters == plain.counters
    for column in ("rank", "op", "count", "size", "offset"):
        assert np.array_equal(getattr(trace.folds, column), getattr(plain.folds, column))


@pytest.mark.parametrize("kept", [400, 1340, 1600])
def test_a_packed_log_that_is_cut_short_is_named(kept: int, tmp_path: Path) -> None:
    whole, log = tmp_path / "whole.darshan", tmp_path / "cut.darshan"
    DarshanParts(SEPARATE).write(whole, bz2.compress, compression=1)
    log.write_bytes(whole.read_bytes()[:kept])
    with pytest.raises(TraceError, match=r"cut\.darshan"):
        open_trace(log)
    log.write_bytes(gzip.compress(SEPARATE.read_bytes())[:kept])
    with pytest.raises(TraceError, match=r"cut\.darshan"):
        open_trace(log)


@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress])
@pytest.mark.parametrize("version", ["1.24", "1.4", "2.06"])
def test_logs_of_darshan_1_and_2_are_named_by_their_version(
    version: str, pack: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    log = tmp_path / "old.darshan.gz"
    log.write_bytes(pack(version.encode().ljust(8, b"\0") + bytes(1000)))
    with pytest.raises(TraceError, match=f"Darshan {version[0]} .*{version}"):
        open_trace(log)


@pytest.mark.parametrize(
    "numbers",
    [
        {"processes": 1 << 62},
        {"processes": 0},
        {"processes": -4},
        {"start_ns": 1_795_222_254},
        {"end_s": 1 << 60},
        {"processes": 1},  # records are of ranks 0 to 3
    ],
)
def test_a_job_record_of_no_possible_run_is_refused_before_memory_is_taken(
    numbers: dict[str, int], tmp_path: Path
) -> None:
    log = with_job(DarshanParts(SEPARATE), **numbers).write(tmp_path / "a.darshan")
    with pytest.raises(TraceError, match="damaged"):
        open_trace(log)


@pytest.mark.parametrize("end", [{"end_s": 0, "end_ns": 0}, {"end_s": 1_795_000_000}])
@pytest.mark.parametrize("with_segments", [True, False])
def test_a_run_without_an_end_lasts_until_its_last_operation(
    end: dict[str, int], with_segments: bool, tmp_path: Path
) -> None:
    log = with_job(DarshanParts(SEPARATE), **end).write(tmp_path / "killed.darshan")
    trace = open_trace(log if with_segments else without_dxt(log, tmp_path))
    whole = open_trace(SEPARATE)
    assert 0.9 * whole.elapsed_s < trace.elapsed_s < 1.1 * whole.elapsed_s
    assert of_kinds(trace.notes, "unfinished")
    assert not of_kinds(whole.notes, "unfinished")


def test_what_was_left_of_one_rank_alone_is_no_whole_run(tmp_path: Path) -> None:
    parts = with_job(DarshanParts(SEPARATE), end_s=0, end_ns=0)
    records = parts.records(POSIX)
    parts.parts[POSIX] = records[records[:, 1] == records[0, 1]].tobytes()
    del parts.parts[DXT_POSIX], parts.parts[9]
    log = parts.write(tmp_path / "of-one.darshan")
    assert any("darshan-merge" in text for text in texts(open_trace(log).notes, "lost"))


def test_merged_logs_of_processes_that_are_no_ranks_are_told(tmp_path: Path) -> None:
    parts = DarshanParts(SEPARATE)
    parts.parts[POSIX] *= 2
    del parts.parts[DXT_POSIX]
    notes = open_trace(parts.write(tmp_path / "merged.darshan")).notes
    assert any("darshan-merge" in text for text in texts(notes, "assumed"))
    assert not texts(open_trace(SEPARATE).notes, "assumed")


@pytest.mark.parametrize("with_segments", [True, False])
def test_a_file_whose_mpi_io_bytes_are_below_0_is_modelled_at_posix_level(
    with_segments: bool, tmp_path: Path
) -> None:
    parts = DarshanParts(COLLECTIVE)
    records = parts.records(MPIIO)
    records[0, MPIIO_BYTES_WRITTEN] = -27262
    parts.parts[MPIIO] = records.tobytes()
    log = parts.write(tmp_path / "a.darshan")
    trace = open_trace(log if with_segments else without_dxt(log, tmp_path))
    whole = open_trace(COLLECTIVE)
    bytes_below = sum(one.moved for one in whole.counters if one.level == Level.POSIX)
    assert bytes_below > 0
    assert moved(trace) == {"posix": bytes_below}
    assert any("below 0" in text for text in texts(trace.notes, "inferred"))


def test_bytes_below_0_that_no_level_below_holds_are_lost(tmp_path: Path) -> None:
    parts = DarshanParts(COLLECTIVE)
    records = parts.records(MPIIO)
    records[0, MPIIO_BYTES_WRITTEN] = -1
    parts.parts[MPIIO] = records.tobytes()
    for number in (POSIX, DXT_POSIX, DXT_MPIIO):
        del parts.parts[number]
    trace = open_trace(parts.write(tmp_path / "a.darshan"))
    assert any("below 0" in text for text in texts(trace.notes, "lost"))
    with pytest.raises(ModelError):
        extract_model(trace, PROVENANCE)


def test_segments_of_negative_length_leave_the_level_below(tmp_path: Path) -> None:
    def overflow(segments: np.ndarray) -> None:
        segments["length"][0] = -(1 << 31)

    parts = DarshanParts(COLLECTIVE)
    parts.segments(DXT_MPIIO, overflow)
    trace = open_trace(parts.write(tmp_path / "a.darshan"))
    assert [*moved(trace)] == ["posix"]
    assert not of_kinds(trace.notes, "lost")
    assert any("below 0" in text for text in texts(trace.notes, "inferred"))
    parts = DarshanParts(SEPARATE)
    parts.segments(DXT_POSIX, overflow)
    trace = open_trace(parts.write(tmp_path / "b.darshan"))
    assert any("below 0" in text for text in texts(trace.notes, "lost"))


def test_times_that_run_backwards_give_no_negative_time(tmp_path: Path) -> None:
    def turn_back(segments: np.ndarray) -> None:
        segments["end"][::2] = segments["start"][::2] - 0.25
        segments["start"][1::4] = -1.0

    parts = DarshanParts(COLLECTIVE)
    for number in (DXT_POSIX, DXT_MPIIO):
        parts.segments(number, turn_back)
    trace = open_trace(parts.write(tmp_path / "a.darshan"))
    assert (trace.folds.start_ns >= 0).all()
    assert (trace.folds.end_ns >= trace.folds.start_ns).all()
    assert (trace.folds.busy_ns >= 0).all()
    assert all(phase.io_time_s >= 0 for phase in extract_model(trace, PROVENANCE).phases)


def test_daos_modules_are_named(tmp_path: Path) -> None:
    parts = DarshanParts(SEPARATE)
    parts.parts[DFS] = bytes(8)
    beside = open_trace(parts.write(tmp_path / "both.darshan"))
    assert any("DFS" in text for text in texts(beside.notes, "unrecorded"))
    for number in (POSIX, DXT_POSIX, 9):
        del parts.parts[number]
    with pytest.raises(TraceError, match="DFS"):
        open_trace(parts.write(tmp_path / "alone.darshan"))


def test_a_log_of_opens_alone_has_a_model(tmp_path: Path) -> None:
    trace = open_trace(without_dxt(SEPARATE, tmp_path))
    nothing = type(trace.counters[0].reads)()
    opens = [
        replace(one, reads=nothing, writes=nothing, common_sizes=(), common_gaps=())
        for one in trace.counters
        if one.n_opens
    ]
    model = extract_model(replace(trace, counters=opens), PROVENANCE)
    assert sum(phase.n_calls for phase in model.metadata) >= len(opens) > 0


@pytest.mark.parametrize(
    "text",
    [
        "# darshan log version: 3.41\n# compression method: ZLIB\n# exe: ./a\n",
        "12 templated_functions_MULTI_TIME\n# Name Calls Subrs Excl Incl ProfileCalls #\n",
        "Reading Profile files in profile.*\n",
        "27 dynamic_trace_events\n",
        '[\n{"ts": 16, "dur": 6, "ph": "X", "tid": 0, "pid": 0, "step": 0, "cat": "POSIX", "name": "fopen"},\n',
    ],
)
def test_texts_of_other_tools_are_named(text: str, tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text(text)
    with pytest.raises(TraceError, match=r"darshan-parser|TAU"):
        open_trace(path)
