"""Verdicts on statements: from configurations with chosen numbers, groups with chosen rates, and models."""

from pathlib import Path

import pytest
from compare_fakes import configuration, of

from wavetank.compare.comparison import Comparison, NotMeasured
from wavetank.compare.decisions import CRITERIA, decide
from wavetank.compare.interference import Divergence, GroupRates, Interference, Setting
from wavetank.compare.rank import rank
from wavetank.document import provenance
from wavetank.papers.judge import judge
from wavetank.papers.study import LoadedStudy, Study

NFS, ONE, TWO = "nfs", "pvfs2-1df", "pvfs2-2df"
ABYSS = "src/wavetank/papers/studies/P18/models/abyss.model.json"
ROOT = Path(__file__).parents[3]


def runs(around, n=6, spread=0.002):
    return [around * (1 + spread * i) for i in range(n)]


def study(says, **more):
    body = {
        "paper": "X", "title": "a paper", "reference": "somewhere", "campaign": "campaign.yaml",
        "statements": [{"id": "it", "quote": "as printed", "source": "figure 1", "says": says}],
    }  # fmt: skip
    return LoadedStudy(Study.model_validate(body | more), ROOT)


def comparison(configurations=(), not_measured=(), interference=None):
    decisions = decide(configurations)
    applications = dict.fromkeys(each.application for each in configurations)
    return Comparison(
        provenance=provenance(), campaign="c", confidence=0.95, rank_by="time", price=None,
        configurations=configurations, pareto=(), effects=(), advice=(), notes=(),
        rankings=[rank(configurations, name, by, decisions) for name in applications for by in CRITERIA],
        not_measured=not_measured, interference=interference,
    )  # fmt: skip


def verdict(says, configurations=(), not_measured=(), **more):
    (found,) = judge(study(says, **more), comparison(configurations, not_measured))
    return found


BETTER = {"claim": "better", "these": {"clusters": [NFS]}, "those": {"clusters": [ONE, TWO]}}


def test_a_statement_holds_where_all_its_pairs_are_told_apart_as_published():
    found = verdict(
        BETTER, [configuration(NFS, runs(1)), configuration(ONE, runs(2)), configuration(TWO, runs(3))]
    )  # fmt: skip
    assert (found.word, found.why) == ("holds", None)
    # 200 MB in 1.005 s, 2.01 s and 3.015 s, the medians of six repetitions
    assert found.reproduced == (
        "nfs with 1PxCN: 199.0 MB/s; pvfs2-1df with 1PxCN: 99.5 MB/s; pvfs2-2df with 1PxCN: 66.3 MB/s"
    )


def test_one_pair_the_other_way_refutes_a_statement_and_is_named():
    found = verdict(
        BETTER, [configuration(NFS, runs(2)), configuration(ONE, runs(3)), configuration(TWO, runs(1))]
    )  # fmt: skip
    assert found.word == "does not hold"
    assert found.why == (
        "pvfs2-2df with 1PxCN is 2 times as fast as nfs with 1PxCN (1 of 2 comparisons say the opposite)"
    )


def test_what_is_not_told_apart_cannot_be_told():
    noisy = [1.0, 1.4, 0.9, 1.3, 1.1, 1.2]
    found = verdict(
        BETTER, [configuration(NFS, noisy), configuration(ONE, noisy[::-1]), configuration(TWO, runs(3))]
    )  # fmt: skip
    assert found.word == "cannot be told"
    assert found.why == (
        "nfs with 1PxCN and pvfs2-1df with 1PxCN are not told apart; 1 of 2 comparisons are as published"
    )


def test_configurations_that_are_the_same_refute_that_one_is_better():
    same = [configuration(NFS, runs(1)), configuration(ONE, runs(1)), configuration(TWO, runs(3))]
    found = verdict(BETTER, same)
    assert found.word == "does not hold"
    assert "nfs with 1PxCN is not better than pvfs2-1df with 1PxCN by 3 %" in (found.why or "")


def test_what_was_not_measured_cannot_be_told_and_says_why():
    missing = NotMeasured(
        application="a", cluster=TWO, mapping="1PxCN", reason="pvfs2-server is missing"
    )
    found = verdict(BETTER, [configuration(NFS, runs(1)), configuration(ONE, runs(2))], [missing])
    assert found.word == "cannot be told"
    assert found.why == (
        "pvfs2-2df with 1PxCN was not measured: pvfs2-server is missing; 1 of 2 comparisons are as published"
    )


