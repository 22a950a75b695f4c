"""A campaign through Slurm: one job a measurement, one at a time, results collected as jobs end.

The queue is the memory of what is under way: a campaign that is killed finds its jobs there again,
and what they left in the campaign's folder. Interrupted by Ctrl-C it cancels them.
"""

from __future__ import annotations

import hashlib
import math
import shlex
import shutil
import sys
import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from wavetank.campaign.executor import Ended, Observer, Outcome, Site, execute
from wavetank.campaign.plan import Plan, Run, expected_s
from wavetank.campaign.slurm.allocation import remove_folder
from wavetank.campaign.slurm.queue import Queue, QueuedJob, SlurmUnreachableError, Submission
from wavetank.campaign.slurm.task import Task, TaskFolder, task_id
from wavetank.campaign.spec import CampaignSpec
from wavetank.campaign.store import Store
from wavetank.campaign.work import CampaignWork, Made
from wavetank.cluster.interrupts import held_back
from wavetank.cluster.spec import ClusterSpec
from wavetank.cost.prices import PriceTable
from wavetank.errors import MeasurementError, WavetankError

JOBS = "jobs"
"""Subdirectory of the results directory; holds one directory per running job."""
MOST_QUEUED = 50
"""Jobs of the campaign in the queue at once: sites limit them, and controllers work for others too."""
LOOK_S = (1.0, 30.0)
"""Between looks at the queue: shortest, and longest when nothing changes."""
LATE_FILE_S = 60.0
"""A job's files may be seen late by other hosts of a network file system (NFS: up to 60 s)."""
UNREACHABLE_S = 600.0
"""How long a controller may be away (restart, failover) before the campaign stops waiting."""
ENDING_S = 60.0
"""For cancelled jobs to leave the queue; Slurm's KillWait is 30 s unless configured."""
TIME_FACTOR, TIME_MINIMUM_MIN = 10, 10
"""Default time limit of a job: ten times what it is expected to take, ten minutes at least."""


@dataclass(frozen=True)
class Patience:
    """Times, so that a test need not wait."""

    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic


def run_on_slurm(
    spec: CampaignSpec,
    plan: Plan,
    store: Store,
    *,
    clusters: Sequence[ClusterSpec],
    queue: Queue,
    observer: Observer,
    options: Sequence[str] = (),
    prices: PriceTable | None = None,
    fresh: bool = False,
    patience: Patience | None = None,
) -> Outcome:
    """Measure everything in the plan that is not done yet, by jobs.

    Args:
        spec: of the campaign.
        plan: what to measure; every cluster's file system exists on the nodes.
        store: open for writing, on a file system that the nodes share.
        clusters: specifications of the plan's clusters.
        queue: the batch system.
        observer: is told what happens.
        options: of sbatch, e.g. "--partition=short".
        prices: for a budget in money.
        fresh: jobs of an earlier run are cancelled, not gone on with.
        patience: clock.

    Raises:
        MeasurementError: Slurm refuses every job or does not answer any more; jobs that are in the
            queue then go on, and the next run of the campaign collects them.
    """
    # Other work on the nodes is the site's business: it is recorded, and nothing is made again for it.
    spec = spec.model_copy(update={"repeat_disturbed": 0})
    store.forget_failures()
    work = CampaignWork(spec, plan, store, observer, prices)
    site = _Slurm(work, queue, clusters, options, patience or Patience())
    if fresh:
        site.forget()
    return execute(work, site, [plan.runs])


@dataclass
class _Job:
    """A job that was submitted."""

    job_id: str
    pending: bool = True
    announced: bool = False
    gone_since: float | None = None  # when it left the queue


