"""A model as users of Python get it: phases, files and findings as tables, plots, and the kernel that it gives."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

from wavetank.errors import UsageError
from wavetank.findings.all_findings import all_findings
from wavetank.findings.findings_table import findings_table
from wavetank.interface.figure import Figure
from wavetank.interface.figure import public as public_figure
from wavetank.interface.kernel import Kernel
from wavetank.interface.table import Table, by_name, public
from wavetank.model.document import model as document
from wavetank.model.tables.file_table import file_table, names_of
from wavetank.model.tables.model_tables import by_level, model_tables
from wavetank.model.tables.phase_table import phase_table
from wavetank.notes import Note

Kind = Literal["temporal", "spatial", "sizes", "operations", "gantt"]
Axis = Literal["time", "tick"]


class Model:
    """The I/O of an application, independent of the machine: files, phases, order.

    Attributes:
        path: its file; None until it is saved.
        application: the program's name.
        source: what recorded the trace that it was made from.
        n_ranks: ranks of the run.
        bytes_moved: by all ranks.
        elapsed_s: seconds that the run took; None where the source does not tell.
        approximate: whether it was made of counters alone: the order and offsets of calls are assumed.
        notes: what is missing, inferred or left out; ``str(note)`` is a sentence.
    """

    path: Path | None
    application: str
    source: str
    n_ranks: int
    bytes_moved: int
    elapsed_s: float | None
    approximate: bool
    notes: tuple[Note, ...]

    def __init__(self, model: document.Model, path: Path | None = None) -> None:
        self._model, self.path = model, path
        self.application, self.source, self.n_ranks = model.application, model.source, model.n_ranks
        self.bytes_moved, self.elapsed_s = model.app_st, model.elapsed_s
        self.approximate, self.notes = model.approximation is not None, model.notes

    def __repr__(self) -> str:
        return f"<wavetank.Model {self.application}: {self.n_ranks} ranks, {len(self._model.phases):,} phases>"

    @property
    def tables(self) -> dict[str, Table]:
        """What ``wavetank model`` prints, by name: application, files, phases, findings, ..."""
        from wavetank.model.tables.approximation_tables import approximation_tables

        found = [
            findings_table(all_findings(self._model)),
            *approximation_tables(self._model.approximation),
            *model_tables(self._model),
        ]
        return by_name(found)

    @property
    def phases(self) -> Table:
        """A row for each phase of the application's own calls. Those below MPI-IO are in ``tables``."""
        model, (own, _) = self._model, by_level(self._model)
        return public(phase_table(own, model.series, names_of(model), model.n_ranks))

    @property
    def files(self) -> Table:
        """A row for each file."""
        return public(file_table(self._model))

    @property
    def findings(self) -> Table:
        """What the I/O shows, a sentence a row."""
        return public(findings_table(all_findings(self._model)))

    def difference(self, other: Model) -> Table:
        """A row for each difference to another model; none where both stand for the same I/O. Times are not compared."""
        from wavetank.model.comparison.difference import compare_models
        from wavetank.model.comparison.difference_table import difference_table

        return public(difference_table(compare_models(self._model, other._model)))

    def figure(self, kind: Kind, axis: Axis = "time") -> Figure:
        """A plot: ranks or offsets over time, a histogram of request sizes, calls, or phases over time (gantt).

        Args:
            kind: which plot, by its name.
            axis: seconds, or MPI calls before the operation.

        Raises:
            ReportError: the model does not hold what the plot shows.
        """
        from wavetank.report.plots.kinds import draw

        return public_figure(draw(self._model, kind, axis), kind)

    def kernel(self) -> Kernel:
        """The kernel that replays this model's I/O. It names the model's file and hash, so that the model is saved first.

        Raises:
            UsageError: the model is not saved.
            KernelError: it has nothing that a replay could perform.
        """
        from wavetank.kernel.construction.from_model import make_kernel

        if self.path is None:
            raise UsageError(
                f"the model of {self.application} is no file yet, and a kernel names the file that it is made from. "
                "Save it first: model.save('app.model.json')"
            )
        return Kernel(make_kernel(self._model, self.path), None)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model file (JSON).

        Raises:
            DocumentError: it cannot be written; what was there before stays.
        """
        self._model.write(Path(path))
        self.path = Path(path)


def open_model(path: str | os.PathLike[str]) -> Model:
    """Open a model file, as ``wavetank model -o`` or ``Model.save`` left it.

    Raises:
        ModelError: it is missing, damaged, or no model.
    """
    return Model(document.Model.read(Path(path)), Path(path))
