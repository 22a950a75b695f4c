"""Running a kernel's IOR lines by an installed IOR, with its output as the same result as a replay's.

One run of IOR for each line, one after the other, in the directory of the kernel's files. IOR 4.0 and later
tell the time of every operation; of earlier ones only the run's own times are known.
"""

from __future__ import annotations

import platform
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from wavetank.errors import KernelError
from wavetank.job import Job, Placement
from wavetank.kernel.benchmarks.groups import ranks_of
from wavetank.kernel.benchmarks.ior import IorParameters, parse_command
from wavetank.kernel.construction.doubts import described
from wavetank.kernel.document.kernel import IorLine, Kernel
from wavetank.kernel.execution.benchmark_files import LocalFiles, TaskFiles
from wavetank.kernel.execution.child_process import run_to_end
from wavetank.kernel.execution.ior_program import IorProgram, find_ior
from wavetank.kernel.results.benchmark_result import phase_of
from wavetank.kernel.results.ior_output import (
    IorTimes,
    TaskOperations,
    parse_summary,
    read_operations,
)
from wavetank.kernel.results.replay_output import failed, summarise
from wavetank.kernel.results.result import IoTime, PhaseResult, RankPhaseResult, ReplayResult
from wavetank.launchers.base import Launcher
from wavetank.model.document.phase import Phase
from wavetank.tables.words import phases_text

_NS = 1e-9


@dataclass(frozen=True)
class Nodes:
    """Nodes that IOR's tasks run on, elsewhere than in this process's directory.

    Attributes:
        placement: of the tasks.
        files: the kernel's files, as the nodes see them.
        program: where IOR is on the nodes; None: where it is here.
    """

    placement: Placement
    files: TaskFiles
    program: str | None = None


def run_ior(
    kernel: Kernel,
    root: Path,
    launcher: Launcher,
    scratch: Path,
    timeout_s: float | None = None,
    nodes: Nodes | None = None,
    *,
    flush: bool = True,
) -> ReplayResult:
    """Run the kernel's IOR lines in a directory.

    Args:
        kernel: the kernel.
        root: directory that holds its files.
        launcher: starts IOR's tasks; of the MPI that IOR was built with.
        scratch: directory for IOR's output.
        timeout_s: seconds after which a line is ended; the run then counts as failed.
        nodes: where the tasks run; None: here. Times of single operations are known only here.
        flush: have what is written on storage: IOR's -e in the last line that writes a file.

    Raises:
        KernelError: IOR is not installed, was built with another MPI, or can express none of the phases.
    """
    ior = find_ior()
    if nodes is not None:  # the tables of operations would be written on the nodes
        ior = replace(ior, path=nodes.program or ior.path, tells_operations=False)
    if ior.family is not None and launcher.mpi_family != ior.family:
        raise KernelError(
            f"{ior.path} is built with {ior.family}, and the launcher is {launcher.name}. Add --launcher {ior.family}"
        )
    if not kernel.ior:
        reason = (
            kernel.ior_refused[0].reason if kernel.ior_refused else "the kernel has no IOR line"
        )
        raise KernelError(
            f"IOR can express no phase of this kernel: {reason}. Replay it instead, or make "
            "the kernel with --approximate"
        )
    settings = _settings(kernel, ior, launcher, flush=flush)
    phases: list[PhaseResult] = []
    elapsed_s = metadata_s = 0.0
    lines = flushed_lines(kernel) if flush else kernel.ior
    for number, line in enumerate(lines):
        run = _Line(kernel, line, root, scratch / f"ior-{number}", nodes)
        try:
            times = run.perform(ior, launcher, timeout_s)
            phases += run.results(times, elapsed_s + times.open_s)
        except _LineError as error:
            return failed(f"IOR, {phases_text(line.ph_ids)}: {error}", settings)
        elapsed_s += times.total_s
        metadata_s += times.open_s + times.close_s
        settings["ior"] = times.version
    return ReplayResult(
        status="ok", elapsed_s=elapsed_s, metadata_time_s=metadata_s,
        io=IoTime(
            total_s=elapsed_s, data_s=elapsed_s - metadata_s, metadata_s=metadata_s, flush_s=None,
            not_on_disk_bytes=bytes_not_flushed(kernel, lines),
        ),
        phases=tuple(_whole(phases)), settings=settings,
    )  # fmt: skip


def flushed_lines(kernel: Kernel) -> list[IorLine]:
    """The kernel's lines with an fsync (-e) in the last one that writes each file, unless each of its writes has one (-Y)."""
    last = {file: line for line in kernel.ior for file in _written_files(kernel, line)}
    last = {file: line for file, line in last.items() if not parse_command(line.command).fsync_each}
    flushing = {id(line) for line in last.values()}
    return [
        line.model_copy(
            update={"command": replace(parse_command(line.command), fsync=True).command()}
        )
        if id(line) in flushing
        else line
        for line in kernel.ior
    ]


