"""What else the machine did while a measurement was made, and whether that was too much.

Reads the kernel's own counts (/proc/stat, /proc/loadavg, /proc/pressure); leaves a record in the measurement. Looks just before
the measurement and just after it, while the cluster idles: what is busy then is other work. What nodes on this machine use
themselves is counted apart: idle guests take some. What is judged is the machine alone, never the time that was measured:
leaving out slow measurements would make every result too good.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

from pydantic import Field

from wavetank.cluster.host import Host
from wavetank.document import Record
from wavetank.errors import RemoteCommandError

LOOK_S = 0.15
"""Length of a look: 15 ticks of each processor, so that a share of 0.2 on two processors is six of thirty."""
BUSY_SHARE = 0.2
"""Of all processors, before or after, above which other work disturbs: on two processors less than half of one."""
STOLEN_SHARE = 0.05
"""Of all processors over the measurement, taken by the machine below a virtual one: more than its own upkeep."""
WAITING_SHARE = 0.2
"""Of a look, in which some task waited for storage or for memory while the cluster idled."""
RESOURCES = ("cpu", "io", "memory")


class MachineLoad(Record):
    """The machine's load around one measurement. Shares are of all processors' time, or of the time."""

    processors: int
    load_average: float = Field(description="of one minute, before: tasks that ran or waited")
    busy_before: float = Field(description="share of the processors, while the cluster idled")
    busy_after: float = Field(description="the same after the measurement")
    busy_over: float = Field(
        description="share over the measurement, the cluster's own work included"
    )
    stolen_over: float = Field(
        description="share that the machine below took, over the measurement"
    )
    pressure_before: dict[str, float] | None = Field(
        description="cpu, io, memory -> share of the time in which some task waited for it; None: "
        "this kernel does not tell"
    )
    pressure_over: dict[str, float] | None = Field(
        description="over the measurement, the cluster's own waiting included"
    )
    nodes_before: float | None = Field(
        default=None,
        description="share of busy_before that the cluster's own nodes used; None: not counted",
    )
    nodes_after: float | None = Field(default=None, description="the same of busy_after")
    nodes_over: float | None = Field(default=None, description="the same of busy_over")
    elsewhere: dict[str, float] = Field(
        default={}, description="load average before, of nodes on other machines"
    )
    disturbed: tuple[str, ...] = Field(
        description="why this counts as disturbed; empty: it does not"
    )

    @property
    def others_before(self) -> float:
        """Share of the processors that others than the cluster's nodes used before."""
        return _others(self.busy_before, self.nodes_before)

    @property
    def others_after(self) -> float:
        """The same after the measurement."""
        return _others(self.busy_after, self.nodes_after)

    def doubt(self) -> str | None:
        """The finding of a disturbed measurement; None of another one."""
        if not self.disturbed:
            return None
        return "other work on the machine disturbed a measurement"


@dataclass(frozen=True)
class Counts:
    """The kernel's counts at one moment.

    Attributes:
        at_s: when, of a clock that never goes back.
        busy_s, stolen_s, all_s: processor time since the machine started, over all processors.
        waiting_s: cpu, io, memory -> time in which some task waited; None where the kernel does not tell.
        load_average: of one minute.
        processors: how many.
        nodes_s: processor time of the cluster's nodes on this machine; None where it is not counted.
    """

    at_s: float
    busy_s: float
    stolen_s: float
    all_s: float
    waiting_s: dict[str, float] | None
    load_average: float
    processors: int
    nodes_s: float | None = None


def read_counts(proc: Path = Path("/proc"), clock: Callable[[], float] = time.monotonic) -> Counts:
    """The counts of this machine now.

    Args:
        proc: where the kernel shows them.
        clock: seconds.
    """
    lines = (proc / "stat").read_text(encoding="ascii").splitlines()
    # cpu  419168 0 126252 130843 2038 0 2460 9242 0 0 (Linux 6.1: user nice system idle iowait irq softirq steal guest ...)
    ticks = [int(field) / 100 for field in lines[0].split()[1:9]]
    idle, stolen = ticks[3] + ticks[4], ticks[7]
    return Counts(
        at_s=clock(),
        busy_s=sum(ticks) - idle - stolen,
        stolen_s=stolen,
        all_s=sum(ticks),
        waiting_s=_waiting(proc / "pressure"),
        load_average=float((proc / "loadavg").read_text(encoding="ascii").split()[0]),
        processors=sum(line.startswith("cpu") for line in lines) - 1,
    )


def _waiting(folder: Path) -> dict[str, float] | None:
    # some avg10=0.22 avg60=0.17 avg300=0.04 total=58265 (microseconds)
    found = {}
    for resource in RESOURCES:
        try:
            first = (folder / resource).read_text(encoding="ascii").splitlines()[0]
            found[resource] = int(first.rpartition("total=")[2]) / 1e6
        except (OSError, ValueError, IndexError):  # not built in, switched off, or not allowed
            return None
    return found


