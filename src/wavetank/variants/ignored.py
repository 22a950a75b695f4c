"""Which MPI-IO library ignores which hints."""

from __future__ import annotations

from collections.abc import Sequence

_READ_BY_OMPIO = frozenset({"cb_nodes", "cb_buffer_size", "collective_buffering"})
"""Of Open MPI 4.1 (common/ompio). All hints that knobs turn are ROMIO's, which reads each of them."""


def ignored_hints(hints: Sequence[str], library: str) -> tuple[str, ...]:
    """Those of some hints that an MPI-IO library ("ompio", "romio") does not read."""
    return tuple(hint for hint in hints if library == "ompio" and hint not in _READ_BY_OMPIO)
