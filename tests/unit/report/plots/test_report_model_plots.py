"""Plots of a model: what they show, and that their size does not grow with the ranks."""

from __future__ import annotations

import random
import xml.etree.ElementTree as ET

import pytest
import report_examples
from fold_builder import Event, model_of
from hypothesis import given, settings
from hypothesis import strategies as st

from wavetank.model.document.phase import ListedOffsets, PatternMember
from wavetank.model.tables.model_tables import model_tables
from wavetank.report.plots import axes
from wavetank.report.plots import model as model_plots
from wavetank.report.plots import operations as operation_plots
from wavetank.report.plots.figures import operation_figures
from wavetank.report.plots.svg import inline_svg, save

SVG = "{http://www.w3.org/2000/svg}"


def titles(plot) -> list[str]:
    root = ET.fromstring(inline_svg(plot))
    return [element.text or "" for element in root.iter(f"{SVG}title")]


def words(plot) -> list[str]:
    root = ET.fromstring(inline_svg(plot))
    return ["".join(element.itertext()) for element in root.iter(f"{SVG}text")]


def test_the_temporal_pattern_has_a_mark_for_each_rank_and_kind() -> None:
    # ABySS with 4 ranks: 0 and 1 read, all four write.
    found = titles(model_plots.temporal_pattern(report_examples.abyss(), "time"))
    assert sum("read" in title for title in found) == 2
    assert sum("write" in title for title in found) == 4
    # 40 stretches of 53 operations
    assert any(t.startswith("rank 0: 2,120 read operations of 8,191 B") for t in found)


def test_request_sizes_are_the_legend_of_the_temporal_pattern() -> None:
    shown = words(model_plots.temporal_pattern(report_examples.abyss(), "tick"))
    assert "4 KiB" in shown
    assert "8,191 B" in shown


def test_ten_thousand_ranks_give_a_plot_as_small_as_a_hundred() -> None:
    small = inline_svg(
        model_plots.temporal_pattern(report_examples.many_ranks(100, 10_000), "time")
    )
    large = inline_svg(
        model_plots.temporal_pattern(report_examples.many_ranks(10_000, 10_000), "time")
    )
    assert len(large) < 2 * len(small)
    assert len(large) < 200_000
    assert "ranks 0 to 99" in large


def test_evenly_spaced_ranks_of_a_timeline_stand_for_the_ranks_between_them() -> None:
    # 10,000 ranks write, the timeline holds every 500th: 20 ranks, each stands for 500
    model = report_examples.many_ranks(10_000, 10_000)
    some = tuple(point for point in model.timeline if point.rank % 500 == 0)
    plot = model_plots.temporal_pattern(model.model_copy(update={"timeline": some}), "time")
    assert "20 evenly spaced ranks stand for 10,000 that do I/O" in plot.caption
    assert any(title.startswith("ranks 500 to 999:") for title in titles(plot))


def test_ranks_without_io_stay_empty() -> None:
    # of ABySS's 4 ranks only 0 and 1 read: no row of a reader is wider than one rank
    found = titles(model_plots.temporal_pattern(report_examples.abyss(), "time"))
    assert all(title.startswith("rank ") for title in found)


def test_calls_of_the_mpi_library_are_not_counted_as_the_applications() -> None:
    model = report_examples.bt_io(4, 2)
    lower = model.phases[0].model_copy(
        update={
            "ph_id": 99,
            "level": "posix",
            "by_library": True,
            "pattern": (PatternMember(iop_type="pwrite", rs=8192, disp=None, dist=None),),
        }
    )
    both = model.model_copy(update={"phases": (*model.phases, lower)})
    plots = [figure.variants for figure in operation_figures(both, "a")]
    assert [[label for label, _ in variants] for variants in plots] == [
        ["application", "below MPI-IO"]
    ] * 2
    asked, below = (draw().alt for _, draw in plots[1])
    assert "pwrite" not in asked
    assert "pwrite 4" in below
    names = [table.name for table in model_tables(both)]
    assert [name for name in names if name.startswith("phases")] == ["phases", "phases-below"]


def test_every_operation_is_within_some_mark() -> None:
    spans = [(k * 0.1, k * 0.1 + 0.05) for k in range(100)]
    merged = axes.merge_columns(spans, (0.0, 10.0))
    assert all(any(left <= a and b <= right for left, right in merged) for a, b in spans)
    # a gap of half a period (0.05 of 10) is 3.5 columns of 700: it stays visible
    assert len(merged) == 100


def test_an_instant_is_at_least_a_column_wide() -> None:
    ((left, right),) = axes.merge_columns([(5.0, 5.0)], (0.0, 10.0))
    assert right - left == pytest.approx(10.0 / axes.N_COLUMNS)


def test_the_spatial_pattern_has_a_panel_for_each_file() -> None:
    shown = words(model_plots.spatial_pattern(report_examples.abyss(), "time"))
    assert {"reads1.fastq", "reads2.fastq", "contigs-0.fa"} <= set(shown)


