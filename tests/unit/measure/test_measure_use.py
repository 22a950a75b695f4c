"""Use of resources by counters with known growth: shares, phases, and what is too short to tell."""

import numpy as np
import pytest
from measure_fakes import phase_result, replay_result

from wavetank.cluster import counters as c
from wavetank.cluster.counters import Capacity, Counters, NodeCounters
from wavetank.measure.attribution import Calls, gaps, measured_use, use_in
from wavetank.measure.node_loads import Span

MB = 10**6
EVERY_S = 0.025
AT_S = np.arange(100.0, 112.0, EVERY_S)
CALLS = Calls(1, None, None)


def growing(*pieces):
    """A counter over AT_S that grows at a rate in each piece: (from, to, a second)."""
    moments, values = [100.0], [0.0]
    for start, end, rate in pieces:
        moments += [start, end]
        values += [values[-1], values[-1] + rate * (end - start)]
    return np.interp(AT_S, moments, values)


def node(name, counted, **limits):
    capacity = Capacity(**{"cpus": 2.0, "own_cpus": True, **limits})
    return NodeCounters(name, AT_S, counted, capacity)


def one(use, resource, kind):
    (found,) = [e for e in use.resources if e.resource == resource and e.kind == kind]
    return found


def use_of(nodes, start_s, end_s, kinds=None, machine=None, calls=CALLS):
    kinds = kinds or {each.node: "compute" if each.node[0] == "c" else "io" for each in nodes}
    return use_in(Counters(EVERY_S, tuple(nodes), machine), [Span(start_s, end_s)], kinds, calls)


def test_a_share_is_the_growth_by_the_limit_within_the_span_alone():
    # 0.5 cores from 102 to 104, idle elsewhere; of 2 cores a quarter
    nodes = [node("c1", {c.CPU_S: growing((102, 104, 0.5))})]
    assert one(use_of(nodes, 102, 104), "processors", "compute").busiest == pytest.approx(0.25)
    assert one(use_of(nodes, 101, 105), "processors", "compute").busiest == pytest.approx(0.125)
    assert one(use_of(nodes, 105, 107), "processors", "compute").busiest == pytest.approx(
        0, abs=1e-9
    )


def test_the_busiest_node_and_the_mean_over_the_nodes_of_a_kind_are_told():
    nodes = [
        node("c1", {c.CPU_S: growing((100, 111, 0.2))}),
        node("c2", {c.CPU_S: growing((100, 111, 1.0))}),
        node("io1", {c.CPU_S: growing((100, 111, 2.0))}),
    ]
    use = use_of(nodes, 102, 104)
    clients = one(use, "processors", "compute")
    # c2: 1.0 of 2 cores; mean of 0.1 and 0.5
    assert (clients.busiest_node, clients.busiest, clients.mean) == (
        "c2", pytest.approx(0.5), pytest.approx(0.3),
    )  # fmt: skip
    assert one(use, "processors", "io").busiest == pytest.approx(1.0)
    assert use.waiting == pytest.approx(0.0)


def test_the_network_is_judged_each_way_and_the_disk_by_bytes_or_requests():
    nodes = [
        node(
            "io1",
            {
                c.RECEIVED_BYTES: growing((100, 111, 90 * MB)),
                c.SENT_BYTES: growing((100, 111, 10 * MB)),
                c.READ_BYTES: growing((100, 111, 1 * MB)),
                c.READS: growing((100, 111, 450)),
                c.WRITTEN_BYTES: growing((100, 111, 40 * MB)),
                c.WRITES: growing((100, 111, 100)),
                c.DISK_BUSY_S: growing((100, 111, 0.7)),
            },
            network_bytes_per_s=100 * MB, read_bytes_per_s=100 * MB, reads_per_s=500, write_bytes_per_s=80 * MB,
        )
    ]  # fmt: skip
    use = use_of(nodes, 102, 104)
    found = {each.resource: (each.busiest, each.unit) for each in use.resources}
    assert found == {
        "network in": (pytest.approx(0.9), "B/s"),
        "network out": (pytest.approx(0.1), "B/s"),
        "disk read": (pytest.approx(0.9), "requests/s"),  # 450 of 500, against 1 of 100 MB/s
        "disk write": (pytest.approx(0.5), "B/s"),
        "disk busy": (pytest.approx(0.7), "share of time"),
    }


def test_what_has_no_limit_or_no_counter_is_not_known():
    use = use_of([node("io1", {c.SENT_BYTES: growing((100, 111, 5))})], 102, 104)
    assert use is not None
    assert use.resources == ()
    assert use.waiting == 1.0


