"""Models of Darshan DXT logs: those of the same programs under wavetank's tracer, where Darshan saw the same calls."""

from __future__ import annotations

from pathlib import Path

import pytest
from applications import bt_io
from fold_builder import PROVENANCE, model_of

from wavetank.model.document.model import Model, own_phases
from wavetank.model.extract import extract_model
from wavetank.model.rules import Rules
from wavetank.notes import texts
from wavetank.trace.importers.libdarshan import open_log
from wavetank.trace.open import open_trace
from wavetank.trace.schema import Level

LOGS = Path(__file__).resolve().parents[2] / "data/darshan"


def model_of_log(name: str) -> Model:
    pytest.importorskip("darshan", reason="PyDarshan brings the library that reads logs")
    return extract_model(open_trace(LOGS / name), PROVENANCE)


def test_bt_io_comes_out_of_a_darshan_log_as_out_of_a_trace() -> None:
    # A log counts no communication: the writes are one phase there, and so they are in a trace that is not split.
    found = model_of_log("bt.W.4.mpi_io_full.darshan")
    assert any("counts no communication" in warning for warning in texts(found.notes))
    events, views = bt_io(24, 4)
    traced = model_of(events, Rules(split_at_communication={}), views=views)
    own = own_phases(found)
    assert len(own) == len(traced.phases) == 2
    for log, trace in zip(own, traced.phases, strict=True):
        for field in ("ph_processid", "ph_nrep", "ph_niop", "ph_weight", "offset", "collective"):
            assert getattr(log, field) == getattr(trace, field), field
        assert [(m.iop_type, m.rs, m.disp) for m in log.pattern] == [
            (m.iop_type, m.rs, m.disp) for m in trace.pattern
        ]
    assert found.files[0].file_size == traced.files[0].file_size == 40 * 24**3 * 40
    assert found.app_st == traced.app_st


def test_bt_io_in_a_log_names_its_aggregator() -> None:
    # tests/data/darshan: at POSIX level rank 0 alone, 552,960 bytes an operation.
    found = model_of_log("bt.W.4.mpi_io_full.darshan")
    assert [(r.ph_id, r.ranks, r.n_operations, r.rs_min, r.rs_max) for r in found.relations] == [
        (1, (0,), 40, 552_960, 552_960),
        (2, (0,), 40, 552_960, 552_960),
    ]


def test_ior_with_a_file_per_process_is_eight_writes_and_eight_reads_of_each_rank() -> None:
    found = model_of_log("ior_seq_fpp_posix_1m.darshan")
    mib = 1 << 20
    shapes = [
        (p.pattern[0].iop_type, p.ph_processid, p.ph_nrep, p.pattern[0].rs, p.pattern[0].disp)
        for p in found.phases
    ]
    assert shapes == [(op, (rank,), 8, mib, mib) for op in ("write", "read") for rank in range(4)]
    assert {file.file_accessmode for file in found.files} == {"sequential"}
    assert {file.file_accesstype for file in found.files} == {"unique"}


def test_ior_on_a_shared_file_is_strided_with_a_function_of_the_rank() -> None:
    found = model_of_log("ior_strided_shared_mpiio_coll_256k.darshan")
    block = 256 * 1024
    own = [phase for phase in found.phases if phase.level == "mpiio"]
    assert [p.pattern[0].iop_type for p in own] == ["MPI_File_write_at_all", "MPI_File_read_at_all"]
    for phase in own:
        assert (phase.ph_nrep, phase.pattern[0].rs, phase.pattern[0].disp) == (16, block, 4 * block)
        (offset,) = phase.offset
        assert offset.function == "linear"
        assert (offset.a, offset.b, offset.c) == (block, 4 * block, 0)
    assert found.files[0].file_accessmode == "strided"


def test_offsets_that_darshan_does_not_know_are_unknown() -> None:
    # Darshan on Open MPI: offset -1 in every MPI-IO segment.
    found = model_of_log("s3dio_np4_40c_method0_openmpi_ompio.darshan")
    own = [phase for phase in found.phases if phase.level == "mpiio" and phase.collective]
    assert own
    assert all(offset.function == "unknown" for phase in own for offset in phase.offset)
    assert any("at which offsets" in warning for warning in texts(found.notes))


@pytest.mark.parametrize(
    ("log", "field"),
    [
        # Grid 40^3 and 20^3 on 2x2x1 ranks: 16,000 and 2,000 points a rank of 8 bytes.
        ("s3dio_np4_40c_method0_openmpi_ompio.darshan", 128_000),
        ("recorded/s3d_io_pnetcdf.mpich.darshan", 16_000),
    ],
)
def test_s3d_io_is_a_header_of_rank_0_and_four_collective_writes_a_file(
    log: str, field: int
) -> None:
    # Fields of 11, 3, 1 and 1 numbers a point. Counters of each file: MPIIO_COLL_WRITES 16, MPIIO_INDEP_WRITES 1,
    # MPIIO_VIEWS 16.
    found = model_of_log(log)
    own = own_phases(found)
    assert len({phase.file_id for phase in own}) == 5
    everyone = (0, 1, 2, 3)
    header = ("MPI_File_write_at", (0,), 1, 588, False, 588)
    fields = [
        ("MPI_File_write_at_all", everyone, 1, n * field, True, 4 * n * field)
        for n in (11, 3, 1, 1)
    ]
    assert [
        (
            phase.pattern[0].iop_type, phase.ph_processid, phase.ph_nrep, phase.pattern[0].rs,
            phase.collective, phase.ph_weight,
        )
        for phase in own
    ] == [header, *fields] * 5  # fmt: skip
    assert not any(phase.collective_unknown for phase in own)
    assert any("Darshan does not record it" in warning for warning in texts(found.notes))
    # Rank 0 wrote for all, in one request each.
    assert {(r.ranks, r.n_operations) for r in found.relations} == {((0,), 1)}
    sizes = [phase.ph_weight for phase in own]
    assert [r.moved for r in found.relations] == sizes


@pytest.mark.parametrize(
    "log",
    [
        "ior_seq_fpp_posix_1m",
        "ior_strided_shared_mpiio_coll_256k",
        "bt.W.4.mpi_io_full",
        "bt.S.4.mpi_io_full.dxt-40-byte-segments",
    ],
)
def test_sequential_and_consecutive_operations_are_those_that_darshan_counted(log: str) -> None:
    pytest.importorskip("darshan", reason="PyDarshan brings the library that reads logs")
    path = LOGS / f"{log}.darshan"
    expected: dict[str, list[int]] = {}
    with open_log(path) as opened:
        names = opened.names()
        for record in opened.counters(opened.modules()["POSIX"]):
            found = expected.setdefault(names[record.file], [0, 0])
            for place, kind in enumerate(("SEQ", "CONSEC")):
                found[place] += sum(
                    record.counters[f"POSIX_{kind}_{way}"] for way in ("READS", "WRITES")
                )
    posix = Rules(levels=(Level.POSIX,))
    model = extract_model(open_trace(path), PROVENANCE, posix)
    files = [file for file in model.files if file.n_operations]
    assert files
    for file in files:
        assert [file.n_sequential, file.n_consecutive] == expected[file.file_name]
