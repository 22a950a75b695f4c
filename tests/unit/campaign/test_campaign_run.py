import signal

import pytest
from campaign_fakes import APPLICATION, FakeDeployer, FakeObserver, app, facts, spec
from measure_fakes import FakeCluster, FakePerformer, Watch, abyss_result

from wavetank.campaign.comparison import compare_campaign
from wavetank.campaign.comparison_notes import _method_notes
from wavetank.campaign.plan import make_plan
from wavetank.campaign.results_folder import write_store
from wavetank.campaign.run import run_campaign
from wavetank.cli.campaign_run import see_all_well
from wavetank.compare.decisions import decide
from wavetank.cost.prices import load_prices
from wavetank.errors import MeasurementError
from wavetank.measure.statistics import estimate
from wavetank.notes import note, texts

NFS, GLUSTER = facts("nfs"), facts("gluster")
KERNEL = APPLICATION.kernel
FAILED = abyss_result(KERNEL).model_copy(update={"status": "failed", "failure": "rank 0 died"})


class Setting:
    """A campaign with everything faked but plan, store and comparison."""

    def __init__(
        self,
        folder,
        clusters=(NFS, GLUSTER),
        *,
        broken=(),
        stuck=(),
        performer=None,
        watch=None,
        **more,
    ):
        self.spec = spec(**more)
        self.watch = watch
        self.plan = make_plan(self.spec, [APPLICATION], clusters)
        self.folder = folder
        self.deployer = FakeDeployer(broken, stuck=stuck)
        self.performer = performer or FakePerformer(abyss_result)
        self.observer = FakeObserver()

    def run(self, prices=None):
        with write_store(self.folder) as store:
            outcome = run_campaign(
                self.spec,
                self.plan,
                store,
                deployer=self.deployer,
                performer=self.performer,
                observer=self.observer,
                watch=self.watch,
            )
            return outcome, compare_campaign(self.spec, self.plan, store, prices)

    def done(self):
        with write_store(self.folder) as store:
            return store.done()


def turns(setting):
    """Clusters in the order in which they were measured."""
    measured = [text for text in setting.observer.said if text.startswith("measuring")]
    return [text.split(" on ")[1].split(" with ")[0] for text in measured]