def share_words(loads: Sequence[MachineLoad], what: str) -> str | None:
    """How many of some measurements other work disturbed; None where it was none.

    Args:
        loads: around each of them.
        what: they are, e.g. "measurements".
    """
    n = sum(bool(load.disturbed) for load in loads)
    if not n:
        return None
    busy = 100 * median(load.others_before for load in loads)
    return (
        f"Other work on the machine disturbed {n} of {len(loads)} {what} (median of busy processors just before: "
        f"{busy:.0f} %)"
    )


class MachineWatch:
    """Watches this machine around measurements, and asks nodes on other machines for their load."""

    def __init__(
        self,
        read: Callable[[], Counts] = read_counts,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._read = read
        self._sleep = sleep

    def before(
        self,
        elsewhere: Sequence[Host] = (),
        nodes_cpu_s: Callable[[], float | None] = lambda: None,
    ) -> Before:
        """Look at the machine while the cluster idles.

        Args:
            elsewhere: nodes on other machines.
            nodes_cpu_s: processor time that the cluster's nodes on this machine used so far.
        """
        first, second = self._look(nodes_cpu_s)
        return Before(
            first,
            second,
            {host.name: load for host in elsewhere if (load := _load(host)) is not None},
            nodes_cpu_s,
        )

    def after(self, before: Before) -> MachineLoad:
        """Look again, and judge."""
        first, second = before.first, before.second
        start, end = self._look(before.nodes_cpu_s)
        stolen = _share(second.stolen_s, start.stolen_s, second, start)
        waiting = _waited(first, second)
        load = MachineLoad(
            processors=start.processors,
            load_average=first.load_average,
            busy_before=_share(first.busy_s, second.busy_s, first, second),
            busy_after=_share(start.busy_s, end.busy_s, start, end),
            busy_over=_share(second.busy_s, start.busy_s, second, start),
            stolen_over=stolen,
            pressure_before=waiting,
            pressure_over=_waited(second, start),
            nodes_before=_of_nodes(first, second),
            nodes_after=_of_nodes(start, end),
            nodes_over=_of_nodes(second, start),
            elsewhere=before.elsewhere,
            disturbed=(),
        )
        # Nodes elsewhere do not mind what this machine does, and one minute's load holds their own work.
        reasons = () if before.elsewhere else tuple(_reasons(load))
        return load.model_copy(update={"disturbed": reasons})

    def _look(self, nodes_cpu_s: Callable[[], float | None]) -> tuple[Counts, Counts]:
        """Two readings."""
        first = replace(self._read(), nodes_s=nodes_cpu_s())
        self._sleep(LOOK_S)
        return first, replace(self._read(), nodes_s=nodes_cpu_s())


@dataclass(frozen=True)
class Before:
    """A look before a measurement: two readings, the load of nodes elsewhere, and how nodes here are counted."""

    first: Counts
    second: Counts
    elsewhere: dict[str, float]
    nodes_cpu_s: Callable[[], float | None] = lambda: None


def _load(host: Host) -> float | None:
    try:
        return float(host.run(["cat", "/proc/loadavg"]).stdout.split()[0])
    except (RemoteCommandError, ValueError, IndexError):
        return None


def _share(before_s: float, after_s: float, first: Counts, second: Counts) -> float:
    """Of all processors' time between two readings."""
    passed_s = second.all_s - first.all_s
    return round((after_s - before_s) / passed_s, 4) if passed_s > 0 else 0.0


def _of_nodes(first: Counts, second: Counts) -> float | None:
    """Of all processors' time between two readings, what the cluster's nodes used."""
    if first.nodes_s is None or second.nodes_s is None:
        return None
    return _share(first.nodes_s, second.nodes_s, first, second)


def _others(busy: float, nodes: float | None) -> float:
    # the machine counts in ticks and groups exactly, so the difference of nearly equal shares may fall below nothing
    return round(max(0.0, busy - (nodes or 0.0)), 4)


def _waited(first: Counts, second: Counts) -> dict[str, float] | None:
    """Share of the time between two readings in which some task waited, by what it waited for."""
    passed_s = second.at_s - first.at_s
    if first.waiting_s is None or second.waiting_s is None or passed_s <= 0:
        return None
    return {
        name: round(min((second.waiting_s[name] - since_s) / passed_s, 1.0), 4)
        for name, since_s in first.waiting_s.items()
    }


def _reasons(load: MachineLoad) -> list[str]:
    reasons, stolen, waiting = [], load.stolen_over, load.pressure_before
    for others, nodes, when in (
        (load.others_before, load.nodes_before, "before"),
        (load.others_after, load.nodes_after, "after"),
    ):
        if others > BUSY_SHARE:
            own = f", without the {100 * nodes:.0f} % of the nodes themselves" if nodes else ""
            reasons.append(f"{100 * others:.0f} % of the processors were busy just {when}{own}")
    if stolen > STOLEN_SHARE:
        reasons.append(f"{100 * stolen:.0f} % of the processors were taken by the machine below")
    for name, what in (("io", "storage"), ("memory", "memory")):
        if waiting is not None and waiting[name] > WAITING_SHARE:
            reasons.append(
                f"tasks waited for {what} in {100 * waiting[name]:.0f} % of the time just before"
            )
    return reasons
