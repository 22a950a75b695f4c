"""How fast Darshan logs with DXT segments are imported, as ratios to PyDarshan in the same run, and in how much memory.

    benchmarks/importers/run [--segments 600000] [--only NAME] [LOG...]

Each log is read by both in turn, three times, and the better time of each counts. PyDarshan's time is that of
its defaults: ``DarshanReport(log)``, then ``to_df()`` of the DXT records. Ours is what every command does with
a log: ``open_trace``, to folded operations; the second ratio has the extraction of the model in it. Seconds are
CPU time, so that a busy machine changes the ratios little. Memory is the most that a process of its own has for
import and extraction together, more than one that reads the smallest sample; of logs of 100,000 segments and more.

Logs: two of the stated number of segments, made by large_log.py, one regular and one without any regularity; the call
sequences of real programs (programs.py); the samples among the tests' data; and those that are named. Targets, with the
extraction: 10 times faster on every log, 20 times on the first two, and 200 bytes of memory an operation at most.
"""

from __future__ import annotations

import argparse
import logging
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

from wavetank.document import provenance
from wavetank.model.extract import extract_model
from wavetank.trace.open import open_trace
from wavetank.trace.schema import Trace

SAMPLES = Path(__file__).parents[2] / "tests" / "data" / "darshan"
SMALLEST = SAMPLES / "ior_seq_fpp_posix_1m.darshan"
BOTH_LEVELS = SAMPLES / "bt.W.4.mpi_io_full.darshan"
RUNS = 3
MEASURED = 100_000  # segments from which on a log's memory says something
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


def compare(log: Path, name: str) -> None:
    """Print a log's line."""
    theirs, ours, models = [], [], []
    made_by = provenance()
    for _ in range(RUNS):
        theirs.append(seconds(partial(dataframes, log))[0])
        taken, trace = seconds(partial(open_trace, log))
        ours.append(taken)
        if operations(trace):
            models.append(seconds(partial(extract_model, trace, made_by))[0])
    ratio = min(theirs) / min(ours)
    with_model = f"{min(theirs) / (min(ours) + min(models)):16.1f}" if models else ""
    if models and operations(trace) >= MEASURED:
        with_model += f"{(peak_bytes(log) - peak_bytes(SMALLEST)) / operations(trace):12.0f}"
    print(
        f"{name:48} {operations(trace):9} {log.stat().st_size / 1e6:8.3f} {min(theirs) * 1e3:10.1f} "
        f"{min(ours) * 1e3:8.1f} {ratio:7.1f}{with_model}"
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
        f"{'log':48} {'segments':>9} {'MB':>8} {'theirs ms':>10} {'ours ms':>8} {'ratio':>7}{'with the model':>16}"
        f"{'bytes an op':>12}"
    )
    with tempfile.TemporaryDirectory(prefix="wavetank-importers-") as folder:
        for name, make in made(arguments.segments).items():
            if arguments.only in name:
                log = Path(folder) / "one.darshan"
                make(log)
                compare(log, name)
    for log in (*sorted(SAMPLES.glob("*.darshan")), *arguments.logs):
        if arguments.only in log.name or log in arguments.logs:
            compare(log, log.name[:48])


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
