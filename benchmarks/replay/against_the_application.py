"""Replayed I/O time against the application's own, on the same local disk; and what a huge kernel costs to start.

    .venv/bin/python benchmarks/replay/against_the_application.py DIRECTORY [--repetitions 5] [--pairs 20000] [--ranks 2]

The application and its replay are both run under the tracer: the same instrument measures the time in read and
write calls on both sides, and the elapsed time from the first of them to the last. Rows are the BT-IO-like
program and ABYSS-P, where it is installed, on reads that examples/abyss makes; its input in the page cache (warm) or
not (cold; BT-IO reads what it has just written, so that only its own file could be cold, and never is); with pauses
dropped and kept. Outputs are overwritten in place, and are on storage before each run: what
the page cache and the file system allocate for a new file depends on what was freed before (on a virtual machine 3.3
or 15 ms for 10 MiB).

I/O times are printed as medians of the ratios of neighbouring runs, with their quartiles; beside it the application against
itself, one run and the next. Elapsed times are against the one run that was traced, whose pauses the kernel keeps;
beside it the application's other runs against that one.
Targets: 5 % of the I/O time; with pauses kept 2 % of the elapsed time.

Then a loop of 200 pauses of 5 ms. Then a kernel of 100 million operations: seconds until the first operation,
and the program's memory.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from wavetank.document import provenance
from wavetank.kernel.construction.from_model import make_kernel
from wavetank.kernel.document.kernel import Kernel
from wavetank.kernel.execution.replay import (
    ReplayOptions,
    replay_command,
    replay_program,
    run_replay,
)
from wavetank.kernel.lowering.plan_text import lower
from wavetank.kernel.preparation.input_files import prepare_files
from wavetank.kernel.preparation.page_cache import cached_pages
from wavetank.launchers.registry import launcher
from wavetank.model.document.phase import LinearOffsets, PatternMember, Phase
from wavetank.model.document.program import DataStep, FileStep, Program
from wavetank.model.extract import extract_model
from wavetank.model.rules import Rules
from wavetank.trace.ops import OPS
from wavetank.trace.reader import read_trace
from wavetank.trace.schema import LEVEL_NAMES, Trace

PAUSES_S = 20e-6  # shorter ones are not kept
REPOSITORY = Path(__file__).parents[2]
PROGRAMS = REPOSITORY / "tests" / "native" / "programs"
ABYSS = Path("/usr/lib/abyss/ABYSS-P")
GENERATOR = REPOSITORY / "examples" / "abyss" / "generate_reads.py"
# Ranks stay on their processors on both sides: with more ranks than processors the time depends on who shares one.
BOUND = ["--map-by", "core", "--bind-to", "core:overload-allowed"]
MPIRUN = ["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", *BOUND, "-n"]


def traced(argv: list[str], folder: Path, times: str = "event") -> Trace:
    """Run a program under the tracer."""
    # A session of its own, as the replay has: where the operating system shares processors by session
    # (sched_autogroup), a program in the session of busy ones would be given less.
    subprocess.run(
        [sys.executable, "-m", "wavetank", "trace", "--force", f"--times={times}", "-o", str(folder), "--", *argv],
        check=True, capture_output=True, start_new_session=True,
    )  # fmt: skip
    return read_trace(folder)


@dataclass(frozen=True)
class Times:
    """Of one run: seconds in data calls over all ranks; from the first data call's start to the last one's end."""

    io_s: float
    elapsed_s: float


@dataclass(frozen=True)
class Case:
    """How a replay is run, and what of its data is in the page cache beforehand."""

    cold: bool
    pauses: str
    options: ReplayOptions

    @property
    def name(self) -> str:
        """For the table."""
        return f"{'cold' if self.cold else 'warm'}, pauses {self.pauses}"


def times_of(trace: Trace, kernel: Kernel) -> Times:
    """Of the data calls that the kernel performs: by the level and the last part of the file's name."""
    names = {file.file_id: Path(file.name).name for file in kernel.files}
    performed = {(names[phase.file_id], phase.level) for phase in kernel.phases}
    level = {code: LEVEL_NAMES[op.level] for code, op in OPS.items()}
    folds = trace.folds
    rows = [
        row
        for row in np.flatnonzero(folds.moved > 0)
        if (Path(trace.files[folds.file[row]].path).name, level[int(folds.op[row])]) in performed
    ]
    return Times(
        float(folds.busy_ns[rows].sum()) / 1e9,
        float(folds.end_ns[rows].max() - folds.start_ns[rows].min()) / 1e9,
    )


