"""What a phase waited for: the rule that names the bottleneck, from the use of all resources.

Reads a ``Use``, leaves a ``Bottleneck`` with its words. It names what a limit explains, and says so where none does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from wavetank.document import Record
from wavetank.measure.use import FULL, Kind, Resource, ResourceUse, Use
from wavetank.units import format_duration, format_rate

AS_FULL = 0.05
"""Difference of use below which a limit of a node goes before the processors of this machine, which others may keep busy."""
WAITED = 0.2
"""Share of the time in which a node's processes waited for a processor from which this machine's are to be named: those that
only wait for a disk or a limit do not mind that others keep the processors busy."""
IN_TURN = 0.5
"""Share of the time in which one or another resource must be full for all of them together to be named."""
MENTIONED = 0.1
"""Share of the time from which a resource that is full in turn with others is named."""
CALLING = 0.5
"""Share of the time that ranks spend in calls below which they did not wait for I/O but for something else."""
ONE_THREAD = 0.8
"""Cores in use on a node with several from which one full thread may be what others wait for."""

Verdict = Literal["resource", "latency", "not in calls", "too short"]

SHORT_WORDS = "too short to tell"
UNKNOWN_WORDS = "not known"


class Bottleneck(Record):
    """What took the time."""

    verdict: Verdict
    name: str = Field(description='"disk write of io1", "latency of single requests"')
    resource: Resource | None = Field(default=None, description="that it names")
    kind: Kind | None = Field(default=None, description="of nodes that have the resource")
    use: float | None = Field(default=None, description="of the resource that it names")
    also: tuple[str, ...] = Field(
        default=(), description="other resources used to 80 % or more, the fullest first"
    )
    in_turn: bool = Field(
        default=False, description="several resources, each full for a part of the time"
    )
    words: str = Field(description="the verdict's numbers")

    @property
    def sentence(self) -> str:
        """The verdict with its numbers."""
        before = {"latency": "none of these: ", "not in calls": "none of these: "}
        return before.get(self.verdict, "full in turn: " if self.in_turn else "") + self.words


TOO_SHORT = Bottleneck(verdict="too short", name=SHORT_WORDS, words=SHORT_WORDS)


def bottleneck(use: Use | None) -> Bottleneck:
    """Name what took the time.

    Args:
        use: of all resources; None where the time was too short to be read.
    """
    if use is None:
        return TOO_SHORT
    full = sorted(
        (each for each in use.resources if each.busiest >= FULL and _was_missed(each, use)),
        key=lambda each: _fullness(each, use),
    )
    if full:
        first, *others = full
        return Bottleneck(
            verdict="resource",
            name=name_of(first),
            resource=first.resource,
            kind=first.kind,
            use=first.busiest,
            also=tuple(f"{name_of(each)} ({percent(each.busiest)})" for each in others),
            words=_resource_words(first, use),
        )
    if use.full_share >= IN_TURN:
        return _in_turn(use)
    return _nothing_full(use)


def _in_turn(use: Use) -> Bottleneck:
    """Several resources, each full for a part of the time."""
    named = [each for each in use.full if each.share >= MENTIONED] or list(use.full[:1])
    parts = [
        f"{place_of(each.resource, each.kind, each.node)} for {percent(each.share)}"
        for each in named
    ]
    return Bottleneck(
        verdict="resource",
        name=place_of(named[0].resource, named[0].kind, named[0].node),
        resource=named[0].resource,
        kind=named[0].kind,
        use=named[0].share,
        in_turn=True,
        words=f"{', '.join(parts)} of the time",
    )


def name_of(each: ResourceUse) -> str:
    """A resource where it is fullest: "disk write of io1", "processors of this machine"."""
    return place_of(each.resource, each.kind, each.busiest_node)


def place_of(resource: Resource, kind: Kind, node: str) -> str:
    """A resource and where it is."""
    if kind == "machine":
        return f"{resource} of this machine"
    if resource == "disk busy":
        return f"disk of {node}, one request after another"
    if resource == "network in":
        return f"network into {node}"
    if resource == "network out":
        return f"network out of {node}"
    return f"{resource} of {node}"


def percent(share: float) -> str:
    """A share for people."""
    return f"{100 * share:.0f} %"


def call_time(seconds: float) -> str:
    """The time of one call, finer than durations are shown: 1.23 ms."""
    return f"{1e3 * seconds:.3g} ms" if 1e-3 <= seconds < 1 else format_duration(seconds)


def find(use: Use, resource: Resource, kind: Kind) -> ResourceUse | None:
    """One resource of one kind of nodes; None where it is not known."""
    return next((e for e in use.resources if e.resource == resource and e.kind == kind), None)


def _was_missed(each: ResourceUse, use: Use) -> bool:
    """Whether nodes waited for a resource that others use too."""
    return each.kind != "machine" or use.cpu_wait is None or use.cpu_wait >= WAITED


def _fullness(each: ResourceUse, use: Use) -> float:
    """Fullest first. This machine's processors count by the time in which nodes waited for them.

    A disk that is busy but not at its rate comes after all.
    """
    if each.resource == "disk busy":
        return 1.0
    if each.kind != "machine":
        return -min(each.busiest, 1.0)
    return AS_FULL - min(each.busiest, 1.0) if use.cpu_wait is None else -use.cpu_wait


def _resource_words(each: ResourceUse, use: Use) -> str:
    if each.resource == "disk busy":
        rates = [
            f"{percent(found.busiest)} of its {way} rate"
            for way, resource in (("read", "disk read"), ("write", "disk write"))
            for found in use.resources
            if found.resource == resource and found.kind == each.kind
        ]
        at = f", at {' and '.join(rates)}" if rates else ""
        return f"disk of {each.busiest_node}: a request under way {percent(each.busiest)} of the time{at}"
    words = f"{name_of(each)}: {percent(each.busiest)} of {_amount(each.limit, each.unit)}"
    if each.kind == "machine" and use.other_cores is not None:
        words += f", {use.other_cores:.1f} of them for other work than the nodes'"
    if each.kind == "machine" and use.cpu_wait is not None:
        words += f"; processes waited for one {percent(use.cpu_wait)} of the time"
    return words


def _nothing_full(use: Use) -> Bottleneck:
    of_nodes = [each for each in use.resources if each.kind != "machine"]
    fullest = max(of_nodes, key=lambda each: each.busiest, default=None)
    beside = "" if fullest is None else f"; fullest: {name_of(fullest)}, {percent(fullest.busiest)}"
    beside += _one_thread(use.resources)
    beside += _busy_machine(use)
    if use.in_flight is not None and use.in_flight < CALLING:
        name = "none: ranks were not in calls"
        words = f"ranks were in calls for {percent(use.in_flight)} of the time{beside}"
        return Bottleneck(verdict="not in calls", name=name, words=words)
    return Bottleneck(
        verdict="latency",
        name="latency of single requests",
        words=f"latency of single requests{call_words(use)}{beside}",
    )


def call_words(use: Use | None) -> str:
    """What single requests took: " (1.2 ms each, 1.0 at a time from 1 rank)"; empty where it is not known."""
    if use is None or use.call_s is None:
        return ""
    if use.in_flight is None:
        return f" ({call_time(use.call_s)} each)"
    ranks = f"{use.n_ranks} {'rank' if use.n_ranks == 1 else 'ranks'}"
    return f" ({call_time(use.call_s)} each, {use.in_flight:.1f} at a time from {ranks})"


def _one_thread(resources: Sequence[ResourceUse]) -> str:
    """Nodes whose processors are not full, and one of whose threads may be."""
    found = [
        f"{each.busiest_node} used {each.amount:.1f} of {each.limit:g} cores"
        for each in resources
        if each.resource == "processors"
        and each.kind != "machine"
        and each.amount >= ONE_THREAD
        and each.limit is not None
    ]
    return f"; one thread may be full: {', '.join(found)}" if found else ""


def _busy_machine(use: Use) -> str:
    """A doubt: nodes' processes did not wait for this machine's full processors, but the kernel's threads may have.

    Those move the data of disks and networks, belong to no node, and no counter tells how long they waited.
    """
    machine = find(use, "processors", "machine")
    if machine is None or machine.busiest < FULL or use.other_cores is None:
        return ""
    return (
        f"; processors of this machine were full, {use.other_cores:.1f} cores for other work: "
        "threads of its kernel may have waited for one"
    )


def _amount(amount: float | None, unit: str) -> str:
    if amount is None:
        return "the time"
    if unit == "B/s":
        return format_rate(amount)
    if unit == "cores":
        return f"{amount:g} {'core' if amount == 1 else 'cores'}"
    return f"{amount:g} {unit}"
