"""Running a study on fakes: what is stored, resumed, and what it says of known sharing."""

import pytest
from campaign_fakes import facts
from interfere_fakes import LIMIT, FairPerformer, StudyDeployer, plan_of, run, spec
from measure_fakes import Watch

from wavetank.campaign.results_folder import open_store
from wavetank.notes import texts

SWEEP = {"group": "bg", "values": [0, 0.05, 0.2, 0.5, 1, 2]}


def test_two_that_share_a_limit_take_twice_as_long(tmp_path):
    said = spec()
    _, comparison, *_ = run(said, plan_of(said), tmp_path)
    slowdowns = {each.group: each for each in comparison.interference.slowdowns}
    assert slowdowns["fg"].slowdown.median == pytest.approx(2, rel=1e-3)
    assert slowdowns["bg"].slowdown.median == pytest.approx(2, rel=1e-3)
    assert slowdowns["fg"].alone == pytest.approx(LIMIT, rel=1e-3)


def test_the_combined_rate_is_the_limit(tmp_path):
    said = spec()
    _, comparison, *_ = run(said, plan_of(said), tmp_path)
    (together,) = [s for s in comparison.interference.settings if s.point == "together"]
    assert together.combined_bytes_per_s.median == pytest.approx(LIMIT, rel=1e-3)


def test_a_longer_interval_frees_the_foreground(tmp_path):
    said = spec(intervals=SWEEP)
    _, comparison, *_ = run(said, plan_of(said), tmp_path)
    by_interval = {
        each.interval_s: each.slowdown.median
        for each in comparison.interference.slowdowns
        if each.group == "fg"
    }
    values = [by_interval[interval] for interval in SWEEP["values"]]
    assert values == sorted(values, reverse=True)
    # An object of 2 x 1 MB at half of 40 MB/s takes 0.1 s: busy 0.1/2.1 of the time, taking 20 MB/s then.
    assert values[-1] == pytest.approx(40 / (40 - 20 * 0.1 / 2.1), rel=1e-2)


def test_the_time_ratio_is_the_interval_over_the_time_of_an_object(tmp_path):
    said = spec(intervals=SWEEP)
    _, comparison, *_ = run(said, plan_of(said), tmp_path)
    ratios = {s.interval_s: s.time_ratio for s in comparison.interference.settings if s.interval_s}
    assert ratios[0.5] == pytest.approx(0.5 / 0.1, rel=0.1)


def test_a_study_on_a_machine_with_other_work_says_so(tmp_path):
    said = spec()
    _, comparison, *_ = run(said, plan_of(said), tmp_path, watch=Watch(1))
    (told,) = [note for note in texts(comparison.notes) if "Other work" in note]
    with open_store(tmp_path) as store:
        runs = list(store.together().values())
    assert f"disturbed 1 of {len(runs)} runs" in told
    (disturbed,) = [each for each in runs if texts(each.notes)]
    assert texts(disturbed.notes) == ("other work on the machine disturbed a measurement",)
    assert disturbed.load.busy_before == 0.6


def test_pairs_make_a_matrix(tmp_path):
    said = spec(pairs=True)
    _, comparison, *_ = run(said, plan_of(said), tmp_path)
    found = {
        (s.group, s.instance, s.beside): s.slowdown.median
        for s in comparison.interference.slowdowns
    }
    assert set(found) == {
        ("fg", 0, ("bg",)), ("bg", 0, ("fg",)), ("fg", 0, ("fg",)), ("fg", 1, ("fg",)),
        ("bg", 0, ("bg",)), ("bg", 1, ("bg",)),
    }  # fmt: skip
    assert all(value == pytest.approx(2, rel=1e-2) for value in found.values())


def test_a_start_offset_as_long_as_a_run_removes_the_slowdown(tmp_path):
    # Each moves 2 x 10 MB at 40 MB/s: 0.5 s alone. Together from the start: 1 s. From 0.25 s on the second has
    # half of what is left: the first ends after 0.25 + 0.5, the second 0.5 s for its first half, 0.25 s for the rest.
    said = spec(start_offsets={"group": "bg", "values": [-0.5, 0, 0.25, 0.5]})
    _, comparison, *_ = run(said, plan_of(said), tmp_path)
    found = {
        (s.group, s.offset_s): s.slowdown.median
        for s in comparison.interference.slowdowns
        if s.offset_s is not None
    }
    for group in ("fg", "bg"):
        assert found[group, -0.5] == pytest.approx(1)
        assert found[group, 0] == pytest.approx(2)
        assert found[group, 0.25] == pytest.approx(1.5)
        assert found[group, 0.5] == pytest.approx(1)


