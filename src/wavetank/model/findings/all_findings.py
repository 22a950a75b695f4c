"""All findings on an application: the entry point."""

from __future__ import annotations

from collections.abc import Mapping

from wavetank.model.document.model import Model
from wavetank.model.findings import calls, metadata, ranks, sizes
from wavetank.model.findings.finding import Finding
from wavetank.model.findings.requests import Source, io_of


def model_findings(model: Model) -> tuple[Finding, ...]:
    """What a model's I/O shows; nothing of a model without phases."""
    return find(model, {file.file_id: file.file_name for file in model.files})


def find(source: Source, names: Mapping[int, str]) -> tuple[Finding, ...]:
    """What the I/O of a model or a kernel shows, in a fixed order; nothing is told twice.

    How ranks are numbered does not matter, but for the numbers of the phases.

    Args:
        source: a model or a kernel.
        names: of its files, by file_id.
    """
    io = io_of(source, names)
    few = ranks.few_ranks(io)
    independent, told = ranks.without_collective_calls(io)
    small_files, in_small_files = calls.many_small_files(io)
    told |= {id(one) for one in io.requests if one.phase.file_id in in_small_files}
    return (
        *few,
        *independent,
        *ranks.same_bytes(io),
        *small_files,
        *sizes.small_requests(io, told),
        *sizes.random_reads(io),
        *sizes.unaligned_writes(io, ranks.users(io, is_write=True)),
        *(metadata.metadata_only(source) or calls.many_metadata_calls(io, in_small_files)),
        *calls.flushes(io),
        *calls.read_back(io),
    )
