"""What a comparison says of a kernel beside its application: errors, order, and whether the one may stand for the other."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from wavetank.document import Record
from wavetank.kernel.execution.pauses import Pauses
from wavetank.measure.statistics import Estimate

Verdict = Literal["order and times", "order", "times", "not", "unknown"]


class OwnTime(Record):
    """A kernel's I/O time on one configuration against that of the application itself (P15 figure 7)."""

    configuration: str = Field(description="of the kernel")
    own_configuration: str = Field(
        description="of the application itself: same cluster, same mapping"
    )
    kernel_s: Estimate = Field(description="I/O time of the kernel")
    application_s: Estimate = Field(description="I/O time of the application itself")
    difference_percent: float = Field(
        description="100 * (kernel - application) / application, by medians; the error is its absolute value"
    )
    spread_low_percent: float = Field(
        description="the application's fastest repetition against its median"
    )
    spread_high_percent: float = Field(description="its slowest one against its median")
    beyond_percent: float = Field(
        description="how far the kernel's median lies outside of the application's repetitions; 0 within them"
    )


class Tau(Record):
    """Kendall's tau of two orders."""

    value: float
    low: float | None = Field(
        description="of its interval, by a bootstrap over repetitions; None with one repetition"
    )
    high: float | None


class ReversedPair(Record):
    """Two configurations that kernel and application put in opposite orders, each telling them apart."""

    kernel_prefers: str = Field(description="the configuration that is faster by the kernel")
    application_prefers: str = Field(description="the one that is faster by the application itself")


class Trust(Record):
    """A kernel beside its application on the same configurations, measured in the same rounds."""

    application: str = Field(description="as the kernel stands for it")
    own: str = Field(description="the application itself")
    program: str = Field(description='what performed the kernel: "replay", "ior", "fio"')
    pauses: Pauses = Field(
        description="of the application, that the kernel made; the application itself has all of its own"
    )
    times: tuple[OwnTime, ...]
    median_error_percent: float
    worst_error_percent: float
    worst_beyond_percent: float = Field(
        description="the largest distance from the application's own repetitions"
    )
    tau: Tau | None = Field(
        description="over the pairs that kernel and application both tell apart; None without such pairs"
    )
    tau_of_medians: Tau | None = Field(
        description="over all pairs by their medians (tau-b), ties of the test included"
    )
    n_pairs: int
    n_apart: int = Field(description="told apart by both")
    n_kernel_only: int = Field(description="told apart by the kernel only")
    n_own_only: int = Field(description="told apart by the application only")
    reversed_pairs: tuple[ReversedPair, ...]
    verdict: Verdict = Field(
        description="what the kernel may be trusted for: the order of the configurations, and its times; not: it puts "
        "some in the opposite order; unknown: too little is told apart"
    )
