"""How time and memory grow with the number of files: every stage from the trace to the report of a program of small files.

    .venv/bin/python benchmarks/scale/many_files.py [--files 10000 100000] [--ranks 64] [--folder DIRECTORY]
        [--program metadata_only|renamed] [--flush none]

Each rank writes its share of the files, of sizes that follow no rule, and reads them again in random order. Ranks of
"metadata_only" make their files, ask for the status of each and remove them, and move no data. Ranks of "renamed"
write each file under another name and rename it. The ranks are processes of a shell that run one after another, not of
a launcher, so that two cores do for 64 of them. Every command of wavetank is a process of its own: printed are its
processor time, its time by the clock, its peak resident memory, and the processor time for each call that was traced.
Growth is the ratio to the size before: as many times as many files should take as many times as long.
The limits of this project, at 1,000,000 files on 64 ranks: 60 s and 2 GiB for `model` and for `kernel` each.
The replay's ranks run all at once. Below its row is how long a rank was at I/O, and at what: each file that was written
is flushed at the end, with an fsync of its own, unless --flush none is given. On a disk that is most of the time by the
clock, and none of the processor's; --folder /dev/shm shows the rest. "start" is the replay program that reads its plan
and performs nothing. Both need Open MPI, and their memory is that of the largest process; --skip start replay leaves
them out. "diff" compares the
model with itself, "report" writes the page of a campaign that measured the kernel.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from wavetank import native
from wavetank.kernel.results.result import ReplayRun

HERE = Path(__file__).resolve().parent
WAVETANK = [sys.executable, "-m", "wavetank"]
STAGES = [sys.executable, str(HERE / "stages.py")]
UNTIMED = ("campaign",)  # what a stage needs, and is none
RESULT = "result.json"  # of the replay
CALLS_A_FILE = {
    "small_files": 7,  # open, write, close; open, fstat, read, close
    "metadata_only": 4,  # open, close; stat; unlink
    "renamed": 4,  # open, write, close; rename
}


@dataclass(frozen=True)
class Cost:
    """What one command took."""

    cpu_s: float
    clock_s: float
    memory_mib: float


def cost_of(command: list[str], log: Path) -> Cost:
    """Run a command; its output goes to a file, which is shown when it fails."""
    started = time.monotonic()
    with log.open("wb") as stream:
        child = subprocess.Popen(command, stdout=stream, stderr=subprocess.STDOUT)
        _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        text = log.read_text(errors="replace")
        raise SystemExit(f"{' '.join(command)} failed ({child.returncode}):\n{text[-2000:]}")
    return Cost(used.ru_utime + used.ru_stime, time.monotonic() - started, used.ru_maxrss / 1024)


def program_of(name: str, folder: Path, n_files: int, n_ranks: int) -> list[str]:
    """The ranks one after another, numbered as a launcher numbers them."""
    program = folder / name
    subprocess.run(["cc", "-O2", "-o", str(program), str(HERE / f"{name}.c")], check=True)
    ranks = f'for r in $(seq 0 {n_ranks - 1}); do PMI_RANK=$r "$0" "$1" $r {n_ranks} {n_files} || exit 1; done'
    return ["sh", "-c", ranks, str(program), str(folder / "data")]


def commands(
    name: str, folder: Path, n_files: int, n_ranks: int, flush: str
) -> dict[str, list[str]]:
    """By name, in the order of their use."""
    program = program_of(name, folder, n_files, n_ranks)
    names = ("run.trace", "model.json", "kernel.json", "plan", "campaign", "replay")
    trace, model, kernel, plan, campaign, root = (folder / name for name in names)
    return {
        "untraced": program,
        "trace": [*WAVETANK, "trace", "-o", str(trace), "--include", str(folder / "data"), "--", *program],
        "model": [*WAVETANK, "model", str(trace), "-o", str(model)],
        "kernel": [*WAVETANK, "kernel", str(model), "-o", str(kernel)],
        "fidelity": [*WAVETANK, "fidelity", str(kernel), str(model)],
        "diff": [*WAVETANK, "diff", str(model), str(model)],
        "plan": [*STAGES, "plan", str(kernel), str(plan)],
        "start": _replay_program(n_ranks, plan, root),
        "campaign": [*STAGES, "campaign", str(kernel), str(model), str(campaign)],
        "report": [*WAVETANK, "report", str(campaign), "-o", str(folder / "report.html")],
        "replay": [*WAVETANK, "replay", str(kernel), "--root", str(root), "--flush", flush,
                   "-o", str(folder / RESULT)],
    }  # fmt: skip


def _replay_program(n_ranks: int, plan: Path, root: Path) -> list[str]:
    program = native.find("bin/wavetank-replay-openmpi", "read a plan")
    start = ["mpirun", "--oversubscribe", "--allow-run-as-root", "-n", str(n_ranks)]
    return [*start, str(program), "--plan", str(plan), "--root", str(root), "--null"]


def measure(
    program: str, n_files: int, n_ranks: int, base: Path, skip: list[str], flush: str
) -> dict[str, Cost]:
    """All commands on one number of files."""
    found: dict[str, Cost] = {}
    n_calls = n_files * CALLS_A_FILE[program]
    with tempfile.TemporaryDirectory(dir=base, prefix="wavetank-scale-") as name:
        folder = Path(name)
        for what, command in commands(program, folder, n_files, n_ranks, flush).items():
            if what in skip:
                continue
            if what in ("untraced", "trace"):
                shutil.rmtree(folder / "data", ignore_errors=True)
                (folder / "data").mkdir()
            if what == "replay":  # the program's own files make room
                shutil.rmtree(folder / "data")
                (folder / "replay").mkdir()
            cost = cost_of(command, folder / f"{what}.log")
            if what not in UNTIMED:
                found[what] = cost
                yield_row(what, n_files, n_calls, cost)
            if what == "replay":
                print(f"  {at_io(folder / RESULT)}", flush=True)
        for size in ("run.trace", "model.json", "kernel.json", "plan", "report.html"):
            path = folder / size
            if path.exists():
                total = (
                    sum(p.stat().st_size for p in path.rglob("*"))
                    if path.is_dir()
                    else path.stat().st_size
                )
                print(f"  {size}: {total / n_files:.1f} bytes a file", flush=True)
    return found


def at_io(result: Path) -> str:
    """How long at least one rank of a replay was at I/O, by the kind of its calls."""
    run = ReplayRun.read(result).result
    if run.io is None:
        return "the replay's result has no I/O time"
    return (
        f"at I/O {run.io.total_s:.2f} s: data {run.io.data_s:.2f}, metadata {run.io.metadata_s or 0:.2f}, "
        f"flush {run.io.flush_s or 0:.2f}"
    )


def yield_row(what: str, n_files: int, n_calls: int, cost: Cost) -> None:
    """One line of the table, as soon as it is known."""
    ns = cost.cpu_s / n_calls * 1e9
    print(
        f"{n_files:>9,} {what:<10}{cost.cpu_s:>10.2f}{cost.clock_s:>10.2f}{cost.memory_mib:>12.0f}{ns:>12.0f}",
        flush=True,
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--files", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--ranks", type=int, default=64)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()))
    parser.add_argument("--program", choices=tuple(CALLS_A_FILE), default="small_files")
    parser.add_argument("--skip", nargs="*", default=[], help="commands that are left out")
    parser.add_argument("--flush", default="end", help="of the replay, as of `wavetank replay`")
    given = parser.parse_args()
    print(
        f"{'files':>9} {'command':<10}{'cpu s':>10}{'clock s':>10}{'peak MiB':>12}{'ns a call':>12}"
    )
    before: tuple[int, dict[str, Cost]] | None = None
    for n_files in given.files:
        found = measure(given.program, n_files, given.ranks, given.folder, given.skip, given.flush)
        if before is not None:
            growth = ", ".join(
                f"{what} {cost.cpu_s / before[1][what].cpu_s:.1f}"
                for what, cost in found.items()
                if what in before[1] and before[1][what].cpu_s > 0
            )
            print(f"  growth for {n_files / before[0]:.1f} times the files: {growth}", flush=True)
        before = n_files, found


if __name__ == "__main__":
    main()