def one_at_a_time(setting):
    """Clusters in the order in which they came up; each goes down before the next one comes up."""
    log = setting.deployer.log
    assert [what for what, _ in log] == ["up", "down"] * (len(log) // 2)
    assert all(log[i][1] == log[i + 1][1] for i in range(0, len(log), 2))
    return [name for what, name in log if what == "up"]


def measured(folder, configuration=("nfs", "1PxCN")):
    """Measurements of a configuration, by repetition."""
    with write_store(folder) as store:
        found = [
            each for each in store.measurements() if (each.cluster, each.mapping) == configuration
        ]
    return sorted(found, key=lambda each: each.repetition)


def test_each_repetition_has_a_deployment_of_its_own_and_clusters_take_turns(tmp_path):
    setting = Setting(tmp_path)
    outcome, comparison = setting.run()
    assert (outcome.n_measured, outcome.n_failed) == (12, 0)
    ups = one_at_a_time(setting)
    assert all(set(ups[turn : turn + 2]) == {"nfs", "gluster"} for turn in (0, 2, 4))
    assert [each.deployment for each in measured(tmp_path)] == [0, 1, 2]
    assert {each.n_deployments for each in comparison.configurations} == {3}
    assert not any("share deployments" in note for note in texts(comparison.notes))


def test_one_deployment_for_all_repetitions_is_said_not_to_show_how_deployments_differ(tmp_path):
    setting = Setting(tmp_path, redeploy=False)
    outcome, comparison = setting.run()
    assert outcome.n_measured == 12
    assert sorted(one_at_a_time(setting)) == ["gluster", "nfs"]
    assert [each.deployment for each in measured(tmp_path)] == [0, 0, 0]
    assert {each.n_deployments for each in comparison.configurations} == {1}
    (note,) = [note for note in texts(comparison.notes) if "share deployments" in note]
    assert note.startswith("Repetitions of 4 of 4 configurations share deployments (the fewest: 1)")


def test_repetitions_of_an_earlier_run_on_one_deployment_do_not_count_as_deployments(tmp_path):
    Setting(tmp_path, redeploy=False, repetitions=2).run()
    _, comparison = Setting(tmp_path).run()
    assert [each.deployment for each in measured(tmp_path)] == [0, 0, 1]
    assert {each.n_deployments for each in comparison.configurations} == {2}
    assert any("share deployments (the fewest: 2)" in note for note in texts(comparison.notes))


@pytest.mark.parametrize("redeploy", [True, False])
def test_each_repetition_places_its_input_files_anew_and_mappings_share_them(tmp_path, redeploy):
    setting = Setting(tmp_path, [NFS], redeploy=redeploy)
    clusters = []
    up = setting.deployer.up

    def remembered(name):
        clusters.append(up(name))
        return clusters[-1]

    setting.deployer.up = remembered
    setting.run()
    placed = [sizes for cluster in clusters for sizes in cluster.placed if sizes]
    assert len(placed) == 3 and all(sizes == placed[0] for sizes in placed)


def test_a_cluster_that_does_not_come_up_is_not_tried_again_in_its_next_block(tmp_path):
    setting = Setting(tmp_path, broken=["nfs"])
    outcome, comparison = setting.run()
    assert (outcome.n_measured, outcome.n_failed) == (6, 6)
    assert setting.deployer.log.count(("up", "nfs")) == 1
    assert len(comparison.not_measured) == 2


def test_every_deployment_counts_for_the_budget_once(tmp_path):
    Setting(tmp_path).run()
    with write_store(tmp_path) as store:
        each, all_of_them = store.deployments_s(), store.beside_s()
    assert {key: len(seconds) for key, seconds in each.items()} == {NFS.key: 3, GLUSTER.key: 3}
    assert all_of_them == pytest.approx({key: sum(seconds) for key, seconds in each.items()})


def test_a_finished_campaign_measures_nothing_again(tmp_path):
    Setting(tmp_path).run()
    again = Setting(tmp_path)
    outcome, comparison = again.run()
    assert outcome.n_measured == 0 and again.deployer.log == []
    assert len(comparison.configurations) == 4


def test_adding_a_cluster_measures_only_what_is_new(tmp_path):
    Setting(tmp_path, [NFS]).run()
    more = Setting(tmp_path, [NFS, GLUSTER])
    outcome, comparison = more.run()
    assert outcome.n_measured == 6
    assert one_at_a_time(more) == ["gluster"] * 3
    assert len(comparison.configurations) == 4


def test_a_cluster_that_does_not_come_up_is_recorded_and_the_others_go_on(tmp_path):
    setting = Setting(tmp_path, broken=["nfs"])
    outcome, comparison = setting.run()
    assert (outcome.n_measured, outcome.n_failed) == (6, 6)
    assert {each.cluster for each in comparison.configurations} == {"gluster"}
    assert {(each.cluster, each.mapping) for each in comparison.not_measured} == {
        ("nfs", "1PxCN"),
        ("nfs", "2PxCN"),
    }
    assert "glusterd died" in comparison.not_measured[0].reason


def test_a_failed_measurement_is_recorded_and_tried_again_the_next_time(tmp_path):
    performer = FakePerformer(FAILED, abyss_result)
    outcome, comparison = Setting(tmp_path, [NFS], performer=performer).run()
    assert (outcome.n_measured, outcome.n_failed) == (5, 1)
    assert "rank 0 died" in comparison.not_measured[0].reason
    outcome, comparison = Setting(tmp_path, [NFS]).run()
    assert (outcome.n_measured, outcome.n_failed) == (1, 0)
    assert comparison.not_measured == ()


def test_a_broken_cluster_is_given_up_and_taken_down(tmp_path):
    setting = Setting(tmp_path, [NFS], performer=FakePerformer(FAILED))
    outcome, _ = setting.run()
    assert len(setting.performer.calls) == 3
    assert outcome.n_failed == 6
    assert setting.deployer.up_now == []


@pytest.mark.parametrize("interruption", [KeyboardInterrupt(), SystemExit(143)])
def test_an_interruption_takes_the_cluster_down_and_keeps_what_is_finished(tmp_path, interruption):
    performer = FakePerformer(abyss_result(KERNEL), abyss_result(KERNEL), interruption)
    setting = Setting(tmp_path, [NFS, GLUSTER], performer=performer)
    with pytest.raises(type(interruption)):
        setting.run()
    assert setting.deployer.up_now == [] and len(setting.deployer.log) == 4
    assert len(setting.done()) == 2


def test_an_interrupted_campaign_ends_with_the_same_results(tmp_path):
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    _, reference = Setting(whole).run()
    for survives in (1, 4):
        stops = FakePerformer(*[abyss_result(KERNEL)] * survives, KeyboardInterrupt())
        with pytest.raises(KeyboardInterrupt):
            Setting(parts, performer=stops).run()
    _, resumed = Setting(parts).run()
    assert resumed.configurations == reference.configurations
    assert resumed.rankings == reference.rankings


def test_an_interruption_while_a_cluster_goes_down_acts_when_it_is_down(tmp_path, capfd):
    setting = Setting(tmp_path, [NFS])

    def down(cluster):
        signal.raise_signal(signal.SIGINT)
        FakeDeployer.down(setting.deployer, cluster)

    setting.deployer.down = down
    with pytest.raises(KeyboardInterrupt):
        setting.run()
    assert setting.deployer.up_now == []
    assert "taking the cluster down; please wait" in capfd.readouterr().err
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_progress_goes_from_nothing_to_everything(tmp_path):
    setting = Setting(tmp_path, [NFS])
    setting.run()
    assert [n_done for n_done, _, _ in setting.observer.seen] == [0, 1, 2, 3, 4, 5, 6]
    assert setting.observer.seen[-1][2] == 0


def test_the_comparison_has_rankings_costs_notes_and_advice(tmp_path):
    _, comparison = Setting(tmp_path).run(load_prices("papers-2016"))
    assert [ranking.by for ranking in comparison.rankings] == ["time", "cost", "ratio"]
    assert comparison.price.currency == "USD"
    assert all(each.cost is not None for each in comparison.configurations)
    assert any("emulated limits" in note for note in texts(comparison.notes))
    assert any("2 of 4 ranks" in each.sentence for each in comparison.advice)


def test_what_the_source_of_a_kernel_lost_is_said_once_in_the_comparison(tmp_path):
    found = note("lost", "operations", "5 of 9 operations are missing")
    lost, setting = str(found), Setting(tmp_path)
    doubtful = app(KERNEL.model_copy(update={"notes": (found,)}))
    setting.plan = make_plan(setting.spec, [doubtful], (NFS, GLUSTER))
    _, comparison = setting.run()
    assert [note for note in texts(comparison.notes) if lost in note] == [f"ABYSS-P: {lost}"]
    assert len(comparison.configurations) > 1
    assert not any(
        lost in finding for each in comparison.configurations for finding in texts(each.notes)
    )
    with write_store(tmp_path) as store:
        assert all(lost in texts(each.notes) for _, each in store.keyed_measurements())


def test_an_unfinished_part_is_said_to_wait(tmp_path):
    setting = Setting(tmp_path, [NFS], performer=FakePerformer(KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        setting.run()
    with write_store(tmp_path) as store:
        comparison = compare_campaign(setting.spec, setting.plan, store, None)
    assert {each.mapping for each in comparison.not_measured} == {"1PxCN", "2PxCN"}
    assert "run the campaign again" in comparison.not_measured[0].reason


def test_a_cluster_that_a_killed_run_left_is_taken_down_first(tmp_path):
    setting = Setting(tmp_path, [NFS])
    with write_store(tmp_path) as store:
        store.lease("nfs")  # as a run that was killed leaves it
    setting.deployer.up_now.append("nfs")
    setting.run()
    assert setting.deployer.log[:3] == [("down", "nfs"), ("up", "nfs"), ("down", "nfs")]


def test_a_cluster_that_a_killed_run_left_is_taken_down_also_when_nothing_is_left_to_measure(
    tmp_path,
):
    Setting(tmp_path).run()
    again = Setting(tmp_path)
    with write_store(tmp_path) as store:
        store.lease("nfs")
    again.deployer.up_now.append("nfs")
    again.run()
    assert again.deployer.log == [("down", "nfs")]
    with write_store(tmp_path) as store:
        assert store.leases() == ()


def test_a_cluster_that_cannot_be_taken_down_is_an_end_with_an_error_and_the_next_run_takes_it_down(
    tmp_path,
):
    setting = Setting(tmp_path, stuck=["nfs"])
    outcome, _ = setting.run()
    assert (outcome.n_measured, outcome.n_failed, outcome.not_down) == (12, 0, ("nfs",))
    with pytest.raises(MeasurementError, match=r"Not taken down.*'wavetank cluster down nfs'"):
        see_all_well(outcome, "12 measurements")
    again = Setting(tmp_path)
    again.deployer.up_now.append("nfs")
    outcome, _ = again.run()
    assert again.deployer.log == [("down", "nfs")] and outcome.not_down == ()
    see_all_well(outcome, "12 measurements")


def test_what_a_cluster_that_did_not_come_up_left_is_taken_down_by_the_next_run_that_can(tmp_path):
    setting = Setting(tmp_path, [NFS], broken=["nfs"], stuck=["nfs"])
    outcome, _ = setting.run()
    assert outcome.not_down == ("nfs",)
    assert any("Not all of it could be removed" in said for said in setting.observer.said)
    outcome, _ = setting.run()  # still not
    assert outcome.not_down == ("nfs",)
    again = Setting(tmp_path, [NFS])
    again.deployer.up_now.append("nfs")
    outcome, _ = again.run()
    assert again.deployer.log[:3] == [("down", "nfs"), ("up", "nfs"), ("down", "nfs")]
    assert (outcome.n_measured, outcome.not_down) == (6, ())


def test_a_cluster_of_somebody_else_is_not_taken_down_by_the_next_run(tmp_path):
    setting = Setting(tmp_path, [NFS], broken=["nfs"])
    setting.deployer.up_now.append("nfs")  # the name is taken
    outcome, _ = setting.run()
    assert (outcome.n_measured, outcome.not_down) == (0, ())
    setting.run()
    assert setting.deployer.log == [("up", "nfs"), ("up", "nfs")]


def test_configurations_that_end_early_do_not_lack_repetitions(tmp_path):
    # Every measurement takes the same time here: after three repetitions none can be told apart any more.
    setting = Setting(tmp_path, repetitions=None)
    outcome, comparison = setting.run()
    assert setting.plan.repetitions == 5 and outcome.n_measured == 12
    assert {each.n_repetitions for each in comparison.configurations} == {3}
    assert comparison.family.n_blind == 0 and comparison.family.n_told_apart == 0
    assert not any("repetitions" in each.sentence for each in comparison.advice)
    (note,) = [note for note in texts(comparison.notes) if "ended after" in note]
    assert note.startswith("4 of 4 configurations ended after 3 to 3 repetitions")


def test_repetitions_that_a_person_made_few_are_said(tmp_path):
    _, comparison = Setting(tmp_path, repetitions=2).run()
    assert comparison.family.n_blind == 6
    (verdict,) = comparison.verdicts
    assert verdict.verb == "inconclusive" and "2 repetitions" in (verdict.void or "")


def test_a_disturbed_measurement_is_made_again_at_the_end_of_its_round(tmp_path):
    setting = Setting(tmp_path, [NFS], watch=Watch(0))
    outcome, comparison = setting.run()
    first, second = (run.mapping for run in setting.plan.runs[:2])
    said = [text for text in setting.observer.said if text.startswith("measuring")]
    assert [text.split(" with ")[1][:5] for text in said[:3]] == [first, second, first]
    assert outcome.n_measured == 6 and len(said) == 7
    assert all(texts(each.notes) == () for each in comparison.configurations)
    with write_store(tmp_path) as store:
        assert store.n_disturbed() == 1 and store.beside_s()[NFS.key] > 0
        assert all(each.load is not None for each in store.measurements())


def test_a_machine_that_is_never_quiet_costs_a_quarter_more_and_the_rest_is_said(tmp_path):
    setting = Setting(tmp_path, watch=Watch(*range(100)))
    outcome, comparison = setting.run()
    # 12 measurements: 3 are made again, and then what is disturbed is kept.
    assert outcome.n_measured == 12
    assert len([text for text in setting.observer.said if text.startswith("measuring")]) == 15
    (told,) = [note for note in texts(comparison.notes) if "Other work" in note]
    assert "disturbed 12 of 12 measurements (" in told and "after 3 were made again" in told
    assert all(
        any("other work" in text for text in texts(c.notes)) for c in comparison.configurations
    )


def test_disturbed_measurements_are_kept_where_the_campaign_says_so(tmp_path):
    setting = Setting(tmp_path, [NFS], watch=Watch(0), repeat_disturbed=0)
    setting.run()
    with write_store(tmp_path) as store:
        assert store.n_disturbed() == 0 and len(store.measurements()) == 6


def test_nothing_is_leased_after_a_run(tmp_path):
    Setting(tmp_path, broken=["gluster"]).run()
    with write_store(tmp_path) as store:
        assert store.leases() == ()


def test_a_cluster_that_left_the_file_leaves_the_comparison_but_not_the_store(tmp_path):
    Setting(tmp_path).run()
    fewer = Setting(tmp_path, [GLUSTER])
    _, comparison = fewer.run()
    assert {each.cluster for each in comparison.configurations} == {"gluster"}
    assert len(fewer.done()) == 12


def test_missing_costs_and_usages_above_the_peak_are_said_in_the_notes(tmp_path):
    setting = Setting(tmp_path, [facts("lab", instance_type="on-premises")])
    _, comparison = setting.run(load_prices("papers-2016"))
    assert all(each.cost is None for each in comparison.configurations)
    (missing,) = [note for note in texts(comparison.notes) if "costs are missing" in note]
    assert "no instance type 'on-premises'" in missing
    assert not any("above 100 %" in note for note in texts(comparison.notes))
    above = comparison.configurations[0].model_copy(
        update={"usage_percent": estimate([102.0, 103.0])}
    )
    (told,) = [
        note for note in _method_notes(setting.spec, [above], decide([above]), None) if "above 100 %" in note
    ]  # fmt: skip
    assert "page caches" in told


class InACloud(FakeCluster):
    """Of which a node is gone as soon as something has failed on it."""

    failed = False

    def lost(self):
        return ["c2: the cloud took its spot instance back"] if self.failed else []


def test_a_cluster_whose_nodes_are_gone_is_taken_down_at_once_and_the_others_go_on(tmp_path):
    setting = Setting(tmp_path)
    clusters = {name: InACloud(name) for name in ("nfs", "gluster")}
    up = setting.deployer.up
    setting.deployer.up = lambda name: up(name) and clusters[name]

    def taken_back(kernel):
        clusters[setting.deployer.up_now[0]].failed = True
        return FAILED

    # The first measurement of the second turn.
    setting.performer = FakePerformer(*[abyss_result] * 4, taken_back, abyss_result)
    outcome, _ = setting.run()
    assert (outcome.n_measured, outcome.n_failed) == (8, 4)  # 2 of 6 were made there
    first = one_at_a_time(setting)[2]
    assert turns(setting)[5:] == [name for name in clusters if name != first] * 4
    assert one_at_a_time(setting).count(first) == 2 and setting.deployer.up_now == []
    assert any(
        "given up for now, as nodes are gone: c2: the cloud took" in said
        for said in setting.observer.said
    )
    again = Setting(tmp_path)
    assert again.run()[0].n_measured == 4
    assert one_at_a_time(again) == [first] * 2