def bytes_not_flushed(kernel: Kernel, lines: Sequence[IorLine]) -> int:
    """What lines write to files, and no fsync of these files follows."""
    left: dict[int, int] = {}
    for line in lines:
        ior = parse_command(line.command)
        files = _written_files(kernel, line)
        moved = sum(run.moved for task in range(ior.n_tasks) for run in ior.operations(task))
        for file in files:
            left[file] = (
                0 if ior.fsync or ior.fsync_each else left.get(file, 0) + moved // len(files)
            )
    return sum(left.values())


def _written_files(kernel: Kernel, line: IorLine) -> set[int]:
    """Numbers of the files that a line writes."""
    if not parse_command(line.command).write:
        return set()
    return {phase.file_id for phase in kernel.phases if phase.ph_id in line.ph_ids}


def _whole(phases: Sequence[PhaseResult]) -> list[PhaseResult]:
    """Each phase once, by its number: reads and writes of an approximated one are runs of their own."""
    ranks: dict[int, list[RankPhaseResult]] = {}
    for phase in phases:
        ranks.setdefault(phase.ph_id, []).extend(phase.ranks)
    return [phase_of(ph_id, found) for ph_id, found in sorted(ranks.items())]


class _LineError(Exception):
    """A run of IOR that did not end well; its text says how."""


class _Line:
    """One IOR line: its files before and after, its run, its results."""

    def __init__(
        self, kernel: Kernel, line: IorLine, root: Path, stem: Path, nodes: Nodes | None
    ) -> None:
        phases = {phase.ph_id: phase for phase in kernel.phases}
        self._phases = [phases[ph_id] for ph_id in line.ph_ids]
        self._names = {file.file_id: file.name for file in kernel.files}
        self._contents = {file.file_id: file.content_id for file in kernel.files}
        self._ior: IorParameters = parse_command(line.command)
        self._root, self._stem = root, stem
        self._placement = None if nodes is None else _of_tasks(nodes.placement, self._ranks())
        self._files = LocalFiles() if nodes is None else nodes.files
        if nodes is not None:  # tasks start in a directory of their node's own
            self._ior = replace(self._ior, file=str(root / self._ior.file))

    def _ranks(self) -> list[int]:
        """The kernel's rank that each task stands for."""
        if self._ior.file_per_process:
            return [phase.ph_processid[0] for phase in self._phases]
        return ranks_of(self._phases)

    def perform(self, ior: IorProgram, launcher: Launcher, timeout_s: float | None) -> IorTimes:
        """Run IOR once."""
        summary = self._stem.with_suffix(".json")
        outputs = "summaryFormat=JSON"
        if self._placement is None:
            outputs += f",summaryFile={summary}"
        if ior.tells_operations:
            outputs += f",savePerOpDataCSV={self._stem}"
        words = self._ior.command("4.0" if ior.takes_seed else "3.3").split()
        argv = (ior.path, *words[words.index("ior") + 1 :], "-O", outputs)
        job = Job(argv, self._ior.n_tasks, placement=self._placement)
        self._fill_files()
        links = self._link_files()
        try:
            status, stdout, stderr = run_to_end(
                launcher.command(job, self._stem.parent),
                timeout_s,
                self._root if self._placement is None else None,
            )
            text = summary.read_text(errors="replace") if summary.exists() else stdout
            self._take_files()
        finally:
            for link in links:
                self._files.remove(link)
        if status is None:
            raise _LineError(f"the time limit of {timeout_s:g} s ran out")
        try:
            return parse_summary(text, "write" if self._ior.write else "read")
        except ValueError as error:
            raise _LineError(
                f"it ended with status {status}: {_reason(stdout, stderr) or error}"
            ) from error

    def _own_files(self) -> list[tuple[Path, Path]]:
        """With a file for each task: the kernel's file and IOR's name for it."""
        if not self._ior.file_per_process:
            return []
        return [
            (self._root / self._names[phase.file_id], self._root / f"{self._ior.file}.{task:08d}")
            for task, phase in enumerate(self._phases)
        ]

    def _fill_files(self) -> None:
        """What a line reads is there: IOR's own writing lines cut a file to what each of them writes."""
        if self._ior.write:
            return
        tasks = 1 if self._ior.file_per_process else self._ior.n_tasks
        needed = tasks * self._ior.segments * self._ior.block
        for file_id in {phase.file_id for phase in self._phases}:
            path = self._root / self._names[file_id]
            if (self._files.size(path) or 0) < needed:
                try:
                    self._files.fill(path, self._contents[file_id], needed)
                except OSError as error:
                    raise _LineError(
                        f"{path} cannot be made long enough to read: {error}"
                    ) from error

    def _link_files(self) -> list[Path]:
        links = []
        for ours, theirs in self._own_files():
            if ours == theirs or self._files.size(ours) is None:
                continue
            self._files.link(ours, theirs)
            links.append(theirs)
        return links

    def _take_files(self) -> None:
        """What IOR wrote under its own names becomes the kernel's files, for the lines that read them."""
        if self._ior.write:
            for ours, theirs in self._own_files():
                if theirs != ours:
                    self._files.move(theirs, ours)

    def results(self, times: IorTimes, start_s: float) -> list[PhaseResult]:
        """The line's phases; those that one run stands for take their operations in order."""
        ranks = self._ranks()
        of_ranks = [
            self._rank_results(rank, self._operations(task, times.transfer_s), start_s)
            for task, rank in enumerate(ranks)
        ]
        results = [
            (phase, [found[phase.ph_id] for found in of_ranks if phase.ph_id in found])
            for phase in self._phases
        ]
        return [phase_of(phase.ph_id, found) for phase, found in results if found]

    def _of_rank(self, rank: int) -> list[Phase]:
        return [phase for phase in self._phases if rank in phase.ph_processid]

    def _rank_results(
        self, rank: int, stretches: Sequence[TaskOperations], start_s: float
    ) -> dict[int, RankPhaseResult]:
        """What one task did, by phase."""
        return {
            phase.ph_id: self._rank(rank, done, start_s)
            for phase, done in zip(self._of_rank(rank), stretches, strict=True)
            if done.operations
        }

    def _rank(self, rank: int, done: TaskOperations, start_s: float) -> RankPhaseResult:
        host = platform.node()
        if self._placement is not None:
            host = self._placement.hosts[self._ranks().index(rank)][0]
        return _rank(rank, host, done, self._ior, start_s)

    def _operations(self, task: int, transfer_s: float) -> list[TaskOperations]:
        counts = [phase.ph_niop for phase in self._of_rank(self._ranks()[task])]
        table = self._stem.parent / f"{self._stem.name}-0-{task:05d}.csv"
        if table.exists():
            try:
                return read_operations(table, counts)
            except (OSError, ValueError) as error:
                raise _LineError(f"its table of operations is damaged: {error}") from error
        made = sum(run.count for run in self._ior.operations(task))
        return _even_shares(made, counts, round(transfer_s / _NS))


