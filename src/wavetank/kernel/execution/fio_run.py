"""Running a kernel's fio jobs by an installed fio, with its output as the same result as a replay's.

Sample of fio-3.33's JSON, cut down:

    {"jobs": [{"jobname": "phase-1-rank-0", "error": 0, "read": {"io_bytes": 1048448, "total_ios": 128,
     "iops": 64000.0, "clat_ns": {"max": 51234, "percentile": {"50.000000": 1224, ...}}}, "write": {...}}]}
"""

from __future__ import annotations

import json
import platform
import shutil
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from wavetank.errors import KernelError
from wavetank.kernel.benchmarks.fio import FioJob, FioPlan, fio_plan
from wavetank.kernel.construction.doubts import described
from wavetank.kernel.document.kernel import Kernel
from wavetank.kernel.execution.child_process import run_to_end
from wavetank.kernel.results.benchmark_result import phase_of
from wavetank.kernel.results.io_time import phases_time_s
from wavetank.kernel.results.replay_output import failed
from wavetank.kernel.results.result import (
    IoTime,
    LatencySummary,
    PhaseResult,
    RankPhaseResult,
    ReplayResult,
)
from wavetank.tables.words import phases_text

_NS = 1e-9


def run_fio(
    kernel: Kernel,
    root: Path,
    scratch: Path,
    timeout_s: float | None = None,
    *,
    flush: bool = True,
) -> ReplayResult:
    """Run the kernel's fio jobs in a directory.

    Args:
        kernel: the kernel.
        root: directory that holds its files.
        scratch: directory for the job file.
        timeout_s: seconds after which the run is ended and counts as failed.
        flush: have what is written on storage, within each rank's last job that writes a file.

    Raises:
        KernelError: fio is not installed, or can express none of the phases.
    """
    program = shutil.which("fio")
    if program is None:
        raise KernelError(
            "fio is not installed. Install it (Debian: apt-get install fio), or leave out --with fio"
        )
    plan = fio_plan(kernel)
    if not plan.jobs:
        raise KernelError(
            f"fio can express no phase of this kernel: {plan.refused[0].reason}. Replay it instead, or make "
            "the kernel with --approximate"
        )
    if flush:
        plan = plan.flushed()
    job_file = scratch / "kernel.fio"
    job_file.write_text(plan.text())
    settings = {**settings_of(plan), **described(kernel)}
    start = time.monotonic()
    status, stdout, stderr = run_to_end(
        [program, "--output-format=json", str(job_file)], timeout_s, root
    )
    elapsed_s = time.monotonic() - start
    if status is None:
        return failed(f"the time limit of {timeout_s:g} s ran out", settings)
    try:
        report = json.loads(stdout[stdout.index("{") :])
    except ValueError:
        report = {"jobs": []}
    wrong = [job["jobname"] for job in report["jobs"] if job["error"]]
    if status != 0 or wrong:
        tail = " | ".join((stderr.strip() or stdout.strip()).splitlines()[-4:])
        return failed(
            f"fio ended with status {status} ({', '.join(wrong) or 'no job'}): {tail}",
            settings,
        )
    phases = phases_of(plan.jobs, report["jobs"])
    return ReplayResult(
        status="ok",
        elapsed_s=elapsed_s,
        metadata_time_s=0.0,
        io=io_of(plan.jobs, phases),
        phases=tuple(phases),
        settings={**settings, "fio": str(report.get("fio version", "unknown"))},
    )


def settings_of(plan: FioPlan) -> dict[str, str]:
    """What a result says of how fio ran a plan."""
    refused = [ph_id for one in plan.refused for ph_id in one.ph_ids]
    return {
        "program": "fio",
        "not_performed": phases_text(refused) if refused else "nothing",
        "elapsed": "with the start and end of fio",
        "metadata_time": "not told by fio",
        "flush": "end_fsync=1 of each rank's last job that writes a file; in its phase's time"
        if any(job.flush for job in plan.jobs)
        else "none",
    }


def io_of(jobs: Sequence[FioJob], phases: Sequence[PhaseResult]) -> IoTime:
    """The time in which jobs ran, by fio's own clock: opens are not in it, a flush is data time."""
    time_s = phases_time_s(phases)
    left: dict[tuple[int, str], int] = {}
    for job in jobs:
        if job.write:
            of = (job.rank, job.file)
            synced = job.n_syncs > 0
            left[of] = job.not_on_disk_bytes + (0 if synced else left.get(of, 0))
    return IoTime(
        total_s=time_s,
        data_s=time_s,
        metadata_s=None,
        flush_s=None,
        not_on_disk_bytes=sum(left.values()),
    )


def phases_of(
    jobs: Sequence[FioJob],
    reports: Sequence[dict[str, Any]],
    hosts: Mapping[int, str] | None = None,
) -> list[PhaseResult]:
    """The phases that jobs did, by fio's reports of them.

    Args:
        jobs: in their order; one that waits starts when all before it have ended.
        reports: fio's of each job.
        hosts: rank -> node; None: this machine for all.
    """
    by_name = {report["jobname"]: report for report in reports}
    ranks: defaultdict[int, list[RankPhaseResult]] = defaultdict(list)
    begin_s = end_s = 0.0
    for job in jobs:
        if job.waits:
            begin_s = end_s
        report = by_name[job.name]["write" if job.write else "read"]
        done = _rank(job, report, begin_s, platform.node() if hosts is None else hosts[job.rank])
        end_s = max(end_s, done.end_s)
        ranks[job.ph_id].append(done)
    return [phase_of(ph_id, found) for ph_id, found in ranks.items()]


def _rank(job: FioJob, report: dict[str, Any], begin_s: float, host: str) -> RankPhaseResult:
    operations = int(report["total_ios"])
    # fio tells run times in whole ms, but reckons its rate from finer ones.
    seconds = operations / report["iops"] if report["iops"] else _NS
    clat = report["clat_ns"]
    percentiles = clat.get("percentile", {})

    def percentile(key: str) -> float:
        return float(percentiles.get(key, clat["max"])) * _NS

    return RankPhaseResult(
        rank=job.rank, host=host, bytes=int(report["io_bytes"]), operations=operations,
        io_time_s=clat.get("mean", 0.0) * operations * _NS, start_s=begin_s, end_s=begin_s + seconds,
        latency=LatencySummary(
            p50_s=percentile("50.000000"), p95_s=percentile("95.000000"), p99_s=percentile("99.000000"),
            max_s=clat["max"] * _NS,
        ),
    )  # fmt: skip