def drop(paths: Iterable[Path]) -> None:
    """Have the files on storage, and no page of them in the cache."""
    for path in paths:
        with path.open("rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            pages, left = cached_pages(file.fileno())
        if left * 100 > pages:
            raise SystemExit(f"{path}: {left} of {pages} pages stay in the page cache")


def settle(paths: Iterable[Path]) -> None:
    """Have the files that are there on storage, so that nothing of earlier runs is written in the next one."""
    for path in paths:
        if path.exists():
            with path.open("rb") as file:
                os.fsync(file.fileno())


def compare(
    name: str,
    argv: list[str],
    inputs: list[Path],
    outputs: list[str],
    work: Path,
    cases: list[Case],
    repetitions: int,
) -> None:
    """A row for each case: the application and its replays, in turn; all overwrite their output files.

    Ratios of neighbouring runs: on a machine that is not quiet both meet the same disturbance.
    """
    os.chdir(work)
    root = work / f"root-{name}"
    root.mkdir(exist_ok=True)
    rules = Rules(pauses_s=PAUSES_S)

    def application(*, cold: bool) -> Trace:
        settle(work / output for output in outputs)
        if cold:
            drop(inputs)
        return traced(argv, work / "run.trace")

    application(cold=False)  # brings programs and input into the page cache
    recorded = application(cold=False)
    model = extract_model(recorded, provenance(), rules)
    model.write(work / "model.json")
    kernel = make_kernel(model, work / "model.json")
    span = times_of(recorded, kernel)

    def replay(case: Case) -> Times:
        settle(path for path in root.iterdir() if path.is_file())
        if case.cold:
            drop(path for path in root.iterdir() if path.is_file() and path.name[0] != ".")
        command, _ = replay_command(kernel, root, launcher("openmpi"), work, None, case.options)
        at = command.index("--bind-to")
        command[at : at + 2] = BOUND
        return times_of(traced(command, work / "replay.trace"), kernel)

    prepare_files(kernel, root)
    replay(cases[0])  # not counted either: makes its output files
    own: dict[bool, list[Times]] = {cold: [] for cold in {case.cold for case in cases}}
    replayed: dict[str, list[Times]] = {case.name: [] for case in cases}
    for repetition in range(repetitions):
        for cold, times in own.items():
            turn = [case for case in cases if case.cold == cold]
            times.append(times_of(application(cold=cold), kernel))
            for case in turn if repetition % 2 == 0 else reversed(turn):
                replayed[case.name].append(replay(case))
    for case in cases:
        theirs, ours = own[case.cold], replayed[case.name]
        kept = case.options.pauses == "keep"
        elapsed = off([span] * len(ours), ours, "elapsed_s") if kept else "-"
        print(f"{name:11} {case.name:22} {statistics.median(one.io_s for one in theirs):9.4f} "
              f"{statistics.median(one.io_s for one in ours):9.4f}  {off(theirs, ours, 'io_s'):26} "
              f"{off(theirs[:-1], theirs[1:], 'io_s'):26} {elapsed:26} "
              f"{off([span] * len(theirs), theirs, 'elapsed_s')}", flush=True)  # fmt: skip


def off(theirs: list[Times], ours: list[Times], what: str) -> str:
    """By how many percent the second ones are longer: the median of the pairs, and in brackets its quartiles."""
    if len(theirs) < 2:
        return "-"
    ratios = [getattr(b, what) / getattr(a, what) for a, b in zip(theirs, ours, strict=True)]
    low, middle, high = statistics.quantiles(ratios, n=4, method="inclusive")
    return f"{100 * (middle - 1):+6.1f} % ({100 * (low - 1):+.1f} to {100 * (high - 1):+.1f})"


PAUSING = """
#include <fcntl.h>
#include <time.h>
#include <unistd.h>
int main(void) {
    static char block[65536];
    int fd = open("paused.out", O_CREAT | O_TRUNC | O_WRONLY, 0644);
    for (int i = 0; i < 200; i++) {
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
        write(fd, block, sizeof block);
    }
    close(fd);
    return 0;
}
"""


def pauses(work: Path) -> None:
    """A program that pauses 200 times for 5 ms, and its replay with pauses kept."""
    os.chdir(work)
    (work / "pausing.c").write_text(PAUSING)
    subprocess.run(["gcc", "-O2", "-o", "pausing", "pausing.c"], check=True)
    rules = Rules(pauses_s=0.001)
    trace = traced([str(work / "pausing")], work / "pauses.trace")
    model = extract_model(trace, provenance(), rules)
    model.write(work / "pauses.json")
    kernel = make_kernel(model, work / "pauses.json")
    root = work / "paused"
    root.mkdir(exist_ok=True)
    result = run_replay(
        kernel, root, launcher("none"), work, None, ReplayOptions(flush="none", pauses="keep")
    )
    span = max(p.end_s or 0.0 for p in model.phases) - min(p.start_s or 0.0 for p in model.phases)
    ours = max(p.ranks[0].end_s for p in result.phases) - min(
        p.ranks[0].start_s for p in result.phases
    )
    drift = result.settings.get("pauses_drift_s", "none kept")
    print(
        f"pauses kept  application {span:8.4f} s   replay {ours:8.4f} s   {100 * (ours - span) / span:+6.2f} %   drift {drift} s"
    )


def huge(work: Path) -> None:
    """100 million operations, none performed (--null), and one performed."""
    n = 100_000_000
    one = Phase(
        ph_id=1, file_id=1, level="posix", ph_processid=(0,), ph_np=1, ph_weight=n * 4096, ph_nrep=n, ph_niop=n,
        pattern=(PatternMember(iop_type="pread", rs=4096, disp=0, dist=None),), offset=(LinearOffsets(a=0, b=0, c=0),),
        exact=True, tick_first=0, tick_last=0, start_s=None, end_s=None, io_time_s=None,
    )  # fmt: skip
    opening = FileStep(iop_type="open", file_id=1, handle=0, flags=0)
    for performed in (1, n):
        kernel = Kernel(
            provenance=provenance(), application="huge", model_sha256=f"{performed:064x}", n_ranks=1,
            files=({"file_id": 1, "name": "huge", "role": "input", "prepare_bytes": 4096},), phases=(one,),
            programs=(Program(ranks=(0,), steps=(opening, DataStep(ph_id=1, n=performed))),), capacity_bytes=0,
        )  # fmt: skip
        plan = work / "huge.plan"
        plan.write_text(lower(kernel))
        start = time.monotonic()
        argv = [str(replay_program(launcher("none"))), f"--plan={plan}", f"--root={work}", "--null"]
        subprocess.run(argv, check=True, stdout=subprocess.DEVNULL)
        took = time.monotonic() - start
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        print(f"100 million operations in the plan ({plan.stat().st_size} bytes), {performed} issued to nothing: "
              f"{took:.3f} s, at most {peak / 1024:.0f} MiB in any program run here")  # fmt: skip


PARTS = ("huge", "bt", "abyss", "pauses")
CACHES = ("warm", "cold")
PAUSES = ("dropped", "slept")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("directory", type=Path)
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--pairs", type=int, default=20_000, help="of reads, ABYSS-P's input")
    parser.add_argument("--ranks", type=int, default=2, help="of ABYSS-P; two of them read")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--pauses", nargs="+", choices=PAUSES, default=PAUSES)
    parser.add_argument("--caches", nargs="+", choices=CACHES, default=CACHES)
    arguments = parser.parse_args()
    work = Path(tempfile.mkdtemp(dir=arguments.directory.resolve(), prefix="wavetank-bench-"))
    ways = {
        "dropped": ReplayOptions(flush="none"),
        "slept": ReplayOptions(flush="none", pauses="keep"),
    }
    cases = [
        Case(cache == "cold", way, ways[way])
        for cache in arguments.caches
        for way in arguments.pauses
    ]
    try:
        if "huge" in arguments.parts:
            huge(work)
        if {"bt", "abyss"} & set(arguments.parts):
            print(
                f"{'':34} application    replay  I/O time of the replay     of the application again   elapsed of the replay      "
                "of the application again"
            )
        if "bt" in arguments.parts:
            subprocess.run(
                ["mpicc.openmpi", "-O2", "-o", str(work / "bt"), str(PROGRAMS / "bt_io.c")],
                check=True,
            )
            command = [*MPIRUN, "4", str(work / "bt"), "bt.out", "64", "20"]
            warm = [case for case in cases if not case.cold]
            compare("BT-IO-like", command, [], ["bt.out"], work, warm, arguments.repetitions)
        if "abyss" in arguments.parts and not ABYSS.exists():
            print(f"ABYSS-P: no {ABYSS} (Debian package abyss)")
        elif "abyss" in arguments.parts:
            size = ["--directory", str(work), "--pairs", str(arguments.pairs)]
            subprocess.run([sys.executable, str(GENERATOR), *size], check=True)
            reads = [work / "reads1.fastq", work / "reads2.fastq"]
            abyss = [str(ABYSS), "-k30", "-o", "contigs.fa", *map(str, reads)]
            command = [*MPIRUN, str(arguments.ranks), *abyss]
            compare("ABYSS-P", command, reads, ["contigs.fa"], work, cases, arguments.repetitions)
        if "pauses" in arguments.parts:
            pauses(work)
    finally:
        shutil.rmtree(work)


if __name__ == "__main__":
    main()
