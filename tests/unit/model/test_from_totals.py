"""Models of logs that have counters alone."""

from __future__ import annotations

from dataclasses import replace

from fold_builder import PROVENANCE, fold_table, trace_of

from wavetank.model.extract import extract_model
from wavetank.model.tables import model_tables
from wavetank.trace.schema import FileTotals, Level, TracedFile


def test_counters_give_the_application_and_the_files_and_no_phase() -> None:
    totals = (
        FileTotals(file=0, level=Level.POSIX, n_ranks=1, n_reads=0, n_writes=5, bytes_read=0, bytes_written=500, highest_offset=499),
        FileTotals(file=0, level=Level.MPIIO, n_ranks=4, n_reads=0, n_writes=20, bytes_read=0, bytes_written=500, highest_offset=None),
        FileTotals(file=1, level=Level.POSIX, n_ranks=1, n_reads=3, n_writes=0, bytes_read=30, bytes_written=0, highest_offset=29),
    )  # fmt: skip
    trace = trace_of(fold_table([]), n_ranks=4)
    trace = replace(
        trace, totals=totals, source="darshan", files=(TracedFile("/out"), TracedFile("/in"))
    )
    model = extract_model(trace, PROVENANCE)
    # Bytes count once, at the application's own level: 500 by MPI-IO, 30 by POSIX.
    assert (model.app_st, model.app_np, model.app_nfiles) == (530, 4, 2)
    assert [
        (f.file_name, f.file_accesstype, f.file_fileaccesstype, f.n_operations) for f in model.files
    ] == [
        ("/out", "shared", "W", 20),
        ("/in", "unique", "R", 3),
    ]
    assert [file.file_size for file in model.files] == [500, 30]
    assert model.phases == ()
    assert model_tables(model)[2].rows == ()
