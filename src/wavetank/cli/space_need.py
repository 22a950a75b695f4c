"""Which spaces would do for a kernel within a time: classes of the service beside what campaigns measured.

Pure: reads answers of the service and evidence of campaigns, leaves a row for each, the cheapest that will do first.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

from pydantic import ValidationError

from wavetank.campaign.evidence import Evidence
from wavetank.campaign.served import Served
from wavetank.document import explain
from wavetank.measure.statistics import Estimate, against_limit
from wavetank.service.core.answers import ClassAnswer
from wavetank.service.core.changes import see_possible
from wavetank.service.core.classes import KINDS
from wavetank.service.core.records import Access, Kind, Mode, SpaceRequest
from wavetank.service.core.refusals import Refused
from wavetank.units import MIB, exact_size, format_duration

Verdict = Literal[
    "will do",
    "would do",
    "will not do",
    "cannot be told",
    "not measured",
    "not offered",
    "no space",
]
_ALONE = "measured alone: spaces of others on its servers take their part"
OWN_BYTES = 64 * MIB
"""That a file system keeps for itself: the smallest log of XFS (mkfs.xfs 6.1)."""
OWN_SHARE = 10
"""Of what files hold, that a space is larger at least: one part in so many, for what finds them."""


@dataclass(frozen=True)
class Need:
    """What is asked for.

    Attributes:
        name: of the space.
        bytes: that the kernel's files take.
        within_s: that its I/O time must not exceed.
        size: of the space, bytes; None: what the kernel needs.
        kind: None: any.
        mode: None: any.
        access: who may mount it.
        accepted: doubts that do not keep a measurement from being taken.
    """

    name: str
    bytes: int
    within_s: float
    size: int | None = None
    kind: Kind | None = None
    mode: Mode | None = None
    access: tuple[Access, ...] = ()
    accepted: Collection[str] = ()

    def size_of(self, kind: Kind, devices: int, stripe_bytes: int | None) -> int:
        """Bytes of a space; where nobody said how many, the share of each device in whole MiB.

        Files without stripes may all lie on one device, so that each share holds all of them.

        Args:
            kind: of file system.
            devices: of all of its servers together.
            stripe_bytes: of its files; None: they are not cut into parts.
        """
        if self.size is not None:
            return self.size
        held = self.bytes if stripe_bytes is None else -(-self.bytes // devices)
        share = -(-(held + held // OWN_SHARE + OWN_BYTES) // MIB) * MIB
        return devices * max(share, KINDS[kind].smallest_bytes)


@dataclass(frozen=True)
class Option:
    """A class of spaces, or a measured cluster that is none, and what is known of it.

    Attributes:
        kind: of file system, as the service or the cluster names it.
        mode: None of a cluster that is no class.
        verdict: whether it will do.
        why: a sentence.
        request: that would make it; None where nothing would.
        evidence: None where nothing was measured.
        doubts: that the measurement carries, by name.
    """

    kind: str
    mode: Mode | None
    verdict: Verdict
    why: str
    request: SpaceRequest | None = None
    evidence: Evidence | None = None
    doubts: tuple[str, ...] = ()

    @property
    def io_time_s(self) -> Estimate | None:
        """As it was measured."""
        return None if self.evidence is None else self.evidence.configuration.io_time_s

    @property
    def own_servers(self) -> int | None:
        """Servers that nothing else is on."""
        if self.request is None:
            return None
        return self.request.servers if self.request.mode == "dedicated" else 0

    @property
    def all_bytes(self) -> int | None:
        """Of the servers' devices, with all copies."""
        return None if self.request is None else self.request.size * (self.request.redundancy + 1)


def options(
    need: Need, classes: Sequence[ClassAnswer], evidence: Sequence[Evidence]
) -> tuple[Option, ...]:
    """All that could be asked for, the cheapest that will do first; then the others.

    The service has no prices. A space is cheaper that has fewer servers to itself; then one that takes fewer bytes of
    devices with its copies; then one on fewer servers, and on fewer devices. Among equals the shorter time is better.
    """
    judged = list(_of_evidence(need, classes, evidence))
    found = [
        *(_unless_contradicted(need, each, judged) for each in judged),
        *_not_measured(need, classes, evidence),
    ]
    return tuple(sorted(found, key=_order))


def _unless_contradicted(need: Need, option: Option, others: Sequence[Option]) -> Option:
    """An option; of one that would do, whether another measurement of the same space, that counts as much, says otherwise."""
    if option.verdict not in ("will do", "would do"):
        return option
    accepted = {*need.accepted, *option.doubts}
    against = [
        each.evidence.origin
        for each in others
        if each.evidence is not None
        and _is_the_same(option, each)
        and accepted.issuperset(each.doubts)
        and _longest_s(each) > need.within_s
    ]
    if not against:
        return option
    why = f"{option.why}. But the same was measured to take longer than that, or perhaps longer, by {'; by '.join(against)}"
    return replace(option, verdict="cannot be told", why=why)