def test_this_machines_processors_count_what_was_stolen_and_tell_other_work():
    # 0.5 cores by the node, 1.25 by all that runs here, 0.25 stolen: (1.25 + 0.25) / 2 and 1.25 - 0.5
    machine = node("machine", {
        c.CPU_S: growing((100, 111, 1.25)), c.STOLEN_S: growing((100, 111, 0.25)),
    })  # fmt: skip
    nodes = [node("c1", {c.CPU_S: growing((100, 111, 0.5))})]
    use = use_of(nodes, 102, 104, machine=machine)
    assert one(use, "processors", "machine").busiest == pytest.approx(0.75)
    assert use.other_cores == pytest.approx(0.75)


def test_a_busy_machine_explains_time_only_as_far_as_nodes_waited_for_it():
    machine = node("machine", {c.CPU_S: growing((100, 111, 2.0))})
    nodes = [
        node("c1", {c.CPU_S: growing((100, 111, 0.2)), c.CPU_WAIT_S: growing((100, 111, 0.3))}),
        node("io1", {c.CPU_S: growing((100, 111, 0.2)), c.CPU_WAIT_S: growing((100, 111, 0.1))}),
    ]
    use = use_of(nodes, 102, 104, machine=machine)
    assert use.cpu_wait == pytest.approx(0.3)
    assert use.waiting == pytest.approx(0.7)
    unknown = [node("c1", {c.CPU_S: growing((100, 111, 0.2))})]
    assert use_of(unknown, 102, 104, machine=machine).waiting == pytest.approx(0.0)


def test_what_is_full_in_turn_is_told_with_its_share_of_the_time():
    # 2 s of full network into io1, then 1 s of full disk of io1 and 1 s of nothing: of 4 s a half and a quarter
    counted = {
        c.RECEIVED_BYTES: growing((102, 104, 100 * MB)),
        c.WRITTEN_BYTES: growing((104, 105, 80 * MB)),
    }
    limits = {"network_bytes_per_s": 100 * MB, "write_bytes_per_s": 80 * MB}
    use = use_of([node("io1", counted, **limits), node("io2", {c.CPU_S: growing()})], 102, 106)
    found = [(each.resource, each.node, round(each.share, 2)) for each in use.full]
    assert found == [("network in", "io1", 0.5), ("disk write", "io1", 0.25)]
    assert use.full_share == pytest.approx(0.75)


def test_processes_that_their_nodes_own_limit_held_back_did_not_wait_for_this_machine():
    counted = {
        c.CPU_S: growing((100, 111, 0.05)),
        c.CPU_WAIT_S: growing((100, 111, 0.95)),
        c.HELD_BACK_S: growing((100, 111, 0.85)),
    }
    use = use_of([node("c1", counted)], 102, 104)
    assert (use.cpu_wait, use.held_back) == (pytest.approx(0.1), pytest.approx(0.85))


def test_a_disks_jump_right_before_the_end_of_a_span_is_the_spans_own():
    # a request of 12 MB that the limit of 4 MB/s held back for 3 s ends at 104.99; the span ends at 105, between readings
    jump = np.where(AT_S < 104.99, 0.0, 12.0 * MB)
    nodes = [node("io1", {c.WRITTEN_BYTES: jump}, write_bytes_per_s=4 * MB)]
    at_end = use_of(nodes, 101.99, 104.992)
    assert one(at_end, "disk write", "io").busiest == pytest.approx(1.0, rel=0.01)
    assert one(use_of(nodes, 104.992, 107), "disk write", "io").busiest == 0.0


def test_time_in_calls_gives_calls_under_way_and_the_time_of_each():
    nodes = [node("c1", {c.CPU_S: growing()})]
    use = use_of(nodes, 102, 104, calls=Calls(4, 3.0, 1500))
    assert use.in_flight == pytest.approx(1.5)  # 3 s of calls in 2 s
    assert use.call_s == pytest.approx(0.002)


@pytest.mark.parametrize("length_s", [0.01, 0.19])
def test_a_short_span_is_too_short_to_tell(length_s):
    nodes = [node("c1", {c.CPU_S: growing((100, 111, 2.0))})]
    assert use_of(nodes, 102, 102 + length_s) is None
    assert use_of(nodes, 102, 102.25) is not None


