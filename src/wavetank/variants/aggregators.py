"""Number of aggregators: ranks that do the I/O of a collective call for all."""

from __future__ import annotations

from typing import ClassVar

from wavetank.kernel.document.kernel import Kernel
from wavetank.variants.base import DoesNotApplyError, Turned, ranks_of
from wavetank.variants.hints import collective_phases, hints_of, with_hints


class Aggregators:
    """cb_nodes. ROMIO takes one rank of each host by default; cb_config_list lets it take any number of them."""

    name: ClassVar[str] = "aggregators"
    title: ClassVar[str] = "aggregators"
    takes: ClassVar[str] = "a number of ranks, or 'all'"

    def values(self, kernel: Kernel) -> tuple[str, ...]:
        """One, half of the ranks, and all of them."""
        n = kernel.n_ranks
        return tuple(dict.fromkeys(("1", str(max(1, n // 2)), "all")))

    def turned(self, kernel: Kernel, value: str) -> Turned:
        """See Knob."""
        n = ranks_of(self, value, kernel, 1)
        phases = collective_phases(kernel)
        if kernel.n_ranks == 1:
            raise DoesNotApplyError("it has one rank, which is the only aggregator")
        if n > kernel.n_ranks:
            raise DoesNotApplyError(f"it has {kernel.n_ranks} ranks, fewer than {n} aggregators")
        hints = {"cb_nodes": str(n), "cb_config_list": "*:*"}
        before = hints_of(kernel, {phase.file_id for phase in phases}, ("cb_nodes",))
        return Turned(
            kernel=with_hints(kernel, phases, hints),
            before=before,
            after=str(n),
            hints=tuple(hints),
        )
