"""What an interference file may say, and that everything wrong in it is told at once."""

import pytest
from interfere_fakes import spec
from pydantic import ValidationError

from wavetank.errors import SpecError
from wavetank.interfere.spec import read_interfere


def wrong(**more):
    with pytest.raises(ValidationError) as caught:
        spec(**more)
    return str(caught.value)


OBJECTS = {"clients": 1, "objects": {}}


def test_a_group_is_one_thing():
    text = wrong(
        groups=[{"name": "a", "clients": 1, "objects": {}, "model": "m.json"}, {"name": "b"}]
    )
    assert text.count("name one of: objects, kernel, model") == 2


def test_all_that_does_not_fit_is_told_at_once():
    text = wrong(
        groups=[{"name": "a", **OBJECTS}, {"name": "a", **OBJECTS}],
        intervals={"group": "nobody", "values": [0, 1]},
        object_sizes=["128 KiB", "1 GiB"],
        duration="1 s",
        settle="2 s",
    )
    assert "the group a is named twice" in text
    assert "intervals.group is nobody" in text
    assert "does not fit into its file" in text
    assert "must be longer than settle" in text


def test_an_application_has_pauses_of_its_own_and_no_interval():
    text = wrong(
        groups=[{"name": "app", "kernel": "k.json"}, {"name": "b", **OBJECTS}],
        intervals={"group": "app", "values": [0, 1]},
    )
    assert "which is an application" in text


def test_intervals_need_a_duration():
    text = wrong(intervals={"group": "bg", "values": [0, 1]}, duration="to completion")
    assert "intervals need a duration" in text


def test_one_group_needs_pairs():
    assert "pairs: true" in wrong(groups=[{"name": "a", **OBJECTS}])
    assert spec(groups=[{"name": "a", **OBJECTS}], pairs=True).pairs


def test_start_offsets_may_be_negative():
    said = spec(start_offsets={"group": "bg", "values": ["-1.5 s", "- 200 ms", -3, 0, "2 s"]})
    assert said.start_offsets.values == (-1.5, -0.2, -3.0, 0.0, 2.0)


@pytest.mark.parametrize("value", ["soon", -1, [], "nan", True, "1e400", None])
def test_a_duration_that_is_none_is_refused(value):
    wrong(duration=value)


@pytest.mark.parametrize("factor", ["keep", "drop", 0.5])
def test_pauses_of_an_application_are_a_factor(factor):
    said = spec(
        groups=[{"name": "a", "kernel": "k.json", "pauses": factor}, {"name": "b", **OBJECTS}]
    )
    assert said.groups[0].pause_factor == {"keep": 1.0, "drop": 0.0}.get(factor, factor)


def test_files_that_are_not_there_are_all_named(tmp_path):
    path = tmp_path / "study.yaml"
    path.write_text(
        "name: s\nclusters: [a.yaml, b.yaml]\n"
        "groups: [{name: x, model: m.json}, {name: y, kernel: k.json}]\n"
    )
    with pytest.raises(SpecError) as caught:
        read_interfere(path)
    for name in ("a.yaml", "b.yaml", "m.json", "k.json"):
        assert f"{tmp_path / name}: no such file" in str(caught.value)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -1])
def test_an_interval_that_is_no_time_is_refused(value):
    assert "is not a duration" in wrong(intervals={"group": "bg", "values": [0, value]})


def test_one_wrong_group_is_one_finding():
    text = wrong(groups=[{"name": "a", "clients": 1, "objects": {"operation": "erase"}}])
    assert "1 validation error" in text


@pytest.mark.parametrize("groups", [[], ()])
def test_a_study_without_groups_is_refused(groups):
    assert "groups: name at least one" in wrong(groups=groups)


def test_reads_are_direct_unless_it_is_said():
    def objects(**more):
        groups = [
            {"name": "r", "clients": 1, "objects": {"operation": "read", **more}},
            {"name": "w", **OBJECTS},
        ]
        return spec(groups=groups).groups

    assert [each.objects.is_direct for each in objects()] == [True, False]
    assert not objects(direct=False)[0].objects.is_direct


def test_direct_objects_have_whole_blocks():
    text = wrong(
        groups=[
            {"name": "r", "clients": 1, "objects": {"operation": "read", "size": 5000}},
            {"name": "w", **OBJECTS},
        ]
    )
    assert "choose a multiple of 4096" in text
