import pytest
from campaign_fakes import APPLICATION, facts, spec

from wavetank.campaign.alternation import (
    Room,
    blocks,
    room_of_this_machine,
    why_not_side_by_side,
)
from wavetank.campaign.clusters import facts_of
from wavetank.campaign.plan import make_plan
from wavetank.cluster.spec import ClusterSpec

GIB = 2**30
SMALL = [facts(name, memory_bytes=3 * GIB, storage_bytes=GIB) for name in "ab"]


def test_clusters_that_fit_into_memory_and_storage_are_up_side_by_side():
    assert why_not_side_by_side("auto", SMALL, Room(8 * GIB, 8 * GIB)) is None


@pytest.mark.parametrize(
    ("room", "what"),
    [(Room(6 * GIB, 8 * GIB), "6.0 GiB of memory"), (Room(8 * GIB, GIB), "2.0 GiB of storage")],
)
def test_clusters_that_do_not_fit_are_not_and_it_is_said_why(room, what):
    assert what in why_not_side_by_side("auto", SMALL, room)


def test_a_person_decides_otherwise():
    assert why_not_side_by_side(True, SMALL, Room(0, 0)) is None
    assert "campaign file" in why_not_side_by_side(False, SMALL, Room(99 * GIB, 99 * GIB))


def test_hosts_elsewhere_are_not_side_by_side_unless_asked_for():
    assert "not on this machine" in why_not_side_by_side(
        "auto", [SMALL[0], facts("far")], Room(99 * GIB, 99 * GIB)
    )


def test_the_file_says_auto_yes_or_no():
    assert spec().side_by_side == "auto"
    assert spec(side_by_side=True).side_by_side is True
    with pytest.raises(ValueError, match="side_by_side"):
        spec(side_by_side="perhaps")


def test_a_specification_tells_what_all_its_nodes_take():
    body = {
        "name": "x",
        "instance": {"name": "small", "vcpus": 1, "memory": "1 GiB"},
        "nodes": {"compute": 2, "io": 2},
        "file_system": {"kind": "glusterfs"},
        "storage": {"size": "512 MiB"},
    }
    here = facts_of(ClusterSpec.model_validate(body))
    assert (here.memory_bytes, here.storage_bytes) == (4 * GIB, GIB)


def test_this_machine_has_room_for_something(tmp_path):
    room = room_of_this_machine(tmp_path / "not" / "there" / "yet")
    assert room.memory_bytes > 0 and room.storage_bytes > 0


def test_blocks_hold_each_run_once_and_half_of_the_repetitions_at_most():
    plan = make_plan(spec(repetitions=7), [APPLICATION], [facts(name) for name in "abc"])
    made = blocks(plan, 1)
    assert sorted(run.order for block in made for run in block) == [run.order for run in plan.runs]
    assert all(len({run.cluster for run in block}) == 1 for block in made)
    assert all(len({run.repetition for run in block}) <= 4 for block in made)
    turns = [tuple(block[0].cluster for block in made[i : i + 3]) for i in range(0, len(made), 3)]
    assert all(set(turn) == set("abc") for turn in turns) and len(turns) >= 2


def test_clusters_that_come_up_at_once_have_blocks_of_one_repetition():
    quick = [facts(name, expected_up_s=0.0) for name in "ab"]
    plan = make_plan(spec(repetitions=4), [APPLICATION], quick)
    assert len(blocks(plan, 1)) == 8


def test_one_cluster_is_one_block():
    plan = make_plan(spec(repetitions=4), [APPLICATION], [facts("a")])
    assert len(blocks(plan, 1)) == 1
