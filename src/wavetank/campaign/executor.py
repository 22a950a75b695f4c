"""The one loop that makes measurements: on clusters that come up here, by jobs of Slurm, or with groups of clients.

A ``Work`` knows what is left and keeps what comes of it. A ``Site`` is where it is done.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Hashable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from wavetank.campaign.facts import ClusterFacts
from wavetank.campaign.store import Failure, Store
from wavetank.campaign.strategy import RunT, Strategy
from wavetank.errors import ClusterError, MeasurementError, WavetankError

GIVE_UP_AFTER = 3
"""Failures in a row after which a cluster is given up: it is broken, not unlucky."""


ResultT = TypeVar("ResultT")


class Observer(Protocol):
    """Is told what happens, for progress."""

    def says(self, text: str) -> None:
        """A sentence on what is happening."""

    def at(self, n_done: int, n_runs: int, remaining_s: float) -> None:
        """How far the campaign is."""


@dataclass(frozen=True)
class Outcome:
    """How a campaign ended.

    Attributes:
        n_measured, n_failed, n_not_afforded: measurements.
        not_down: clusters that could not be taken down.
    """

    n_measured: int
    n_failed: int
    n_not_afforded: int
    not_down: tuple[str, ...] = ()


@dataclass(frozen=True)
class Ended(Generic[RunT, ResultT]):
    """A measurement that ended, with its result or why there is none.

    Attributes:
        lost: findings on nodes of its cluster that are gone, where it may have failed for that.
    """

    run: RunT
    result: ResultT | None = None
    error: WavetankError | None = None
    lost: Sequence[str] = ()


class SiteLostError(MeasurementError):
    """The place where measurements are made does not answer any more; what is under way there goes on."""


@dataclass
class Work(Generic[RunT, ResultT]):
    """What is to be measured, and what became of it.

    Attributes:
        store: open for writing.
        observer: is told what happens.
        strategy: which measurement is next.
        done: keys of those that are finished, of earlier runs too.
        failed: keys of those that are not tried again now.
        closed: clusters that are not tried any more.
    """

    store: Store
    observer: Observer
    strategy: Strategy[RunT]
    done: set[Hashable]
    failed: set[Hashable] = field(default_factory=set)
    closed: set[str] = field(default_factory=set)
    n_measured: int = 0
    n_failed: int = 0
    n_not_afforded: int = 0
    _in_a_row: dict[str, int] = field(default_factory=dict)  # failures, by cluster

    @property
    def runs(self) -> Sequence[RunT]:
        """All that may be made, in their order."""
        raise NotImplementedError

    def keep(self, run: RunT, result: ResultT) -> bool:
        """Store a result; False where it is not kept, because the measurement is made again."""
        raise NotImplementedError

    def progress(self) -> tuple[int, int, float]:
        """Measurements that are done, those of the plan, and the wall time that the rest takes."""
        raise NotImplementedError

    def why_not_afforded(
        self, run: RunT, beside: Collection[RunT], up_s: float = 0.0
    ) -> str | None:
        """Why the budget does not allow a measurement; None when it does.

        Args:
            run: that would be made.
            beside: those that are under way.
            up_s: wall time that its cluster takes to come up first.
        """
        return None

    def miss(self, run: RunT) -> None:
        """Go on without a measurement that failed; it is tried again the next time."""

    def is_over(self, run: RunT) -> bool:
        """Whether a measurement is finished or not needed any more."""
        return run.key in self.done or run.key in self.strategy.not_needed

    def left_on(self, cluster: str) -> list[RunT]:
        """What is still to be measured on a cluster."""
        return [
            run
            for run in self.runs
            if run.cluster == cluster and not self.is_over(run) and run.key not in self.failed
        ]

    def next(self, runs: Iterable[RunT], under_way: Collection[Hashable] = ()) -> RunT | None:
        """The measurement that is made next; None where none can be made now. ``under_way``: keys."""
        taken = self.done | self.failed | set(under_way)
        return self.strategy.next((run for run in runs if run.cluster not in self.closed), taken)

    def record_failure(self, run: RunT, reason: str) -> None:
        """Record why a measurement failed."""
        self.n_failed += 1
        self.failed.add(run.key)
        self.miss(run)
        self._add_failure(run, reason)

    def close(self, cluster: str, reason: str, *, afforded: bool = True) -> None:
        """Leave out what is left on a cluster.

        Args:
            cluster: its name.
            reason: for the results.
            afforded: False: the budget is the reason, and not a failure.
        """
        self.closed.add(cluster)
        due = [run for run in self.left_on(cluster) if self.strategy.is_ready(run)]
        for run in due:
            if afforded:
                self.record_failure(run, reason)
            else:
                self.n_not_afforded += 1
                self._add_failure(run, reason)
        if due:
            self.observer.says(f"{cluster}: {reason}")

    def take(self, ended: Ended[RunT, ResultT]) -> bool:
        """Keep a result, or record a failure; True where the measurement is to be made again."""
        run, cluster = ended.run, ended.run.cluster
        if ended.result is not None:
            self._in_a_row[cluster] = 0
            if not self.keep(run, ended.result):
                return True
            self.done.add(run.key)
            self.n_measured += 1
            self.observer.at(*self.progress())
        elif not self.is_over(run):  # else it was cancelled because it is not needed any more
            error = str(ended.error)
            reason = "; ".join([error, *(each for each in ended.lost if each not in error)])
            self.record_failure(run, reason)
            self.observer.says(f"failed: {run.label}: {reason}")
            self._in_a_row[cluster] = self._in_a_row.get(cluster, 0) + 1
        return False

    def why_given_up(self, ended: Ended[RunT, ResultT]) -> str | None:
        """Why the cluster of a measurement that ended is not tried any more; None when it is."""
        if ended.lost:
            return f"given up for now, as nodes are gone: {'; '.join(ended.lost)}"
        if self._in_a_row.get(ended.run.cluster, 0) >= GIVE_UP_AFTER:
            return f"given up after {GIVE_UP_AFTER} failures in a row on this cluster"
        return None

    def end(self) -> Outcome:
        """Note that this is the campaign's end; how it ended."""
        self.store.end_invocation(self.n_failed, self.n_not_afforded)
        return Outcome(self.n_measured, self.n_failed, self.n_not_afforded, self.store.leases())

    def _add_failure(self, run: RunT, reason: str) -> None:
        failure = Failure(run.application, run.cluster, run.mapping, reason)
        self.store.add_failure(failure, run.repetition)