def test_a_part_that_was_not_measured_does_not_save_a_statement_that_another_part_refutes():
    missing = NotMeasured(application="a", cluster=TWO, mapping="1PxCN", reason="not installed")
    found = verdict(BETTER, [configuration(NFS, runs(2)), configuration(ONE, runs(1))], [missing])
    assert found.word == "does not hold"


def test_nothing_measured_at_all_cannot_be_told():
    missing = [
        NotMeasured(application="a", cluster=each, mapping="1PxCN", reason="no root")
        for each in (NFS, ONE, TWO)
    ]
    (found,) = judge(study(BETTER), None, missing)
    assert (found.word, found.reproduced) == ("cannot be told", "")
    assert "nfs with 1PxCN was not measured: no root" in (found.why or "")


def test_of_many_reasons_two_are_told_and_the_others_counted():
    clusters = [f"pvfs2-{n}df" for n in range(1, 5)]
    missing = [
        NotMeasured(application="a", cluster=each, mapping="1PxCN", reason="not installed")
        for each in clusters
    ]
    says = BETTER | {"those": {"clusters": clusters}}
    found = verdict(says, [configuration(NFS, runs(1))], missing)
    assert found.why == (
        "pvfs2-1df with 1PxCN was not measured: not installed; pvfs2-2df with 1PxCN was not measured: not installed; "
        "2 more of this kind"
    )


def test_a_statement_about_nothing_in_the_campaign_cannot_be_told():
    found = verdict(BETTER, [configuration("other", runs(1))])
    assert (found.word, found.why) == (
        "cannot be told",
        "the study compares nothing that the statement is about",
    )


def mapped(cluster, spread_s, together_s):
    return [
        configuration(cluster, runs(spread_s), mapping="1PxCN"),
        configuration(cluster, runs(together_s), mapping="2PxCN"),
    ]


def test_pairs_are_of_one_mapping_or_of_one_cluster_where_the_statement_says_so():
    measured = [*mapped(NFS, 1, 4), *mapped(ONE, 2, 8)]
    of_one_mapping = {
        "claim": "better", "these": {"clusters": [NFS]}, "those": {"clusters": [ONE]}, "same_mapping": True,
    }  # fmt: skip
    # NFS with 2PxCN is slower than the other with 1PxCN, which is not asked
    assert verdict(of_one_mapping, measured).word == "holds"
    assert verdict(of_one_mapping | {"same_mapping": False}, measured).word == "does not hold"
    of_one_cluster = {
        "claim": "better", "these": {"mappings": ["1PxCN"]}, "those": {"mappings": ["2PxCN"]}, "same_cluster": True,
    }  # fmt: skip
    assert verdict(of_one_cluster, measured).word == "holds"


@pytest.mark.parametrize(
    ("times", "word"), [(2.5, "holds"), (3.0, "cannot be told"), (5.0, "does not hold")]
)
def test_how_many_times_as_good_is_judged_by_the_interval_of_all_ratios(times, word):
    says = {"claim": "better", "these": {"clusters": [NFS]}, "those": {"clusters": [ONE]}, "times": times}  # fmt: skip
    measured = [configuration(NFS, runs(1)), configuration(ONE, runs(3))]
    assert verdict(says, measured).word == word


@pytest.mark.parametrize(
    ("after_s", "word"),
    [(1.0, "holds"), (2.0, "holds"), (0.95, "holds"), (0.5, "does not hold")],
)
def test_a_change_that_gains_little_or_loses_is_no_gain(after_s, word):
    says = {"claim": "no gain", "before": {"clusters": [ONE]}, "after": {"clusters": [TWO]}}
    measured = [configuration(ONE, runs(1)), configuration(TWO, runs(after_s))]
    assert verdict(says, measured).word == word


def test_whether_a_noisy_change_gains_cannot_be_told():
    says = {"claim": "no gain", "before": {"clusters": [ONE]}, "after": {"clusters": [TWO]}}
    noisy = [1.0, 1.4, 0.8, 1.3, 0.9, 1.2]
    found = verdict(says, [configuration(ONE, noisy), configuration(TWO, noisy)])
    assert found.word == "cannot be told"
    assert (found.why or "").startswith("pvfs2-2df with 1PxCN may gain ")


def strongest(this, other):
    def change(cluster):
        return {
            "before": {"clusters": [cluster], "mappings": ["1PxCN"]},
            "after": {"clusters": [cluster], "mappings": ["2PxCN"]},
        }

    return {"claim": "strongest", "this": change(this), "others": [change(other)]}


