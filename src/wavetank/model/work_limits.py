"""Numbers that bound the work and the memory of an extraction, and never its result.

Why they are a value and not constants: a test compares models that are made under different ones, to see that the
result is the same. They are no part of a model's provenance, as ``Thresholds`` are, because no model depends on them.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class ListRoom:
    """Room for lists of offsets and sizes, in entries of 8 bytes.

    Attributes:
        addresses: whether a range of addresses is asked for; without one lists are blocks.
        entries: of a list's range of addresses: 16 GiB, of which only what is used takes memory.
        stripes: behind it, lists that grow side by side.
        stripe_entries: that each of these has room for: 1 GiB.
        small_entries: of a stripe that are not in large pages, of which there would be many with little in each.
        block_entries: of a block at least: 8 MiB, which the system gives in large pages.
    """

    addresses: bool = True
    entries: int = 1 << 31
    stripes: int = 256
    stripe_entries: int = 1 << 27
    small_entries: int = 1 << 16
    block_entries: int = 1 << 20


@dataclass(frozen=True)
class WorkLimits:
    """How much an extraction works on at a time. All are choices, by measurements of ``benchmarks/model/run``.

    Attributes:
        chunk_rows: rows folded at a time: 45 MiB of columns. Work for a chunk, whatever is in it, takes as long as that
            for 10,000 operations.
        part_rows: rows of a part, and repetitions of its pattern, up to which parts are described together.
        point_rows: rows of parts whose points are made together.
        pattern_operations: operations of patterns that are looked at together.
        metadata_rows: rows of calls without data that are given to phases at a time: each takes 150 bytes while it is.
        lists: room for lists.
    """

    chunk_rows: int = 1 << 18
    part_rows: int = 1 << 8
    point_rows: int = 1 << 16
    pattern_operations: int = 1 << 10
    metadata_rows: int = 1 << 19
    lists: ListRoom = field(default_factory=ListRoom)
