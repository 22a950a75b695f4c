"""Rates against the baseline beside the published ones: numbers, order in words, and the picture."""

from pathlib import Path

import pytest
from compare_fakes import configuration

from wavetank.campaign.spec import read_campaign
from wavetank.compare.against import against_baseline
from wavetank.compare.comparison import Comparison
from wavetank.compare.decisions import decide
from wavetank.document import provenance
from wavetank.errors import SpecError
from wavetank.papers.ratios import order_words, ratios
from wavetank.papers.replaced_clusters import in_their_place
from wavetank.papers.study import find_study
from wavetank.report.plots.ratios import ratio_bars
from wavetank.report.plots.svg import svg_file

P12 = find_study("P12").study
UML = {"hypervisor": "User-mode Linux (asked for)"}


def compared(times, baseline="papers-p12-virtual"):
    """A comparison of P12's clusters: I/O times of IOR's writes by the end of a cluster's name."""
    found = [
        configuration(f"papers-p12-{name}", runs, application="IOR write", title=name)
        for name, runs in times.items()
    ]
    found = [
        each if each.cluster_title == "native" else each.model_copy(update={"limits": UML})
        for each in found
    ]
    with_against = against_baseline(found, baseline, decide(found))
    return Comparison(
        provenance=provenance(), campaign="c", confidence=0.95, rank_by="time", price=None,
        configurations=with_against, rankings=(), pareto=(), effects=(), advice=(), notes=(),
        not_measured=(), baseline=baseline,
    )  # fmt: skip


FOUND = {
    "native": [1.0, 1.1, 1.05],
    "client": [2.0, 2.1, 2.05],
    "passthrough": [3.0, 3.1, 3.05],
    "virtual": [6.0, 6.2, 6.1],
    "volume": [4.0, 4.1, 4.2],
}


def test_rates_stand_beside_the_multiples_that_the_statements_have():
    rows = {row.configuration.cluster_title: row for row in ratios(P12, compared(FOUND))}
    published = {name: row.published for name, row in rows.items()}
    # P12 section V: +90 %, +120 %, over +200 %
    assert published == {
        "native": 3.0, "client": 1.9, "passthrough": 2.2, "virtual": 1.0, "volume": None,
    }  # fmt: skip
    assert rows["client"].times.median == pytest.approx(6.1 / 2.05)
    assert rows["virtual"].times is None
    assert (rows["native"].guests, rows["client"].guests) == (None, "User-mode Linux")


def test_what_came_in_another_order_is_said_with_its_rates():
    assert order_words(ratios(P12, compared(FOUND))) == [
        "IOR write: client (97.6 MB/s) is above passthrough (65.6 MB/s), published below it."
    ]
    as_published = FOUND | {"client": [3.5, 3.6, 3.7]}
    assert order_words(ratios(P12, compared(as_published))) == [
        "IOR write: all are in the published order."
    ]
    noisy = FOUND | {"client": [2.0, 9.0, 3.0]}
    assert order_words(ratios(P12, compared(noisy))) == [
        "IOR write: 2 of 6 pairs cannot be told apart."
    ]


def test_without_a_baseline_there_is_nothing_to_compare_with():
    assert ratios(P12, compared(FOUND).model_copy(update={"baseline": None})) == ()


def test_the_picture_has_a_bar_for_each_configuration_and_a_mark_where_the_paper_has_one():
    text = svg_file(ratio_bars(ratios(P12, compared(FOUND)), "published by P12"))
    assert text.count('<g class="mark">') == len(FOUND)
    assert "client, 1PxCN: 2.98 times" in text
    assert "published 1.9 times" in text


CLUSTER = "name: {}\ninstance: {{name: small, vcpus: 1, memory: 256 MiB}}\nnodes: {{compute: 1, io: 1}}\nfile_system: {{kind: nfs}}\n"


def test_clusters_in_the_place_of_a_studys_are_called_as_its_own(tmp_path):
    own, others = tmp_path / "own", tmp_path / "others"
    for folder in (own, others):
        folder.mkdir()
    files = [own / "one.yaml", own / "two.yaml"]
    for file in files:
        file.write_text(CLUSTER.format(f"papers-{file.stem}"))
    with pytest.raises(SpecError, match=r"no cluster file for this study.*one\.yaml, two\.yaml"):
        in_their_place(files, others)
    (others / "two.yaml").write_text(CLUSTER.format("mine"))
    with pytest.raises(SpecError, match=r"name 'mine'.*write name: papers-two"):
        in_their_place(files, others)
    (others / "two.yaml").write_text(CLUSTER.format("papers-two"))
    assert in_their_place(files, others) == (others / "two.yaml",)


def test_the_examples_clusters_are_called_as_those_of_the_study():
    loaded = find_study("P12")
    files = read_campaign(loaded.path(loaded.study.campaign)).clusters
    example = Path(__file__).parents[3] / "examples" / "access-methods"
    assert len(in_their_place(files, example / "cephfs")) == len(files)
    assert {file.name for file in in_their_place(files, example / "orangefs")} == {
        "native.yaml",
        "virtual.yaml",
    }