def test_a_single_operation_is_a_stroke_as_long_as_its_bytes() -> None:
    # one write of 4096 bytes at offset 0: its panel reaches 4 KiB and not less
    model = report_examples.abyss()
    point = model.timeline[-1].model_copy(
        update={"count": 1, "rs": 4096, "offset_first": 0, "offset_last": 0}
    )
    plot = model_plots.spatial_pattern(model.model_copy(update={"timeline": (point,)}), "time")
    assert "4 KiB" in words(plot)
    assert "offsets 0 B to 4.0 KiB" in plot.alt


def vertices(plot) -> list[list[tuple[float, float]]]:
    """Of each filled or stroked shape of the plot, in its axes' units."""
    return [
        [(float(x), float(y)) for x, y in patch.get_path().vertices]
        for shown in plot.figure.axes
        for patch in shown.patches
    ]


def bursts() -> list[Event]:
    """40 bursts of 15 writes of 1 ms, one every 350 ms: one phase."""
    return [
        Event(0, "pwrite", 0, (burst * 15 + i) * 100, 100, start_ns=(burst * 350 + i) * 10**6, duration_ns=10**6)
        for burst in range(40)
        for i in range(15)
    ]  # fmt: skip


@pytest.mark.parametrize(
    "plotted", [model_plots.temporal_pattern, operation_plots.gantt], ids=["temporal", "gantt"]
)
def test_bursts_are_drawn_when_they_were(plotted) -> None:
    marks = vertices(plotted(model_of(bursts()), "time"))[-1]
    corners = [marks[i : i + 5] for i in range(0, len(marks), 5)]
    column = 14.0 / axes.N_COLUMNS
    assert len(corners) == 40
    for burst, corner in enumerate(corners):
        left, right = corner[0][0], corner[1][0]
        assert left == pytest.approx(burst * 0.35, abs=1.5 * column)
        assert right == pytest.approx(burst * 0.35 + 0.015, abs=1.5 * column)


def test_the_gantt_chart_has_a_line_from_the_first_burst_to_the_last() -> None:
    line, _ = vertices(operation_plots.gantt(model_of(bursts()), "time"))
    assert line[0][0] == pytest.approx(0.0, abs=0.1)
    assert line[1][0] == pytest.approx(39 * 0.35 + 0.015, abs=0.1)


def test_random_places_are_dots() -> None:
    offsets = list(range(300))
    random.Random(2).shuffle(offsets)
    events = [Event(0, "pread", 0, at * 4096, 4096, start_ns=i * 10**6) for i, at in enumerate(offsets)]  # fmt: skip
    plot = model_plots.spatial_pattern(model_of(events), "time")
    (strokes,) = vertices(plot)
    span = plot.figure.axes[0].get_xlim()
    column = (span[1] - span[0]) / axes.N_COLUMNS
    pairs = [(strokes[i], strokes[i + 1]) for i in range(0, len(strokes), 2)]
    assert len(pairs) > 250
    assert all(
        right[0] - left[0] < 1.01 * column and right[1] - left[1] <= 4096 for left, right in pairs
    )


def test_of_very_many_random_places_some_are_dots_and_none_is_a_line() -> None:
    offsets = list(range(6000))
    random.Random(3).shuffle(offsets)
    events = [
        Event(0, "pread", 0, at * 4096, 4096, start_ns=i * 1000) for i, at in enumerate(offsets)
    ]
    plot = model_plots.spatial_pattern(model_of(events), "time")
    (strokes,) = vertices(plot)
    assert len(strokes) // 2 > 500
    assert all(strokes[i + 1][1] - strokes[i][1] <= 4096 for i in range(0, len(strokes), 2))
    assert "Dots are places of operations in no order" in plot.caption


def test_a_model_without_offsets_says_so() -> None:
    model = report_examples.abyss()
    timeline = tuple(
        point.model_copy(update={"offset_first": None, "offset_last": None})
        for point in model.timeline
    )
    plot = model_plots.spatial_pattern(model.model_copy(update={"timeline": timeline}), "time")
    assert "no offsets in this trace" in words(plot)


def test_operations_are_counted_over_ranks_and_repetitions() -> None:
    found = {
        (o.kind, o.rs): o.count
        for o in operation_plots.operations_by_size(report_examples.bt_io().phases)
    }
    # 16 ranks x 40 steps, written once each and read once each
    assert found == {("write", 2_500_000): 640, ("read", 2_500_000): 640}


def test_a_short_last_operation_counts_with_its_own_size() -> None:
    model = report_examples.abyss()
    first = model.phases[0].model_copy(update={"moved_last": (100,)})
    found = {(o.kind, o.rs): o.count for o in operation_plots.operations_by_size([first])}
    assert found == {("read", 8191): 2135, ("read", 100): 1}


def test_the_gantt_chart_shows_a_series_as_one_row() -> None:
    shown = words(operation_plots.gantt(report_examples.bt_io(), "time"))
    assert "1\N{EN DASH}40 · btio.full.out" in shown
    assert "41 · btio.full.out" in shown


