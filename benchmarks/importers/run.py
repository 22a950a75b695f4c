"""How fast Darshan logs with DXT segments are imported, as ratios to PyDarshan in the same run, and in how much memory.

    benchmarks/importers/run [--segments 600000] [--only NAME] [LOG...]

Each log is read by both in turn, three times, and the better time of each counts. Columns:

- PyDarshan: its defaults, ``DarshanReport(log)``, then ``to_df()`` of the DXT records; neither start nor imports of Python.
- import: ``open_trace``, what every command does with a log, to folded operations; likewise in a running process.
- with the model: import and extraction of the model together, as a ratio; likewise.
- processes: start, imports of Python packages and end on both sides: PyDarshan as above in a process of its own, and
  ``wavetank model --format json LOG``, which prints the model too. Imports of both find their bytecode compiled, as
  installed packages have it: a first process of each compiles it, and does not count.
- bytes an op: the most memory of a process that imports and extracts, more than one that reads the smallest sample;
  of logs of 50,000 segments and more.

Then the small logs, of fewer than 10,000 segments, through the Python interface, in one process: how many become a
model with its tables of phases and findings in a second of processor time.

Times are CPU time, so that a busy machine changes the ratios little.

Logs: two of the stated number of segments, made by large_log.py, one regular and one without any regularity; the call
sequences of programs at the size of production (programs.py); real programs (recorded/); the samples among the tests'
data; and those that are named. Logs of Darshan after 3.5.0 are read by both without the threads of their segments,
which PyDarshan 3.5.0 does not know. Targets, with the extraction: 10 times faster on every log, 20 times on the first
two, and 200 bytes of memory an operation at most; 1.7 times faster a process of a small log, and 300 models a second.
"""

from __future__ import annotations

import argparse
import logging
import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

import darshan
import large_log
import programs

import wavetank
from wavetank.document import provenance
from wavetank.model.extract import extract_model
from wavetank.trace.open import open_trace
from wavetank.trace.schema import Trace

RECORDED = Path(__file__).parent / "recorded"
SAMPLES = Path(__file__).parents[2] / "tests" / "data" / "darshan"
SMALLEST = SAMPLES / "ior_seq_fpp_posix_1m.darshan"
BOTH_LEVELS = SAMPLES / "bt.W.4.mpi_io_full.darshan"
RUNS = 3
SMALL = 10_000  # segments of a small log
MEASURED = 50_000  # segments from which on a log's memory says something
THEIRS = """
import sys, warnings, darshan
warnings.simplefilter("ignore")
report = darshan.DarshanReport(sys.argv[1])
for module in ("DXT_POSIX", "DXT_MPIIO"):
    if module in report.records:
        report.records[module].to_df()
"""
OURS = "from wavetank.cli.main import main; main()"
T = TypeVar("T")


def dataframes(log: Path) -> None:
    """PyDarshan's default way to DataFrames of the segments."""
    report = darshan.DarshanReport(str(log))
    for module in ("DXT_POSIX", "DXT_MPIIO"):
        if module in report.records:
            report.records[module].to_df()


def seconds(run: Callable[[], T]) -> tuple[float, T]:
    """Duration of one run, and its result."""
    started = time.process_time()
    result = run()
    return time.process_time() - started, result


def process_seconds(compiled: Path, program: str, *arguments: str) -> float:
    """CPU time of a whole process of Python, from its start to its end; ``compiled`` keeps the bytecode of its imports."""
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(compiled)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, "-c", program, *arguments],
        capture_output=True,
        check=True,
        env=environment,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def compare(log: Path, name: str) -> None:
    """Print a log's line."""
    with tempfile.TemporaryDirectory(prefix="wavetank-importers-") as folder:
        thin = Path(folder) / "log.darshan"
        if large_log.without_threads(log, thin):
            log, name = thin, f"{name} (no threads)"
        _compare(log, name, Path(folder) / "bytecode")


