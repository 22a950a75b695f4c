"""Slurm's queue as a campaign sees it: submit, look, ask how a job ended, cancel.

Commands and outputs as of Slurm 22.05; all of them have been the same since 20.11.
"""

from __future__ import annotations

import re
import signal
import subprocess
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

from wavetank.campaign.executor import SiteLostError
from wavetank.errors import MeasurementError

TIMEOUT_S = 60.0
"""A controller under load answers late; one that does not within a minute is not there."""

TAKEN = frozenset(
    (
        "array", "a", "chdir", "D", "comment", "dependency", "d", "error", "e", "input", "i",
        "job-name", "J", "nodes", "N", "output", "o", "parsable", "wait", "W", "wrap", "requeue",
        "no-requeue", "open-mode", "test-only",
    )
)  # fmt: skip
"""Options of sbatch that a campaign sets itself, or that would keep it from finding its results."""


class SlurmUnreachableError(SiteLostError):
    """Slurm does not answer."""


@dataclass(frozen=True)
class Submission:
    """A job to be.

    Attributes:
        task: marks the job in the queue (its comment), so that it is found again.
        name: of the job; jobs of one name run one after another.
        folder: of the task, seen by all nodes; output goes there.
        n_nodes: of the allocation.
        minutes: time limit, unless an option says otherwise.
        script: text of the job script.
        options: of the user, after ours.
    """

    task: str
    name: str
    folder: str
    n_nodes: int
    minutes: int
    script: str
    options: tuple[str, ...]

    def arguments(self) -> list[str]:
        """Options of sbatch."""
        output = self.folder.replace("%", "%%")  # Slurm replaces %j and its like
        return [
            f"--job-name={self.name}",
            # Measurements that run at once would measure each other.
            "--dependency=singleton", "--exclusive", f"--comment={self.task}",
            f"--nodes={self.n_nodes}", f"--time={self.minutes}", f"--chdir={self.folder}",
            f"--output={output}/stdout", f"--error={output}/stderr",
            "--no-requeue", "--open-mode=append", *self.options,
        ]  # fmt: skip

    def whole_script(self) -> str:
        """The script with its options in it, as a person would submit it."""
        first, *others = self.script.splitlines()
        return "\n".join([first, *(f"#SBATCH {each}" for each in self.arguments()), *others])


@dataclass(frozen=True)
class QueuedJob:
    """A job that is in the queue: waiting, running or ending."""

    job_id: str
    task: str
    state: str


class Queue(Protocol):
    """A batch system."""

    def submit(self, job: Submission) -> str:
        """Submit a job; returns its number."""

    def jobs(self, name: str) -> list[QueuedJob]:
        """This user's jobs of a name that have not ended."""

    def end_of(self, job_id: str) -> str:
        """How a job ended, in a few words."""

    def cancel(self, job_ids: Collection[str]) -> None:
        """Cancel jobs; those that ended are left alone."""

    def version(self) -> str:
        """Of the batch system."""