def _of_tasks(placement: Placement, ranks: Sequence[int]) -> Placement:
    """The placement of tasks that stand for these ranks of the kernel."""
    hosts = [host for host, n in placement.hosts for _ in range(n)]
    return replace(placement, hosts=tuple((hosts[rank], 1) for rank in ranks))


def _reason(stdout: str, stderr: str) -> str:
    """What IOR says is wrong; the launcher's own words where it says nothing."""
    lines = [line.strip() for line in f"{stdout}\n{stderr}".splitlines() if line.strip(" -*=")]
    return " | ".join(
        dict.fromkeys(line for line in lines if line.startswith("ERROR"))
    ) or " | ".join(lines[-4:])


def _even_shares(made: int, counts: Sequence[int], transfer_ns: int) -> list[TaskOperations]:
    """Operations whose times are not known: each takes an equal share of the run's time."""
    shares, done = [], 0
    for number, count in enumerate(counts):
        n = made - done if number == len(counts) - 1 else min(count, made - done)
        first, last = transfer_ns * done // made, transfer_ns * (done + n) // made
        shares.append(
            TaskOperations(
                operations=n, io_ns=last - first, first_ns=first, last_ns=last, latencies=Counter()
            )
        )
        done += n
    return shares


def _rank(
    rank: int, host: str, done: TaskOperations, ior: IorParameters, start_s: float
) -> RankPhaseResult:
    return RankPhaseResult(
        rank=rank, host=host, bytes=done.operations * ior.transfer, operations=done.operations,
        io_time_s=done.io_ns * _NS, start_s=start_s + done.first_ns * _NS, end_s=start_s + done.last_ns * _NS,
        latency=summarise([done.latencies], done.max_ns) if done.latencies else None,
    )  # fmt: skip


def _settings(
    kernel: Kernel, ior: IorProgram, launcher: Launcher, *, flush: bool
) -> dict[str, str]:
    refused = [ph_id for one in kernel.ior_refused for ph_id in one.ph_ids]
    together = [
        f"{line.ph_ids[0]} to {line.ph_ids[-1]}" for line in kernel.ior if len(line.ph_ids) > 1
    ]
    return {
        "program": "ior",
        "launcher": launcher.name,
        **described(kernel),
        "not_performed": phases_text(refused) if refused else "nothing",
        "phases_in_one_run": ", ".join(together) or "none",
        "elapsed": "sum of IOR's totalTime of each line",
        "metadata_time": "IOR's openTime and closeTime of each line",
        "flush": "by -e, or -Y, in the last line that writes a file; IOR counts it with the data"
        if flush and any(parse_command(line.command).write for line in kernel.ior)
        else "as the lines say",
        "percentiles": "of each phase's slowest rank"
        if ior.tells_operations
        else "not told by this version of IOR; times are equal shares of each run's",
    }
