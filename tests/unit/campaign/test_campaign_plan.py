from decimal import Decimal

import pytest
from campaign_fakes import APPLICATION, app, facts, spec
from measure_fakes import MB, abyss_kernel, phase

from wavetank.campaign.plan import forecast, make_plan, why_not
from wavetank.campaign.spec import UntilRule
from wavetank.cost.prices import load_prices
from wavetank.model.document.program import FileStep, Program, RepeatStep

KERNEL = abyss_kernel()


def test_every_combination_is_measured_as_often_as_asked():
    plan = make_plan(spec(), [APPLICATION], [facts("a"), facts("b")])
    # 1 application x 2 clusters x 2 mappings x 3 repetitions
    assert len(plan.runs) == 12
    assert len({run.key for run in plan.runs}) == 12


def test_each_round_holds_every_mapping_once():
    plan = make_plan(spec(), [APPLICATION], [facts("a")])
    rounds = [plan.runs[i : i + 2] for i in range(0, 6, 2)]
    for number, round_ in enumerate(rounds):
        assert {run.mapping for run in round_} == {"1PxCN", "2PxCN"}
        assert {run.repetition for run in round_} == {number}


def test_the_order_comes_from_the_seed():
    def order(seed):
        plan = make_plan(spec(seed=seed, repetitions=10), [APPLICATION], [facts("a")])
        return [run.mapping for run in plan.runs]

    assert order(1) == order(1)
    assert order(1) != order(2)


def test_each_round_holds_every_cluster_with_every_mapping_once_in_another_order():
    plan = make_plan(spec(), [APPLICATION], [facts(name) for name in "abc"])
    rounds = [plan.runs[i : i + 6] for i in range(0, 18, 6)]
    for number, round_ in enumerate(rounds):
        assert {run.repetition for run in round_} == {number}
        assert len({(run.cluster, run.mapping) for run in round_}) == 6
    orders = [tuple((run.cluster, run.mapping) for run in round_) for round_ in rounds]
    assert len(set(orders)) > 1


def test_a_cluster_that_is_too_small_is_sorted_out_with_both_sizes():
    reason = why_not(KERNEL, facts("a", capacity_bytes=10 * 2**20), "1PxCN")
    assert "51.6 MiB" in reason and "10.0 MiB" in reason


def test_a_mapping_that_needs_more_nodes_is_sorted_out():
    assert "needs 2 compute nodes" in why_not(KERNEL, facts("a", n_compute=1), "1PxCN")


def test_more_processes_than_cores_are_sorted_out_unless_allowed():
    small = facts("a", cores_per_node=1)
    assert "2 processes on one node, and c3.2xlarge has 1 cores" in why_not(KERNEL, small, "2PxCN")
    assert why_not(KERNEL, small, "2PxCN", oversubscribe=True) is None


def test_a_file_shared_between_nodes_needs_a_global_file_system():
    shared = KERNEL.model_copy(update={"phases": (phase(1, 1, [0, 1], 54 * MB),)})
    local = facts("a", is_global=False)
    assert "reads1.fastq is used by ranks on different nodes" in why_not(shared, local, "1PxCN")
    # Two on one node: the file stays on that node.
    assert why_not(shared, local, "2PxCN") is None


def test_opening_what_another_node_wrote_needs_a_global_file_system_too():
    opens = FileStep(iop_type="open", file_id=4, handle=0)
    merging = KERNEL.model_copy(
        update={
            "programs": (
                Program(ranks=(0,), steps=(RepeatStep(times=2, steps=(opens,)),)),
                Program(ranks=(1,), steps=(opens,)),
            )
        }
    )
    local = facts("a", is_global=False)
    assert "contigs-1.fa is used by ranks on different nodes" in why_not(merging, local, "1PxCN")


def test_unique_files_can_do_with_local_disks():
    assert why_not(KERNEL, facts("a", is_global=False), "1PxCN") is None


def test_what_cannot_run_is_kept_with_its_reason():
    plan = make_plan(spec(), [APPLICATION], [facts("a", n_compute=1)])
    assert [part.mapping for part in plan.impossible] == ["1PxCN"]
    assert {run.mapping for run in plan.runs} == {"2PxCN"}


