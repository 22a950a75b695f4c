"""The part of a report that an interference study fills: sentences, plots, tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from wavetank.compare.comparison import Advice, Comparison
from wavetank.compare.interference import Interference, Setting
from wavetank.interfere.tables import study_tables
from wavetank.report.plots import study as study_plots
from wavetank.report.plots.figures import Figure
from wavetank.report.plots.svg import Plot
from wavetank.tables.table import Table
from wavetank.units import format_size


@dataclass(frozen=True)
class StudyPart:
    """What an interference study says."""

    groups: tuple[str, ...]
    advice: tuple[Advice, ...]
    figures: tuple[Figure, ...]
    tables: tuple[Table, ...]


def study_part(comparison: Comparison, found: Interference) -> StudyPart:
    """A study's sentences, plots and tables."""
    titles = _titles(comparison, found)
    return StudyPart(
        groups=tuple(
            f"{g.name}: {g.clients} client{'' if g.clients == 1 else 's'}, {g.pattern}"
            for g in found.groups
        ),
        advice=comparison.advice,
        figures=(
            *_interval_figures(found, titles),
            *_matrix_figures(found, titles),
            *_offset_figures(found, titles),
        ),
        tables=tuple(study_tables(comparison, found)),
    )


def _titles(comparison: Comparison, found: Interference) -> dict[tuple[str, str], str]:
    """What a plot is about: cluster and mapping, where there are several of them."""
    places = dict.fromkeys((s.cluster, s.mapping) for s in found.settings)
    several = len({mapping for _, mapping in places}) > 1
    return {
        (cluster, mapping): f"{title}, {mapping}" if several else title
        for cluster, mapping in places
        for title in (comparison.title_of(cluster),)
    }


def _interval_figures(found: Interference, titles: dict[tuple[str, str], str]) -> Iterator[Figure]:
    for number, ((cluster, mapping), title) in enumerate(titles.items()):
        here = [
            s
            for s in found.settings
            if (s.cluster, s.mapping) == (cluster, mapping) and s.interval_s is not None
        ]
        if len(here) < 2:
            continue
        yield Figure(tuple(_bandwidth_variants(found, here, title, f"study-{number}")))
        draw = partial(
            study_plots.object_times,
            found,
            here,
            f"Time of an object on {title}",
            f"study-{number}-times",
        )
        yield Figure((("", draw),))


def _bandwidth_variants(
    found: Interference, settings: Sequence[Setting], title: str, name: str
) -> Iterator[tuple[str, partial[Plot]]]:
    for io, label in ((True, "while transferring"), (False, "all the time")):
        overs: tuple[study_plots.Over, ...] = ("interval", "time ratio")
        for over in overs:
            key = f"{name}-{over.replace(' ', '-')}-{'io' if io else 'all'}"
            draw = partial(
                study_plots.bandwidth, found, settings, over, io, f"Bandwidth on {title}", key
            )
            yield f"{label}, over the {over}", draw


def _matrix_figures(found: Interference, titles: dict[tuple[str, str], str]) -> Iterator[Figure]:
    for number, ((cluster, mapping), title) in enumerate(titles.items()):
        sizes = dict.fromkeys(
            s.object_bytes
            for s in found.settings
            if s.point == "pair" and (s.cluster, s.mapping) == (cluster, mapping)
        )
        for position, size in enumerate(sizes):
            pairs = [
                s
                for s in found.slowdowns
                if (s.cluster, s.mapping, s.object_bytes) == (cluster, mapping, size)
                and s.offset_s is None
                and s.interval_s is None
                and len(s.beside) == 1
                and s.instance == 0
            ]
            if pairs:
                name = f"study-{number}-matrix-{position}"
                words = title if size is None else f"{title}, objects of {format_size(size)}"
                draw = partial(
                    study_plots.slowdown_matrix, found, pairs, f"Slowdown on {words}", name
                )
                yield Figure((("", draw),))


def _offset_figures(found: Interference, titles: dict[tuple[str, str], str]) -> Iterator[Figure]:
    for number, ((cluster, mapping), title) in enumerate(titles.items()):
        sizes = dict.fromkeys(s.object_bytes for s in found.slowdowns if s.offset_s is not None)
        for position, size in enumerate(sizes):
            here = [
                s
                for s in found.slowdowns
                if (s.cluster, s.mapping, s.object_bytes) == (cluster, mapping, size)
                and s.offset_s is not None
            ]
            if here:
                name = f"study-{number}-offsets-{position}"
                words = title if size is None else f"{title}, objects of {format_size(size)}"
                draw = partial(
                    study_plots.offset_graph,
                    found,
                    here,
                    f"Slowdown over the start on {words}",
                    name,
                )
                yield Figure((("", draw),))
