"""Findings on applications that move no data."""

from __future__ import annotations

from collections import Counter, defaultdict

from wavetank.findings.finding import Finding
from wavetank.findings.requests import Io, Source, Tally

_TOLD = 3  # kinds of calls


def metadata_only(source: Source, io: Io) -> tuple[Finding, ...]:
    """That a metadata server alone decides how long the I/O takes; nothing where data is moved."""
    if source.phases or not source.metadata:
        return ()
    counts: Counter[str] = Counter()
    times: defaultdict[str, list[float | None]] = defaultdict(list)
    for phase in source.metadata:
        for call in phase.calls:
            counts[call.call] += call.n
            times[call.call].append(phase.time_s)
    parts = []
    for name, n in counts.most_common(_TOLD):
        known = [time_s for time_s in times[name] if time_s is not None]
        time_s = sum(known) if len(known) == len(times[name]) else 0.0
        parts.append(f"{n:,} {name}" + (f" ({n / time_s:,.0f} a second)" if time_s else ""))
    shared = [phase for phase in source.metadata if phase.sharing == "one" and len(phase.ranks) > 1]
    made = sum(
        call.n
        for phase in shared
        for call in phase.calls
        if call.call in ("create", "mkdir", "unlink", "rmdir", "mknod", "link", "symlink", "rename")
    )
    of_all = f", {made:,} of them change one directory that several ranks share" if made else ""
    return (
        io.finding(
            Tally(counts.total(), 0, ()),
            kind="metadata-only",
            sentence=(
                f"Metadata only: no data is moved by {counts.total():,} calls{of_all}. "
                f"Most are {', '.join(parts)} in the traced run."
            ),
            remedy="Give each rank a directory of its own: servers lock a directory while it is changed."
            if made
            else None,
            paste="lfs setdirstripe -c 4 DIRECTORY" if made else None,
            time_s=io.times.metadata_s or None,
            of_data=False,
        ),
    )
