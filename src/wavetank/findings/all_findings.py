"""All findings on an application: the entry point."""

from __future__ import annotations

from wavetank.findings import (
    alignment,
    collective_io,
    metadata_calls,
    rank_balance,
    request_sizes,
    reuse,
)
from wavetank.findings.finding import SEVERITIES, Finding
from wavetank.findings.metadata import metadata_only
from wavetank.findings.requests import Source, io_of


def all_findings(source: Source) -> tuple[Finding, ...]:
    """What the I/O of a model or a kernel shows, the most severe first, then by the I/O time that it is about.

    Nothing is told twice. How ranks are numbered changes nothing but the numbers of phases and ranks.
    """
    io = io_of(source)
    few = rank_balance.few_ranks(io)
    independent, told = collective_io.without_collective_calls(io)
    small_files, in_small_files = metadata_calls.many_small_files(io)
    told |= {id(one) for one in io.requests if one.phase.file_id in in_small_files}
    found = (
        *few,
        *rank_balance.uneven_ranks(io, few),
        *independent,
        *(() if independent else collective_io.time_above_posix(io)),
        *collective_io.few_aggregators(io),
        *reuse.same_bytes(io),
        *reuse.repeated_reads(io),
        *request_sizes.small_requests(io, told),
        *request_sizes.small_requests_below(io),
        *request_sizes.c_streams(io),
        *request_sizes.random_access(io),
        *alignment.unaligned_requests(io),
        *(metadata_only(source, io) or small_files or metadata_calls.metadata_load(io)),
        *metadata_calls.headers(io),
        *metadata_calls.flushes(io),
        *reuse.read_back(io),
        *(() if independent else collective_io.posix_without_mpiio(io)),
    )
    return tuple(
        sorted(found, key=lambda one: (SEVERITIES.index(one.severity), -(one.share_of_time or 0.0)))
    )