class _Slurm(Site[Run, Made]):
    """The queue of a batch system."""

    def __init__(
        self,
        work: CampaignWork,
        queue: Queue,
        clusters: Sequence[ClusterSpec],
        options: Sequence[str],
        patience: Patience,
    ) -> None:
        super().__init__()
        self._work = work
        self._queue = queue
        self._specs = {cluster.name: cluster for cluster in clusters}
        self._options = tuple(options)
        self._patience = patience
        self._jobs: dict[Hashable, _Job] = {}  # of what is under way
        self._is_full = False  # by the site's limit
        self._wait_s = LOOK_S[0]
        self._folder = work.store.folder.resolve()
        self._name = job_name(work.spec, self._folder)

    def forget(self) -> None:
        """Cancel what an earlier run left in the queue, and remove what its jobs made.

        Raises:
            MeasurementError: the jobs do not end.
        """
        self._queue.cancel([job.job_id for job in self._queue.jobs(self._name)])
        if not self._all_end():
            raise MeasurementError("jobs of an earlier run do not end; run the same command again")
        self._clean_up()

    @contextmanager
    def open(self) -> Iterator[None]:
        """Go on with the jobs of an earlier run; after the context nothing is left of any."""
        self._adopt()
        try:
            yield
        except SlurmUnreachableError:
            raise  # the jobs go on, and are found the next time
        except BaseException:
            self._cancel_all()
            raise
        self._clean_up()

    def has_room(self) -> bool:
        return len(self.under_way) < MOST_QUEUED and not self._is_full

    def start(self, run: Run) -> None:
        try:
            # The number of a job that is in the queue must be known: an interruption cancels jobs by it.
            with held_back("submitting a job"):
                self._put(run, self._queue.submit(self._submission(run)))
        except SlurmUnreachableError:
            raise
        except WavetankError as error:
            self._task(run).discard()
            self._is_full = bool(self.under_way) and "limit" in str(error).lower()
            if not self._is_full:
                raise

    def ended(self) -> Iterator[Ended[Run, Made]]:
        self._patience.sleep(self._wait_s)
        self._is_full = False
        queued = {job.task: job for job in self._patiently()}
        self._wait_s = min(2 * self._wait_s, LOOK_S[1])
        for run in list(self.under_way.values()):
            job, there = self._jobs.get(run.key), queued.get(task_id(run.key))
            if job is None:  # given up while others were looked at
                continue
            if there is None:
                ended = self._end_of(run, job)
                if ended is not None:
                    self._wait_s = LOOK_S[0]
                    yield ended
                continue
            job.gone_since, job.pending = None, there.state == "PENDING"
            if there.state == "RUNNING" and not job.announced:
                job.announced = True
                self._work.observer.says(
                    f"job {job.job_id} is measuring {self._work.announcement(run)}"
                )

    def close(self, cluster: str) -> None:
        runs = [run for run in self.under_way.values() if run.cluster == cluster]
        self._queue.cancel([self._jobs[run.key].job_id for run in runs])
        for run in runs:
            self._take_off(run)
            self._task(run).discard()

    def release(self) -> None:
        over = self._work.strategy.not_needed
        self._queue.cancel(
            {job.job_id for key, job in self._jobs.items() if job.pending and key in over}
        )

    def _put(self, run: Run, job_id: str) -> None:
        self.under_way[run.key] = run
        self._jobs[run.key] = _Job(job_id)

    def _take_off(self, run: Run) -> None:
        del self.under_way[run.key], self._jobs[run.key]

    def _task(self, run: Run) -> TaskFolder:
        return TaskFolder(self._folder / JOBS / task_id(run.key))

    def _adopt(self) -> None:
        """Find what a run that was killed left: results in folders, jobs in the queue."""
        by_task = {task_id(run.key): run for run in self._work.runs}
        unknown = []
        for job in self._queue.jobs(self._name):
            run = by_task.get(job.task)
            if run is None:
                unknown.append(job.job_id)  # left the campaign file since
            else:
                self._put(run, job.job_id)
        self._queue.cancel(unknown)
        if self.under_way:
            self._work.observer.says(
                f"{len(self.under_way)} jobs of an earlier run are in the queue: going on with them"
            )
        for run in self._work.runs:
            if self._work.is_over(run):
                self._task(run).discard()
            elif run.key not in self.under_way and self._task(run).has_result():
                self._work.take(self._collected(run))

    def _patiently(self) -> list[QueuedJob]:
        """The queue, also when the controller is away for some minutes.

        Raises:
            SlurmUnreachableError: it stays away.
        """
        since = self._patience.clock()
        while True:
            try:
                return self._queue.jobs(self._name)
            except SlurmUnreachableError as error:
                if self._patience.clock() - since > UNREACHABLE_S:
                    raise SlurmUnreachableError(
                        f"{error}. {len(self.under_way)} jobs may still run; run the same command "
                        "again to collect their results"
                    ) from error
                self._work.observer.says(f"waiting for Slurm: {error}")
                self._patience.sleep(LOOK_S[1])

    def _end_of(self, run: Run, job: _Job) -> Ended[Run, Made] | None:
        """What a job left that is not in the queue any more; None while more of it may come."""
        folder = self._task(run)
        if folder.has_result():
            self._take_off(run)
            return self._collected(run)
        end, now = self._queue.end_of(job.job_id), self._patience.clock()
        if job.gone_since is None:
            job.gone_since = now
        if "COMPLETED" in end and now - job.gone_since < LATE_FILE_S:
            return None
        self._take_off(run)
        said = folder.failure() or folder.last_words()
        folder.discard()
        return Ended(run, error=MeasurementError(f"Slurm job {job.job_id} {end}: {said}"))

    def _collected(self, run: Run) -> Ended[Run, Made]:
        """The result that a job left; its folder is kept until the result is in the store."""
        folder = self._task(run)
        try:
            measurement, raw, spent_s = folder.result()
        except WavetankError as error:
            folder.discard()
            return Ended(run, error=error)
        return Ended(run, Made(measurement, spent_s, raw))

    def _all_end(self) -> bool:
        """Wait until no job of the campaign is in the queue; says whether that was so in time."""
        until = self._patience.clock() + ENDING_S
        while self._queue.jobs(self._name):
            if self._patience.clock() > until:
                return False
            self._patience.sleep(LOOK_S[0])
        return True

    def _cancel_all(self) -> None:
        """Take all jobs out of the queue, and then what they left on the mounted file systems."""
        if self.under_way:
            self._work.observer.says(f"cancelling {len(self.under_way)} jobs")
        self._queue.cancel([job.job_id for job in self._jobs.values()])
        if not self._all_end():
            self._work.observer.says(
                "jobs are still ending: their files stay, and the next run removes them"
            )
            return
        for run in self.under_way.values():
            if self._task(run).has_result():
                self._work.take(self._collected(run))
        self._clean_up()

    def _clean_up(self) -> None:
        """Remove the campaign's files from every cluster's file system, and the folders of its jobs."""
        for name, spec in self._specs.items():
            try:
                remove_folder(spec)
            except WavetankError as error:
                self._work.observer.says(f"files of {name} are left: {error}")
        shutil.rmtree(self._folder / JOBS, ignore_errors=True)

    def _submission(self, run: Run) -> Submission:
        """The job of a measurement, with its task in its folder.

        Raises:
            DocumentError: the folder cannot be made.
        """
        work, spec, folder = self._work, self._specs[run.cluster], self._task(run)
        folder.prepare(
            Task(
                application=run.application,
                kernel=work.store.kernel_path(run.application).resolve(),
                cluster=spec,
                program=work.plan.application(run.application).program,
                mapping=run.mapping,
                cache=work.spec.cache,
                flush=work.spec.flush,
                pauses=work.spec.pauses,
                verify=work.spec.verify,
                repetition=run.repetition,
                order=run.order,
                seed=work.spec.seed,
            )
        )
        return _job(run, spec, folder.path, self._name, work.expected_s(run), self._options)


