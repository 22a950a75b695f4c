"""What each threshold of an extraction decides: models at half and at twice its value, against those at its value.

    .venv/bin/python benchmarks/model/thresholds.py [--operations 4000] [--threshold NAME ...]

Runs are the recorded logs of tests/data and made ones: the patterns of extraction.py, and many small files. A line is a
threshold. It counts the models that differ in anything but ``thresholds``. It says how many phases, and how many bytes of
model, all runs together have then, as a ratio. No number depends on the machine or on time.
"""

from __future__ import annotations

import argparse
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from annotated_types import Ge
from extraction import KINDS, chunk, trace_of

from wavetank.document import Provenance, provenance
from wavetank.errors import WavetankError
from wavetank.model.document.model import Model
from wavetank.model.document.thresholds import Thresholds
from wavetank.model.extract import extract_model
from wavetank.model.rules import Rules
from wavetank.trace.open import open_trace
from wavetank.trace.ops import OPS_BY_NAME
from wavetank.trace.schema import Trace, TracedFile

DATA = Path(__file__).resolve().parents[2] / "tests" / "data"


@dataclass(frozen=True)
class Made:
    """Of one model: what it holds but for its thresholds and provenance, as a hash; its phases and bytes."""

    content: str
    n_phases: int
    n_bytes: int


def recorded() -> Iterator[Trace]:
    """The logs that tests read: of Darshan, DFTracer and Recorder."""
    folders = [version.parent for version in (DATA / "recorder").rglob("VERSION")]
    files = [path for pattern in ("*.darshan", "*.pfw*") for path in DATA.rglob(pattern)]
    for path in sorted([*folders, *files]):
        try:
            yield open_trace(path)
        except WavetankError:  # a log that is refused
            continue


def small_files(n: int, n_files: int) -> Trace:
    """A process that opens, writes and closes one file after another."""
    table = chunk("sequential", 0, 0, n, n)
    i = np.arange(n)
    codes = [OPS_BY_NAME[name].code for name in ("open", "pwrite", "close")]
    size = np.where(i % 3 == 1, 4096, 0)
    table = replace(
        table, op=np.array(codes, np.uint8)[i % 3], file=(i // 3 % n_files).astype(np.int32),
        handle=(i // 3).astype(np.int32), size=size, moved=size, offset=0 * i, view_offset=0 * i,
    )  # fmt: skip
    files = tuple(TracedFile(f"/data/part.{number}") for number in range(n_files))
    return replace(trace_of(table), files=files)


def runs(n: int) -> list[Trace]:
    """All runs; made ones have ``n`` operations of one rank."""
    made = [trace_of(chunk(kind, 0, 0, n, n)) for kind in KINDS]
    made += [small_files(3 * n_files, n_files) for n_files in (60, 150, 600)]
    return [*recorded(), *made]


def model_of(trace: Trace, rules: Rules, made_by: Provenance) -> Made | None:
    """A run's model; None where it has none."""
    try:
        model = extract_model(trace, made_by, rules)
    except WavetankError:
        return None
    text = Model.model_dump_json(model, exclude={"thresholds", "provenance"})
    return Made(hashlib.sha256(text.encode()).hexdigest(), len(model.phases), len(text))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--operations", type=int, default=4000, help="of each made run")
    parser.add_argument("--threshold", action="append", default=[], help="only these")
    arguments = parser.parse_args()
    made_by = provenance()
    traces = runs(arguments.operations)
    before = [model_of(trace, Rules(), made_by) for trace in traces]
    traces = [trace for trace, made in zip(traces, before, strict=True) if made]
    was = [made for made in before if made]
    n_phases, n_bytes = sum(made.n_phases for made in was), sum(made.n_bytes for made in was)
    print(f"{len(was)} models, {n_phases} phases, {n_bytes} bytes")
    print(f"{'threshold':<24}{'value':>8}{'models':>8}{'phases':>8}{'bytes':>8}")
    for name, field in Thresholds.model_fields.items():
        if arguments.threshold and name not in arguments.threshold:
            continue
        least = next(int(str(limit.ge)) for limit in field.metadata if isinstance(limit, Ge))
        for value in (max(field.default // 2, least), 2 * field.default):
            rules = Rules(thresholds=Thresholds(**{name: value}))
            now = [model_of(trace, rules, made_by) for trace in traces]
            kept = [made for made in now if made]
            assert len(kept) == len(was)
            differ = sum(a.content != b.content for a, b in zip(was, kept, strict=True))
            phases = sum(made.n_phases for made in kept) / n_phases
            size = sum(made.n_bytes for made in kept) / n_bytes
            print(f"{name:<24}{value:>8}{differ:>8}{phases:>8.2f}{size:>8.2f}", flush=True)


if __name__ == "__main__":
    main()
