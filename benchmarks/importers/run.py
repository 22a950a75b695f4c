"""How fast Darshan logs with DXT segments are imported, as ratios to PyDarshan in the same run.

    benchmarks/importers/run [--segments 600000]

Each log is read by both in turn, three times, and the better time of each counts. PyDarshan's time is that of
its defaults: ``DarshanReport(log)``, then ``to_df()`` of the DXT records. Ours is what every command does with
a log: ``open_trace``, to folded operations. Logs: two of the stated number of segments, made by large_log.py,
and the samples among the tests' data. Target: 25 times faster on the largest.
"""

from __future__ import annotations

import argparse
import logging
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import darshan
import large_log

from wavetank.trace.open import open_trace
from wavetank.trace.schema import Trace

SAMPLES = Path(__file__).parents[2] / "tests" / "data" / "darshan"
RUNS = 3
T = TypeVar("T")


def dataframes(log: Path) -> None:
    """PyDarshan's default way to DataFrames of the segments."""
    report = darshan.DarshanReport(str(log))
    for module in ("DXT_POSIX", "DXT_MPIIO"):
        if module in report.records:
            report.records[module].to_df()


def seconds(run: Callable[[Path], T], log: Path) -> tuple[float, T]:
    """Duration of one run, and its result."""
    started = time.perf_counter()
    result = run(log)
    return time.perf_counter() - started, result


def compare(log: Path, name: str) -> None:
    """Print a log's line."""
    theirs, ours = [], []
    for _ in range(RUNS):
        theirs.append(seconds(dataframes, log)[0])
        taken, trace = seconds(open_trace, log)
        ours.append(taken)
    ratio = min(theirs) / min(ours)
    print(
        f"{name:48} {operations(trace):9} {log.stat().st_size / 1e6:8.3f} {min(theirs) * 1e3:10.1f} "
        f"{min(ours) * 1e3:8.1f} {ratio:7.1f}"
    )


def operations(trace: Trace) -> int:
    """Operations of a trace, unfolded."""
    return int(trace.folds.count.sum())


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--segments", type=int, default=600_000, help="of each large log")
    arguments = parser.parse_args()
    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")
    print(f"PyDarshan {darshan.__version__}; the better of {RUNS} runs each, in turn")
    print(f"{'log':48} {'segments':>9} {'MB':>8} {'theirs ms':>10} {'ours ms':>8} {'ratio':>7}")
    with tempfile.TemporaryDirectory(prefix="wavetank-importers-") as folder:
        for kind in ("sequential", "irregular"):
            log = Path(folder) / f"{kind}.darshan"
            large_log.write(SAMPLES / "ior_seq_fpp_posix_1m.darshan", log, arguments.segments, kind)
            compare(log, f"large, {kind}")
    for log in sorted(SAMPLES.glob("*.darshan")):
        compare(log, log.name[:48])


if __name__ == "__main__":
    main()