def _is_the_same(one: Option, other: Option) -> bool:
    """Whether two would be made by the same request, and were measured with the same mapping."""
    if one.request != other.request or one.evidence is None or other.evidence is None:
        return False
    return one.evidence.configuration.mapping == other.evidence.configuration.mapping


def _longest_s(option: Option) -> float:
    """Upper end of the time that was measured; of one run its time."""
    time = option.io_time_s
    if time is None:
        return 0.0
    return time.median if time.high is None else time.high


def _order(option: Option) -> tuple[object, ...]:
    verdict = get_args(Verdict).index(option.verdict)
    asked, time = option.request, option.io_time_s
    if asked is None or time is None:
        return verdict, 0, 0, 0, 0, 0.0, option.kind, option.mode or ""
    taken = option.own_servers, option.all_bytes, asked.servers, asked.devices_per_server
    return verdict, *taken, _longest_s(option), option.kind, option.mode or ""


def _of_evidence(
    need: Need, classes: Sequence[ClassAnswer], evidence: Sequence[Evidence]
) -> Iterator[Option]:
    for each in evidence:
        kind, served = each.spec.file_system.kind, each.served
        if need.kind not in (None, kind):
            continue
        its = [one for one in classes if one.kind == kind and need.mode in (None, one.mode)]
        if not its and kind not in KINDS:
            yield Option(
                kind, None, "no space", "the service has no spaces of this kind", None, each
            )
        elif isinstance(served, str):
            yield Option(kind, None, "no space", f"no space is like it: {served}", None, each)
        else:
            yield from (_judged(need, one, each, served) for one in its)


def _judged(need: Need, of: ClassAnswer, evidence: Evidence, served: Served) -> Option:
    """A class with the servers that were measured."""
    if of.refused is not None:
        return Option(of.kind, of.mode, "not offered", of.refused, None, evidence)
    try:
        asked = SpaceRequest(
            name=need.name,
            size=need.size_of(of.kind, served.servers * served.devices, served.stripe_bytes),
            kind=of.kind,
            mode=of.mode,
            servers=served.servers,
            devices_per_server=served.devices,
            stripe_size=served.stripe_bytes,
            redundancy=served.copies,
            access=need.access,
        )
        see_possible(asked)
    except ValidationError as error:
        return Option(of.kind, of.mode, "no space", explain(error), None, evidence)
    except Refused as refused:
        return Option(of.kind, of.mode, "no space", str(refused), None, evidence)
    said = evidence.reservations
    if of.mode == "shared":
        said["shared"] = _ALONE
    verdict, why = _verdict(need, evidence.configuration.io_time_s, said)
    return Option(of.kind, of.mode, verdict, why, asked, evidence, tuple(said))


def _verdict(need: Need, time: Estimate, said: dict[str, str]) -> tuple[Verdict, str]:
    limit = format_duration(need.within_s)
    if time.low is None or time.high is None:
        return "cannot be told", "it was measured once, which has no interval: measure it again"
    found = against_limit(time, need.within_s)
    ends = f"{format_duration(time.low)} to {format_duration(time.high)}"
    if time.range_of is not None:
        ends += f", the range of {time.range_of} runs"
    doubts = [f"{name} ({text})" for name, text in said.items()]
    told = f". Doubts: {'; '.join(doubts)}" if doubts else ""
    if found == "beyond":
        return "will not do", f"more than {limit}: {ends}{told}"
    if found == "cannot be told":
        return "cannot be told", f"{limit} is within {ends}: more repetitions may tell{told}"
    missing = [name for name in said if name not in need.accepted]
    if missing:
        accept = " ".join(f"--accept {name}" for name in missing)
        return "would do", f"within {limit}: {ends}; not taken without {accept}{told}"
    return "will do", f"within {limit}: {ends}{told}"


def _not_measured(
    need: Need, classes: Iterable[ClassAnswer], evidence: Sequence[Evidence]
) -> Iterator[Option]:
    there = {each.served.kind for each in evidence if isinstance(each.served, Served)}
    for each in classes:
        if each.refused is not None or each.kind in there:
            continue
        if need.kind in (None, each.kind) and need.mode in (None, each.mode):
            why = "none of the campaigns that were named measured this kernel on it"
            yield Option(each.kind, each.mode, "not measured", why)


def how_to_measure(kinds: Iterable[str], kernel: str) -> tuple[str, ...]:
    """Commands that would measure a kernel on clusters like spaces of some kinds."""
    files = []
    lines = []
    for kind in kinds:
        files.append(f"{kind}.yaml")
        lines.append(
            f"wavetank cluster init --instance TYPE --file-system {kind} --servers 1 -o {kind}.yaml"
        )
    if not files:
        return ()
    body = f"{{name: need, applications: [{{kernel: {kernel}}}], clusters: [{', '.join(files)}], output: need}}"
    return (*lines, f"echo '{body}' >need.yaml", "wavetank run need.yaml")


def see_room(need: Need) -> str | None:
    """Why a size that was asked for is too small for the kernel; None where it is not."""
    if need.size is None or need.size >= need.bytes:
        return None
    return (
        f"{exact_size(need.size)} are less than the kernel's files take: {exact_size(need.bytes)}"
    )
