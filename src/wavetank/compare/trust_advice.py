"""Advice on the measurement: how far its numbers can be trusted."""

from __future__ import annotations

from collections.abc import Mapping

from wavetank.compare.comparison import Advice
from wavetank.compare.configuration import Configuration
from wavetank.compare.decisions import Decisions
from wavetank.compare.trust_record import OwnTime, Tau, Trust
from wavetank.compare.words import configuration_words
from wavetank.units import format_duration


def beside_the_application(
    ours: Mapping[str, Configuration], found: Trust | None
) -> tuple[Advice, ...]:
    """Whether the kernel may be trusted, where the campaign ran the application itself beside it."""
    if found is None:
        return ()
    return (
        Advice(
            about="measurement",
            application=found.application,
            sentence=f"{verdict_words(found)} {errors_words(found)}",
            evidence=(
                pauses_words(found),
                order_words(found),
                *(
                    f"{configuration_words(ours[each.kernel_prefers])} before "
                    f"{configuration_words(ours[each.application_prefers])} by the kernel, and behind it by the application"
                    for each in found.reversed_pairs
                ),
                *(
                    f"{configuration_words(ours[each.configuration])}: kernel "
                    f"{format_duration(each.kernel_s.median)}, application {format_duration(each.application_s.median)}, "
                    f"{each.difference_percent:+.1f} % ({spread_words(each)})"
                    for each in found.times
                ),
            ),
        ),
    )


def verdict_words(found: Trust) -> str:
    """One sentence: may the kernel be trusted for this application?"""
    name, n = found.application, found.n_apart
    pairs = "the one pair" if n == 1 else f"all {n} pairs"
    if found.verdict == "not":
        wrong = len(found.reversed_pairs)
        return (
            f"The kernel of {name} may not be trusted to rank these configurations: it puts {wrong} of the {n} "
            f"{'pair' if n == 1 else 'pairs'} that both tell apart in the opposite order."
        )
    if found.verdict == "unknown":
        return (
            f"Whether the kernel of {name} ranks these configurations as the application does cannot be told: no pair of "
            "them is told apart by both. Its times may not be trusted."
        )
    if found.verdict == "times":
        return (
            f"The times of the kernel of {name} may be trusted; no pair of configurations is told apart by both, so its "
            "order cannot be judged."
        )
    order = f"it puts {pairs} that both tell apart in the application's order"
    if found.verdict == "order":
        return f"The kernel of {name} may be trusted for the order of these configurations, not for its times: {order}."
    return f"The kernel of {name} may be trusted for this application: {order}."


def errors_words(found: Trust) -> str:
    """The errors: median, and the worst beyond what the application's own runs differ by."""
    n = len(found.times)
    where = "on the one configuration" if n == 1 else f"over {n} configurations"
    return (
        f"Its I/O time lies {found.median_error_percent:.1f} % (median {where}) from the application's own, at most "
        f"{found.worst_beyond_percent:.1f} % outside of the application's own runs."
    )


def order_words(found: Trust) -> str:
    """Kendall's tau, and the pairs that are ties for one of both."""
    parts = [
        f"Kendall's tau outside of ties {tau_words(found.tau)}, over {found.n_apart} of {found.n_pairs} pairs"
    ]
    if found.n_kernel_only or found.n_own_only:
        parts.append(
            f"told apart by the kernel only: {found.n_kernel_only}, by the application only: {found.n_own_only}"
        )
    parts.append(f"of all medians {tau_words(found.tau_of_medians)}")
    return "; ".join(parts)


def tau_words(tau: Tau | None) -> str:
    """With its interval: "1.00 [0.93 to 1.00]"."""
    if tau is None:
        return "not known"
    if tau.low is None or tau.high is None:
        return f"{tau.value:.2f}"
    return f"{tau.value:.2f} [{tau.low:.2f} to {tau.high:.2f}]"


def pauses_words(found: Trust) -> str:
    """Which of the application's pauses the kernel had."""
    if found.pauses != "drop":
        return "the kernel kept the application's pauses between operations, asleep (pauses: keep)"
    return (
        "the kernel made no pauses (pauses: drop); the application computes between its operations"
    )


def spread_words(each: OwnTime) -> str:
    """Of the application's own repetitions: "its own runs -2.0 to +3.1 %"."""
    if len(each.application_s.values) < 2:
        return "one run of its own"
    return f"its own runs {each.spread_low_percent:+.1f} to {each.spread_high_percent:+.1f} %"


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
