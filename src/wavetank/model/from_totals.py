"""The application and file levels of a model, from a source that has counters but no order (Darshan without DXT)."""

from __future__ import annotations

from collections import defaultdict

from wavetank.document import Provenance
from wavetank.model.application import Model, Requirements
from wavetank.model.file import ModelFile
from wavetank.model.file_table import direction
from wavetank.model.program_name import program_name
from wavetank.model.rules import Rules
from wavetank.trace.schema import FileTotals, Level, Trace


def model_from_totals(
    trace: Trace, provenance: Provenance, rules: Rules, name: str | None
) -> Model:
    """A model without phases: what the counters tell, and nothing that they do not."""
    by_file: dict[int, list[FileTotals]] = defaultdict(list)
    for totals in trace.totals:
        if totals.n_reads + totals.n_writes > 0:
            by_file[totals.file].append(totals)
    own = {
        file: max(found, key=lambda one: one.level == Level.MPIIO)
        for file, found in by_file.items()
    }
    files = tuple(
        _file(trace, number, totals) for number, totals in enumerate(own.values(), start=1)
    )
    n_ranks = max((file.file_np for file in files), default=0)
    return Model(
        provenance=provenance,
        application=name or program_name(trace.command),
        command=trace.command,
        source=trace.source,
        n_ranks=trace.n_ranks,
        app_np=n_ranks,
        app_nfiles=len(files),
        app_st=sum(totals.bytes_read + totals.bytes_written for totals in own.values()),
        elapsed_s=trace.elapsed_s,
        boundaries=rules.boundaries(),
        requirements=Requirements(
            storage_capacity_bytes=sum(file.file_size for file in files),
            n_processes=n_ranks,
            needs_global_file_system=any(file.file_accesstype == "shared" for file in files),
            reached_read_bytes_per_s=None,
            reached_write_bytes_per_s=None,
        ),
        files=files,
        phases=(),
        series=(),
        programs=(),
        timeline=(),
        warnings=(
            *trace.warnings,
            "app_np is the largest number of ranks on one file: counters do not say which ranks they are",
        ),
        lost=trace.lost,
    )


def _file(trace: Trace, number: int, totals: FileTotals) -> ModelFile:
    written, read = totals.bytes_written, totals.bytes_read
    highest = None if totals.highest_offset is None else totals.highest_offset + 1
    n_ranks = totals.n_ranks if totals.n_ranks is not None else trace.n_ranks
    return ModelFile(
        file_id=number,
        file_name=trace.files[totals.file].path,
        file_size=highest if highest is not None else written or read,
        file_size_weights=written or read,
        file_size_highest_offset=highest,
        file_size_before=trace.files[totals.file].size_before,
        file_np=n_ranks,
        file_accessmode="unknown",
        file_fileaccesstype=direction(totals.n_reads > 0, totals.n_writes > 0),
        file_accesstype="shared" if n_ranks > 1 else "unique",
        file_nphase=0,
        n_operations=totals.n_reads + totals.n_writes,
        n_sequential=None,
        n_consecutive=None,
        file_system=trace.files[totals.file].file_system,
    )
