"""Inside a job: one measurement on the job's nodes. Reads a task folder and leaves the result there."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from pathlib import Path

from wavetank.campaign.slurm.allocation import allocated_cluster, open_folder
from wavetank.campaign.slurm.task import Task, TaskFolder
from wavetank.cluster.deployed import DeployedCluster
from wavetank.document import write_whole
from wavetank.errors import WavetankError
from wavetank.kernel.document.kernel import Kernel
from wavetank.kernel.lowering.kernel_hash import kernel_hash
from wavetank.launchers.registry import launcher
from wavetank.measure.benchmarks import performer_of
from wavetank.measure.disturbance import MachineWatch
from wavetank.measure.perform import ReplayPerformer, campaign_options, raw_of
from wavetank.measure.run import Bench, Performer, kernel_folder, measure, set_up


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
        options=campaign_options(flush=task.flush, pauses=task.pauses), scratch=folder.path
    )
    if task.program != "replay":
        performer = performer_of(task.program, cluster, flush=task.flush)
    bench = _bench(task, cluster)
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


def _bench(task: Task, cluster: DeployedCluster) -> Bench:
    """The kernel with its input files, which an earlier job of the campaign may have placed."""
    kernel = Kernel.read(task.kernel)
    digest = kernel_hash(kernel)
    remembered = task.placements / f"{cluster.name}.{digest[:16]}.json"
    where = f"{cluster.mount_path}/{kernel_folder(digest)}"
    if remembered.is_file():
        placed = json.loads(remembered.read_text())
        if placed["root"] == where and _is_there(cluster, where):
            return Bench(kernel, digest, cluster, kernel_folder(digest), placed["placement"])
    bench = set_up(kernel, cluster)
    body = {"root": where, "placement": bench.file_placement}
    write_whole(remembered, json.dumps(body))
    return bench


def _is_there(cluster: DeployedCluster, folder: str) -> bool:
    try:
        cluster.compute_hosts[0].run(["test", "-d", folder])
    except WavetankError:
        return False
    return True