def test_the_forecast_counts_bringing_up_and_what_is_left():
    plan = make_plan(spec(), [APPLICATION], [facts("a", expected_up_s=10.0)])
    ahead = forecast(plan, set(), spent_s={"key-a": [2.0, 4.0]}, prices=None)
    assert ahead.duration_s == pytest.approx(3 * 10 + 6 * 3.0)
    done = {run.key for run in plan.runs[:4]}
    later = forecast(plan, done, spent_s={"key-a": [2.0, 4.0]}, prices=None)
    assert (later.n_done, later.duration_s) == (4, pytest.approx(10 + 2 * 3.0))


def test_a_finished_plan_takes_no_time():
    plan = make_plan(spec(), [APPLICATION], [facts("a")])
    assert forecast(plan, {run.key for run in plan.runs}, spent_s={}, prices=None).duration_s == 0


@pytest.mark.parametrize(("redeploy", "deployments"), [(False, 1), (True, 3)])
def test_the_forecast_bills_started_hours_of_every_instance(redeploy, deployments):
    # deployments x 3 instances x 1 started hour x 0.42
    plan = make_plan(spec(redeploy=redeploy), [APPLICATION], [facts("a")])
    ahead = forecast(plan, set(), spent_s={}, prices=load_prices("papers-2016"))
    assert ahead.cost == deployments * Decimal("1.26")


def test_a_type_without_a_price_is_said():
    plan = make_plan(spec(), [APPLICATION], [facts("a", instance_type="mine")])
    ahead = forecast(plan, set(), spent_s={}, prices=load_prices("papers-2016"))
    assert ahead.cost is None and "'mine'" in ahead.cost_missing


def test_two_applications_share_each_round():
    plan = make_plan(
        spec(mappings=("1PxCN",)),
        [APPLICATION, app(abyss_kernel(weight=MB), "small")],
        [facts("a")],
    )
    assert {run.application for run in plan.runs[:2]} == {"ABYSS-P", "small"}


def test_a_cluster_that_cannot_come_up_here_is_sorted_out_and_the_others_stay():
    plan = make_plan(
        spec(), [APPLICATION], [facts("a", unavailable="glusterd is not installed"), facts("b")]
    )
    assert {run.cluster for run in plan.runs} == {"b"}
    assert "glusterd is not installed" in plan.impossible[0].reason


def test_a_mapping_of_more_processes_than_cores_is_sorted_out_also_with_few_io_processes():
    # The kernel has two I/O processes, which 9PxCN would put on one node, as 2PxCN does.
    reason = why_not(KERNEL, facts("a", cores_per_node=2), "9PxCN")
    assert "9PxCN stands for 9 processes on one node, and c3.2xlarge has 2 cores" in reason
    assert "would have 2 on one" in reason
    assert why_not(KERNEL, facts("a", cores_per_node=2), "2PxCN") is None


@pytest.mark.parametrize(
    # Two clusters with two mappings are 4 configurations: 6 pairs, 2 / C(10, 5) = 0.8 % <= 5 % / 6.
    ("more", "n"),
    [({}, 5), ({"mappings": ("1PxCN",)}, 4), ({"confidence": 0.999}, 8), ({"repetitions": 2}, 2)],
)
def test_repetitions_default_to_the_fewest_that_can_tell_all_configurations_apart(more, n):
    asked = spec(**{"repetitions": None} | more)
    plan = make_plan(asked, [APPLICATION], [facts("a"), facts("b")])
    assert (plan.repetitions, plan.schedule.repetitions) == (n, n)
    assert {run.repetition for run in plan.runs} == set(range(n))


def test_what_cannot_run_needs_no_repetitions_of_the_others():
    wide = spec(repetitions=None, mappings=("1PxCN",))
    tiny = facts("tiny", capacity_bytes=1)
    plan = make_plan(wide, [APPLICATION], [facts("a"), facts("b"), tiny])
    assert plan.repetitions == 4  # one pair


def test_a_stop_rule_repeats_from_the_fewest_on():
    rule = UntilRule(kind="until", width=0.05, at_most=20)
    plan = make_plan(spec(repetitions=None, strategy=rule), [APPLICATION], [facts("a"), facts("b")])
    assert (plan.repetitions, plan.schedule.repetitions) == (5, 20)
