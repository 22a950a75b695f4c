"""The rule that names what took the time, on uses with known answers."""

import pytest

from wavetank.measure.bottleneck import bottleneck, call_time
from wavetank.measure.use import FullTime, ResourceUse, Use

MB = 10**6


def of(resource, kind, share, node="io1", *, limit=80.0 * MB, unit="B/s"):
    amount = share if limit is None else share * limit
    return ResourceUse(
        resource=resource, kind=kind, busiest=share, busiest_node=node, mean=share, amount=amount, limit=limit, unit=unit,
    )  # fmt: skip


def cores(kind, share, node, n=2.0):
    return of("processors", kind, share, node, limit=n, unit="cores")


def use(*resources, **more):
    return Use(**{
        "span_s": 2.0, "n_readings": 80, "resources": resources, "waiting": 0.0, "n_ranks": 4, "in_flight": 2.0,
        "call_s": 0.00123, **more,
    })  # fmt: skip


def test_a_resource_used_to_80_percent_is_the_bottleneck():
    found = bottleneck(use(of("disk write", "io", 0.8), cores("compute", 0.3, "c1")))
    assert (found.verdict, found.name, found.use) == ("resource", "disk write of io1", 0.8)
    assert found.sentence == "disk write of io1: 80 % of 80.0 MB/s"
    assert bottleneck(use(of("disk write", "io", 0.79))).verdict == "latency"


def test_of_several_the_fullest_is_named_and_the_others_beside_it():
    found = bottleneck(
        use(cores("io", 0.9, "io2"), of("network out", "compute", 0.97, "c1"), of("disk write", "io", 0.85))
    )  # fmt: skip
    assert found.name == "network out of c1"
    assert found.also == ("processors of io2 (90 %)", "disk write of io1 (85 %)")


@pytest.mark.parametrize(
    ("resource", "name"), [("network in", "network into c2"), ("disk read", "disk read of c2")]
)
def test_a_name_says_what_and_where(resource, name):
    assert bottleneck(use(of(resource, "compute", 1.0, "c2"))).name == name


def test_this_machines_processors_are_named_with_their_other_work_when_nothing_of_the_nodes_is_as_full():
    machine = cores("machine", 1.0, "machine")
    found = bottleneck(use(machine, of("disk write", "io", 0.9), other_cores=1.42))
    assert found.name == "processors of this machine"
    assert found.sentence == (
        "processors of this machine: 100 % of 2 cores, 1.4 of them for other work than the nodes'"
    )
    # a limit that is as full holds whatever else this machine does
    found = bottleneck(use(machine, of("disk write", "io", 0.96)))
    assert found.name == "disk write of io1"
    assert found.also == ("processors of this machine (100 %)",)


def test_a_busy_machine_is_named_only_where_the_nodes_waited_for_its_processors():
    machine, disk = cores("machine", 1.0, "machine"), of("disk write", "io", 0.86)
    found = bottleneck(use(machine, cpu_wait=0.1, other_cores=1.98))
    assert (found.verdict, found.name) == ("latency", "latency of single requests")
    assert found.sentence.endswith(
        "; processors of this machine were full, 2.0 cores for other work: threads of its kernel may have waited for one"
    )
    idle = bottleneck(use(cores("machine", 0.5, "machine"), cpu_wait=0.1, other_cores=0.2))
    assert "this machine" not in idle.sentence
    found = bottleneck(use(machine, disk, cpu_wait=0.1))
    assert (found.name, found.also) == ("disk write of io1", ())
    found = bottleneck(use(machine, disk, cpu_wait=0.5))
    assert (found.name, found.also) == (
        "disk write of io1",
        ("processors of this machine (100 %)",),
    )
    found = bottleneck(use(machine, disk, cpu_wait=0.95, other_cores=1.5))
    assert found.sentence == (
        "processors of this machine: 100 % of 2 cores, 1.5 of them for other work than the nodes'; "
        "processes waited for one 95 % of the time"
    )


def test_resources_that_are_full_one_after_another_are_not_latency():
    disk, network = of("disk write", "io", 0.55), of("network in", "io", 0.4)
    full = (
        FullTime(resource="disk write", kind="io", node="io1", share=0.5),
        FullTime(resource="network in", kind="io", node="io1", share=0.35),
        FullTime(resource="network out", kind="compute", node="c1", share=0.05),
    )
    found = bottleneck(use(disk, network, full=full, full_share=0.85))
    assert (found.verdict, found.name) == ("resource", "disk write of io1")
    assert (
        found.sentence
        == "full in turn: disk write of io1 for 50 %, network into io1 for 35 % of the time"
    )
    assert bottleneck(use(disk, network, full=full, full_share=0.45)).verdict == "latency"


def test_nothing_full_is_latency_of_single_requests_with_its_numbers():
    found = bottleneck(use(of("disk write", "io", 0.06), cores("compute", 0.1, "c1")))
    assert (found.verdict, found.use, found.also) == ("latency", None, ())
    assert found.sentence == (
        "none of these: latency of single requests (1.23 ms each, 2.0 at a time from 4 ranks); "
        "fullest: processors of c1, 10 %"
    )


def test_ranks_that_were_hardly_in_calls_did_not_wait_for_io():
    found = bottleneck(use(cores("compute", 0.2, "c1"), in_flight=0.1))
    assert found.verdict == "not in calls"
    assert "in calls for 10 % of the time" in found.sentence


def test_a_disk_that_serves_one_request_after_another_below_its_rate_is_said_so():
    found = bottleneck(
        use(of("disk busy", "io", 0.93, limit=None, unit="share of time"), of("disk write", "io", 0.06),
            of("disk read", "io", 0.0))
    )  # fmt: skip
    assert found.name == "disk of io1, one request after another"
    assert found.sentence == (
        "disk of io1: a request under way 93 % of the time, at 0 % of its read rate and 6 % of its write rate"
    )
    # at its rate, the rate is what is named
    busy = of("disk busy", "io", 1.0, limit=None, unit="share of time")
    assert bottleneck(use(busy, of("disk write", "io", 0.82))).name == "disk write of io1"


def test_a_node_with_idle_processors_and_one_core_in_use_is_said_to_have_perhaps_a_full_thread():
    found = bottleneck(use(cores("io", 0.24, "io1", 4.0)))  # 0.96 of 4 cores
    assert found.verdict == "latency"
    assert "one thread may be full: io1 used 1.0 of 4 cores" in found.sentence


def test_too_short_is_said_so():
    assert bottleneck(None).name == "too short to tell"


@pytest.mark.parametrize(
    ("seconds", "words"), [(0.00123456, "1.23 ms"), (0.0157, "15.7 ms"), (2e-5, "20 us"), (3.0, "3.00 s")]
)  # fmt: skip
def test_the_time_of_a_call_has_three_digits(seconds, words):
    assert call_time(seconds) == words