class Site(ABC, Generic[RunT, ResultT]):
    """Where measurements are made.

    Attributes:
        under_way: what was started and has not ended, by key.
    """

    def __init__(self) -> None:
        self.under_way: dict[Hashable, RunT] = {}

    @abstractmethod
    def open(self) -> AbstractContextManager[object]:
        """Ready for a turn inside of the context; what is up or under way is ended after it."""

    def to_bring_up(self, runs: Sequence[RunT]) -> Sequence[ClusterFacts]:
        """Clusters that come up before runs are made."""
        return ()

    def bring_up(self, cluster: ClusterFacts) -> None:
        """Bring a cluster up.

        Raises:
            ClusterError: it did not come up.
        """

    @abstractmethod
    def has_room(self) -> bool:
        """Whether a further measurement may be started."""

    @abstractmethod
    def start(self, run: RunT) -> None:
        """Start a measurement, or find that there is no room for it now.

        Raises:
            WavetankError: it cannot be started.
            SiteLostError: none can.
        """

    @abstractmethod
    def ended(self) -> Iterable[Ended[RunT, ResultT]]:
        """Wait, and say what has ended since."""

    @abstractmethod
    def close(self, cluster: str) -> None:
        """End what is up or under way on a cluster."""

    @abstractmethod
    def release(self) -> None:
        """End what is of no use any more."""


def execute(
    work: Work[RunT, ResultT], site: Site[RunT, ResultT], turns: Iterable[Sequence[RunT]]
) -> Outcome:
    """Make all measurements that are left.

    Args:
        work: what is to be measured.
        site: where.
        turns: runs that are made together, in their order.

    Raises:
        MeasurementError: results cannot be stored. What fails on a cluster is recorded, not raised.
    """
    for turn in turns:
        runs = list(turn)
        with site.open():
            for cluster in site.to_bring_up(runs):
                _bring_up(work, site, cluster)
            _start(work, site, runs)
            while site.under_way:
                for ended in site.ended():
                    _settle(work, site, runs, ended)
                site.release()
                _start(work, site, runs)
    return work.end()


def _bring_up(work: Work[RunT, ResultT], site: Site[RunT, ResultT], cluster: ClusterFacts) -> None:
    first = work.left_on(cluster.name)[0]
    reason = work.why_not_afforded(first, (), cluster.expected_up_s)
    if reason is not None:
        work.close(cluster.name, reason, afforded=False)
        return
    try:
        site.bring_up(cluster)
    except ClusterError as error:
        work.close(cluster.name, str(error))


def _start(work: Work[RunT, ResultT], site: Site[RunT, ResultT], runs: list[RunT]) -> None:
    """Start what there is room for and the budget allows."""
    while site.has_room():
        run = work.next(runs, site.under_way)
        if run is None:
            return
        reason = work.why_not_afforded(run, site.under_way.values())
        if reason is not None:
            if site.under_way:  # which may take less than expected
                return
            site.close(run.cluster)
            work.close(run.cluster, reason, afforded=False)
            continue
        try:
            site.start(run)
        except SiteLostError:
            raise
        except WavetankError as error:
            _settle(work, site, runs, Ended(run, error=error))


def _settle(
    work: Work[RunT, ResultT],
    site: Site[RunT, ResultT],
    runs: list[RunT],
    ended: Ended[RunT, ResultT],
) -> None:
    if work.take(ended):
        _put_off(runs, ended.run)
    cluster, reason = ended.run.cluster, work.why_given_up(ended)
    if reason is not None and cluster not in work.closed:
        site.close(cluster)
        work.close(cluster, reason)


def _put_off(runs: list[RunT], run: RunT) -> None:
    """Move a measurement behind all others of its repetition."""
    runs.remove(run)
    later = (place for place, other in enumerate(runs) if other.repetition > run.repetition)
    runs.insert(next(later, len(runs)), run)
