"""Advice on the measurement: how far its numbers can be trusted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from wavetank.compare.comparison import Advice, Configuration, OwnRunError
from wavetank.compare.decisions import Decisions
from wavetank.compare.words import configuration_words
from wavetank.units import format_rate


def method(
    ours: Mapping[str, Configuration], application: str, own_runs: Sequence[OwnRunError]
) -> tuple[Advice, ...]:
    """How far to trust the kernel, where the application itself ran on the same clusters."""
    if not own_runs:
        return ()
    errors = sorted(each.error_percent for each in own_runs)
    span = f"{errors[0]:.0f} %"
    if round(errors[0]) != round(errors[-1]):
        span = f"{errors[0]:.0f} to {errors[-1]:.0f} %"
    compared = f"{len(errors)} {'phase' if len(errors) == 1 else 'phases'}"
    return (
        Advice(
            about="measurement",
            application=application,
            sentence=(
                f"The kernel's rates lie {span} from those of the application itself, over {compared} "
                "compared on the same clusters. Differences between clusters that are smaller than "
                "this are differences of the kernel."
            ),
            evidence=tuple(
                f"{configuration_words(ours[each.configuration])}, phase {each.ph_id}: kernel "
                f"{format_rate(each.kernel_bytes_per_s)}, application "
                f"{format_rate(each.application_bytes_per_s)}, error {each.error_percent:.1f} %"
                for each in own_runs
            ),
        ),
    )


def repetitions(application: str, decisions: Decisions) -> tuple[Advice, ...]:
    """What too few repetitions cannot say, and how many could."""
    if not decisions.n_blind:
        return ()
    pairs = "the one pair" if decisions.n_pairs == 1 else f"{decisions.n_pairs} pairs"
    which = "nothing" if decisions.n_blind == decisions.n_pairs else "not every pair"
    often = f"{decisions.fewest} {'repetition' if decisions.fewest == 1 else 'repetitions'}"
    return (
        Advice(
            about="measurement",
            application=application,
            sentence=(
                f"With {often} {which} can be told apart: chance alone separates {pairs} too often. "
                f"{decisions.n_needed} repetitions of each configuration could."
            ),
            evidence=(
                f"fewest repetitions of a configuration: {decisions.fewest}",
                f"pairs with too few repetitions: {decisions.n_blind} of {decisions.n_pairs}",
                f"false alarms of all pairs together: {100 * decisions.error:g} % of reports at most",
            ),
        ),
    )
