"""How fast Darshan logs with DXT segments are imported, as ratios to PyDarshan in the same run.

    benchmarks/importers/run [--segments 600000]

Each log is read by both in turn, three times, and the better time of each counts. PyDarshan's time is that of
its defaults: ``DarshanReport(log)``, then ``to_df()`` of the DXT records. Ours is what every command does with
a log: ``open_trace``, to folded operations; the second ratio has the extraction of the model in it. Seconds are
CPU time, so that a busy machine changes the ratios little. Logs: two of the stated number of segments, made by
large_log.py, one regular and one without any regularity, and the samples among the tests' data. Targets: 25 times
faster on the largest, and 20 times with the extraction.
"""

from __future__ import annotations

import argparse
import logging
import tempfile
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

import darshan
import large_log

from wavetank.document import provenance
from wavetank.model.extract import extract_model
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
    print(
        f"{name:48} {operations(trace):9} {log.stat().st_size / 1e6:8.3f} {min(theirs) * 1e3:10.1f} "
        f"{min(ours) * 1e3:8.1f} {ratio:7.1f}{with_model}"
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
    print(
        f"{'log':48} {'segments':>9} {'MB':>8} {'theirs ms':>10} {'ours ms':>8} {'ratio':>7}{'with the model':>16}"
    )
    with tempfile.TemporaryDirectory(prefix="wavetank-importers-") as folder:
        for kind in ("sequential", "irregular"):
            log = Path(folder) / f"{kind}.darshan"
            large_log.write(SAMPLES / "ior_seq_fpp_posix_1m.darshan", log, arguments.segments, kind)
            compare(log, f"large, {kind}")
    for log in sorted(SAMPLES.glob("*.darshan")):
        compare(log, log.name[:48])


if __name__ == "__main__":
    main()
