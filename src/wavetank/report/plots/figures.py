"""Which plots a report holds, in its order. A plot is drawn when it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from wavetank.compare.comparison import Comparison
from wavetank.compare.configuration import Configuration
from wavetank.compare.effects import effects_shown
from wavetank.compare.tables.effects import sorted_effects
from wavetank.measure.result import Measurement
from wavetank.model.document.model import Model
from wavetank.model.tables.model_tables import by_level
from wavetank.report.plots import bars as bar_plots
from wavetank.report.plots import choice as choice_plots
from wavetank.report.plots import model as model_plots
from wavetank.report.plots import operations as operation_plots
from wavetank.report.plots import trust as trust_plots
from wavetank.report.plots.heat_map import heat_map
from wavetank.report.plots.svg import Plot


@dataclass(frozen=True)
class Figure:
    """Plots of the same thing, of which one is shown at a time: (label, what draws it)."""

    variants: tuple[tuple[str, Callable[[], Plot]], ...]


def _one(draw: Callable[[], Plot]) -> Figure:
    return Figure((("", draw),))


def performance_figures(
    comparison: Comparison,
    members: Sequence[Configuration],
    measurements: Sequence[Measurement],
    model: Model | None,
    anchor: str,
) -> tuple[Figure, ...]:
    """Rate, reads and writes apart where there are both, time, and the kernel's price in time."""
    if not members:
        return ()
    figures = [_one(partial(bar_plots.bars, members, (bar_plots.RATE,), f"{anchor}-rate"))]
    if all(c.read_bytes_per_s is not None and c.write_bytes_per_s is not None for c in members):
        ways = (bar_plots.READ_RATE, bar_plots.WRITE_RATE)
        figures.append(_one(partial(bar_plots.bars, members, ways, f"{anchor}-ways")))
    figures.append(_one(partial(bar_plots.bars, members, (bar_plots.IO_TIME,), f"{anchor}-time")))
    if model is not None and model.elapsed_s is not None and measurements:
        draw = partial(
            choice_plots.kernel_times, members, measurements, model, f"{anchor}-kernel-time"
        )
        figures.append(_one(draw))
    by_id = {c.id: c for c in members}
    beside = [each for one in comparison.trust for each in one.times if each.configuration in by_id]
    if beside:
        name = f"{anchor}-own-time"
        figures.append(_one(partial(trust_plots.own_times, beside, by_id, name)))
    return tuple(figures)


def cost_figures(
    comparison: Comparison, members: Sequence[Configuration], anchor: str
) -> tuple[Figure, ...]:
    """Cost, and both time and cost where there is a choice."""
    priced = [c for c in members if c.cost is not None]
    if not priced or comparison.price is None:
        return ()
    currency = comparison.price.currency
    cost = (bar_plots.cost_quantity(currency, members),)
    figures = [
        _one(partial(bar_plots.bars, members, cost, f"{anchor}-cost")),
    ]
    if len(priced) > 1:
        name = f"{anchor}-pareto"
        figures.append(_one(partial(choice_plots.pareto, members, comparison, currency, name)))
    return tuple(figures)


def effects_figure(comparison: Comparison, application: str, anchor: str) -> Figure | None:
    """What a change does; None where no two configurations that are shown differ."""
    shown = {(effect.first, effect.second) for effect in effects_shown(comparison)}
    found = [
        effect
        for effect in sorted_effects(comparison, application)
        if (effect.first, effect.second) in shown
    ]
    if not found:
        return None
    return _one(partial(choice_plots.effects, found, comparison, f"{anchor}-effects"))


def pattern_figures(model: Model, anchor: str) -> tuple[Figure, ...]:
    """Bytes by rank, temporal and spatial pattern, phases: over time and tick."""
    if not model.timeline:
        return ()
    axes: tuple[model_plots.Axis, ...] = (
        ("time", "tick") if model_plots.has_times(model) else ("tick",)
    )
    kinds = (
        (heat_map, "heat"),
        (model_plots.temporal_pattern, "temporal"),
        (model_plots.spatial_pattern, "spatial"),
        (operation_plots.gantt, "gantt"),
    )
    return tuple(
        Figure(
            tuple((axis, partial(draw, model, axis, f"{anchor}-{name}-{axis}")) for axis in axes)
        )
        for draw, name in kinds
    )


def operation_figures(model: Model, anchor: str) -> tuple[Figure, ...]:
    """Request sizes and operation counts, narrow enough to stand side by side.

    Where the MPI library works below the application, its calls are the other variant.
    """
    levels = [
        (label, phases)
        for label, phases in zip(("application", "below MPI-IO"), by_level(model), strict=True)
        if phases
    ]
    kinds = (
        (operation_plots.request_sizes, "sizes"),
        (operation_plots.operation_counts, "operations"),
    )
    return tuple(
        Figure(
            tuple(
                (label, partial(draw, phases, f"{anchor}-{name}-{position}"))
                for position, (label, phases) in enumerate(levels)
            )
        )
        for draw, name in kinds
        if levels
    )
