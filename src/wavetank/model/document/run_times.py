"""How long an application ran, and how much of it a rank spent at I/O calls.

Leaves a ``RunTimes``, made of a trace's rows in summary.run_times. Ranks overlap in a way that a folded
trace does not tell, so the I/O time of a run is that of the rank that spent most time at I/O calls: a run without
I/O would be shorter by about that much, where the other ranks wait for this one.
"""

from __future__ import annotations

from pydantic import Field

from wavetank.document import Record


class RunTimes(Record):
    """Times of the traced run, measured by the tracer."""

    elapsed_s: float | None = Field(description="of the whole run; None where the log has none")
    io_s: float | None = Field(
        description="at I/O calls, of the rank that spent most time there; None without times"
    )
    io_rank: int | None = Field(description="that rank")
    with_metadata: bool = Field(
        description="whether calls that move no data (open, close, stat, fsync ...) are in it"
    )

    @property
    def compute_s(self) -> float | None:
        """What is left of the run without its I/O; None where it is not known."""
        if self.elapsed_s is None or self.io_s is None:
            return None
        return max(self.elapsed_s - self.io_s, 0.0)

    @property
    def io_percent(self) -> float | None:
        """I/O's share of the run; None where it is not known."""
        if not self.elapsed_s or self.io_s is None:
            return None
        return min(100 * self.io_s / self.elapsed_s, 100.0)


NOT_TIMED = RunTimes.model_construct(elapsed_s=None, io_s=None, io_rank=None, with_metadata=False)
"""Of a run of which no times are known."""
