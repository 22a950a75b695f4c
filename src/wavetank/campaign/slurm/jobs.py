"""A campaign's jobs: their names, their folders, what is submitted for a measurement."""

from __future__ import annotations

import hashlib
import math
import shlex
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from wavetank.campaign.plan import Run
from wavetank.campaign.progress import CampaignProgress
from wavetank.campaign.slurm.queue import Queue, Submission
from wavetank.campaign.slurm.task import Task, TaskFolder, task_id
from wavetank.campaign.store import Key
from wavetank.cluster.spec import ClusterSpec

JOBS = "jobs"
"""Folder of the campaign's folder with a folder for each job that is under way."""
TIME_FACTOR, TIME_MINIMUM_MIN = 10, 10
"""Default time limit of a job: ten times what it is expected to take, ten minutes at least."""


@dataclass(frozen=True)
class Patience:
    """Times, so that a test need not wait."""

    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic


@dataclass
class QueuedCampaign:
    """A campaign in the queue."""

    progress: CampaignProgress
    queue: Queue
    specs: dict[str, ClusterSpec]
    options: tuple[str, ...]
    patience: Patience
    under_way: dict[str, tuple[Run, str]] = field(default_factory=dict)  # task -> (run, job)
    set_aside: set[Key] = field(default_factory=set)  # failed, given up or not affordable
    gone_since: dict[str, float] = field(default_factory=dict)  # task -> when it left the queue
    announced: set[str] = field(default_factory=set)

    @property
    def name(self) -> str:
        """Of all jobs of this campaign, and of no others."""
        folder = self.progress.store.folder.resolve()
        mark = hashlib.sha256(str(folder).encode()).hexdigest()[:8]
        return f"wavetank-{self.progress.spec.name}-{mark}"

    def folder(self, run: Run) -> TaskFolder:
        """Of a measurement's job."""
        return TaskFolder(self.progress.store.folder.resolve() / JOBS / task_id(run.key))

    def waits(self, run: Run) -> bool:
        """Whether a measurement is to be submitted now."""
        return (
            not self.progress.is_over(run)
            and self.progress.strategy.is_ready(run)
            and run.key not in self.set_aside
            and task_id(run.key) not in self.under_way
        )


def submission_of(slurm: QueuedCampaign, run: Run) -> Submission:
    """The job of a measurement, with its task in its folder.

    Raises:
        DocumentError: the folder cannot be made.
    """
    progress, spec = slurm.progress, slurm.specs[run.cluster]
    folder = slurm.folder(run)
    folder.prepare(
        Task(
            application=run.application,
            kernel=progress.store.kernel_path(run.application).resolve(),
            cluster=spec,
            program=progress.plan.application(run.application).program,
            mapping=run.mapping,
            cache=progress.spec.cache,
            flush=progress.spec.flush,
            pauses=progress.spec.pauses,
            repetition=run.repetition,
            order=run.order,
            seed=progress.spec.seed,
            placements=folder.path.parent,
        )
    )
    minutes = math.ceil(TIME_FACTOR * progress.expected_s(run) / 60)
    return Submission(
        task=task_id(run.key),
        name=slurm.name,
        folder=str(folder.path),
        n_nodes=len(spec.node_names()),
        minutes=max(minutes, TIME_MINIMUM_MIN),
        script=job_script(folder.path),
        options=slurm.options,
    )


def job_script(folder: Path) -> str:
    """The script of a job: this very installation of wavetank, on the task folder."""
    return (
        "#!/bin/sh\n"
        f"exec {shlex.quote(sys.executable)} -m wavetank campaign job {shlex.quote(str(folder))}\n"
    )
