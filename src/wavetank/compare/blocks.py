"""Rates of groups that run at the same time, with bootstrap intervals from parts of their common window.

The window of a run is cut into equal blocks. Blocks are drawn again, with all groups' parts of a block together:
groups that share a limit take from each other, and drawing them apart would hide that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wavetank.measure.statistics import Estimate
from wavetank.measure.together_result import TogetherMeasurement

N_RESAMPLES = 1000
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Rates:
    """Of one group: as measured, and in resamples.

    Attributes:
        rate, io_rate: bytes/s; in the window, and while it transfers (nan: it transferred nothing).
        rates, io_rates: shape (n_resamples,).
        by_repetition: rate of each.
        io_by_repetition: the same while it transfers.
    """

    rate: float
    io_rate: float
    rates: Floats
    io_rates: Floats
    by_repetition: tuple[float, ...]
    io_by_repetition: tuple[float, ...]

    def estimate(self, confidence: float) -> Estimate:
        """The rate in the window with its interval."""
        return estimate_of(self.rate, self.rates, self.by_repetition, confidence)

    def io_estimate(self, confidence: float) -> Estimate | None:
        """The rate while it transfers with its interval; None when it transferred nothing."""
        if not np.isfinite(self.io_rate):
            return None
        return estimate_of(self.io_rate, self.io_rates, self.io_by_repetition, confidence)


def estimate_of(
    value: float, resampled: Floats, by_repetition: Sequence[float], confidence: float
) -> Estimate:
    """A value with the percentile interval of its resamples."""
    tail = 100 * (1 - confidence) / 2
    low, high = np.nanpercentile(resampled, [tail, 100 - tail])
    return Estimate(median=value, low=float(low), high=float(high), values=tuple(by_repetition))


def rates_of(
    runs: Sequence[TogetherMeasurement], seed: int
) -> Mapping[tuple[str, int], Rates] | None:
    """Rates of all groups over repetitions of one setting, by (group, instance).

    None when a run has no time in which all groups are active.
    """
    windows = [run.window_s for run in runs]
    if any(window is None for window in windows) or not runs:
        return None
    lengths_s = [end - start for start, end in (w for w in windows if w is not None)]
    n_blocks = [len(run.parties[0].blocks) for run in runs]
    block_s = np.concatenate(
        [np.full(n, length / n) for n, length in zip(n_blocks, lengths_s, strict=True)]
    )
    rng = np.random.default_rng(seed)
    picks = rng.integers(0, len(block_s), size=(N_RESAMPLES, len(block_s)))
    return {
        (party.group, party.instance): _group_rates(runs, index, block_s, picks, lengths_s)
        for index, party in enumerate(runs[0].parties)
    }


def _group_rates(
    runs: Sequence[TogetherMeasurement],
    index: int,
    block_s: Floats,
    picks: npt.NDArray[np.int64],
    lengths_s: Sequence[float],
) -> Rates:
    parties = [run.parties[index] for run in runs]
    n_clients = parties[0].n_ranks
    blocks = [block for party in parties for block in party.blocks]
    moved = np.array([block.bytes for block in blocks], dtype=float)
    io_s = np.array([block.io_time_s for block in blocks])
    rates = moved[picks].sum(axis=1) / block_s[picks].sum(axis=1)
    io_rates = _io_rate(n_clients, moved[picks].sum(axis=1), io_s[picks].sum(axis=1))
    windows = [party.window for party in parties if party.window is not None]
    io_by_repetition = [
        float(_io_rate(n_clients, np.array(w.bytes, float), np.array(w.io_time_s))) for w in windows
    ]
    return Rates(
        rate=float(moved.sum() / block_s.sum()),
        io_rate=float(_io_rate(n_clients, moved.sum(), io_s.sum())),
        rates=rates,
        io_rates=io_rates,
        by_repetition=tuple(w.bytes / s for w, s in zip(windows, lengths_s, strict=True)),
        io_by_repetition=tuple(value for value in io_by_repetition if np.isfinite(value)),
    )


def _io_rate(n_clients: int, moved: Floats, io_s: Floats) -> Floats:
    """Bandwidth while transferring; nan where nothing was transferred."""
    with np.errstate(divide="ignore", invalid="ignore"):
        found: Floats = np.where((io_s > 0) & (moved > 0), n_clients * moved / io_s, np.nan)
    return found


def log_gap(first: Rates, second: Rates) -> tuple[float, Floats] | None:
    """ln(second's rate / first's) while they transfer, and in resamples; None where one has none.

    A resample without a transfer stands as the measured gap.
    """
    gap = float(np.log(second.io_rate / first.io_rate))
    if not np.isfinite(gap):
        return None
    resampled = np.log(second.io_rates / first.io_rates)
    return gap, np.where(np.isfinite(resampled), resampled, gap)