def job_name(spec: CampaignSpec, folder: Path) -> str:
    """Of all jobs of the campaign whose results a folder holds, and of no others."""
    mark = hashlib.sha256(str(folder.resolve()).encode()).hexdigest()[:8]
    return f"wavetank-{spec.name}-{mark}"


def _job(
    run: Run,
    cluster: ClusterSpec,
    folder: Path,
    name: str,
    expected_s: float,
    options: Sequence[str],
) -> Submission:
    minutes = math.ceil(TIME_FACTOR * expected_s / 60)
    return Submission(
        task=task_id(run.key),
        name=name,
        folder=str(folder),
        n_nodes=len(cluster.node_names()),
        minutes=max(minutes, TIME_MINIMUM_MIN),
        script=job_script(folder),
        options=tuple(options),
    )


def first_job(
    spec: CampaignSpec, plan: Plan, clusters: Sequence[ClusterSpec], folder: Path
) -> Submission:
    """The job that a campaign would submit first, to be looked at.

    Args:
        spec: of the campaign.
        plan: with a run at least.
        clusters: specifications of the plan's clusters.
        folder: of the results.
    """
    run = plan.runs[0]
    cluster = next(each for each in clusters if each.name == run.cluster)
    where = folder.resolve() / JOBS / task_id(run.key)
    seconds = expected_s(plan.application(run.application), ())
    return _job(run, cluster, where, job_name(spec, folder), seconds, spec.sbatch_options)


def job_script(folder: Path) -> str:
    """The script of a job: this very installation of wavetank, on the task folder."""
    return (
        "#!/bin/sh\n"
        f"exec {shlex.quote(sys.executable)} -m wavetank job {shlex.quote(str(folder))}\n"
    )
