"""Texts of other tools that hold no calls in an order, or less of them than the tools' own logs: what each is, and what to do.

Told by their first bytes. ``kind_of`` refuses them with this; nothing is read.
"""

from __future__ import annotations

import re

_RECORD = "Record the run by wavetank trace, or by Darshan with DXT_ENABLE_IO_TRACE=1"
_TEXTS = (
    (
        rb"\A(#\s.*\n|\s*\n)*# darshan log version:",
        "the text that darshan-parser or darshan-dxt-parser makes of a Darshan log",
        "Give the log itself (.darshan) that it was made from",
    ),
    (
        rb"\A\s*\d+ templated_functions",
        "a profile of TAU, which holds sums of each function and no single calls",
        _RECORD,
    ),
    (rb"\AReading Profile files in ", "the text that TAU's pprof makes of a profile", _RECORD),
    (
        rb"\A\d+ dynamic_trace_events",
        "a list of the events of a TAU trace (.edf), without the trace",
        _RECORD,
    ),
    (
        rb'\A\[?\s*\{"ts": \d+, "dur": \d+, "ph": "X", "tid": \d+, "pid": \d+, "step": ',
        "a trace of TAU's skeleton plugin, which has no offsets and names its files by descriptors",
        _RECORD,
    ),
)


def foreign_text(head: bytes) -> str | None:
    """What a file is, and what to do, by its first bytes; None: nothing known."""
    for pattern, what, remedy in _TEXTS:
        if re.match(pattern, head):
            return f"{what}. {remedy}"
    return None
