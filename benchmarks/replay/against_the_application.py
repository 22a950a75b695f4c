"""Replayed I/O time against the application's own, on the same local disk; and what a huge kernel costs to start.

    .venv/bin/python benchmarks/replay/against_the_application.py DIRECTORY [--repetitions 5] [--abyss READS1 READS2]

Prints, as medians of some runs in turn: the BT-IO-like program's (and with --abyss ABYSS-P's) time in read and
write calls as its trace tells it, the replay's time in the same calls, and the difference in percent (target:
5). Then a loop with pauses kept: elapsed against the program's (target: 2). Then a kernel of 100 million
operations: seconds until the first operation, and the program's memory.
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
from pathlib import Path

from wavetank.document import provenance
from wavetank.kernel.from_model import make_kernel
from wavetank.kernel.lower import lower
from wavetank.kernel.plan import Kernel
from wavetank.kernel.prepare import prepare_files
from wavetank.kernel.replay import ReplayOptions, replay_program, run_replay
from wavetank.launchers.registry import launcher
from wavetank.model.application import Model
from wavetank.model.extract import extract_model
from wavetank.model.phase import DataStep, FileStep, LinearOffsets, PatternMember, Phase, Program
from wavetank.model.rules import Rules
from wavetank.trace.reader import read_trace

PROGRAMS = Path(__file__).parents[2] / "tests" / "native" / "programs"
MPIRUN = ["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "-n"]


def traced(argv: list[str], folder: Path, rules: Rules | None = None, times: str = "fold") -> Model:
    """Run a program under the tracer; its model."""
    # A session of its own, as the replay has: where the operating system shares processors by session
    # (sched_autogroup), a program in the session of busy ones would be given less.
    subprocess.run(
        [sys.executable, "-m", "wavetank", "trace", "--force", f"--times={times}", "-o", str(folder), "--", *argv],
        check=True, capture_output=True, start_new_session=True,
    )  # fmt: skip
    return extract_model(read_trace(folder), provenance(), rules)


def io_seconds(model: Model, kernel: Kernel) -> float:
    """Time in the calls that the kernel performs, all ranks, as traced."""
    performed = {phase.ph_id for phase in kernel.phases}
    return sum(phase.io_time_s or 0.0 for phase in model.phases if phase.ph_id in performed)


def compare(name: str, argv: list[str], outputs: list[str], work: Path, repetitions: int) -> None:
    """One row: the application and its replay, in turn; both begin without output files.

    Ratios of neighbouring runs: on a machine that is not quiet both meet the same disturbance.
    """
    os.chdir(work)
    root = work / "root"
    root.mkdir(exist_ok=True)
    kernel: Kernel | None = None
    theirs, ours = [], []

    def application() -> None:
        nonlocal kernel
        for output in outputs:
            (work / output).unlink(missing_ok=True)
        model = traced(argv, work / "run.trace")
        model.write(work / "model.json")
        kernel = kernel or make_kernel(model, work / "model.json")
        theirs.append(io_seconds(model, kernel))

    def its_replay() -> None:
        assert kernel is not None
        prepare_files(kernel, root)
        result = run_replay(kernel, root, launcher("openmpi"), work)
        if result.status != "ok":
            raise SystemExit(f"the replay of {name} failed: {result.failure}")
        ours.append(sum(rank.io_time_s for phase in result.phases for rank in phase.ranks))

    application()  # not counted: brings programs and input files into the page cache
    its_replay()
    theirs, ours = [], []
    for repetition in range(repetitions):
        for run in (application, its_replay) if repetition % 2 == 0 else (its_replay, application):
            run()
    ratios = [b / a for a, b in zip(theirs, ours, strict=True)]
    low, middle, high = statistics.quantiles(ratios, n=4, method="inclusive")
    print(
        f"{name:12} application {statistics.median(theirs):8.4f} s   replay {statistics.median(ours):8.4f} s   "
        f"{100 * (middle - 1):+6.1f} % (quartiles {100 * (low - 1):+.1f} and {100 * (high - 1):+.1f})",
        flush=True,
    )


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
    model = traced([str(work / "pausing")], work / "pauses.trace", rules, "event")
    model.write(work / "pauses.json")
    kernel = make_kernel(model, work / "pauses.json")
    root = work / "paused"
    root.mkdir(exist_ok=True)
    result = run_replay(kernel, root, launcher("none"), work, None, ReplayOptions(pauses="keep"))
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
    opening = FileStep(iop_type="open", file_id=1, handle=0, arg=0)
    for performed in (1, n):
        kernel = Kernel(
            provenance=provenance(), application="huge", model_sha256=f"{performed:064x}", n_ranks=1,
            files=({"file_id": 1, "name": "huge", "role": "input", "prepare_bytes": 4096},), phases=(one,),
            programs=(Program(ranks=(0,), steps=(opening, DataStep(ph_id=1, n=performed))),), capacity_bytes=0,
            not_reproduced=(),
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


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("directory", type=Path)
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--abyss", nargs=2, type=Path, metavar="FASTQ")
    arguments = parser.parse_args()
    work = Path(tempfile.mkdtemp(dir=arguments.directory.resolve(), prefix="wavetank-bench-"))
    try:
        huge(work)
        subprocess.run(
            ["mpicc.openmpi", "-O2", "-o", str(work / "bt"), str(PROGRAMS / "bt_io.c")], check=True
        )
        compare(
            "BT-IO-like",
            [*MPIRUN, "4", str(work / "bt"), "bt.out", "64", "20"],
            ["bt.out"],
            work,
            arguments.repetitions,
        )
        if arguments.abyss:
            reads = [str(path.resolve()) for path in arguments.abyss]
            abyss = ["/usr/lib/abyss/ABYSS-P", "-k30", "-o", "contigs.fa", *reads]
            compare("ABYSS-P", [*MPIRUN, "4", *abyss], ["contigs.fa"], work, arguments.repetitions)
        pauses(work)
    finally:
        shutil.rmtree(work)


if __name__ == "__main__":
    main()
