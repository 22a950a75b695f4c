"""Request sizes, operation counts and phases of a model (P16 figures 4a and 4b; a Gantt chart)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import Literal

import numpy as np

from wavetank.model.document.listed_sizes import ListedSizes
from wavetank.model.document.model import Model
from wavetank.model.document.phase import ListedOffsets, Phase
from wavetank.model.tables.file_table import names_of
from wavetank.model.tables.model_tables import by_level
from wavetank.model.tables.phase_table import series_rows
from wavetank.report.plots import axes as ax
from wavetank.report.plots.sizes import Operations, class_label, size_class
from wavetank.report.plots.svg import Plot, new_figure, short_name, shorten, styled
from wavetank.report.plots.theme import LIGHT
from wavetank.tables.words import id_range, short_number
from wavetank.units import exact_size, format_size

MAX_GANTT_ROWS = 40


def operations_by_size(phases: Iterable[Phase]) -> tuple[Operations, ...]:
    """Data operations of phases by kind and request size, counted over all ranks."""
    counts: Counter[tuple[str, int]] = Counter()
    for phase in phases:
        for position, (member, offset) in enumerate(zip(phase.pattern, phase.offset, strict=True)):
            listed = offset.sizes if offset.function == "unknown" else offset
            if isinstance(listed, ListedOffsets | ListedSizes):
                for rs, n in _listed_sizes(listed):
                    counts[ax.kind_of(member.iop_type), rs] += n
                continue
            moved = phase.moved_last[position] if phase.moved_last is not None else member.rs
            last = 0 if moved == member.rs else 1
            kind = ax.kind_of(member.iop_type)
            counts[kind, member.rs] += phase.ph_np * (phase.ph_nrep - last)
            counts[kind, moved] += phase.ph_np * last
    return tuple(Operations(kind, rs, n) for (kind, rs), n in sorted(counts.items()) if n)


def _listed_sizes(offsets: ListedOffsets | ListedSizes) -> list[tuple[int, int]]:
    """(bytes moved, operations) of runs: all but a run's last operation move its request size."""
    moved = offsets.count * offsets.rs if offsets.moved is None else offsets.moved
    last = moved - (offsets.count - 1) * offsets.rs
    sizes = np.concatenate([offsets.rs, last])
    values, inverse = np.unique(sizes, return_inverse=True)
    weights = np.concatenate([offsets.count - 1, np.ones_like(offsets.count)])
    n = np.bincount(inverse, weights=weights, minlength=len(values)).astype(np.int64)
    return list(zip(values.tolist(), n.tolist(), strict=True))


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
                short_number(count),
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
        ax.write_beside(axes, f"{count:,}", (count, row))
    axes.set_yticks(range(len(shown)), [shorten(operation, 24) for operation, _ in shown])
    axes.invert_yaxis()
    longest = max((len(f"{count:,}") for _, count in shown), default=1)
    axes.margins(x=0.05 + 0.025 * longest)  # room for the number behind the longest bar
    axes.set_xlabel("calls")
    ax.no_ticks(axes, "y")
    ax.count_axis(axes, "x")
    return plot


@styled
def gantt(
    model: Model,
    axis: Literal["time", "tick"],
    name: str = "gantt",
    most_rows: int = MAX_GANTT_ROWS,
) -> Plot:
    """Phases as bars over time or tick; a series of equal phases is one row.

    Where there are more than ``most_rows``, a row is a file; of very many files, those with most bytes.
    """
    own, _ = by_level(model)
    names = names_of(model)
    at_work = _at_work(model) if axis == "time" else {}
    caption = "A bar lasts from the first rank's start to the last rank's end in the phase."
    if at_work:
        caption = (
            "A thin line lasts from the first rank's start to the last rank's end in the phase; "
            "bars show when ranks moved data in it."
        )
    if any(len(_kinds(phase)) > 1 for phase in own):
        caption += " A phase that reads and writes in turn has both, reads above."
    shown, n_rows, which = _gantt_rows(own, model, most_rows)
    labels = [
        f"{numbers} · {short_name(names.get(phases[0].file_id, '?'), 34)}"
        for numbers, phases in shown
    ]
    figure = new_figure(8.6, 0.75 + 0.24 * max(len(shown), 2))
    axes = figure.add_subplot()
    plot = Plot(
        name=name,
        title=f"Phases over {axis}",
        caption=caption + which,
        alt=f"{len(own)} phases in {n_rows} rows: " + "; ".join(labels),
        figure=figure,
    )
    ends = [_phase_ends(phase, axis) for phase in own] or [(0.0, 1.0)]
    low, high = min(left for left, _ in ends), max(right for _, right in ends)
    margin = max(0.01 * (high - low), 1e-6)
    for row, (label, (_, phases)) in enumerate(zip(labels, shown, strict=True)):
        mixed = len({kind for phase in phases for kind in _kinds(phase)}) > 1
        for kind in ("write", "read", "other"):
            some = [phase for phase in phases if kind in _kinds(phase)]
            whole = ax.merge_columns((_phase_ends(phase, axis) for phase in some), (low, high))
            bars = ax.merge_columns(
                (
                    ends
                    for phase in some
                    for ends in at_work.get((phase.ph_id, kind), [_phase_ends(phase, axis)])
                ),
                (low, high),
            )
            if bars:
                tip = plot.tip(f"{label}: {_phases_words(some, kind)}")
                top = row - 0.31 if not mixed or kind == "read" else row
                bottom = row if mixed and kind == "read" else row + 0.31
                if whole != bars:
                    middle = (top + bottom) / 2
                    axes.add_patch(
                        ax.rectangles(whole, middle - 0.03, middle + 0.03, LIGHT[kind], None)
                    )
                axes.add_patch(ax.rectangles(bars, top, bottom, LIGHT[kind], tip))
    axes.set_yticks(range(len(shown)), [shorten(label, 46) for label in labels])
    axes.set_xlim(max(low - margin, -margin), high + margin)
    axes.set_ylim(max(len(shown), 1) - 0.4, -0.6)
    axes.set_xlabel(
        "time since the start of the trace (s)"
        if axis == "time"
        else "tick (MPI calls before the operation)"
    )
    ax.no_ticks(axes, "y")
    kinds = {kind for phase in own for kind in _kinds(phase)}
    ax.legend_above(
        axes, {kind: LIGHT[kind] for kind in ("read", "write", "other") if kind in kinds}
    )
    return plot


