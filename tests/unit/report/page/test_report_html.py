"""The HTML file: its parts, its safety, its size."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from datetime import date
from html.parser import HTMLParser
from pathlib import Path

import campaign_examples
import pytest
import report_examples

from wavetank.compare.configuration import OtherCost
from wavetank.compare.search_record import Dropped, Search
from wavetank.errors import WavetankError
from wavetank.notes import notes_of
from wavetank.report.document import Report
from wavetank.report.gather import read_folder
from wavetank.report.page import text_formats
from wavetank.report.page.html import render
from wavetank.report.tables.provenance import provenance_table

# The page of ``source`` is drawn whole; it is made before.
pytestmark = pytest.mark.usefixtures("undrawn")

VOID = {"meta", "link", "br", "img", "input", "hr"}


class Outline(HTMLParser):
    """Elements, attributes and text of a page; fails on elements that are not closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data) -> None:
        if not self.open or self.open[-1] not in {"script", "style"}:
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    where = tmp_path_factory.mktemp("campaign")
    models = [report_examples.abyss(report_examples.SCRIPT_NAME), report_examples.bt_io()]
    campaign_examples.make_campaign(where, models)
    return where


@pytest.fixture(scope="module")
def source(folder) -> str:
    return render(read_folder(folder))


@pytest.fixture(scope="module")
def page(source) -> Outline:
    return Outline(source)


def test_the_answer_comes_before_the_evidence(page) -> None:
    text = page.text
    assert (
        text.index("Not conclusive: ")
        < text.index("GlusterFS")
        < text.index("What each knob changes")
    )
    assert text.index("What each knob changes") < text.index("All numbers", 500)


