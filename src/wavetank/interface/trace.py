"""A trace as users of Python get it: what was recorded, as tables; and the model that it gives."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Literal

import numpy as np

from wavetank.errors import UsageError
from wavetank.interface.events import event_table, file_table, fold_table
from wavetank.interface.model import Model
from wavetank.interface.table import Table, by_name
from wavetank.notes import Note
from wavetank.trace import schema
from wavetank.trace.open import open_trace as open_any
from wavetank.trace.open import require_whole

Level = Literal["posix", "mpiio"]
MOST_EVENTS = 20_000_000
"""Rows of ``Trace.events`` at most, unless more are asked for: they take about 2 GiB."""


class Trace:
    """A run as it was recorded, by wavetank or another tool.

    Attributes:
        path: where it was read from.
        source: what recorded it: "wavetank", "darshan-dxt", "dftracer", "recorder", "strace".
        command: the program with its arguments; empty where the source does not tell.
        n_ranks: ranks of the run.
        elapsed_s: seconds from the first rank's start to the last one's end; None where they are not told.
        n_events: calls that were recorded.
        notes: what was not seen, is missing or damaged; ``str(note)`` is a sentence.
    """

    path: Path
    source: str
    command: tuple[str, ...]
    n_ranks: int
    elapsed_s: float | None
    n_events: int
    notes: tuple[Note, ...]

    def __init__(self, path: Path, trace: schema.Trace) -> None:
        self.path, self._trace = path, trace
        self.source, self.command = trace.source, trace.command
        self.n_ranks, self.elapsed_s = trace.n_ranks, trace.elapsed_s
        self.n_events = int(trace.folds.count.sum())
        self.notes = trace.notes

    def __repr__(self) -> str:
        return f"<wavetank.Trace {self.path} by {self.source}: {self.n_ranks} ranks, {self.n_events:,} events>"

    @property
    def tables(self) -> dict[str, Table]:
        """What ``wavetank summary --full`` prints, by name: trace, ranks, calls, and durations where they were kept."""
        from wavetank.model.tables.trace_tables import trace_tables

        return by_name(trace_tables(self._trace))

    @property
    def files(self) -> Table:
        """A row for each name of a file; its place is ``file_id`` of events and folds."""
        return file_table(self._trace)

    @property
    def folds(self) -> Table:
        """A row for each group of equal calls at regular distance, as it was recorded, with its times."""
        return fold_table(self._trace)

    def events(self, ranks: Collection[int] | None = None, at_most: int = MOST_EVENTS) -> Table:
        """A row for each call, in the order of each rank.

        Args:
            ranks: those alone; None: all.
            at_most: refuse to make more rows than this, of about 100 bytes each.

        Raises:
            UsageError: there are more events.
        """
        folds = self._trace.folds
        some = slice(None) if ranks is None else np.isin(folds.rank, list(ranks))
        n = int(folds.count[some].sum())
        if n > at_most:
            raise UsageError(
                f"{self.path} has {n:,} events, and at most {at_most:,} are asked for. Take fewer with ranks=, "
                "give a larger at_most=, or use folds, which has a row for each group of equal calls"
            )
        return event_table(self._trace, ranks)

    def model(
        self,
        *,
        name: str | None = None,
        split_at_communication: Literal["none", "posix", "mpiio", "both"] = "mpiio",
        computation_gap_s: float | None = None,
        similarity: tuple[float, float] | None = (0.8, 1.2),
        levels: Sequence[Level] | None = None,
        pauses_s: float | None = None,
        each_file: bool = False,
        allow_damaged: bool = False,
    ) -> Model:
        """The I/O model of the run. Arguments are the options of ``wavetank model``.

        Args:
            name: of the application, for titles; None: the program's.
            split_at_communication: levels at which MPI communication between two calls separates phases.
            computation_gap_s: separate phases where a rank does no I/O for this long, seconds; None: never.
            similarity: ratios of size and displacement between which calls are similar; None asks for equality.
            levels: model these alone; None: all in the trace.
            pauses_s: keep pauses of at least this long, seconds; None: none.
            each_file: model each file by itself, also where hundreds are used alike.
            allow_damaged: model what is left of a trace that has lost calls.

        Raises:
            TraceError: the trace has lost calls, and ``allow_damaged`` is not given.
            ModelError: it holds nothing to model, or an argument cannot be.
            UsageError: there is no such level.
        """
        from wavetank.document import provenance
        from wavetank.model.extract import extract_model
        from wavetank.model.rules import rules_of

        if not allow_damaged:
            require_whole(self._trace, "model what is left with allow_damaged=True")
        rules = rules_of(
            split_at_communication, computation_gap_s, similarity, levels, pauses_s, not each_file
        )
        return Model(extract_model(self._trace, provenance([self.path]), rules, name=name))


def open_trace(path: str | os.PathLike[str]) -> Trace:
    """Open a trace of wavetank, or a log of Darshan, DFTracer, Recorder or strace: its content tells which.

    Raises:
        TraceError: it is missing, damaged, or of no kind that is known.
    """
    return Trace(Path(path), open_any(Path(path)))