def _gantt_rows(
    own: Sequence[Phase], model: Model, most_rows: int
) -> tuple[list[tuple[str, list[Phase]]], int, str]:
    """The rows that are shown, how many there are, and what a reader must be told of them."""
    rows = [
        (id_range(phase.ph_id for phase in phases), phases)
        for phases, _ in series_rows(own, model.series)
    ]
    if len(rows) <= most_rows:
        return rows, len(rows), ""
    rows = _by_file(own)
    which = " A row is a file, reads above and writes below: there are more phases than rows."
    if len(rows) <= most_rows:
        return rows, len(rows), which
    most = sorted(range(len(rows)), key=lambda row: -sum(p.ph_weight for p in rows[row][1]))
    shown = [rows[row] for row in sorted(most[:most_rows])]
    return shown, len(rows), f"{which} The {most_rows} with most bytes of {len(rows):,}."


def _at_work(model: Model) -> dict[tuple[int, str], list[tuple[float, float]]]:
    """When ranks of the timeline moved data in each phase, seconds, by phase and kind of operation."""
    found: dict[tuple[int, str], list[tuple[float, float]]] = defaultdict(list)
    for point in model.timeline:
        if point.start_s is not None and point.end_s is not None:
            found[point.ph_id, ax.kind_of(point.iop_type)].append((point.start_s, point.end_s))
    return found


def _by_file(own: Sequence[Phase]) -> list[tuple[str, list[Phase]]]:
    """(how many phases, phases) of each file, by first occurrence."""
    by_file: dict[int, list[Phase]] = defaultdict(list)
    for phase in own:
        by_file[phase.file_id].append(phase)
    return [
        (f"{len(phases):,} phases" if len(phases) > 1 else str(phases[0].ph_id), phases)
        for phases in by_file.values()
    ]


def _kinds(phase: Phase) -> set[ax.Kind]:
    """What the operations of a phase's pattern do."""
    return {ax.kind_of(member.iop_type) for member in phase.pattern}


def _phases_words(phases: Sequence[Phase], kind: str) -> str:
    """What phases of one kind move."""
    weight = format_size(sum(phase.ph_weight for phase in phases))
    most = max(phase.ph_np for phase in phases)
    ranks = f"{most:,} rank{'s' * (most != 1)}"
    both = ", read and written" if any(len(_kinds(phase)) > 1 for phase in phases) else ""
    if len(phases) == 1:
        return f"{weight}{both} by {ranks}"
    return f"{len(phases):,} {kind} phases, {weight}{both} by up to {ranks}"


def _phase_ends(phase: Phase, axis: Literal["time", "tick"]) -> tuple[float, float]:
    if axis == "tick" or phase.start_s is None or phase.end_s is None:
        return float(phase.tick_first), float(phase.tick_last) + 1.0
    return phase.start_s, phase.end_s


def _class_tick(index: int, sizes: Sequence[int]) -> str:
    different = set(np.unique(np.asarray(sizes, dtype=np.int64)).tolist()) if sizes else set()
    if len(different) == 1:
        return exact_size(different.pop())
    return class_label(index).replace(" \N{EN DASH} ", "\nto ")
