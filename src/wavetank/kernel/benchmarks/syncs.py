"""After how many of its writes an application has a file on storage: what benchmarks can do at each nth write, or once."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from wavetank.kernel.benchmarks.groups import Group
from wavetank.kernel.document import calls
from wavetank.kernel.document.kernel import Kernel
from wavetank.model.document.phase import Phase
from wavetank.model.document.program import DataStep, FileStep, RepeatStep, Step
from wavetank.model.document.step_walks import orders_expanded

SYNCS = frozenset({"fsync", "fdatasync", "MPI_File_sync"})


@dataclass(frozen=True)
class Syncs:
    """The fsyncs of one group of phases, each counted where the rank that makes it has written in that phase last.

    Attributes:
        n: how many, over all ranks.
        every: where one follows each nth write of a rank, but perhaps its last, and no other: n; None elsewhere.
        at_end: whether one follows the last write of every rank.
        names: calls that they are.
    """

    n: int
    every: int | None
    at_end: bool
    names: frozenset[str]


@dataclass
class _Tally:
    """What one rank did in one phase."""

    gaps: Counter[int] = field(default_factory=Counter)  # writes before each sync, since the last
    names: set[str] = field(default_factory=set)
    since: int = 0  # writes since the last one
    made: int = 0  # writes


class SyncedWrites:
    """The fsyncs of a kernel's programs, by the phases that they follow."""

    def __init__(self, kernel: Kernel) -> None:
        self._phases = {phase.ph_id: phase for phase in kernel.phases}
        self._of: defaultdict[int, list[tuple[_Tally, int]]] = defaultdict(list)
        synced, behind = set[int](), set[int]()
        for program in kernel.programs:
            walk = _Walk(self._phases)
            walk.steps(program.steps)
            synced |= walk.synced
            for ph_id, tally in walk.of.items():
                self._of[ph_id].append((tally, len(program.ranks)))
                if tally.gaps:
                    behind.add(self._phases[ph_id].file_id)
        self.files = synced
        """Files that are put on storage."""
        self.not_behind_writes = synced - behind
        """Those that only ranks put there which have not written them."""

    def of(self, group: Group) -> Syncs:
        """Those of a group of phases."""
        found = [one for phase in group.phases for one in self._of.get(phase.ph_id, [])]
        gaps = Counter[int]()
        for tally, n_ranks in found:
            for gap, n in tally.gaps.items():
                gaps[gap] += n * n_ranks
        every = next(iter(gaps)) if len(gaps) == 1 and 0 not in gaps else None
        last = [one for one in self._of.get(group.phases[-1].ph_id, []) if one[0].made]
        if group.apart:
            last = [one for one in found if one[0].made]
        if every is not None and any(tally.since > every for tally, _ in found):
            every = None  # some ranks make none, or not to the end
        return Syncs(
            n=sum(gaps.values()),
            every=every,
            at_end=bool(last) and all(tally.since == 0 for tally, _ in last),
            names=frozenset(name for tally, _ in found for name in tally.names),
        )


class _Walk:
    """Goes through one rank's program."""

    def __init__(self, phases: dict[int, Phase]) -> None:
        self._writes = {
            ph_id: [not calls.reads(member.iop_type) for member in phase.pattern]
            for ph_id, phase in phases.items()
        }
        self._done: Counter[int] = Counter()  # operations of each phase
        self._file = {ph_id: phase.file_id for ph_id, phase in phases.items()}
        self._last: dict[int, int] = {}  # phase that wrote each file last
        self.of: defaultdict[int, _Tally] = defaultdict(_Tally)
        self.synced: set[int] = set()

    def steps(self, steps: Sequence[Step]) -> None:
        """Steps in order; of those that repeat the first two times, and what the others add."""
        for step in orders_expanded(steps):
            if isinstance(step, RepeatStep):
                self._repeat(step)
            elif isinstance(step, DataStep) and any(self._writes.get(step.ph_id, ())):
                self._data(step)
            elif isinstance(step, FileStep) and step.iop_type in SYNCS and not step.error:
                for _ in range(min(step.count, 2)):
                    self._sync(step)

    def _repeat(self, step: RepeatStep) -> None:
        self.steps(step.steps)
        if step.times == 1:
            return
        before = {ph_id: (Counter(t.gaps), t.since, t.made) for ph_id, t in self.of.items()}
        self.steps(step.steps)
        for ph_id, (gaps, since, made) in before.items():
            tally, more = self.of[ph_id], step.times - 2
            added = tally.gaps - gaps
            for gap, n in added.items():
                tally.gaps[gap] += n * more
            if not added:  # else as many as behind the last sync of the second time
                tally.since += (tally.since - since) * more
            tally.made += (tally.made - made) * more

    def _data(self, step: DataStep) -> None:
        n = self._written(step)
        if n:
            tally = self.of[step.ph_id]
            tally.since += n
            tally.made += n
            self._last[self._file[step.ph_id]] = step.ph_id

    def _written(self, step: DataStep) -> int:
        """How many of a step's operations write."""
        pattern = self._writes[step.ph_id]
        if not step.single:
            return step.n * sum(pattern)
        first = self._done[step.ph_id]
        self._done[step.ph_id] += step.n
        whole, rest = divmod(step.n, len(pattern))
        return whole * sum(pattern) + sum(pattern[(first + i) % len(pattern)] for i in range(rest))

    def _sync(self, step: FileStep) -> None:
        self.synced.add(step.file_id)
        ph_id = self._last.get(step.file_id)
        if ph_id is None:
            return
        tally = self.of[ph_id]
        tally.gaps[tally.since] += 1
        tally.names.add(step.iop_type)
        tally.since = 0
