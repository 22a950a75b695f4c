from datetime import date
from decimal import Decimal

import pytest

from wavetank.cluster.instance_types import InstanceType, find_instance
from wavetank.cost.find import QUANTITIES, Needs, find_instances, quantity, reasons
from wavetank.cost.prices import Billing, PriceTable
from wavetank.errors import UsageError
from wavetank.measure.requirement import Requirement, parse_requirement

GIB = 2**30


def kind(name, cores=4, **more):
    fields = {
        "vcpus": 2 * cores,
        "memory_bytes": 16 * GIB,
        "network_baseline_bytes_per_s": 125_000_000,
        "network_peak_bytes_per_s": 1_250_000_000,
        "network_text": "Up to 10 Gigabit",
        "ebs_baseline_bytes_per_s": 80_000_000,
        "ebs_maximum_bytes_per_s": 600_000_000,
        "ebs_baseline_iops": 4000,
        "ebs_maximum_iops": 18750,
        "n_local_disks": 0,
        "local_disk_bytes": 0,
        "local_disk_type": None,
        "architecture": "x86_64",
        "current_generation": True,
        "burstable": False,
    }
    return InstanceType(name=name, cores=cores, **(fields | more))


def prices(**per_h):
    return PriceTable(
        name="t", date=date(2026, 1, 1), source="a test", region="here", currency="USD",
        billing=Billing(rule="started-hour"),
        instances={name: Decimal(price) for name, price in per_h.items()},
    )  # fmt: skip


def needs(**more):
    fields = {"n_processes": 16, "capacity_bytes": 100 * GIB, "global_file_system": True}
    return Needs(**(fields | more))


def judge(one, **more):
    (judged,) = find_instances([one], needs(**more), None)
    return judged


def test_one_process_per_core_and_an_io_node_make_the_cluster():
    # 16 processes on 4 cores: 4 compute nodes, and 1 I/O node.
    judged = judge(kind("a"))
    assert (judged.n_compute, judged.n_io, judged.ruled_out) == (4, 1, ())


def test_files_of_its_own_need_no_io_node():
    assert judge(kind("a"), global_file_system=False).n_io == 0


def test_the_cheapest_cluster_comes_first_not_the_cheapest_instance():
    # 16 processes: 4 + 1 instances of small at 1.0 = 5.0; 1 + 1 of big at 2.0 = 4.0.
    found = find_instances(
        [kind("small"), kind("big", cores=16)], needs(), prices(small="1.0", big="2.0")
    )
    assert [(each.kind.name, each.price_per_h) for each in found] == [
        ("big", Decimal("4.0")),
        ("small", Decimal("5.0")),
    ]


def test_local_storage_must_hold_the_files_on_the_io_nodes():
    disks = kind("d", n_local_disks=2, local_disk_bytes=80 * 10**9, local_disk_type="ssd")
    assert judge(disks, storage="local").ruled_out == ()
    ((_, why),) = judge(kind("a"), storage="local").ruled_out
    assert why.startswith("local_storage 0 B is below 100.0 GiB on each of 1 instances")
    # Over two servers each holds half: 50 GiB on 80 GB.
    half = kind("h", n_local_disks=1, local_disk_bytes=80 * 10**9)
    assert judge(half, storage="local").ruled_out != ()
    assert judge(half, storage="local", n_servers=2).ruled_out == ()


def test_volumes_have_any_size():
    assert judge(kind("a"), storage="ebs").ruled_out == ()


@pytest.mark.parametrize(
    ("text", "fits"),
    [
        ("network>=1Gbit/s", True),
        ("network>=1.1Gbit/s", False),
        ("memory>=16GiB", True),
        ("memory>=17GiB", False),
        ("cores>=5", False),
        ("ebs_iops>=4000", True),
        ("read>=80MB/s", True),
        ("read>=81MB/s", False),
    ],
)
def test_a_requirement_rules_out_by_its_own_unit(text, fits):
    judged = judge(kind("a"), requirements=(parse_requirement(text, QUANTITIES),))
    assert (judged.ruled_out == ()) == fits


def test_what_is_not_known_does_not_fulfil_a_requirement():
    unknown = kind("a", ebs_baseline_bytes_per_s=None)
    ((_, why),) = judge(unknown, requirements=(Requirement("read", 1),)).ruled_out
    assert "not known" in why


def test_reading_is_bound_by_the_slower_of_network_and_volumes():
    assert quantity(kind("a"), "read", "ebs") == 80_000_000
    assert quantity(kind("a"), "read", "local") == 125_000_000


def test_too_many_instances_and_another_architecture_rule_out():
    judged = judge(kind("a"), max_instances=4, architecture="arm64")
    assert len(judged.ruled_out) == 2
    assert "5 are needed" in judged.ruled_out[0][1]


def test_a_type_without_a_price_is_ruled_out_and_counted():
    found = find_instances([kind("a"), kind("b")], needs(), prices(a="1"))
    assert [each.kind.name for each in found] == ["a", "b"]
    assert reasons(found) == [("price", 1)]


@pytest.mark.parametrize("text", ["network", "network>1", "speed>=1", "memory>=lots", "cores>=1.5"])
def test_what_is_no_requirement_is_refused(text):
    with pytest.raises(UsageError):
        parse_requirement(text, QUANTITIES)


def test_every_quantity_has_a_value_for_a_real_type():
    for name in QUANTITIES:
        assert quantity(find_instance("c3.2xlarge"), name, "ebs") is not None


@pytest.mark.parametrize(
    ("has", "why", "asked"),
    [
        ({"burstable": True}, "burstable", {"burstable": True}),
        ({"current_generation": False}, "generation", {"generation": "any"}),
        ({"current_generation": False}, "generation", {"generation": "previous"}),
    ],
)
def test_burstable_types_and_previous_generations_wait_to_be_asked_for(has, why, asked):
    ((reason, _),) = judge(kind("a", **has)).ruled_out
    assert reason == why
    assert judge(kind("a", **has), **asked).ruled_out == ()


def test_a_current_type_is_ruled_out_where_previous_generations_are_asked_for():
    assert judge(kind("a"), generation="previous").ruled_out == (
        ("generation", "generation: it is of a current one"),
    )


@pytest.mark.parametrize(
    ("disk", "suits"), [(None, {"no"}), ("ssd", {"yes", "ssd"}), ("hdd", {"yes", "hdd"})]
)
def test_a_local_disk_is_asked_for_by_its_kind(disk, suits):
    one = kind("a", local_disk_type=disk, n_local_disks=0 if disk is None else 1)
    asked = ("yes", "no", "ssd", "hdd")
    assert {each for each in asked if judge(one, local_disk=each).ruled_out == ()} == suits