class SlurmQueue:
    """Slurm by its command line."""

    def submit(self, job: Submission) -> str:
        """Submit a job; see the protocol.

        Raises:
            MeasurementError: Slurm refuses it.
            SlurmUnreachableError: Slurm does not answer.
        """
        out = _ask(["sbatch", "--parsable", *job.arguments()], stdin=job.script)
        # "17", or "17;cluster" in a federation
        return out.strip().split(";")[0]

    def jobs(self, name: str) -> list[QueuedJob]:
        """Jobs of a name; see the protocol. Sample line: ``17|RUNNING|a3f0c2d4e5f60718``.

        Raises:
            SlurmUnreachableError: Slurm does not answer.
        """
        out = _ask(["squeue", "--me", "--noheader", f"--name={name}", "--format=%i|%T|%k"])
        fields = [line.split("|", 2) for line in out.splitlines() if line.count("|") >= 2]
        return [QueuedJob(job_id, task.strip(), state) for job_id, state, task in fields]

    def end_of(self, job_id: str) -> str:
        """How a job ended; see the protocol.

        The controller forgets jobs after some minutes; the accounting, where there is one, does not.
        """
        # JobId=3 JobName=x ... JobState=TIMEOUT Reason=TimeLimit ... ExitCode=0:15 ...
        try:
            shown = _ask(["scontrol", "show", "job", "--oneliner", job_id])
        except MeasurementError:
            shown = ""
        found = dict(re.findall(r"\b(JobState|Reason|ExitCode)=(\S+)", shown))
        if "JobState" in found:
            return _state_words(found["JobState"], found.get("Reason"), found.get("ExitCode"))
        # TIMEOUT|0:0
        try:
            shown = _ask(
                ["sacct", "-j", job_id, "-X", "-n", "-P", "--format=State,ExitCode"]
            ).strip()
        except MeasurementError:
            shown = ""
        if "|" in shown:
            state, status = shown.splitlines()[0].split("|", 1)
            return _state_words(state, None, status)
        return "left the queue, and Slurm does not remember how"

    def cancel(self, job_ids: Collection[str]) -> None:
        """Cancel jobs; see the protocol."""
        if job_ids:
            _ask(["scancel", "--quiet", *sorted(job_ids)])

    def version(self) -> str:
        """Of Slurm: "22.05.8".

        Raises:
            MeasurementError: it is not installed.
        """
        # slurm 23.11.4, or slurm-wlm 22.05.8 on Debian
        return _ask(["sbatch", "--version"]).strip().rpartition(" ")[2]


def node_names(nodelist: str) -> list[str]:
    """The nodes of a list as Slurm abbreviates it: "n[01-03,7]".

    Raises:
        MeasurementError: Slurm is not installed, or this is no such list.
    """
    return _ask(["scontrol", "show", "hostnames", nodelist]).split()


def check_options(options: Sequence[str]) -> list[str]:
    """What is wrong with the user's options of sbatch; empty when nothing is."""
    problems = []
    for option in options:
        name = re.match(r"--([a-z-]+)(=|$)|-([A-Za-z])", option)
        if name is None:
            problems.append(
                f"sbatch option {option!r} must start with a dash and hold its value: "
                "--sbatch-option=--partition=short"
            )
        elif (name[1] or name[3]) in TAKEN:
            problems.append(f"sbatch option {option!r} is set by the campaign itself")
    return problems


def _state_words(state: str, reason: str | None, status: str | None) -> str:
    words = f"ended as {state}"
    if reason not in (None, "None"):
        words += f" ({reason})"
    if state == "FAILED" and status:
        words += f", exit status {status}"
    return words


def _ask(argv: list[str], stdin: str = "") -> str:
    """Standard output of one of Slurm's programs.

    Raises:
        SlurmUnreachableError: no controller answers.
        MeasurementError: it is not installed, or refuses.
    """
    try:
        done = subprocess.run(
            argv, input=stdin, capture_output=True, text=True, errors="replace",
            timeout=TIMEOUT_S, check=False, start_new_session=True,
        )  # fmt: skip
    except FileNotFoundError as error:
        raise MeasurementError(
            f"{argv[0]} is not installed: no job can be submitted from here. Run the campaign on a "
            "node of the cluster from which jobs are submitted"
        ) from error
    except OSError as error:
        raise MeasurementError(f"cannot start {argv[0]}: {error.strerror}") from error
    except subprocess.TimeoutExpired as error:
        raise SlurmUnreachableError(f"{argv[0]} did not answer within {TIMEOUT_S:.0f} s") from error
    if done.returncode == 0:
        return done.stdout
    if done.returncode < 0:  # by SIGPIPE where the controller closes the connection under load
        raise SlurmUnreachableError(
            f"{argv[0]} was ended by a signal: {signal.strsignal(-done.returncode)}"
        )
    said = " | ".join(line.strip() for line in done.stderr.strip().splitlines()[-4:])
    kind = SlurmUnreachableError if _UNREACHABLE.search(done.stderr) else MeasurementError
    raise kind(f"{argv[0]} ended with status {done.returncode}: {said or 'no output'}")


_UNREACHABLE = re.compile(
    r"Unable to (contact|establish)|connect failure|Connection refused|timed out|"
    r"Socket timed out|Zero Bytes were transmitted|authentication",
    re.IGNORECASE,
)
"""slurm_load_jobs error: Unable to contact slurm controller (connect failure)"""