def test_a_phase_that_reads_and_writes_has_a_bar_of_each() -> None:
    model = model_of(
        [
            Event(0, "pwrite" if i % 2 else "pread", 0, 0, 10, start_ns=i * 1000, duration_ns=500)
            for i in range(12)
        ]
    )
    assert len(model.phases) == 1
    plot = operation_plots.gantt(model, "time")
    assert {"read", "write"} <= set(words(plot))
    assert len([title for title in titles(plot) if "read and written" in title]) == 2
    assert "has both, reads above" in plot.caption


def test_metadata_operations_are_among_the_counts() -> None:
    plot = operation_plots.operation_counts(report_examples.abyss().phases)
    assert "open 6" in plot.alt
    assert "read 4,272" in plot.alt


@pytest.mark.parametrize(
    "name",
    [
        report_examples.SCRIPT_NAME,
        "a$b$c^{x}",
        "a&b\"c'd",
        "new\nline\x00\x1b[31m",
        "x" * 300,
        "]]>",
        "tip:0",
    ],
)
def test_any_file_name_gives_well_formed_svg_without_elements_of_its_own(name) -> None:
    model = report_examples.abyss(name)
    for plot in (
        model_plots.spatial_pattern(model, "time"),
        operation_plots.gantt(model, "time"),
    ):
        root = ET.fromstring(inline_svg(plot))
        assert not list(root.iter(f"{SVG}script"))


@settings(max_examples=25, deadline=None)
@given(name=st.text(st.characters(), min_size=1, max_size=60))
def test_no_text_of_a_trace_breaks_a_plot(name) -> None:
    root = ET.fromstring(inline_svg(operation_plots.gantt(report_examples.abyss(name), "tick")))
    assert {element.tag.removeprefix(SVG) for element in root.iter()} <= {
        "svg", "g", "path", "defs", "style", "text", "title", "use", "clipPath", "rect", "tspan",
    }  # fmt: skip


def test_two_plots_share_no_identifier_and_refer_only_to_their_own() -> None:
    model = report_examples.abyss()
    identifiers: list[str] = []
    for name in ("one", "two"):
        text = inline_svg(model_plots.temporal_pattern(model, "time", name))
        root = ET.fromstring(text)
        own = {element.get("id") for element in root.iter() if element.get("id")}
        identifiers += own
        for element in root.iter():
            for attribute, value in element.attrib.items():
                if attribute.endswith("href"):
                    assert value.removeprefix("#") in own
                elif "url(#" in value:
                    assert value.partition("url(#")[2].partition(")")[0] in own
    assert len(identifiers) == len(set(identifiers))


def test_colours_follow_the_theme() -> None:
    text = inline_svg(operation_plots.request_sizes(report_examples.abyss().phases))
    assert "var(--read)" in text
    assert "fill: #1d6ea8" not in text


@pytest.mark.parametrize("kind", ["svg", "png"])
def test_a_plot_is_written_as_a_file_of_its_own(tmp_path, kind) -> None:
    plot = model_plots.temporal_pattern(report_examples.abyss(), "time")
    path = tmp_path / f"temporal.{kind}"
    save(plot, path, kind)
    content = path.read_bytes()
    if kind == "png":
        assert content.startswith(b"\x89PNG")
    else:
        root = ET.fromstring(content)
        assert root.find(f"{SVG}title").text == "Temporal pattern over time"
        assert b"var(--" not in content
        assert b"http://www.w3.org/1999/xlink" in content


def test_reads_and_writes_of_many_ranks_have_a_panel_each() -> None:
    shared = model_plots.temporal_pattern(report_examples.abyss(), "time")
    assert "reads above, writes below in each row" in words(shared)
    apart = model_plots.temporal_pattern(report_examples.abyss(), "time", most_shared_rows=3)
    assert {"reads", "writes"} <= set(words(apart))
    assert len(apart.figure.axes) == 2
    assert sorted(titles(apart)) == sorted(titles(shared))


def test_more_phases_than_rows_are_shown_by_file() -> None:
    plot = operation_plots.gantt(report_examples.bt_io(), "time", most_rows=1)
    assert "41 phases · btio.full.out" in words(plot)
    # 40 writes and the read, each in its half of the row: none is hidden, and none is left out.
    assert len(titles(plot)) == 2
    assert any("40 write phases" in title for title in titles(plot))


def test_listed_operations_are_counted_with_their_own_sizes() -> None:
    offsets = ListedOffsets(
        n_runs=[2], count=[3, 1], rs=[100, 70], offset=[0, 900], disp=[200, 0], moved=[290, 70]
    )
    first = report_examples.abyss().phases[0]
    listed = first.model_copy(update={"offset": (offsets,)})
    found = {(o.kind, o.rs): o.count for o in operation_plots.operations_by_size([listed])}
    # Three of 100 bytes, of which the last moved 90, and one of 70.
    assert found == {("read", 100): 2, ("read", 90): 1, ("read", 70): 1}
