"""Of ``wavetank papers``: rates as multiples of the baseline's beside the published ones, as a table and as a picture."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast

import click

from wavetank.errors import UsageError
from wavetank.tables.table import Column, Definition

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from wavetank.papers.ratios import Ratio
    from wavetank.papers.study import Study
    from wavetank.tables.table import Table

SUFFIXES = (".svg", ".png")


def _label(row: Ratio) -> str:
    from wavetank.compare.comparable import mark

    return f"{row.configuration.origin}{mark(row.configuration)}"


RATIOS: Definition[Ratio] = Definition(
    "ratios",
    "Rates against the baseline",
    (
        Column("application", "Application", lambda i: i.configuration.application),
        Column("cluster", "Cluster", lambda i: i.configuration.cluster, machine=True),
        Column("cluster_title", "Cluster", lambda i: i.configuration.cluster_title, wide=True),
        Column("mapping", "Mapping", lambda i: i.configuration.mapping),
        Column("rate_bytes_per_s", "Rate", lambda i: i.configuration.rate_bytes_per_s, unit="B/s", spread=True),
        Column("times", "Times the baseline's", lambda i: i.times, kind="number", spread=True,
               show=lambda value: f"{value:.2f}", help="empty of the baseline itself"),
        Column("published", "Published", lambda i: i.published, kind="number", show=lambda value: f"{value:.2f}",
               help="empty where the paper says nothing of it"),
        Column("repetitions", "Runs", lambda i: i.configuration.n_repetitions, kind="integer"),
        Column("bottleneck", "What took the time", lambda i: i.waits_for, wide=True),
        Column("guests", "Guests", lambda i: i.guests, help="what makes virtual machines; empty where nodes are none"),
        Column("comparable", "Comparable", lambda i: i.configuration.comparable, kind="boolean", machine=True,
               help="with hardware"),
        Column("label", "The rate is", _label, wide=True),
    ),
    key="ratios",
)  # fmt: skip


def plot_option(command: Callable[..., None]) -> Callable[..., None]:
    """Add ``--plot FILE``, as argument ``plot``."""
    return click.option(
        "--plot", type=click.Path(path_type=Path, dir_okay=False),
        help="Draw rates against the baseline beside the published ones, as .svg or .png.",
    )(command)  # fmt: skip


def see_that_it_can_be_drawn(study: Study, has_baseline: bool, plot: Path | None) -> None:
    """Before anything is measured.

    Raises:
        UsageError: the file is of another kind, its folder is not there, or the study has no baseline.
    """
    if plot is None:
        return
    if plot.suffix not in SUFFIXES:
        raise UsageError(f"--plot {plot}: name a file that ends in {' or '.join(SUFFIXES)}")
    if not plot.absolute().parent.is_dir():
        raise UsageError(f"--plot {plot}: there is no folder {plot.parent}: make it first")
    if not has_baseline:
        raise UsageError(
            f"--plot: study {study.paper} compares with no baseline. 'wavetank report' draws its results"
        )


def ratio_table(study: Study, rows: Sequence[Ratio]) -> Table:
    """Rates against the baseline, and how they are measured."""
    from wavetank.cluster.guests.hypervisors import COMPARABLE_BYTES, INCOMPARABLE
    from wavetank.units import format_size

    base = next((row.configuration.cluster_title for row in rows if row.is_baseline), "the baseline")  # fmt: skip
    caption = f"Published: {study.reference}."
    if any(row.guests for row in rows):
        caption += f" Guests make rates of requests below {format_size(COMPARABLE_BYTES)} {INCOMPARABLE}; such are marked."
    return RATIOS.table(rows, title=f"Rates against {base}", caption=caption)


def draw(study: Study, rows: Sequence[Ratio], plot: Path) -> None:
    """Write the picture.

    Raises:
        UsageError: nothing was measured that could be drawn.
        DocumentError: it cannot be written.
    """
    from wavetank.report.plots.ratios import ratio_bars
    from wavetank.report.plots.svg import save

    if not rows:
        raise UsageError(f"--plot {plot}: these results hold nothing against a baseline")
    save(
        ratio_bars(rows, f"published by {study.reference}"),
        plot,
        cast(Literal["svg", "png"], plot.suffix[1:]),
    )
    click.echo(f"wrote {plot}", err=True)