def _compare(log: Path, name: str, compiled: Path) -> None:
    theirs, ours, models = [], [], []
    made_by = provenance()
    for _ in range(RUNS):
        theirs.append(seconds(partial(dataframes, log))[0])
        taken, trace = seconds(partial(open_trace, log))
        ours.append(taken)
        if operations(trace):
            models.append(seconds(partial(extract_model, trace, made_by))[0])
    rest = ""
    if models:
        both = [
            min(process_seconds(compiled, *command) for _ in range(1 + RUNS))
            for command in (
                (THEIRS, str(log)),
                (OURS, "model", "--allow-damaged", "--format", "json", str(log)),
            )
        ]
        rest = f"{min(theirs) / (min(ours) + min(models)):16.1f}{both[0] / both[1]:11.1f}"
    if models and operations(trace) >= MEASURED:
        rest += f"{(peak_bytes(log) - peak_bytes(SMALLEST)) / operations(trace):12.0f}"
    print(
        f"{name[:48]:48} {operations(trace):9} {log.stat().st_size / 1e6:8.3f} {min(theirs) * 1e3:12.1f} "
        f"{min(ours) * 1e3:9.1f} {min(theirs) / min(ours):7.1f}{rest}",
        flush=True,
    )


def peak_bytes(log: Path) -> int:
    """The most memory of a process that imports a log and extracts its model."""
    done = subprocess.run(
        [sys.executable, __file__, "--peak", str(log)], capture_output=True, text=True, check=True
    )
    return int(done.stdout)


def print_peak(log: Path) -> None:
    """This process's own, as ``peak_bytes`` reads it."""
    extract_model(open_trace(log), provenance())
    # Not ru_maxrss: that is also what the process was before it ran this program.
    status = Path("/proc/self/status").read_text(encoding="ascii")
    print(int(status.split("VmHWM:")[1].split()[0]) * 1024)


def operations(trace: Trace) -> int:
    """Operations of a trace, unfolded."""
    return int(trace.folds.count.sum())


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--segments", type=int, default=600_000, help="of each large log")
    parser.add_argument("--only", default="", help="logs whose name has this in it")
    parser.add_argument("--peak", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("logs", type=Path, nargs="*", metavar="LOG", help="further logs with DXT")
    arguments = parser.parse_args()
    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")
    if arguments.peak:
        print_peak(arguments.peak)
        return
    print(f"PyDarshan {darshan.__version__}; the better of {RUNS} runs each, in turn")
    print(
        f"{'log':48} {'segments':>9} {'MB':>8} {'PyDarshan ms':>12} {'import ms':>9} {'ratio':>7}{'with the model':>16}"
        f"{'processes':>11}{'bytes an op':>12}"
    )
    with tempfile.TemporaryDirectory(prefix="wavetank-importers-") as folder:
        for name, make in made(arguments.segments).items():
            if arguments.only in name:
                log = Path(folder) / "one.darshan"
                make(log)
                compare(log, name)
    kept = (*sorted(RECORDED.glob("*.darshan")), *sorted(SAMPLES.glob("*.darshan")))
    logs = [*(log for log in kept if arguments.only in log.name), *arguments.logs]
    for log in logs:
        compare(log, log.name)
    small = [log for log in logs if 0 < operations(open_trace(log)) < SMALL]
    if small:
        rate = len(small) / min(seconds(partial(models, small))[0] for _ in range(2 * RUNS))
        print(f"{len(small)} small logs: {rate:.0f} models a second of processor")


def models(logs: list[Path]) -> None:
    """The phases and findings of some logs, as users of Python get them."""
    for log in logs:
        model = wavetank.open_trace(log).model(allow_damaged=True)
        assert len(model.phases) and model.findings is not None


def made(n_segments: int) -> dict[str, Callable[[Path], None]]:
    """What writes a log, by its name."""

    def of(program: Callable[[], programs.Program]) -> Callable[[Path], None]:
        return lambda log: large_log.write_calls(BOTH_LEVELS, log, *program())

    large = {
        f"large, {kind}": partial(_large, n_segments=n_segments, kind=kind)
        for kind in ("sequential", "irregular")
    }
    return {**large, **{name: of(program) for name, program in programs.PROGRAMS.items()}}


def _large(log: Path, n_segments: int, kind: str) -> None:
    large_log.write(SMALLEST, log, n_segments, kind)


if __name__ == "__main__":
    main()
