"""A model's plots by name, for those who want one as a file."""

from __future__ import annotations

from typing import Literal

from wavetank.errors import ReportError
from wavetank.model.document.model import Model
from wavetank.model.tables.model_tables import by_level
from wavetank.report.plots.heat_map import heat_map
from wavetank.report.plots.model import Axis, has_times, spatial_pattern, temporal_pattern
from wavetank.report.plots.operations import gantt, operation_counts, request_sizes
from wavetank.report.plots.svg import Plot

PlotKind = Literal["heat", "temporal", "spatial", "sizes", "operations", "gantt"]
KINDS: tuple[PlotKind, ...] = ("heat", "temporal", "spatial", "sizes", "operations", "gantt")


def draw(model: Model, kind: PlotKind, axis: Axis) -> Plot:
    """Draw one plot.

    Raises:
        ReportError: the model does not hold what the plot shows.
    """
    if kind in ("heat", "temporal", "spatial") and not model.timeline:
        raise ReportError(
            f"the model of {model.application} has no timeline, so there is no {kind} plot. "
            "Plot its sizes, operations or phases (gantt) instead"
        )
    if axis == "time" and kind in ("heat", "temporal", "spatial", "gantt") and not has_times(model):
        raise ReportError(
            f"the model of {model.application} does not know when its operations happened. "
            "Plot over tick instead: axis 'tick'"
        )
    if kind == "heat":
        return heat_map(model, axis)
    if kind == "temporal":
        return temporal_pattern(model, axis)
    if kind == "spatial":
        return spatial_pattern(model, axis)
    if kind == "gantt":
        return gantt(model, axis)
    own, _ = by_level(model)
    return request_sizes(own) if kind == "sizes" else operation_counts(own)
