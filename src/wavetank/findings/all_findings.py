"""All findings on an application: the entry point."""

from __future__ import annotations

from wavetank.findings import metadata, metadata_calls, rank_balance, request_sizes
from wavetank.findings.finding import Finding
from wavetank.findings.requests import Source, io_of


def all_findings(source: Source) -> tuple[Finding, ...]:
    """What the I/O of a model or a kernel shows, in a fixed order; nothing is told twice.

    How ranks are numbered does not matter, but for the numbers of the phases.
    """
    io = io_of(source)
    few = rank_balance.few_ranks(io)
    independent, told = rank_balance.without_collective_calls(io)
    small_files, in_small_files = metadata_calls.many_small_files(io)
    told |= {id(one) for one in io.requests if one.phase.file_id in in_small_files}
    return (
        *few,
        *independent,
        *rank_balance.same_bytes(io),
        *small_files,
        *request_sizes.small_requests(io, told),
        *request_sizes.random_reads(io),
        *request_sizes.unaligned_writes(io, rank_balance.users(io, is_write=True)),
        *(metadata.metadata_only(source) or metadata_calls.many_metadata_calls(io, in_small_files)),
        *metadata_calls.flushes(io),
        *metadata_calls.read_back(io),
    )