def test_the_change_that_matters_most_is_told_by_intervals_that_do_not_overlap():
    measured = [*mapped(NFS, 1, 4), *mapped(ONE, 1, 1.5)]
    assert verdict(strongest(NFS, ONE), measured).word == "holds"
    assert verdict(strongest(ONE, NFS), measured).word == "does not hold"
    alike = [*mapped(NFS, 1, 2), *mapped(ONE, 1, 2)]
    assert verdict(strongest(NFS, ONE), alike).word == "cannot be told"


def test_a_change_is_told_as_a_change_of_the_rate():
    found = verdict(strongest(NFS, ONE), [*mapped(NFS, 1, 4), *mapped(ONE, 1, 1.25)])
    assert found.reproduced == (
        "nfs with 1PxCN to nfs with 2PxCN: -75 %; pvfs2-1df with 1PxCN to pvfs2-1df with 2PxCN: -20 %"
    )


def test_cost_is_judged_by_cost():
    says = {"claim": "better", "by": "cost", "these": {"clusters": [NFS]}, "those": {"clusters": [ONE]}}  # fmt: skip
    cheap, dear = (
        configuration(NFS, runs(2), costs=runs(0.1)),
        configuration(ONE, runs(1), costs=runs(0.4)),
    )
    assert verdict(says, [cheap, dear]).word == "holds"
    assert verdict(says | {"by": "time"}, [cheap, dear]).word == "does not hold"
    without = configuration(ONE, runs(1))
    assert verdict(says, [cheap, without]).why == "pvfs2-1df with 1PxCN has no cost"


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


def of_groups(says, found):
    more = {"campaign": None, "interfere": "interfere.yaml"}
    (judged,) = judge(study(says, **more), comparison(interference=found))
    return judged


PART = {"claim": "part", "over": "interval", "at": 0.05, "object_size": "128 KiB"}


@pytest.mark.parametrize(
    ("point", "word"),
    [
        ({}, "holds"),
        ({"at": 0.2, "low": 0.1, "high": 0.3}, "does not hold"),
        ({"at": 0.05, "low": 0.0, "high": 1.3}, "cannot be told"),
        ({"at": None, "low": None, "high": None}, "cannot be told"),
    ],
)
def test_a_published_point_holds_where_it_lies_in_the_interval(point, word):
    found = of_groups(PART, interference(**point))
    assert found.word == word
    if word == "does not hold":
        assert found.why == (
            "on gateway with 1PxCN they part at 200 ms [100 ms to 300 ms], and the paper says 50 ms"
        )
    if word == "cannot be told":
        said = "shows no change" if point["at"] is None else "the interval holds much else"
        assert said in (found.why or "")


def test_a_point_of_another_object_size_is_not_the_statements():
    assert of_groups(PART | {"object_size": "2 MiB"}, interference()).word == "cannot be told"


def higher(this, than, group="foreground"):
    def setting(interval):
        return {"group": group, "object_size": "128 KiB", "interval": interval}

    return {"claim": "higher rate", "this": setting(this), "than": setting(than)}


def test_a_rate_is_higher_where_the_intervals_do_not_overlap():
    assert of_groups(higher(0, 2), interference()).word == "holds"
    assert of_groups(higher(2, 0), interference()).word == "does not hold"
    near = interference(rates=((0.0, 20.1e6), (2.0, 20e6)))
    assert of_groups(higher(0, 2), near).word == "cannot be told"
    assert of_groups(higher(0, 1), interference()).why == "gateway with 1PxCN: a setting was not measured"  # fmt: skip
    # one repetition of the sum has no interval
    assert of_groups(higher(0, 2, group=None), interference()).word == "cannot be told"


def rows(**row):
    says = {"claim": "rows", "model": "m", "tolerance": 0.0, "rows": [{"np": 2, "operation": "read", "phases": 2} | row]}  # fmt: skip
    more = {"campaign": None, "models": [{"name": "m", "files": [ABYSS]}]}
    (found,) = judge(study(says, **more), None)
    return found


def test_a_row_of_a_table_is_held_against_the_model_without_any_measurement():
    found = rows(request=8191)
    assert found.word == "holds"
    other = rows(request=4096)
    assert other.word == "does not hold"
    assert "and 4.0 KiB are printed" in (other.why or "")
    assert "3 phases are printed" in (rows(request=8191, phases=3).why or "")


def test_a_process_count_that_one_run_does_not_tell_cannot_be_told():
    found = rows(np=7, request=8191)
    assert found.word == "cannot be told"
    assert (found.why or "").startswith("np 7: ")
