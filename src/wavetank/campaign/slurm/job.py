"""Inside a job: one measurement on the job's nodes. Reads a task folder and leaves the result there."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path

from wavetank.campaign.slurm.allocation import allocated_cluster, open_folder
from wavetank.campaign.slurm.task import Task, TaskFolder
from wavetank.errors import WavetankError
from wavetank.kernel.document.kernel import Kernel
from wavetank.launchers.registry import launcher
from wavetank.measure.benchmarks import performer_of
from wavetank.measure.disturbance import MachineWatch
from wavetank.measure.perform import ReplayPerformer, campaign_options, raw_of
from wavetank.measure.run import Performer, measure, set_up


def perform_task(path: Path, environment: Mapping[str, str]) -> None:
    """Do what a task folder says, in the job of this process.

    Raises:
        WavetankError: it failed; the reason is left in the folder too.
    """
    folder = TaskFolder(path)
    try:
        _perform(folder, folder.task(), environment)
    except WavetankError as error:
        folder.leave_failure(str(error))
        raise


def _perform(folder: TaskFolder, task: Task, environment: Mapping[str, str]) -> None:
    started = time.monotonic()
    cluster = allocated_cluster(task.cluster, environment)
    open_folder(cluster)
    # Rank 0 may run on another node than this: the plan must be where all nodes see it.
    performer: Performer = ReplayPerformer(
        options=campaign_options(flush=task.flush, pauses=task.pauses, verify=task.verify),
        scratch=folder.path,
    )
    if task.program != "replay":
        performer = performer_of(task.program, cluster, flush=task.flush)
    bench = set_up(Kernel.read(task.kernel), cluster)
    measurement = measure(
        bench,
        task.mapping,
        performer,
        repetition=task.repetition,
        order=task.order,
        cache=task.cache,
        seed=task.seed,
        watch=MachineWatch(),
    )
    slurm = {"slurm": launcher("srun").available() or "unknown"}
    measurement = measurement.model_copy(
        update={
            "application": task.application,
            "versions": {**measurement.versions, **slurm},
        }
    )
    folder.leave(measurement, raw_of(performer), time.monotonic() - started)
