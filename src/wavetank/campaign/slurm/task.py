"""What a job is told and what it leaves: a folder on a file system that all nodes see.

``task.json`` goes in; ``measurement.json`` or ``failure.txt`` comes out, and ``raw-stdout`` and
``raw-stderr`` of the replay. Each is written whole, so that a killed job leaves no half of one.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from wavetank.campaign.store import Key
from wavetank.cluster.spec import ClusterSpec
from wavetank.document import Record, explain, read_text, write_whole
from wavetank.errors import DocumentError, MeasurementError
from wavetank.kernel.execution.pauses import Pauses
from wavetank.measure.benchmarks import Program
from wavetank.measure.perform import RawOutput
from wavetank.measure.result import Measurement


class Task(Record):
    """One measurement, for a job."""

    application: str
    kernel: Path
    cluster: ClusterSpec
    program: Program = "replay"
    mapping: str
    cache: Literal["cold", "warm"]
    flush: bool = True
    pauses: Pauses = "drop"
    verify: bool = False
    repetition: int
    order: int
    seed: int


def task_id(key: Key) -> str:
    """A short name of a measurement, the same in every run of the campaign."""
    return hashlib.sha256(repr(key).encode()).hexdigest()[:16]


class TaskFolder:
    """Where a job finds its task and leaves its result."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def prepare(self, task: Task) -> None:
        """Make the folder for a new attempt.

        Raises:
            DocumentError: it cannot be made.
        """
        self.discard()
        try:
            self.path.mkdir(parents=True)
        except OSError as error:
            raise DocumentError(f"cannot make {self.path}: {error.strerror}") from error
        write_whole(self.path / "task.json", task.model_dump_json())

    def task(self) -> Task:
        """What is to be done.

        Raises:
            MeasurementError: there is no task here, or it is damaged.
        """
        text = read_text(self.path / "task.json", "task", MeasurementError)
        try:
            return Task.model_validate_json(text)
        except ValidationError as error:
            raise MeasurementError(f"task {self.path} is damaged: {explain(error)}") from error

    def leave(self, measurement: Measurement, raw: RawOutput | None, spent_s: float) -> None:
        """Leave a result; the measurement last: where it is, all of it is there."""
        if raw is not None:
            write_whole(self.path / "raw-stdout", raw.stdout)
            write_whole(self.path / "raw-stderr", raw.stderr)
        write_whole(self.path / "spent.json", json.dumps(spent_s))
        measurement.write(self.path / "measurement.json")

    def leave_failure(self, reason: str) -> None:
        """Leave the reason of a failure."""
        write_whole(self.path / "failure.txt", reason)

    def has_result(self) -> bool:
        """Whether the job finished its measurement."""
        return (self.path / "measurement.json").is_file()

    def result(self) -> tuple[Measurement, RawOutput | None, float]:
        """Measurement, raw output and wall time of a finished task.

        Raises:
            MeasurementError: what the job left is damaged.
        """
        measurement = Measurement.read(self.path / "measurement.json")
        stdout, stderr = self.path / "raw-stdout", self.path / "raw-stderr"
        raw = None
        if stdout.is_file() and stderr.is_file():
            raw = RawOutput(stdout.read_text(), stderr.read_text())
        try:
            spent_s = float(json.loads((self.path / "spent.json").read_text()))
        except (OSError, ValueError) as error:
            raise MeasurementError(f"task {self.path} left no wall time: {error}") from error
        return measurement, raw, spent_s

    def failure(self) -> str | None:
        """Why the job's program failed; None when it did not say."""
        try:
            return (self.path / "failure.txt").read_text(errors="replace").strip() or None
        except OSError:
            return None

    def last_words(self) -> str:
        """The end of what the job wrote to standard error."""
        try:
            text = (self.path / "stderr").read_text(errors="replace")
        except OSError:
            return (
                "it wrote nothing; is the campaign's folder on a file system that the nodes share?"
            )
        lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
        return " | ".join(lines[-4:])[-800:] or "it wrote nothing to standard error"

    def discard(self) -> None:
        """Remove the folder and what is in it."""
        shutil.rmtree(self.path, ignore_errors=True)
