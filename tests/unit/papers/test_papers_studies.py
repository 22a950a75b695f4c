"""The studies that come with wavetank, and what is wrong with a study file."""

from pathlib import Path

import pytest

from wavetank.campaign.clusters import read_cluster
from wavetank.campaign.load import load_campaign
from wavetank.campaign.plan import make_plan
from wavetank.campaign.spec import read_campaign
from wavetank.errors import SpecError, UsageError
from wavetank.interfere.load import load_study
from wavetank.interfere.plan import make_plan as make_study_plan
from wavetank.interfere.spec import read_interfere
from wavetank.papers.claims import Better, NoGain, Rows, Strongest
from wavetank.papers.judge import judge
from wavetank.papers.study import find_study, read_study, shipped_studies

ROOT = Path(__file__).parents[3]


def test_the_papers_have_a_study_each_and_the_examples_are_the_same_files():
    assert shipped_studies() == ("DN", "P12", "P15", "P16", "P18")
    for name in shipped_studies():
        assert read_study(ROOT / "examples" / "papers" / name).study == find_study(name).study


def selections(says):
    if isinstance(says, Better):
        return [says.these, says.those]
    if isinstance(says, NoGain):
        return [says.before, says.after]
    if isinstance(says, Strongest):
        changes = [says.this, *says.others]
        return [each for change in changes for each in (change.before, change.after)]
    return []


@pytest.mark.parametrize("name", shipped_studies())
def test_a_study_plans_and_its_statements_name_what_is_in_the_plan(name):
    loaded = find_study(name)
    if loaded.study.campaign is None:
        spec = read_interfere(loaded.path(loaded.study.interfere))
        study = load_study(spec, read_cluster)
        plan = make_study_plan(spec, study.groups, study.clusters)
        assert plan.points or plan.impossible
        sizes = set(spec.object_sizes)
        for statement in loaded.study.statements:
            says = statement.says
            asked = [says] if says.claim == "part" else [says.this, says.than]
            assert {each.object_size for each in asked} <= sizes
            if says.claim == "higher rate":
                assert {each.interval for each in asked} <= set(spec.intervals.values)
        return
    path = loaded.path(loaded.study.campaign)
    spec = read_campaign(path)
    campaign = load_campaign(spec, path.parent, read_cluster)
    plan = make_plan(spec, campaign.applications, campaign.clusters)
    assert plan.runs or plan.impossible
    clusters = {each.name for each in campaign.clusters}
    titles = {each.title for each in campaign.clusters}
    assert len(titles) == len(clusters)
    for statement in loaded.study.statements:
        for selection in selections(statement.says):
            assert set(selection.clusters) <= clusters, statement.id
            assert set(selection.mappings) <= set(spec.mappings), statement.id
        applications = getattr(statement.says, "applications", ())
        assert set(applications) <= {each.name for each in campaign.applications}, statement.id


@pytest.mark.parametrize("name", shipped_studies())
def test_statements_on_models_hold_without_any_measurement(name):
    # METHOD: known answers of P15 tables V and VIII and of P18 table 3, from the models alone
    loaded = find_study(name)
    words = {
        verdict.statement.id: verdict.word
        for verdict in judge(loaded, None)
        if isinstance(verdict.statement.says, Rows)
    }
    assert set(words.values()) <= {"holds"}
    assert len(words) == {"P12": 2, "P15": 6, "P16": 1, "P18": 1, "DN": 0}[name]


STUDY = """
paper: X
title: a paper
reference: somewhere
statements:
  - id: it
    quote: as printed
    source: figure 1
    says: {claim: better, these: {clusters: [a]}, those: {clusters: [b]}}
"""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (STUDY, "statement it: it needs a campaign file"),
        (STUDY + "campaign: campaign.yaml\n", "names files that are not there: campaign.yaml"),
        (STUDY.replace("better", "bettr"), "claim"),
        (STUDY.replace("claim: better,", "claim: rows, model: m, rows: [{np: 1, operation: read, phases: 1, request: 1}],")
         .replace(" these: {clusters: [a]}, those: {clusters: [b]}", ""), "statement it: there is no model 'm'"),
        (STUDY + "campaign: a.yaml\ninterfere: b.yaml\n", "name a campaign or an interfere file, not both"),
    ],
)  # fmt: skip
def test_what_is_wrong_in_a_study_file_is_said(tmp_path, text, said):
    (tmp_path / "statements.yaml").write_text(text)
    with pytest.raises(SpecError, match=r"statements\.yaml") as caught:
        read_study(tmp_path)
    assert said in str(caught.value)


def test_a_study_that_is_not_there_is_a_usage_error_that_names_those_that_are(tmp_path):
    with pytest.raises(UsageError, match="DN, P12, P15, P16, P18"):
        find_study(str(tmp_path / "P13"))
