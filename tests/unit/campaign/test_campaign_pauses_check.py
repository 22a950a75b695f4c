"""The choice of a campaign and its baseline are measured once more with the application's pauses kept."""

from dataclasses import replace

import pytest
from campaign_fakes import APPLICATION, FakeDeployer, FakeObserver, app, facts, spec
from search_fakes import Timed

from wavetank.campaign.comparison import compare_campaign
from wavetank.campaign.pauses_check import checks_of, options_of, plan_of
from wavetank.campaign.plan import make_plan
from wavetank.campaign.results_folder import write_store
from wavetank.campaign.run import check_with_pauses, run_campaign
from wavetank.model.document.program import PauseStep, Program

PAUSES = Program(ranks=(0,), steps=(PauseStep(seconds=3.0),))
PAUSING = app(APPLICATION.kernel.model_copy(update={"programs": (PAUSES,)}))
CLUSTERS = [facts("nfs"), facts("gluster"), facts("other")]


class Setting:
    def __init__(self, folder, application=PAUSING, times=None, **more):
        self.folder = folder
        asked = {"mappings": ("1PxCN",), "repetitions": 6, "baseline": "nfs"}
        self.spec = spec(**(asked | more))
        self.plan = make_plan(self.spec, [application], CLUSTERS)
        self.times = times or {"nfs": 3.0, "gluster": 1.0, "other": 3.5}
        self.observer = FakeObserver()
        self.deployer = FakeDeployer()

    def run(self):
        with write_store(self.folder) as store:
            run_campaign(
                self.spec, self.plan, store, deployer=self.deployer,
                performer=Timed(self.observer, self.times.get), observer=self.observer,
            )  # fmt: skip
            return compare_campaign(self.spec, self.plan, store, None)

    def check(self, comparison, with_pauses, deployer=None):
        """The comparison after the check, and the clusters that were measured for it."""
        checks = checks_of(self.spec, self.plan, comparison.verdicts)
        performer = Timed(self.observer, with_pauses.get)
        with write_store(self.folder) as store:
            check_with_pauses(
                self.spec, plan_of(checks, self.plan), store, deployer=deployer or self.deployer,
                performer=performer, observer=self.observer,
            )  # fmt: skip
            return compare_campaign(self.spec, self.plan, store, None), performer.measured


def about_pauses(comparison):
    return [(each.kind, str(each)) for each in comparison.notes if each.subject == "pauses"]


def test_the_choice_and_the_baseline_are_measured_once_more_and_their_order_is_said(tmp_path):
    setting = Setting(tmp_path)
    first = setting.run()
    assert first.verdicts[0].verb == "choose"
    second, measured = setting.check(first, {"nfs": 2.0, "gluster": 1.5})
    assert measured == ["gluster", "nfs"] and setting.deployer.up_now == []
    ((kind, sentence),) = about_pauses(second)
    assert kind == "remark" and "shortened to 100 ms each" in sentence
    assert "gluster with 1PxCN takes 1.50 s of I/O and nfs with 1PxCN takes 2.00 s" in sentence
    assert "their order holds" in sentence
    assert second.configurations == first.configurations and second.family == first.family
    again, measured = setting.check(second, {})
    assert measured == [] and again.notes == second.notes


def test_an_order_that_turns_round_is_a_doubt(tmp_path):
    setting = Setting(tmp_path)
    comparison, _ = setting.check(setting.run(), {"nfs": 1.0, "gluster": 1.5})
    ((kind, sentence),) = about_pauses(comparison)
    assert kind == "suspect" and "'pauses: keep'" in sentence


@pytest.mark.parametrize(
    ("application", "more"),
    [
        (PAUSING, {"pauses": "keep"}),
        (PAUSING, {"baseline": None}),
        (replace(PAUSING, program="fio"), {}),
        (APPLICATION, {}),
    ],
    ids=["pauses were kept", "no baseline", "a benchmark", "no pauses in the kernel"],
)
def test_nothing_is_checked_where_there_is_nothing_to_check(tmp_path, application, more):
    setting = Setting(tmp_path, application, **more)
    comparison = setting.run()
    assert checks_of(setting.spec, setting.plan, comparison.verdicts) == ()


def test_that_a_kernel_holds_no_pauses_is_said(tmp_path):
    comparison = Setting(tmp_path, APPLICATION).run()
    ((_, sentence),) = about_pauses(comparison)
    assert "was not checked: the kernel holds none" in sentence


def test_a_campaign_that_stays_with_its_baseline_checks_nothing(tmp_path):
    setting = Setting(tmp_path, times={"nfs": 1.0, "gluster": 3.0, "other": 3.5})
    comparison = setting.run()
    assert comparison.verdicts[0].verb == "stay"
    assert checks_of(setting.spec, setting.plan, comparison.verdicts) == ()
    assert about_pauses(comparison) == []


def test_a_check_that_fails_is_said_and_changes_nothing(tmp_path):
    setting = Setting(tmp_path)
    first = setting.run()
    second, measured = setting.check(first, {"nfs": 2.0}, FakeDeployer(broken=["gluster"]))
    assert measured == ["nfs"] and about_pauses(second) == []
    assert any(
        said.startswith("not checked: ABYSS-P, pauses kept on gluster")
        for said in setting.observer.said
    )
    assert second.not_measured == first.not_measured


def test_pauses_are_shortened_to_the_limit():
    options = options_of(spec(flush=False))
    assert (options.pauses, options.longest_pause_s, options.flush) == ("keep", 0.1, "none")
