"""A campaign through Slurm: one job a measurement, one at a time, results collected as jobs end.

The queue is the memory of what is under way: a campaign that is killed finds its jobs there again,
and what they left in the campaign's folder. Interrupted by Ctrl-C it cancels them.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence

from wavetank.campaign.plan import Plan, Run
from wavetank.campaign.progress import Observer, Outcome, announcement, begin
from wavetank.campaign.slurm.allocation import remove_folder
from wavetank.campaign.slurm.jobs import JOBS, Patience, QueuedCampaign, submission_of
from wavetank.campaign.slurm.queue import (
    Queue,
    QueuedJob,
    SlurmUnreachableError,
)
from wavetank.campaign.slurm.task import task_id
from wavetank.campaign.spec import CampaignSpec
from wavetank.campaign.store import Store
from wavetank.cluster.interrupts import held_back
from wavetank.cluster.spec import ClusterSpec
from wavetank.cost.prices import PriceTable
from wavetank.errors import MeasurementError, WavetankError

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
    progress = begin(spec, plan, store, observer, prices)
    slurm = QueuedCampaign(
        progress=progress,
        queue=queue,
        specs={cluster.name: cluster for cluster in clusters},
        options=tuple(options),
        patience=patience or Patience(),
    )
    runs = list(plan.runs)
    if fresh:
        _forget(slurm)
    _adopt(slurm, runs)
    try:
        _work(slurm, runs)
    except SlurmUnreachableError:
        raise  # the jobs go on, and are found the next time
    except BaseException:
        _cancel_all(slurm)
        raise
    _clean_up(slurm)
    return progress.end()


def _forget(slurm: QueuedCampaign) -> None:
    """Cancel what an earlier run left in the queue, and remove what its jobs made.

    Raises:
        MeasurementError: the jobs do not end.
    """
    slurm.queue.cancel([job.job_id for job in slurm.queue.jobs(slurm.name)])
    if not _ends(slurm):
        raise MeasurementError("jobs of an earlier run do not end; run the same command again")
    _clean_up(slurm)


def _ends(slurm: QueuedCampaign) -> bool:
    """Wait until no job of the campaign is in the queue; says whether that was so in time."""
    until = slurm.patience.clock() + ENDING_S
    while slurm.queue.jobs(slurm.name):
        if slurm.patience.clock() > until:
            return False
        slurm.patience.sleep(LOOK_S[0])
    return True


def _adopt(slurm: QueuedCampaign, runs: Sequence[Run]) -> None:
    """Find what a run that was killed left: results in folders, jobs in the queue."""
    by_task = {task_id(run.key): run for run in runs}
    unknown = []
    for job in slurm.queue.jobs(slurm.name):
        run = by_task.get(job.task)
        if run is None:
            unknown.append(job.job_id)  # left the campaign file since
        else:
            slurm.under_way[job.task] = (run, job.job_id)
    slurm.queue.cancel(unknown)
    if slurm.under_way:
        slurm.progress.observer.says(
            f"{len(slurm.under_way)} jobs of an earlier run are in the queue: going on with them"
        )
    for run in runs:
        if slurm.progress.is_over(run):
            slurm.folder(run).discard()
        elif task_id(run.key) not in slurm.under_way and slurm.folder(run).has_result():
            _collect(slurm, run)


def _work(slurm: QueuedCampaign, runs: Sequence[Run]) -> None:
    wait_s = LOOK_S[0]
    while True:
        _submit(slurm, runs)
        if not slurm.under_way:
            return
        slurm.patience.sleep(wait_s)
        changed = _look(slurm)
        wait_s = LOOK_S[0] if changed else min(2 * wait_s, LOOK_S[1])


def _submit(slurm: QueuedCampaign, runs: Sequence[Run]) -> None:
    """Put what waits into the queue, as far as budget and queue allow."""
    progress = slurm.progress
    for run in runs:
        if not slurm.waits(run):
            continue
        if len(slurm.under_way) >= MOST_QUEUED:
            return
        queued_s = sum(progress.expected_s(other) for other, _ in slurm.under_way.values())
        if not _affordable(slurm, run, runs, queued_s):
            continue
        try:
            # The number of a job that is in the queue must be known: an interruption cancels jobs by it.
            with held_back("submitting a job"):
                job_id = slurm.queue.submit(submission_of(slurm, run))
                slurm.under_way[task_id(run.key)] = (run, job_id)
        except SlurmUnreachableError:
            raise
        except WavetankError as error:
            slurm.folder(run).discard()
            if slurm.under_way and "limit" in str(error).lower():
                return  # the site's limit of jobs: go on when some have ended
            _failed(slurm, run, error)


def _affordable(slurm: QueuedCampaign, run: Run, runs: Sequence[Run], queued_s: float) -> bool:
    """Whether the budget allows one more job; when it never will, what is left is set aside."""
    progress = slurm.progress
    if progress.spec.budget is None:
        return True
    cluster = progress.plan.cluster(run.cluster)
    needed_s = queued_s + progress.expected_s(run)
    if progress.spending.refuses(progress.store, needed_s, cluster) is None:
        return True
    if slurm.under_way:
        return False  # what is under way may take less than expected
    rest = [each for each in runs if each.cluster == run.cluster and slurm.waits(each)]
    progress.afford(rest, needed_s)
    slurm.set_aside.update(each.key for each in rest)
    return False


def _look(slurm: QueuedCampaign) -> bool:
    """Collect what has ended; says whether anything changed."""
    queued = {job.task: job for job in _patiently(slurm)}
    changed = False
    for task, (run, job_id) in list(slurm.under_way.items()):
        job = queued.get(task)
        if job is not None:
            slurm.gone_since.pop(task, None)
            if job.state == "RUNNING" and task not in slurm.announced:
                slurm.announced.add(task)
                slurm.progress.observer.says(
                    f"job {job_id} is measuring {announcement(slurm.progress, run)}"
                )
            continue
        changed |= _ended(slurm, task, run, job_id)
    needless = {
        job_id
        for task, (run, job_id) in slurm.under_way.items()
        if run.key in slurm.progress.strategy.not_needed
        and queued.get(task, _NONE).state == "PENDING"
    }
    slurm.queue.cancel(needless)
    return changed


_NONE = QueuedJob("", "", "")


def _patiently(slurm: QueuedCampaign) -> list[QueuedJob]:
    """The queue, also when the controller is away for some minutes.

    Raises:
        SlurmUnreachableError: it stays away.
    """
    clock = slurm.patience.clock
    since = clock()
    while True:
        try:
            return slurm.queue.jobs(slurm.name)
        except SlurmUnreachableError as error:
            if clock() - since > UNREACHABLE_S:
                raise SlurmUnreachableError(
                    f"{error}. {len(slurm.under_way)} jobs may still run; run the same command "
                    "again to collect their results"
                ) from error
            slurm.progress.observer.says(f"waiting for Slurm: {error}")
            slurm.patience.sleep(LOOK_S[1])


def _ended(slurm: QueuedCampaign, task: str, run: Run, job_id: str) -> bool:
    """Take what a job left that is not in the queue any more; says whether it is dealt with."""
    folder = slurm.folder(run)
    if folder.has_result():
        del slurm.under_way[task]
        _collect(slurm, run)
        return True
    end = slurm.queue.end_of(job_id)
    since = slurm.gone_since.setdefault(task, slurm.patience.clock())
    if "COMPLETED" in end and slurm.patience.clock() - since < LATE_FILE_S:
        return False
    del slurm.under_way[task]
    if slurm.progress.is_over(run):  # cancelled because it was not needed any more
        folder.discard()
        return True
    said = folder.failure() or folder.last_words()
    error = MeasurementError(f"Slurm job {job_id} {end}: {said}")
    folder.discard()
    _failed(slurm, run, error)
    return True


def _collect(slurm: QueuedCampaign, run: Run) -> None:
    folder = slurm.folder(run)
    try:
        measurement, raw, spent_s = folder.result()
    except WavetankError as error:
        folder.discard()
        _failed(slurm, run, error)
        return
    slurm.progress.keep(run, measurement, spent_s, raw)
    folder.discard()


def _failed(slurm: QueuedCampaign, run: Run, error: WavetankError) -> None:
    """Record a failure; after several in a row all that is left on its cluster is given up."""
    slurm.set_aside.add(run.key)
    if not slurm.progress.record_failure(run, error):
        return
    queued = {
        task: job_id
        for task, (each, job_id) in slurm.under_way.items()
        if each.cluster == run.cluster
    }
    slurm.queue.cancel(queued.values())
    for task in queued:
        slurm.folder(slurm.under_way.pop(task)[0]).discard()
    rest = [each for each in slurm.progress.plan.runs_on(run.cluster) if slurm.waits(each)]
    slurm.set_aside.update(each.key for each in rest)
    slurm.progress.give_up(rest)


def _cancel_all(slurm: QueuedCampaign) -> None:
    """Take all jobs out of the queue, and then what they left on the mounted file systems."""
    if slurm.under_way:
        slurm.progress.observer.says(f"cancelling {len(slurm.under_way)} jobs")
    slurm.queue.cancel([job_id for _, job_id in slurm.under_way.values()])
    if not _ends(slurm):
        slurm.progress.observer.says(
            "jobs are still ending: their files stay, and the next run removes them"
        )
        return
    for run, _ in slurm.under_way.values():
        if slurm.folder(run).has_result():
            _collect(slurm, run)
    _clean_up(slurm)


def _clean_up(slurm: QueuedCampaign) -> None:
    """Remove the campaign's files from every cluster's file system, and the folders of its jobs."""
    for name, spec in slurm.specs.items():
        try:
            remove_folder(spec)
        except WavetankError as error:
            slurm.progress.observer.says(f"files of {name} are left: {error}")
    shutil.rmtree(slurm.progress.store.folder / JOBS, ignore_errors=True)
