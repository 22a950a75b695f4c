"""What a configuration's I/O time went to, and what it leaves in caches, in the words of every table."""

from __future__ import annotations

from wavetank.compare.configuration import Configuration
from wavetank.measure.statistics import Estimate

_MB = 1_000_000


def io_parts(configuration: Configuration) -> tuple[tuple[str, Estimate | None], ...]:
    """Name and time of each kind of call; None where the measurements do not tell it apart."""
    return (
        ("data", configuration.data_time_s),
        ("metadata", configuration.metadata_time_s),
        ("flush", configuration.flush_time_s),
    )


def not_on_disk_words(configuration: Configuration) -> str | None:
    """What may still be in caches: "up to 210 MB not on disk"; None where nothing is, or nothing is known."""
    left = configuration.not_on_disk_bytes
    if not left:
        return None
    return (
        f"up to {left / _MB:,.0f} MB not on disk"
        if left >= _MB
        else f"up to {left:,} bytes not on disk"
    )
