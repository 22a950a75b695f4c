"""Advice on the storage: rates beside its peak, where that was characterised."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from wavetank.compare.comparison import Advice
from wavetank.compare.configuration import Configuration
from wavetank.compare.words import configuration_words
from wavetank.units import format_rate

FULL_PERCENT = 80
"""Usage of the peak from which the storage counts as near its limit."""
CACHED_PERCENT = 115
"""Usage of the peak above which bytes cannot all have passed the storage; bursts reach this much."""


def full_storage(application: str, configurations: Sequence[Configuration]) -> tuple[Advice, ...]:
    """Rates near the storage's peak."""
    full = [
        each
        for each in configurations
        if each.usage_percent is not None
        and FULL_PERCENT <= each.usage_percent.median <= CACHED_PERCENT
    ]
    if not full:
        return ()
    return _beside_the_peak(
        "cluster",
        application,
        f"The storage is near its own limit on {_titles(full)}: faster devices or more data servers "
        "would help there, a faster network little.",
        full,
    )


def cached(application: str, configurations: Sequence[Configuration]) -> tuple[Advice, ...]:
    """Rates above the storage's peak: those of memory, or of a peak that was measured too low."""
    above = [
        each
        for each in configurations
        if each.usage_percent is not None and each.usage_percent.median > CACHED_PERCENT
    ]
    if not above:
        return ()
    return _beside_the_peak(
        "measurement",
        application,
        f"Faster than the peak of the storage on {_titles(above)}: page caches took part of the bytes, or the peak, "
        "measured once, came out low. Where it is caches, the ranking holds for files that fit into memory; for larger "
        "ones, measure with larger files or less memory.",
        above,
    )


def _titles(configurations: Sequence[Configuration]) -> str:
    return "; ".join(dict.fromkeys(each.cluster_title for each in configurations))


def _beside_the_peak(
    about: Literal["cluster", "measurement"],
    application: str,
    sentence: str,
    configurations: Sequence[Configuration],
) -> tuple[Advice, ...]:
    """A sentence on configurations, with their rates beside the storage's peak as evidence."""
    evidence = tuple(
        f"{configuration_words(each)}: {format_rate(each.rate_bytes_per_s.median)} are "
        f"{each.usage_percent.median:.0f} % of the peak"
        for each in configurations
        if each.usage_percent is not None
    )
    return (Advice(about=about, application=application, sentence=sentence, evidence=evidence),)
