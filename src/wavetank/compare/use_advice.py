"""Advice on where the time goes: what the best configuration waits for, and those that wait with nothing full."""

from __future__ import annotations

from collections.abc import Sequence

from wavetank.cluster.registry import facts
from wavetank.compare.comparison import Advice, Ranking
from wavetank.compare.configuration import Configuration
from wavetank.kernel.document.kernel import Kernel
from wavetank.measure.bottleneck import call_words, find
from wavetank.measure.direction import direction
from wavetank.measure.mapping import parse_mapping
from wavetank.measure.use import Resource, Use

SLOW = 2.0
"""Times the best one's I/O time from which a configuration with no full resource needs an explanation."""

_DISKS = "faster disks or more data servers would help there"
_NETWORK = "a faster network would help there, or more nodes that share the traffic"
_HELPS: dict[Resource | None, str] = {
    "disk busy": "requests that are larger, or more of them at a time, would help there",
    "disk read": _DISKS,
    "disk write": _DISKS,
    "network in": _NETWORK,
    "network out": _NETWORK,
    "processors": "more or faster processors would help there",
}


def use_advice(
    application: str, kernel: Kernel, ranked: Sequence[Configuration], ranking: Ranking
) -> tuple[Advice, ...]:
    """What takes the time on the best configuration, and on those that surprise.

    Args:
        application: its name in the campaign.
        kernel: its kernel.
        ranked: its configurations, best first.
        ranking: of them, which tells those that are told apart from the best.
    """
    tied = ranking.places[0].ties_with
    apart = [each for each in ranked[1:] if each.id not in tied]
    return (
        *_best(application, ranked[0]),
        *_waiting(application, kernel, ranked[0], apart),
    )


def _best(application: str, best: Configuration) -> tuple[Advice, ...]:
    if best.use is None or is_limited_by_machine(best):
        return ()
    found = best.use.whole.bottleneck
    where = f"On {_title(best)}"
    if found.verdict == "resource":
        what = "resources are" if found.in_turn else "the time goes to the"
        sentence = f"{where} {what} {found.sentence}; {_HELPS[found.resource]}."
    elif found.verdict == "latency":
        sentence = (
            f"{where} no resource is full: ranks wait for single requests{call_words(best.use.whole.use)}. "
            "Larger requests, or more of them at a time, would help there."
        )
    elif found.verdict == "not in calls":
        sentence = f"{where} no resource is full: {found.words}."
    else:
        return ()
    return (_advice(application, "cluster", sentence, [best]),)


def _waiting(
    application: str, kernel: Kernel, first: Configuration, apart: Sequence[Configuration]
) -> tuple[Advice, ...]:
    """Configurations that are far slower than the best though nothing of theirs is full."""
    best = first.io_time_s.median
    slow = [
        each
        for each in apart
        if each.use is not None
        and each.use.whole.bottleneck.verdict == "latency"
        and each.io_time_s.median >= SLOW * best
    ]
    if not slow:
        return ()
    factors = sorted(each.io_time_s.median / best for each in slow)
    times = f"{factors[0]:.1f}"
    if len(slow) > 1:
        times += f" to {factors[-1]:.1f}"
    calls = next(call_words(each.use.whole.use) for each in slow if each.use is not None)
    sentence = (
        f"{'; '.join(dict.fromkeys(_title(each) for each in slow))}: {times} times the best one's "
        f"I/O time, with no resource full. Ranks wait for single requests there{calls}."
    )
    said = dict.fromkeys(
        _on_shared_files(each) for each in slow if _shares_written_files(each, kernel)
    )
    sentence += "".join(f" {words}" for words in said if words)
    return (_advice(application, "cluster", sentence, slow),)


def _on_shared_files(each: Configuration) -> str:
    """What is known of writes to shared files of a cluster's kind of file system."""
    return facts(each.settings.get("file system", "").partition(",")[0]).of_shared_files


def _shares_written_files(each: Configuration, kernel: Kernel) -> bool:
    """Whether ranks on several nodes write one file."""
    writers: dict[int, set[int]] = {}
    for phase in kernel.phases:
        if direction(phase) != "read":
            writers.setdefault(phase.file_id, set()).update(phase.ph_processid)
    a_node = parse_mapping(each.mapping)
    return any(len({rank // a_node for rank in ranks}) > 1 for ranks in writers.values())


def machine_advice(application: str, ranked: Sequence[Configuration]) -> tuple[Advice, ...]:
    """Where this machine's processors were the limit, the emulation was measured, not the cluster."""
    full = [each for each in ranked if is_limited_by_machine(each)]
    if not full:
        return ()
    others = [
        each.use.whole.use.other_cores
        for each in full
        if each.use is not None
        and each.use.whole.use is not None
        and each.use.whole.use.other_cores is not None
    ]
    beside = f" (up to {max(others):.1f} cores for other work)" if others else ""
    which = "all configurations" if len(full) == len(ranked) else "; ".join(dict.fromkeys(_title(each) for each in full))  # fmt: skip
    sentence = (
        f"The processors of this machine were full{beside} on {which}: the emulation itself was the limit there. "
        "Measure again with nothing else running, or with a larger 'scale' in the cluster files."
    )
    return (_advice(application, "measurement", sentence, full),)


def is_limited_by_machine(each: Configuration) -> bool:
    """Whether the emulation was the limit: the processors of this machine."""
    return each.use is not None and each.use.whole.bottleneck.kind == "machine"


def _advice(application: str, about: str, sentence: str, of: Sequence[Configuration]) -> Advice:
    evidence = tuple(
        f"{each.id}: {each.use.whole.bottleneck.sentence}{_cores(each.use.whole.use)}"
        for each in of
        if each.use is not None
    )
    return Advice.model_validate(
        {"about": about, "application": application, "sentence": sentence, "evidence": evidence}
    )


def _cores(use: Use | None) -> str:
    """Processors that clients and servers used, for the evidence."""
    if use is None:
        return ""
    found = [
        f"{words} {each.amount:.2f} cores of {each.busiest_node}"
        for words, each in (
            ("clients used", find(use, "processors", "compute")),
            ("servers used", find(use, "processors", "io")),
        )
        if each is not None
    ]
    return f"; {', '.join(found)}" if found else ""


def _title(each: Configuration) -> str:
    return f"{each.cluster_title} with {each.mapping}"