def test_a_variant_that_removes_the_slowdown_is_advised(tmp_path):
    class Apart(FairPerformer):
        def rate(self, party, parties):
            apart = party.bench.cluster.name == "apart"
            return LIMIT if apart else super().rate(party, parties)

    def remedy_of(**more):
        said = spec(clusters=["a.yaml", "b.yaml"], **more)
        plan = plan_of(said, facts("shared", n_compute=4), facts("apart", n_compute=4))
        _, comparison, *_ = run(said, plan, tmp_path / str(len(more)), Apart())
        (remedy,) = comparison.interference.remedies
        return remedy, comparison

    once, _ = remedy_of()
    assert not once.clear and "cannot be told apart with 1 repetition (4 could)" in once.sentence
    remedy, comparison = remedy_of(repetitions=4)
    assert remedy.clear
    assert "apart" in remedy.after and "shared" in remedy.before
    assert remedy.slowdown_after.median == pytest.approx(1)
    assert comparison.advice[0].sentence == remedy.sentence
    assert "the slowdown is gone" in remedy.sentence


def test_what_is_finished_is_not_repeated(tmp_path):
    said = spec(intervals=SWEEP)
    first = plan_of(spec(intervals={"group": "bg", "values": [0, 0.05]}))
    run(said, first, tmp_path)
    outcome, _, performer, *_ = run(said, plan_of(said), tmp_path)
    assert outcome.n_measured == 4  # the four new intervals
    _, _, again, deployer, _ = run(said, plan_of(said), tmp_path)
    assert again.calls == []
    assert deployer.log == []
    assert len(performer.calls) == 4


def test_an_interrupted_study_keeps_what_is_finished_and_takes_the_cluster_down(tmp_path):
    class Interrupted(FairPerformer):
        def perform(self, parties, duration_s):
            if len(self.calls) == 2:
                raise KeyboardInterrupt
            return super().perform(parties, duration_s)

    said, performer, deployer = spec(intervals=SWEEP), Interrupted(), StudyDeployer()
    with pytest.raises(KeyboardInterrupt):
        run(said, plan_of(said), tmp_path, performer, deployer)
    assert deployer.up_now == []
    assert performer.closed > 0
    with open_store(tmp_path) as store:
        assert len(store.together()) == 2


def test_a_group_that_fails_is_told_and_the_others_go_on(tmp_path):
    said = spec()
    outcome, comparison, *_ = run(said, plan_of(said), tmp_path, FairPerformer(broken=("bg",)))
    assert (outcome.n_measured, outcome.n_failed) == (1, 2)
    reasons = {part.application: part.reason for part in comparison.not_measured}
    assert reasons["bg alone"] == "bg failed: rank 0: no space left"


def test_a_cluster_that_does_not_come_up_is_told(tmp_path):
    said = spec()
    outcome, comparison, *_ = run(
        said, plan_of(said), tmp_path, deployer=StudyDeployer(broken=("a",))
    )
    assert outcome.n_failed == 3
    assert all("did not come up" in part.reason for part in comparison.not_measured)


def test_a_start_that_was_not_together_is_made_again(tmp_path):
    said = spec()
    _, comparison, performer, *_ = run(said, plan_of(said), tmp_path, FairPerformer(late_s=[0.02]))
    assert len(performer.calls) == 4  # three runs, the first one twice
    assert max(s.alignment_s for s in comparison.interference.settings) == 0


def test_a_start_that_never_is_together_leaves_a_finding(tmp_path):
    said = spec()
    _, comparison, *_ = run(said, plan_of(said), tmp_path, FairPerformer(late_s=[0.02] * 9))
    for setting in comparison.interference.settings:
        assert "ranks started 20.0 ms apart" in str(setting.notes[0])


def test_reads_beyond_the_limits_leave_a_finding(tmp_path):
    class SlowNetwork(StudyDeployer):
        def up(self, cluster):
            up = super().up(cluster)
            up._limits = {"compute network": "10.0 MB/s by tbf both ways"}
            return up

    read = {"operation": "read", "size": 4096 * 250, "file_size": 10**7}
    groups = [{"name": name, "clients": 2, "objects": read} for name in ("fg", "bg")]
    said = spec(groups=groups)
    _, comparison, *_ = run(said, plan_of(said), tmp_path, deployer=SlowNetwork())
    alone = [s for s in comparison.interference.settings if s.point == "alone"]
    # 40 MB/s on two nodes of 10 MB/s each.
    assert all("what it read was in its own memory" in texts(s.notes)[0] for s in alone)
    assert any(
        note.startswith("fg alone on a, 1PxCN: fg read at") for note in texts(comparison.notes)
    )


def test_the_hints_of_a_cluster_reach_every_groups_ranks(tmp_path):
    class WithHints(StudyDeployer):
        def up(self, cluster):
            running = super().up(cluster)
            running.environment = {"ROMIO_HINTS": "/wavetank.mpi-hints"}
            running.mapping = "1PxCN"
            return running

    class Remembers(FairPerformer):
        seen = ()

        def perform(self, parties, duration_s):
            self.seen += tuple(dict(party.placement.environment) for party in parties)
            return super().perform(parties, duration_s)

    said = spec()
    _, _, performer, *_ = run(said, plan_of(said), tmp_path, Remembers(), WithHints())
    # each of two groups alone, and both together
    assert performer.seen == ({"ROMIO_HINTS": "/wavetank.mpi-hints"},) * 4