class Unfolded(HTMLParser):
    """What a reader meets without opening anything."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.tables = self.figures = self.words = self.depth = self.hidden = 0
        self.feed(source)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        """Count, and go down into what is folded or no text."""
        self.depth += (tag == "details") - (tag == "summary")
        self.hidden += tag in ("script", "style", "svg", "template", "head", "noscript")
        self.tables += tag == "table" and not self.depth
        self.figures += tag == "figure" and not self.depth

    def handle_endtag(self, tag: str) -> None:
        """Come up again."""
        self.depth -= (tag == "details") - (tag == "summary")
        self.hidden -= tag in ("script", "style", "svg", "template", "head", "noscript")

    def handle_data(self, data: str) -> None:
        """Count words."""
        self.words += 0 if self.depth or self.hidden else len(data.split())


def test_what_is_read_first_is_short_and_the_rest_is_folded_and_not_printed(tmp_path) -> None:
    campaign_examples.make_campaign(tmp_path, clusters=("nfs", "gluster-1", "gluster-2"))
    source = render(read_folder(tmp_path))
    found = Unfolded(source)
    n = len(read_folder(tmp_path).applications)
    assert 0 < found.tables <= 6 * n and 0 < found.figures <= 5 * n
    assert found.words <= 1500
    (printed,) = re.findall(r"@media print\{(.*?)\n\}", source, re.DOTALL)
    assert re.search(r"\.all[,{][^}]*display:none", printed)


def test_the_title_names_the_application_and_its_log(page) -> None:
    assert page.text.startswith("ABYSS-P: abyss.trace")


def test_void_measurements_have_a_band_over_the_ranking(source) -> None:
    assert (
        source.index("Not conclusive: ")
        < source.index('class="band"')
        < source.index('id="app1-choice"')
    )


@pytest.mark.parametrize(
    "words",
    [
        "Transfer rate",
        "Time and cost",
        "Bytes by rank over time",
        "Change of the transfer rate",
        "Temporal pattern over time",
        "Temporal pattern over tick",
        "Spatial pattern over time",
        "Request sizes",
        "app_np",
        "Components that differ",
        "Planned and not measured",
        "Nearest IOR command lines",
        "-t is 8192 instead of 8191.",
        "phase 3 mixes operations",
        "ceph-osd is not installed",
        "a cold read ran at 140 % of what the limits allow",
        "All 60 measurements",
        "P16 table 3",
    ],
)
def test_every_part_is_there(page, words) -> None:
    assert words in page.text


def test_costs_are_called_computed(page) -> None:
    words = "Computed from prices and what was measured under emulated limits"
    assert page.text.count(words) == 2  # cost of two applications


def test_a_file_called_script_is_shown_and_not_run(source, page) -> None:
    assert "<script>alert(1)</script>" in page.text
    assert len(page.all("script")) == 1
    assert "<script>alert(1)" not in source


def test_the_policy_allows_no_script_but_the_pages_own(source, page) -> None:
    (script,) = re.findall(r"<script>(.*?)</script>", source, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    (policy,) = [m["content"] for m in page.all("meta") if "default-src" in m.get("content", "")]
    assert f"script-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'")


def test_nothing_is_loaded_from_elsewhere(page) -> None:
    for tag, attributes in page.elements:
        for name, value in attributes.items():
            if name in {"src", "href", "xlink:href", "action", "poster", "srcset"}:
                assert value is not None
                assert value.startswith(("#", "data:")), f"{tag} {name}={value}"
    assert not page.all("iframe")


def test_no_identifier_occurs_twice_and_every_link_leads_somewhere(page) -> None:
    identifiers = [a["id"] for _, a in page.elements if a.get("id")]
    assert len(identifiers) == len(set(identifiers))
    for link in page.all("a"):
        assert link["href"].removeprefix("#") in identifiers


def test_every_plot_is_described_in_words(page) -> None:
    plots = [a for a in page.all("svg") if "plot" in (a.get("class") or "")]
    assert len(plots) >= 20
    assert all(a["role"] == "img" and len(a["aria-label"]) > 10 for a in plots)


def test_headings_of_table_columns_have_a_scope(page) -> None:
    assert all(a.get("scope") == "col" for a in page.all("th"))


def test_tied_configurations_share_a_range_of_places(folder, page) -> None:
    campaign = read_folder(folder)
    tied = [p for r in campaign.comparison.rankings for p in r.places if p.best != p.worst]
    assert tied, "the example has ties"
    assert f"{tied[0].best}\N{EN DASH}{tied[0].worst}" in page.text


def test_a_campaign_without_prices_has_no_cost_section(tmp_path) -> None:
    campaign_examples.make_campaign(tmp_path, with_prices=False, clusters=("nfs",))
    text = Outline(render(read_folder(tmp_path))).text
    assert "Parts of the cost" not in text
    assert "Transfer rate" in text


def test_one_configuration_with_one_run_is_a_report_too(tmp_path) -> None:
    campaign_examples.make_campaign(tmp_path, clusters=("nfs",), n_repetitions=1)
    assert "1 run" in Outline(render(read_folder(tmp_path))).text


def test_a_campaign_without_its_models_shows_the_results(tmp_path) -> None:
    campaign_examples.make_campaign(tmp_path, clusters=("nfs", "gluster-1"))
    for model in (tmp_path / "applications").glob("*.model.json"):
        model.unlink()
    (tmp_path / "campaign.yaml").unlink()
    text = Outline(render(read_folder(tmp_path))).text
    assert "Temporal pattern" not in text
    assert "Ranking" in text


def test_a_campaign_in_which_everything_failed_says_so_and_why(tmp_path) -> None:
    comparison = campaign_examples.make_campaign(tmp_path, clusters=("nfs",))
    failed = comparison.model_copy(
        update={
            "configurations": (),
            "rankings": tuple(r.model_copy(update={"places": ()}) for r in comparison.rankings),
            "pareto": (),
            "effects": (),
            "advice": (),
            "verdicts": (),
        }
    )
    failed.write(tmp_path / "comparison.json")
    campaign = read_folder(tmp_path)
    text = Outline(render(replace(campaign, measurements=()))).text
    assert "Nothing was measured for this application" in text
    assert "ceph-osd is not installed" in text
    assert "Temporal pattern" in text  # the model is known all the same


def test_what_a_search_dropped_is_listed_and_nothing_claimed_of_it(tmp_path) -> None:
    comparison = campaign_examples.make_campaign(tmp_path, clusters=("nfs", "gluster-1"))
    search = Search(
        by="time", n_measured=22, n_at_most=22, n_grid=70, final_repetitions=4, finished=True,
        rounds=(), finalists=(),
        dropped=(
            Dropped(
                application=comparison.configurations[0].application, cluster="gluster-3",
                mapping="1PxCN", round=2, place=4, of=4, io_times_s=(1.5, 2.5), first_s=1.0,
            ),
        ),
    )  # fmt: skip
    searched = comparison.model_copy(update={"search": search})
    searched.write(tmp_path / "comparison.json")
    text = Outline(render(read_folder(tmp_path))).text
    assert "Dropped by the search" in text
    assert "place 4 of 4 by time after 2 measurements; the first had 1.00 s" in text
    assert "1.50 s, 2.50 s" in text
    assert "any of them may be as good as a finalist" in text


def test_a_search_before_its_final_does_not_say_that_nothing_was_measured(tmp_path) -> None:
    comparison = campaign_examples.make_campaign(tmp_path, clusters=("nfs",))
    search = Search(
        by="time", n_measured=3, n_at_most=22, n_grid=70, final_repetitions=4, finished=False,
        rounds=(), finalists=(), dropped=(),
    )  # fmt: skip
    unfinished = comparison.model_copy(
        update={
            "configurations": (),
            "rankings": tuple(r.model_copy(update={"places": ()}) for r in comparison.rankings),
            "pareto": (), "effects": (), "advice": (), "verdicts": (), "search": search,
        }
    )  # fmt: skip
    unfinished.write(tmp_path / "comparison.json")
    text = Outline(render(replace(read_folder(tmp_path), measurements=()))).text
    assert "The search has not reached its final" in text
    assert "Nothing was measured" not in text


def test_a_folder_without_results_says_what_to_do(tmp_path) -> None:
    with pytest.raises(WavetankError, match="wavetank run"):
        read_folder(tmp_path)


def test_a_campaign_without_comparison_and_copies_says_how_to_go_on(tmp_path) -> None:
    campaign_examples.make_campaign(tmp_path, clusters=("nfs",))
    (tmp_path / "comparison.json").unlink()
    (tmp_path / "campaign.yaml").unlink(missing_ok=True)
    with pytest.raises(WavetankError, match="wavetank run CAMPAIGN"):
        read_folder(tmp_path)


def test_a_damaged_comparison_is_an_error_with_its_place(tmp_path) -> None:
    campaign_examples.make_campaign(tmp_path, clusters=("nfs",))
    path = tmp_path / "comparison.json"
    path.write_text(path.read_text()[:400])
    with pytest.raises(WavetankError, match=r"comparison\.json"):
        read_folder(tmp_path)


def test_facts_that_vary_between_runs_are_told_with_the_run_and_the_others_once(tmp_path) -> None:
    campaign_examples.make_campaign(tmp_path, clusters=("nfs",))
    campaign = read_folder(tmp_path)
    varied = tuple(
        m.model_copy(
            update={
                "result": m.result.model_copy(
                    update={"settings": {"sync": f"{n} ms", "pauses": "dropped"}}
                )
            }
        )
        for n, m in enumerate(campaign.measurements)
    )
    table, (surroundings,) = provenance_table(varied)
    assert surroundings.n_measurements == len(varied)
    assert surroundings.facts["Replay"] == {"pauses": "dropped"}
    assert ["Replay, sync: 3 ms" in cell.lines for cell in table.rows[3]].count(True) == 1


def test_a_damaged_copy_of_a_cluster_file_is_an_error_with_its_place(tmp_path) -> None:
    campaign_examples.make_campaign(tmp_path, clusters=("nfs",))
    (tmp_path / "clusters" / "nfs.yaml").write_text("a: [1,")
    with pytest.raises(WavetankError, match=r"nfs\.yaml"):
        read_folder(tmp_path)


def test_the_json_report_fits_its_published_schema(tmp_path) -> None:
    campaign_examples.make_campaign(tmp_path, clusters=("nfs",))
    path = tmp_path / "report.json"
    path.write_text(text_formats.json_text(read_folder(tmp_path)))
    report = Report.read(path)
    assert report.applications[0].tables["ranking-time"][0]["place_best"] == 1


def test_matplotlib_writes_nothing_below_the_home_directory(tmp_path) -> None:
    code = "import os, wavetank.report, matplotlib.font_manager as f; print(os.environ['MPLCONFIGDIR'])"
    environment = {k: v for k, v in os.environ.items() if k not in ("MPLCONFIGDIR",)}
    environment |= {"HOME": str(tmp_path), "XDG_CACHE_HOME": "", "XDG_CONFIG_HOME": ""}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert list(tmp_path.iterdir()) == []
    assert not Path(done.stdout.strip()).exists()  # and its own folder is gone


def test_the_same_run_by_spot_prices_is_a_table_of_its_own(tmp_path) -> None:
    comparison = campaign_examples.make_campaign(tmp_path, clusters=("nfs",))
    first = comparison.configurations[0]
    spot = OtherCost(
        table="aws-spot",
        date=date(2025, 5, 28),
        purchase="spot",
        currency="USD",
        cost_tot=first.cost.cost_tot,
        perf_cost=first.cost.perf_cost,
    )
    lacking = spot.model_copy(
        update={"table": "other", "cost_tot": None, "perf_cost": None, "missing": "has no type x"}
    )
    priced = first.model_copy(update={"other_costs": (spot, lacking)})
    comparison.model_copy(
        update={"configurations": (priced, *comparison.configurations[1:])}
    ).write(tmp_path / "comparison.json")
    campaign = read_folder(tmp_path)
    text = Outline(render(campaign)).text
    assert "Cost by other price tables" in text
    assert "aws-spot" in text and "spot" in text and "has no type x" in text
    tables = json.loads(text_formats.json_text(campaign))["applications"][0]["tables"]
    assert [row["table"] for row in tables["other-costs"]] == ["aws-spot", "other"]
    assert tables["other-costs"][0]["cost_tot"] == first.cost.cost_tot.median


def test_a_doubt_of_many_configurations_is_said_once(tmp_path) -> None:
    comparison = campaign_examples.make_campaign(tmp_path)
    n = len(comparison.configurations)
    assert n > 4
    doubted = [
        each.model_copy(
            update={
                "notes": notes_of(
                    "suspect",
                    "cluster",
                    ("busy", *(["slow"] if i < 4 else []), *(["late"] if i < 2 else [])),
                )
            }
        )
        for i, each in enumerate(comparison.configurations)
    ]
    comparison.model_copy(update={"configurations": tuple(doubted)}).write(
        tmp_path / "comparison.json"
    )
    shown = re.findall(r'<li class="finding">(.*?)</li>', render(read_folder(tmp_path)))
    assert shown[:2] == ["all configurations: busy", f"4 of {n} configurations: slow"]
    late = [f"{c.application}, {c.cluster_title}, {c.mapping}: late" for c in doubted[:2]]
    assert shown[2:] == late
