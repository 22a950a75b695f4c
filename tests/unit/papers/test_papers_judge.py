"""Verdicts of benchmarks/papers: from configurations with chosen numbers, groups with chosen rates, and models."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from benchmarks.papers.judge import judge, read_comparison
from compare_fakes import configuration, of

from wavetank.campaign.clusters import read_cluster
from wavetank.campaign.load import load_campaign
from wavetank.campaign.plan import make_plan
from wavetank.campaign.spec import read_campaign
from wavetank.compare.against import against_baseline
from wavetank.compare.comparison import Comparison, NotMeasured, Price
from wavetank.compare.decisions import CRITERIA, decide
from wavetank.compare.interference import Divergence, GroupRates, Interference, Setting
from wavetank.compare.rank import rank
from wavetank.document import provenance
from wavetank.interfere.load import load_study
from wavetank.interfere.plan import make_plan as make_study_plan
from wavetank.interfere.spec import read_interfere

NFS, ONE, TWO = "nfs", "pvfs2-1df", "pvfs2-2df"
ROOT = Path(__file__).parents[3]
PAPERS = ROOT / "benchmarks" / "papers"
STUDIES = PAPERS / "studies"
NAMES = sorted(path.parent.name for path in STUDIES.glob("*/statements.yaml"))


PRICE = Price(
    table="t", date="2016-11-01", source="s", region="r", currency="USD", billing="per started hour"
)


def run(*arguments):
    return subprocess.run(
        [sys.executable, str(PAPERS / "papers.py"), *map(str, arguments)],
        check=False,
        capture_output=True,
        text=True,
        timeout=300,
    )


def runs(around, n=6, spread=0.002):
    return [around * (1 + spread * i) for i in range(n)]


def comparison(configurations=(), not_measured=(), interference=None, baseline=None):
    decisions = decide(configurations)
    if baseline is not None:
        configurations = against_baseline(configurations, baseline, decisions)
    applications = dict.fromkeys(each.application for each in configurations)
    return Comparison(
        provenance=provenance(), campaign="c", confidence=0.95, rank_by="time", price=PRICE,
        configurations=configurations, pareto=(), effects=(), advice=(), notes=(),
        rankings=[rank(configurations, name, by, decisions) for name in applications for by in CRITERIA],
        not_measured=not_measured, interference=interference, baseline=baseline,
    )  # fmt: skip


@pytest.fixture
def verdict(tmp_path):
    """Judges one claim by results that are written and read."""

    def judged(says, configurations=(), not_measured=(), interference=None):
        comparison(configurations, not_measured, interference).write(tmp_path / "comparison.json")
        study = {"statements": [{"id": "it", "says": says}]}
        (found,) = judge(study, ROOT, read_comparison(tmp_path))
        return found

    return judged


BETTER = {"claim": "better", "these": {"clusters": [NFS]}, "those": {"clusters": [ONE, TWO]}}
NOISY = [1.0, 1.4, 0.9, 1.3, 1.1, 1.2]


@pytest.mark.parametrize(
    ("times", "word", "why"),
    [
        ((runs(1), runs(2), runs(3)), "holds", ""),
        ((runs(2), runs(3), runs(1)), "does not hold",
         "pvfs2-2df with 1PxCN is 2 times as fast as nfs with 1PxCN (1 of 2 comparisons say the opposite)"),
        ((NOISY, NOISY[::-1], runs(3)), "cannot be told",
         "nfs with 1PxCN and pvfs2-1df with 1PxCN are not told apart; 1 of 2 comparisons are as published"),
        ((runs(1), runs(1), runs(3)), "does not hold",
         "nfs with 1PxCN is not better than pvfs2-1df with 1PxCN by 3 % (1 of 2 comparisons say the opposite)"),
        ((runs(1), runs(2), None), "cannot be told",
         "pvfs2-2df with 1PxCN was not measured: no root; 1 of 2 comparisons are as published"),
        ((runs(2), runs(1), None), "does not hold",
         "pvfs2-1df with 1PxCN is 2 times as fast as nfs with 1PxCN (1 of 2 comparisons say the opposite)"),
    ],
)  # fmt: skip
def test_a_statement_holds_where_all_its_pairs_are_as_published(verdict, times, word, why):
    clusters = dict(zip((NFS, ONE, TWO), times, strict=True))
    missing = [
        NotMeasured(application="a", cluster=cluster, mapping="1PxCN", reason="no root")
        for cluster, found in clusters.items()
        if found is None
    ]
    found = verdict(BETTER, [configuration(*each) for each in clusters.items() if each[1]], missing)
    assert (found.word, found.why) == (word, why)


def test_of_many_reasons_two_are_told_and_the_others_counted(verdict):
    clusters = [f"pvfs2-{n}df" for n in range(1, 5)]
    missing = [
        NotMeasured(application="a", cluster=each, mapping="1PxCN", reason="not installed")
        for each in clusters
    ]
    says = BETTER | {"those": {"clusters": clusters}}
    assert verdict(says, [configuration(NFS, runs(1))], missing).why == (
        "pvfs2-1df with 1PxCN was not measured: not installed; pvfs2-2df with 1PxCN was not measured: not installed; "
        "2 more of this kind"
    )


def test_a_statement_about_nothing_that_was_measured_cannot_be_told(verdict):
    found = verdict(BETTER, [configuration("other", runs(1))])
    assert (found.word, found.here) == ("cannot be told", "")
    (found,) = judge({"statements": [{"id": "it", "says": BETTER}]}, ROOT, None)
    assert (found.word, found.why) == ("cannot be told", "nothing was measured")


def mapped(cluster, spread_s, together_s):
    return [
        configuration(cluster, runs(spread_s), mapping="1PxCN"),
        configuration(cluster, runs(together_s), mapping="2PxCN"),
    ]


def test_pairs_are_of_one_mapping_or_of_one_cluster_where_the_statement_says_so(verdict):
    measured = [*mapped(NFS, 1, 4), *mapped(ONE, 2, 8)]
    says = {"claim": "better", "these": {"clusters": [NFS]}, "those": {"clusters": [ONE]}}
    # NFS with 2PxCN is slower than the other with 1PxCN, which is not asked
    assert verdict(says | {"same_mapping": True}, measured).word == "holds"
    assert verdict(says, measured).word == "does not hold"
    says = {"claim": "better", "these": {"mappings": ["1PxCN"]}, "those": {"mappings": ["2PxCN"]}}
    assert verdict(says | {"same_cluster": True}, measured).word == "holds"


@pytest.mark.parametrize(
    ("times", "word"), [(2.5, "holds"), (3.0, "cannot be told"), (5.0, "does not hold")]
)
def test_how_many_times_as_good_is_judged_by_the_interval_of_all_ratios(verdict, times, word):
    says = {"claim": "better", "these": {"clusters": [NFS]}, "those": {"clusters": [ONE]}, "times": times}  # fmt: skip
    assert verdict(says, [configuration(NFS, runs(1)), configuration(ONE, runs(3))]).word == word


@pytest.mark.parametrize(
    ("before", "after", "word"),
    [
        (runs(1), runs(1), "holds"),
        (runs(1), runs(2), "holds"),
        (runs(1), runs(0.95), "holds"),
        (runs(1), runs(0.5), "does not hold"),
        (NOISY, NOISY, "cannot be told"),
    ],
)
def test_a_change_that_gains_little_or_loses_is_no_gain(verdict, before, after, word):
    says = {"claim": "no gain", "before": {"clusters": [ONE]}, "after": {"clusters": [TWO]}}
    assert verdict(says, [configuration(ONE, before), configuration(TWO, after)]).word == word


def strongest(this, other):
    def change(cluster):
        return {
            "before": {"clusters": [cluster], "mappings": ["1PxCN"]},
            "after": {"clusters": [cluster], "mappings": ["2PxCN"]},
        }

    return {"claim": "strongest", "this": change(this), "others": [change(other)]}


def test_the_change_that_matters_most_is_told_by_intervals_that_do_not_overlap(verdict):
    measured = [*mapped(NFS, 1, 4), *mapped(ONE, 1, 1.25)]
    found = verdict(strongest(NFS, ONE), measured)
    assert (found.word, found.here) == (
        "holds",
        "nfs with 1PxCN to nfs with 2PxCN: -75 %; pvfs2-1df with 1PxCN to pvfs2-1df with 2PxCN: -20 %",
    )
    assert verdict(strongest(ONE, NFS), measured).word == "does not hold"
    alike = [*mapped(NFS, 1, 2), *mapped(ONE, 1, 2)]
    assert verdict(strongest(NFS, ONE), alike).word == "cannot be told"


def test_cost_is_judged_by_cost(verdict):
    says = {"claim": "better", "by": "cost", "these": {"clusters": [NFS]}, "those": {"clusters": [ONE]}}  # fmt: skip
    cheap = configuration(NFS, runs(2), costs=runs(0.1))
    dear = configuration(ONE, runs(1), costs=runs(0.4))
    found = verdict(says, [cheap, dear])
    assert (found.word, found.here) == (
        "holds",
        "nfs with 1PxCN: 0.101 USD; pvfs2-1df with 1PxCN: 0.402 USD",
    )
    assert verdict(says | {"by": "time"}, [cheap, dear]).word == "does not hold"
    without = [cheap, configuration(ONE, runs(1))]
    assert verdict(says, without).why == "pvfs2-1df with 1PxCN has no cost"


def interference(*, at=0.05, low=0.04, high=0.06, rates=((0.0, 30e6), (2.0, 20e6))):
    point = Divergence(
        cluster="gateway", mapping="1PxCN", object_bytes=131072, first="foreground", second="background",
        over="interval", at=at, low=low, high=high, change_percent=50.0,
        why_not=None if at is not None else "what was measured shows no change beyond its noise",
    )  # fmt: skip
    settings = tuple(
        Setting(
            point="together", cluster="gateway", mapping="1PxCN", object_bytes=131072, interval_s=interval,
            groups=(
                GroupRates(
                    group="foreground", n_clients=2, interval_s=0.0, start_s=0.0, rate_bytes_per_s=None,
                    io_rate_bytes_per_s=of(rate, rate * 1.01, rate * 0.99), object_s=None, objects=9, latency=None,
                ),
            ),
            combined_bytes_per_s=None, combined_io_bytes_per_s=of(2 * rate), n_repetitions=1, window_s=10.0,
            alignment_s=0.0,
        )
        for interval, rate in rates
    )  # fmt: skip
    return Interference(
        groups=(), swept="background", moved=None, duration_s=10.0, origin=None, settings=settings,
        divergences=(point,), slowdowns=(), remedies=(),
    )  # fmt: skip


PART = {"claim": "part", "over": "interval", "at": 0.05, "object_size": "128 KiB"}


@pytest.mark.parametrize(
    ("point", "says", "word"),
    [
        ({}, PART, "holds"),
        ({"at": 0.2, "low": 0.1, "high": 0.3}, PART, "does not hold"),
        ({"at": 0.05, "low": 0.0, "high": 1.3}, PART, "cannot be told"),
        ({"at": None, "low": None, "high": None}, PART, "cannot be told"),
        ({}, PART | {"object_size": "2 MiB"}, "cannot be told"),
    ],
)
def test_a_published_point_holds_where_it_lies_in_the_interval(verdict, point, says, word):
    assert verdict(says, interference=interference(**point)).word == word


def higher(this, than, group="foreground"):
    def setting(interval):
        asked = {"object_size": "128 KiB", "interval": interval}
        return asked if group is None else asked | {"group": group}

    return {"claim": "higher rate", "this": setting(this), "than": setting(than)}


def test_a_rate_is_higher_where_the_intervals_do_not_overlap(verdict):
    found = interference()
    assert verdict(higher(0, 2), interference=found).word == "holds"
    assert verdict(higher(2, 0), interference=found).word == "does not hold"
    near = interference(rates=((0.0, 20.1e6), (2.0, 20e6)))
    assert verdict(higher(0, 2), interference=near).word == "cannot be told"
    assert verdict(higher(0, 1), interference=found).word == "cannot be told"
    # one repetition of the sum has no interval
    assert verdict(higher(0, 2, group=None), interference=found).word == "cannot be told"


@pytest.mark.parametrize(
    ("row", "word"),
    [
        ({"request": 8191}, "holds"),
        ({"request": 4096}, "does not hold"),
        ({"request": 8191, "phases": 3}, "does not hold"),
        ({"request": 8191, "np": 7}, "cannot be told"),
    ],
)
def test_a_row_of_a_table_is_held_against_the_model_without_any_measurement(row, word):
    row = {"np": 2, "operation": "read", "phases": 2} | row
    study = {
        "models": [{"name": "m", "files": ["models/abyss.model.json"]}],
        "statements": [{"id": "it", "says": {"claim": "rows", "model": "m", "tolerance": 0.0, "rows": [row]}}],
    }  # fmt: skip
    (found,) = judge(study, STUDIES / "P18", None)
    assert found.word == word


def test_what_the_papers_print_of_models_holds():
    # METHOD: known answers of P15 tables V and VIII and of P18 table 3, from the models alone
    done = run()
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("**holds**") == 10
    assert "**does not hold**" not in done.stdout and "**cannot be told**" not in done.stdout


def test_rates_stand_beside_the_multiples_that_the_statements_have(tmp_path):
    times = {"native": 1.0, "client": 2.0, "passthrough": 3.0, "virtual": 6.0, "volume": 4.0}
    measured = [
        configuration(f"papers-p12-{name}", runs(each), application="IOR write", title=name)
        for name, each in times.items()
    ]
    comparison(measured, baseline="papers-p12-virtual").write(tmp_path / "comparison.json")
    done = run("P12", "--results", tmp_path, "--judge-only", "--json")
    rows = {row["title"]: row for row in json.loads(done.stdout)["ratios"]}
    # P12 section V: +90 %, +120 %, over +200 %
    assert {name: row["published"] for name, row in rows.items()} == {
        "native": 3.0, "client": 1.9, "passthrough": 2.2, "virtual": 1.0, "volume": None,
    }  # fmt: skip
    assert rows["client"]["times"]["median"] == pytest.approx(3.0)
    assert rows["virtual"]["times"] is None


def selections(says):
    if says["claim"] == "strongest":
        return [each for change in (says["this"], *says["others"]) for each in change.values()]
    return [says[key] for key in ("these", "those", "before", "after") if key in says]


@pytest.mark.parametrize("name", NAMES)
def test_a_study_plans_and_its_statements_name_what_is_in_the_plan(name):
    study = yaml.safe_load((STUDIES / name / "statements.yaml").read_text())
    if "interfere" in study:
        spec = read_interfere(STUDIES / name / study["interfere"])
        loaded = load_study(spec, read_cluster)
        plan = make_study_plan(spec, loaded.groups, loaded.clusters)
        assert plan.points or plan.impossible
        return
    path = STUDIES / name / study["campaign"]
    spec = read_campaign(path)
    campaign = load_campaign(spec, path.parent, read_cluster)
    plan = make_plan(spec, campaign.applications, campaign.clusters)
    assert plan.runs or plan.impossible
    for statement in study["statements"]:
        for selection in selections(statement["says"]):
            assert set(selection.get("clusters", ())) <= {each.name for each in campaign.clusters}
            assert set(selection.get("mappings", ())) <= set(spec.mappings)
        applications = statement["says"].get("applications", ())
        assert set(applications) <= {each.name for each in campaign.applications}


def test_other_clusters_take_the_place_of_a_studys_own(tmp_path):
    results = tmp_path / "p12"
    others = ROOT / "examples" / "access-methods"
    done = run("P12", "--clusters", others / "cephfs", "--results", results, "--dry-run")
    assert done.returncode == 0, done.stderr
    named = read_campaign(tmp_path / "p12.campaign.yaml").clusters
    assert [each.parent for each in named] == [others / "cephfs"] * 5
    assert not results.exists()
    done = run("P12", "--clusters", others / "orangefs", "--results", results, "--dry-run")
    assert "volume.yaml" in done.stderr
    assert len(read_campaign(tmp_path / "p12.campaign.yaml").clusters) == 2
    assert run("P12", "--clusters", others, "--dry-run").returncode == 1


def test_a_study_that_is_not_there_is_a_usage_error(tmp_path):
    assert run(tmp_path / "P13").returncode == 2