def test_a_span_with_few_readings_is_too_short_to_tell():
    at_s = np.arange(100.0, 112.0, 0.5)
    seldom = NodeCounters("c1", at_s, {c.CPU_S: at_s}, Capacity(2.0, own_cpus=True))
    found = Counters(0.5, (seldom,))
    assert use_in(found, [Span(101.9, 103.1)], {"c1": "compute"}, CALLS) is None
    assert use_in(found, [Span(101.9, 104.1)], {"c1": "compute"}, CALLS) is not None


def test_a_time_in_pieces_is_judged_by_those_long_enough_to_be_read_if_they_are_most_of_it():
    nodes = [node("c1", {c.CPU_S: growing((102, 104, 1.0))})]
    found = Counters(EVERY_S, tuple(nodes))
    slivers = [Span(105 + i * 0.1, 105.01 + i * 0.1) for i in range(20)]  # 0.2 s in all
    use = use_in(found, [Span(102, 104), *slivers], {"c1": "compute"}, CALLS)
    assert one(use, "processors", "compute").busiest == pytest.approx(0.5)
    assert use.span_s == pytest.approx(2.2)
    assert use_in(found, [Span(102, 102.21), *slivers, *slivers], {"c1": "compute"}, CALLS) is None


def test_a_node_that_was_not_read_in_the_whole_span_is_left_out():
    short = NodeCounters("c2", AT_S[:60], {c.CPU_S: AT_S[:60]}, Capacity(2.0, own_cpus=True))
    nodes = [node("c1", {c.CPU_S: growing((100, 111, 0.5))}), short]  # c2 ends at 101.5
    assert one(use_of(nodes, 102, 104), "processors", "compute").busiest_node == "c1"
    assert use_of([short], 102, 104) is None


def test_gaps_are_what_no_phase_covers():
    whole = Span(0, 10)
    assert gaps(whole, [Span(2, 5), Span(1, 3), Span(7, 12)]) == [Span(0, 1), Span(5, 7)]
    assert gaps(whole, []) == [whole]
    assert gaps(whole, [Span(0, 10)]) == []


def result(started_s, *phases, **more):
    found = replay_result(*phases)
    return found.model_copy(update={"started_monotonic_ns": round(started_s * 1e9), **more})


def test_phases_and_the_rest_are_told_from_the_replays_start_on_rank_0s_clock():
    # writes from 0 to 2 s and from 3 to 5 s of the replay, which starts at 102 s of our clock; then nothing for 1 s
    disk = growing((102, 104, 80 * MB), (105, 107, 20 * MB))
    server = node("io1", {c.WRITTEN_BYTES: disk}, write_bytes_per_s=80 * MB)
    client = NodeCounters(
        "c1", AT_S, {c.CPU_S: growing((104, 105, 1.0))}, Capacity(2.0, own_cpus=True), clock_s=7.0
    )
    done = result(
        109.0,  # on c1's clock, 7 s ahead of ours
        phase_result(1, 160 * MB, 0.0, 2.0, operations=100),
        phase_result(2, 40 * MB, 3.0, 5.0, operations=100),
        elapsed_s=6.0,
        metadata_time_s=0.5,
        settings={"metadata_operations": "50"},
    )
    found = measured_use(Counters(EVERY_S, (client, server)), done, ["c1"], "c1")
    shares = [one(each.use, "disk write", "io").busiest for each in found.phases]
    assert shares == [pytest.approx(1.0), pytest.approx(0.25)]
    assert [each.use.call_s for each in found.phases] == [pytest.approx(0.02)] * 2
    # 200 MB in 6 s of 80 MB/s
    assert one(found.whole, "disk write", "io").busiest == pytest.approx(200 / 480)
    assert one(found.outside, "disk write", "io").busiest == pytest.approx(0.0, abs=1e-6)
    # 1 of 2 cores in the first of the two seconds outside of phases
    assert one(found.outside, "processors", "compute").busiest == pytest.approx(0.25)
    assert found.outside.call_s == pytest.approx(0.01)  # 50 calls in 0.5 s
    assert found.whole.in_flight == pytest.approx((2 + 2 + 0.5) / 6)


def test_without_the_replays_start_nothing_is_said():
    nodes = (node("c1", {c.CPU_S: growing()}),)
    done = replay_result(phase_result(1, MB, 0.0, 2.0))
    assert done.started_monotonic_ns is None
    assert measured_use(Counters(EVERY_S, nodes), done, ["c1"], "c1") is None
    assert measured_use(Counters(EVERY_S), result(102.0), ["c1"], "c1") is None
