"""Request sizes, operation counts and phases of a model (P16 figures 4a and 4b; a Gantt chart)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Literal

import numpy as np

from wavetank.model.application import Model
from wavetank.model.phase import Phase
from wavetank.report import axes as ax
from wavetank.report.model_tables import by_level, names_of, series_rows
from wavetank.report.sizes import Operations, class_label, exact_size, size_class
from wavetank.report.svg import Plot, new_figure, short_name, shorten, styled
from wavetank.report.tables import id_range
from wavetank.report.theme import LIGHT
from wavetank.units import format_size

MAX_GANTT_ROWS = 40


def operations_by_size(phases: Iterable[Phase]) -> tuple[Operations, ...]:
    """Data operations of phases by kind and request size, counted over all ranks."""
    counts: Counter[tuple[str, int]] = Counter()
    for phase in phases:
        for position, member in enumerate(phase.pattern):
            moved = phase.moved_last[position] if phase.moved_last is not None else member.rs
            last = 0 if moved == member.rs else 1
            kind = ax.kind_of(member.iop_type)
            counts[kind, member.rs] += phase.ph_np * (phase.ph_nrep - last)
            counts[kind, moved] += phase.ph_np * last
    return tuple(Operations(kind, rs, n) for (kind, rs), n in sorted(counts.items()) if n)


@styled
def request_sizes(phases: Sequence[Phase], name: str = "sizes") -> Plot:
    """Data operations by class of request size, reads and writes side by side."""
    operations = operations_by_size(phases)
    classes = [size_class(operation.rs) for operation in operations] or [0]
    first, last = min(classes), max(classes)
    figure = new_figure(4.3, 2.7)
    axes = figure.add_subplot()
    total = sum(operation.count for operation in operations)
    plot = Plot(
        name=name,
        title="Request sizes",
        caption="Data operations by size, in Darshan's bins; a bin with one size shows it.",
        alt=f"{total:,} data operations: "
        + "; ".join(
            f"{o.count:,} {o.kind}s of {exact_size(o.rs)}"
            for o in sorted(operations, key=lambda o: -o.count)[:8]
        ),
        figure=figure,
    )
    kinds = [kind for kind in ("read", "write", "other") if any(o.kind == kind for o in operations)]
    width = 0.78 / max(len(kinds), 1)
    for position, kind in enumerate(kinds):
        for index in range(first, last + 1):
            members = [o for o in operations if o.kind == kind and size_class(o.rs) == index]
            count = sum(o.count for o in members)
            if not count:
                continue
            x = index + (position - (len(kinds) - 1) / 2) * width
            sizes = ", ".join(exact_size(o.rs) for o in members[:6]) + (
                " …" if len(members) > 6 else ""
            )
            bar = axes.bar(x, count, width * 0.92, color=LIGHT[kind])[0]
            bar.set_url(plot.tip(f"{count:,} {kind} operations ({count / total:.0%}): {sizes}"))
            axes.annotate(
                ax.short_number(count),
                (x, count),
                (0, 2),
                textcoords="offset points",
                ha="center",
                va="bottom",
                fontsize=7.5,
            )
    labels = [
        _class_tick(index, [o.rs for o in operations if size_class(o.rs) == index])
        for index in range(first, last + 1)
    ]
    axes.set_xticks(range(first, last + 1), labels)
    axes.set_xlim(min(first - 0.6, last - 1.6), max(last + 0.6, first + 1.6))
    axes.set_ylabel("operations")
    axes.margins(y=0.12)
    ax.no_ticks(axes, "x")
    ax.count_axis(axes, "y")
    ax.legend_above(axes, {kind: LIGHT[kind] for kind in kinds})
    return plot


@styled
def operation_counts(phases: Sequence[Phase], name: str = "operations") -> Plot:
    """How often each operation was called, data and metadata (P16 figure 4a)."""
    counts: Counter[str] = Counter()
    for phase in phases:
        for member in phase.pattern:
            counts[member.iop_type] += phase.ph_np * phase.ph_nrep
        counts.update(phase.metadata_ops)
    shown = counts.most_common(12)
    figure = new_figure(4.3, max(1.5, 0.55 + 0.26 * len(shown)))
    axes = figure.add_subplot()
    plot = Plot(
        name=name,
        title="Operations",
        caption="Calls over all ranks during the phases.",
        alt="; ".join(f"{operation} {count:,}" for operation, count in shown),
        figure=figure,
    )
    for row, (operation, count) in enumerate(shown):
        bar = axes.barh(row, count, 0.62, color=LIGHT[ax.kind_of(operation)])[0]
        bar.set_url(plot.tip(f"{operation}: {count:,} calls"))
        axes.annotate(
            f"{count:,}",
            (count, row),
            (4, 0),
            textcoords="offset points",
            va="center",
            fontsize=7.5,
        )
    axes.set_yticks(range(len(shown)), [shorten(operation, 24) for operation, _ in shown])
    axes.invert_yaxis()
    axes.margins(x=0.16)
    axes.set_xlabel("calls")
    ax.no_ticks(axes, "y")
    ax.count_axis(axes, "x")
    return plot


@styled
def gantt(model: Model, axis: Literal["time", "tick"], name: str = "gantt") -> Plot:
    """Phases as bars over time or tick; a series of equal phases is one row."""
    own, _ = by_level(model)
    rows = _gantt_rows(model, own)
    shown = rows[:MAX_GANTT_ROWS]
    figure = new_figure(8.6, 0.75 + 0.24 * max(len(shown), 2))
    axes = figure.add_subplot()
    n_left_out = len(rows) - len(shown)
    plot = Plot(
        name=name,
        title=f"Phases over {axis}",
        caption="A bar lasts from the first rank's start to the last rank's end in the phase."
        + (f" {n_left_out} later rows are not shown." if n_left_out else ""),
        alt=f"{len(own)} phases in {len(rows)} rows: "
        + "; ".join(f"{label}" for label, _ in shown),
        figure=figure,
    )
    ends = [_phase_ends(phase, axis) for _, phases in shown for phase in phases] or [(0.0, 1.0)]
    least = 0.003 * (max(right for _, right in ends) - min(left for left, _ in ends))
    for row, (label, phases) in enumerate(shown):
        for phase in phases:
            left, right = _phase_ends(phase, axis)
            kind = ax.kind_of(phase.pattern[0].iop_type)
            bar = axes.barh(row, max(right - left, least), 0.62, left=left, color=LIGHT[kind])[0]
            bar.set_url(plot.tip(f"{label}: {format_size(phase.ph_weight)} by {phase.ph_np} ranks"))
    axes.set_yticks(range(len(shown)), [shorten(label, 46) for label, _ in shown])
    axes.set_ylim(max(len(shown), 1) - 0.4, -0.6)
    axes.set_xlabel(
        "time since the start of the trace (s)"
        if axis == "time"
        else "tick (MPI calls before the operation)"
    )
    ax.no_ticks(axes, "y")
    kinds = {ax.kind_of(phase.pattern[0].iop_type) for phase in own}
    ax.legend_above(
        axes, {kind: LIGHT[kind] for kind in ("read", "write", "other") if kind in kinds}
    )
    return plot


def _gantt_rows(model: Model, own: Sequence[Phase]) -> list[tuple[str, list[Phase]]]:
    """(label, phases) by first occurrence."""
    names = names_of(model)
    return [
        (
            f"{id_range(phase.ph_id for phase in phases)} · "
            f"{short_name(names.get(phases[0].file_id, '?'), 34)}",
            phases,
        )
        for phases, _ in series_rows(model, own)
    ]


def _phase_ends(phase: Phase, axis: Literal["time", "tick"]) -> tuple[float, float]:
    if axis == "tick" or phase.start_s is None or phase.end_s is None:
        return float(phase.tick_first), float(phase.tick_last) + 1.0
    return phase.start_s, phase.end_s


def _class_tick(index: int, sizes: Sequence[int]) -> str:
    different = set(np.unique(np.asarray(sizes, dtype=np.int64)).tolist()) if sizes else set()
    if len(different) == 1:
        return exact_size(different.pop())
    return class_label(index).replace(" \N{EN DASH} ", "\nto ")
