"""Results of a campaign or of an interference study as users of Python get them: tables, figures, models, the report."""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from wavetank.campaign.measurement_table import MEASUREMENTS
from wavetank.campaign.results_folder import open_store
from wavetank.document import write_whole
from wavetank.errors import UsageError
from wavetank.interface.figure import Figure, public
from wavetank.interface.kernel import Kernel
from wavetank.interface.model import Model
from wavetank.interface.table import Table, by_name
from wavetank.interface.table import public as public_table
from wavetank.notes import Note
from wavetank.report.gather import Campaign as Gathered
from wavetank.report.gather import read_folder

if TYPE_CHECKING:
    from wavetank.report.page.content import Page
    from wavetank.report.plots.figures import Figure as Variants


class Campaign:
    """What was measured, and what it says.

    Attributes:
        path: folder of the results.
        name: of the campaign.
        applications: names, in the order of the comparison; none of an interference study.
        advice: sentences: what to choose and why.
        notes: what a reader must know before using the numbers; ``str(note)`` is a sentence.
        models: by application; those that the campaign named.
        kernels: by application.
    """

    path: Path
    name: str
    applications: tuple[str, ...]
    advice: tuple[str, ...]
    notes: tuple[Note, ...]
    models: dict[str, Model]
    kernels: dict[str, Kernel]

    def __init__(self, path: Path, found: Gathered) -> None:
        self.path, self._found = path, found
        self.name, self.applications = found.comparison.campaign, found.applications
        self.advice = tuple(each.sentence for each in found.comparison.advice)
        self.notes = found.comparison.notes
        self.models = {name: Model(model) for name, model in found.models.items()}
        self.kernels = {name: Kernel(kernel) for name, kernel in found.kernels.items()}

    def __repr__(self) -> str:
        return f"<wavetank.Campaign {self.name} in {self.path}: {', '.join(self.applications) or 'a study'}>"

    @property
    def tables(self) -> dict[str, Table]:
        """What ``wavetank results`` prints, by name: rankings, phases, cost, effects, advice, ..."""
        from wavetank.compare.tables.all import comparison_tables
        from wavetank.interfere.tables import all_study_tables

        comparison = self._found.comparison
        study = comparison.interference
        found = (
            comparison_tables(comparison) if study is None else all_study_tables(comparison, study)
        )
        return by_name(found)

    @property
    def measurements(self) -> Table:
        """A row for each measurement, with what it was made with; none of an interference study.

        Raises:
            MeasurementError: the folder is gone or damaged.
        """
        with open_store(self.path) as store:
            return public_table(MEASUREMENTS.table(store.entries()))

    def figures(self, application: str | None = None) -> dict[str, Figure]:
        """Plots of the report, by name: rate, time, cost, pareto, effects, ... as far as there are numbers for them.

        Args:
            application: whose; None where there is one, or for an interference study.

        Raises:
            UsageError: there is no such application, or there are several and none is named.
        """
        page = self._page
        if page.study is not None:
            return _drawn(page.study.figures, "study-")
        names = [part.name for part in page.applications]
        if application is None and len(names) == 1:
            application = names[0]
        if application not in names:
            asked = "no application is named" if application is None else f"no {application!r}"
            raise UsageError(f"{self.name}: {asked}. Applications: {', '.join(names)}")
        part = page.applications[names.index(application)]
        effects = [] if part.effects_plot is None else [part.effects_plot]
        return _drawn([*part.performance, *part.cost, *effects], f"{part.anchor}-")

    def save_report(self, path: str | os.PathLike[str]) -> None:
        """Write the report as one HTML file, as ``wavetank report`` does.

        Raises:
            DocumentError: it cannot be written; what was there before stays.
        """
        from wavetank.report.page.html import render

        write_whole(Path(path), render(self._found))

    @cached_property
    def _page(self) -> Page:
        from wavetank.report.page.content import make_page

        return make_page(self._found)


def _drawn(figures: Iterable[Variants], prefix: str) -> dict[str, Figure]:
    """All plots of all variants, by their names in the report without the part that they share."""
    drawn = [draw() for figure in figures for _, draw in figure.variants]
    return {
        name: public(plot, name) for plot in drawn for name in (plot.name.removeprefix(prefix),)
    }


def open_campaign(path: str | os.PathLike[str]) -> Campaign:
    """Open the folder of results that ``wavetank run``, ``try`` or ``interfere`` left, also of one that runs still.

    Raises:
        MeasurementError: it holds no results, or damaged ones.
    """
    return Campaign(Path(path), read_folder(Path(path)))
