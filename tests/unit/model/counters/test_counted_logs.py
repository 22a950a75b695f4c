"""Darshan logs without their DXT segments against the same logs with them: what the approximate model has of the run."""

from __future__ import annotations

from pathlib import Path

import pytest
from fold_builder import PROVENANCE
from test_counted_models import requests

from darshan_logs import without_dxt
from wavetank.model.document.model import Model, own_phases
from wavetank.model.extract import extract_model
from wavetank.notes import texts
from wavetank.trace.open import open_trace

LOGS = Path(__file__).parents[3] / "data" / "darshan"

pytestmark = pytest.mark.skipif(
    not __import__("importlib.util").util.find_spec("darshan"), reason="PyDarshan is not installed"
)

ALL_ALIKE = [
    "bt.S.4.mpi_io_full.dxt-40-byte-segments",
    "bt.W.4.mpi_io_full",
    "ior_seq_fpp_posix_1m",
    "ior_strided_shared_mpiio_coll_256k",
    "recorded/bt_io-cb2.mpich",
    "recorded/bt_io-cb4.mpich",
    "recorded/bt_io.mpich",
    "recorded/madbench2.mpich",
    "recorded/madbench2.openmpi",
    "recorded/s3d_io.mpich",
    "recorded/segments-own-posix.mpich",
    "recorded/segments-shared-collective.mpich",
    "recorded/segments-shared-mpiio.mpich",
    "recorded/segments-shared-mpiio.openmpi",
    "recorded/segments-shared-posix.mpich",
]


def own_requests(model: Model) -> object:
    """Operations by call and size, at the level at which the application uses each file."""
    return requests(model.model_copy(update={"phases": own_phases(model)}))


@pytest.mark.parametrize("name", ALL_ALIKE)
def test_files_operations_bytes_sizes_and_steps_are_those_of_the_run(
    name: str, tmp_path: Path
) -> None:
    log = LOGS / f"{name}.darshan"
    exact = extract_model(open_trace(log), PROVENANCE)
    made = extract_model(open_trace(without_dxt(log, tmp_path)), PROVENANCE)
    assert exact.approximation is None
    assert made.approximation is not None
    assert own_requests(made) == own_requests(exact)
    fields = (
        "file_name", "file_size", "file_np", "file_fileaccesstype", "file_accesstype", "n_operations", "n_sequential",
        "n_consecutive",
    )  # fmt: skip
    theirs, ours = (
        sorted(tuple(getattr(file, field) for field in fields) for file in model.files)
        for model in (exact, made)
    )
    assert ours == theirs


def test_a_short_read_at_the_end_of_a_file_is_not_known(tmp_path: Path) -> None:
    """dd reads 3000 bytes at a time from 10,000: the last read moves 1000, and DXT tells that it met the end."""
    log = without_dxt(LOGS / "recorded" / "dd.darshan", tmp_path)
    model = extract_model(open_trace(log), PROVENANCE)
    assert requests(model) == {
        ("read", 3000): 3, ("read", 1000): 1, ("write", 3000): 3, ("write", 1000): 1,
    }  # fmt: skip


def test_streams_are_in_the_model(tmp_path: Path) -> None:
    """ABYSS-P writes coverage.hist and bubbles.fa through streams, of which DXT has no segments."""
    log = LOGS / "recorded" / "abyss.darshan"
    with_segments = extract_model(open_trace(log), PROVENANCE)
    model = extract_model(open_trace(without_dxt(log, tmp_path)), PROVENANCE)
    names = {Path(file.file_name).name for file in model.files if file.n_operations}
    assert "coverage.hist" in names
    # Three reads of 28 bytes after it was closed are those of a socket that had got its descriptor.
    (hist,) = (file for file in model.files if file.file_name.endswith("coverage.hist"))
    assert (hist.file_fileaccesstype, hist.n_operations, hist.file_size) == ("W", 1, 581)
    assert any(warning.startswith("operations were left out (3)") for warning in texts(model.notes))
    assert any(
        warning.startswith("of 2 files some operations may be of others")
        for warning in texts(model.notes)
    )
    assert model.app_st >= with_segments.app_st


def test_a_program_recorded_without_dxt_has_its_known_operations() -> None:
    """Four ranks read 500 times 8 KiB of a shared file, and write 500 lines of 10 bytes each through a stream.

    5000 bytes are a buffer of 4096 and 904 bytes. About half of the reads lie behind the one before: 250 of 500.
    """
    model = extract_model(
        open_trace(LOGS / "recorded" / "random_reads-counters.mpich.darshan"), PROVENANCE
    )
    assert requests(model) == {("read", 8192): 2000, ("write", 4096): 4, ("write", 904): 4}
    by_name = {Path(file.file_name).name: file for file in model.files if file.n_operations}
    assert set(by_name) == {"in", "log.0", "log.1", "log.2", "log.3"}
    shared = by_name["in"]
    assert (shared.file_accessmode, shared.file_np, shared.file_size) == ("random", 4, 8 << 20)
    assert shared.n_sequential is not None
    assert 900 < shared.n_sequential < 1100
    assert model.approximation is not None
    steps = next(q for q in model.approximation.quantities if q.what.startswith("sequential"))
    assert steps.counted is not None
    assert abs(steps.counted - steps.model) <= 4  # each rank has as many of them as the others


def test_renames_are_left_out_and_said() -> None:
    """Each rank writes 65,536 bytes four times into a file, ten times, and renames it each time."""
    model = extract_model(
        open_trace(LOGS / "recorded" / "checkpoints-counters.mpich.darshan"), PROVENANCE
    )
    assert requests(model) == {("write", 65536): 160}
    assert model.approximation is not None
    assert "Left out: 40 renames." in model.approximation.assumed


def test_collective_calls_of_a_log_without_dxt_are_collective() -> None:
    log = LOGS / "recorded" / "segments-shared-collective-counters.mpich.darshan"
    made = extract_model(open_trace(log), PROVENANCE)
    exact = extract_model(
        open_trace(log.with_name("segments-shared-collective.mpich.darshan")), PROVENANCE
    )
    assert own_requests(made) == own_requests(exact)
    assert {phase.collective for phase in made.phases if phase.level == "mpiio"} == {True}
