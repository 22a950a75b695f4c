"""Which runs a study holds, and where its groups are placed."""

from campaign_fakes import facts
from interfere_fakes import plan_of, spec
from measure_fakes import abyss_kernel

SWEEP = {"group": "bg", "values": [0, 0.1, 1]}


def test_a_sweep_runs_all_groups_at_each_interval_and_each_alone():
    plan = plan_of(spec(intervals=SWEEP, object_sizes=[10**5, 10**6]))
    together = [p for p in plan.points if p.kind == "together"]
    assert sorted((p.object_bytes, p.members[1].interval_s) for p in together) == [
        (size, interval) for size in (10**5, 10**6) for interval in (0, 0.1, 1)
    ]
    alone = [p for p in plan.points if p.kind == "alone"]
    assert len(alone) == 4  # two groups, two sizes


def test_groups_have_nodes_of_their_own_also_alone():
    plan = plan_of(spec(intervals=SWEEP))
    for point in plan.points:
        nodes = [node for member in point.members for node in member.nodes]
        assert len(set(nodes)) == len(nodes)
        for member in point.members:
            assert member.nodes == {"fg": ("c1", "c2"), "bg": ("c3", "c4")}[member.group]


def test_a_mapping_with_two_processes_on_a_node_needs_half_the_nodes():
    plan = plan_of(spec(mappings=["2PxCN"]), facts("a", n_compute=2))
    assert {m.nodes for p in plan.points for m in p.members} == {("c1",), ("c2",)}


def test_pairs_hold_each_two_groups_and_each_with_itself():
    plan = plan_of(spec(pairs=True))
    pairs = {
        tuple((m.group, m.instance) for m in p.members) for p in plan.points if p.kind == "pair"
    }
    assert pairs == {
        (("fg", 0), ("fg", 1)),
        (("fg", 0), ("bg", 0)),
        (("bg", 0), ("bg", 1)),
    }


def test_a_negative_offset_lets_the_others_wait():
    plan = plan_of(spec(start_offsets={"group": "bg", "values": [-2, 3]}))
    starts = {tuple(m.start_s for m in p.members) for p in plan.points if p.kind == "offset"}
    assert starts == {(2.0, 0.0), (0.0, 3.0)}
    assert all(p.duration_s is None for p in plan.points if p.kind == "offset")


def test_too_few_nodes_are_said_before_anything_starts():
    plan = plan_of(spec(), facts("a", n_compute=3))
    assert next(part.reason for part in plan.impossible if "with" in part.application) == (
        "with 1PxCN its groups need 4 compute nodes of their own, and the cluster has 3"
    )
    assert {p.kind for p in plan.points} == {"alone"}  # foreground alone fits on two nodes


def test_storage_that_is_too_small_for_all_together_is_said():
    # Four files of 10 MB.
    plan = plan_of(spec(), facts("a", n_compute=4, capacity_bytes=39 * 10**6))
    assert any("its groups need" in part.reason for part in plan.impossible)


def test_the_order_depends_on_the_seed_and_keys_do_not():
    orders = {
        tuple(p.key for p in plan_of(spec(intervals=SWEEP, seed=seed)).points) for seed in range(8)
    }
    assert len(orders) > 1
    assert len({frozenset(order) for order in orders}) == 1


def test_every_run_has_a_key_of_its_own():
    said = spec(
        intervals=SWEEP,
        pairs=True,
        start_offsets={"group": "bg", "values": [-1, 0, 1]},
        object_sizes=[10**5, 10**6],
        repetitions=2,
    )
    keys = [p.key for p in plan_of(said, facts("a", n_compute=8)).points]
    assert len(set(keys)) == len(keys)


def test_an_application_is_as_wide_as_its_io_processes():
    # Two of ABySS's four ranks carry its I/O.
    said = spec(groups=[{"name": "abyss", "kernel": "k.json"}, spec().groups[0].model_dump()])
    plan = plan_of(said, facts("a", n_compute=4), kernels={"abyss": abyss_kernel()})
    assert {m.nodes for p in plan.points for m in p.members if m.group == "abyss"} == {("c1", "c2")}


def test_the_offset_zero_is_not_run_twice():
    said = spec(duration="to completion", start_offsets={"group": "bg", "values": [0, 1]})
    plan = plan_of(said)
    assert sorted(p.kind for p in plan.points) == ["alone", "alone", "offset", "offset"]
