"""Counter files of Linux, read as they are written by the kernels named in each test."""

import os
import threading
from dataclasses import replace

import pytest

from wavetank.cluster import counters as c
from wavetank.cluster.namespaces.cgroups import Hierarchies, NodeGroup
from wavetank.cluster.namespaces.counters import (
    Source,
    Watched,
    recording,
    sources_of,
    used_cpu_s,
)
from wavetank.cluster.remote.counters import Facts, parse_facts, parse_reading

CAPACITY = c.Capacity(cpus=2.0, own_cpus=True)


def test_cpu_stat_of_version_2_has_time_and_throttling_in_microseconds():
    text = (  # Linux 6.18, cpu.stat of a group with the controller
        "usage_usec 1500000\nuser_usec 1000000\nsystem_usec 500000\nnice_usec 0\n"
        "nr_periods 12\nnr_throttled 3\nthrottled_usec 250000\nnr_bursts 0\nburst_usec 0\n"
    )
    assert c.parse_cpu_stat(text) == {c.CPU_S: 1.5, c.HELD_BACK_S: 0.25}


def test_cpu_stat_of_version_2_without_the_controller_has_time_alone():
    text = "usage_usec 7\nuser_usec 7\nsystem_usec 0\nnice_usec 0\n"  # Linux 6.18
    assert c.parse_cpu_stat(text) == {c.CPU_S: pytest.approx(7e-6)}


def test_cpu_stat_of_version_1_has_throttling_alone_in_nanoseconds():
    text = "nr_periods 7\nnr_throttled 2\nthrottled_time 41000000\n"  # Linux 5.10
    assert c.parse_cpu_stat(text) == {c.HELD_BACK_S: pytest.approx(0.041)}


def test_the_time_in_which_processes_waited_for_a_processor_is_in_microseconds():
    text = (  # Linux 6.18, cpu.pressure of a group
        "some avg10=1.53 avg60=0.87 avg300=0.30 total=2500000\n"
        "full avg10=0.00 avg60=0.00 avg300=0.00 total=7\n"
    )
    assert c.parse_cpu_pressure(text) == {c.CPU_WAIT_S: 2.5}


def test_cpuacct_usage_is_in_nanoseconds():
    assert c.parse_cpuacct_usage("5120333021\n") == {c.CPU_S: pytest.approx(5.120333021)}


def test_net_dev_is_read_by_device_also_where_the_number_touches_the_colon():
    text = (  # Linux 6.18; Linux 2.6 wrote "eth0:1291011"
        "Inter-|   Receive                                                |  Transmit\n"
        " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed\n"
        "    lo:      10       1    0    0    0     0          0         0       10       1    0    0    0     0       0          0\n"
        "  eth0:1291011   10538    0    0    0     0          0         0   884211    9120    0    0    0     0       0          0\n"
    )
    assert c.parse_net_dev(text)["eth0"] == {
        c.RECEIVED_BYTES: 1291011,
        c.RECEIVED_PACKETS: 10538,
        c.SENT_BYTES: 884211,
        c.SENT_PACKETS: 9120,
    }
    assert set(c.parse_net_dev(text)) == {"lo", "eth0"}


@pytest.mark.parametrize(
    "text",
    [
        # Linux 6.18: 17 words (discards, flushes); Linux 4.18: 11 words
        " 368  2  1504 75  419  161   548832  378   0   376  507   0   0  0  0  53  52\n",
        "368 2 1504 75 419 161 548832 378 0 376 507\n",
    ],
)
def test_a_disks_stat_counts_sectors_of_512_bytes_and_merged_requests(text):
    assert c.parse_disk_numbers(text.split()) == {
        c.READS: 370,
        c.READ_BYTES: 1504 * 512,
        c.WRITES: 580,
        c.WRITTEN_BYTES: 548832 * 512,
        c.DISK_BUSY_S: pytest.approx(0.376),
    }


def test_diskstats_are_read_by_the_disks_number():
    text = (  # Linux 6.18
        "   7       0 loop0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n"
        " 254       1 vda1 368 0 1504 75 419 161 548832 378 0 376 507 0 0 0 0 53 52\n"
    )
    found = c.parse_diskstats(text)
    assert found["254:1"][c.WRITTEN_BYTES] == 548832 * 512
    assert found["7:0"][c.READS] == 0


def test_a_machines_stat_is_busy_without_idle_and_waiting_and_guests_time():
    text = (  # Linux 6.18: user nice system idle iowait irq softirq steal guest guest_nice
        "cpu  60000 100 17000 116266 1403 0 400 6600 50 0\n"
        "cpu0 30000 50 8500 58000 700 0 200 3300 25 0\n"
        "cpu1 30000 50 8500 58266 703 0 200 3300 25 0\n"
        "intr 1 2 3\nctxt 9\n"
    )
    # busy: 60000 + 100 + 17000 + 0 + 400 ticks of 10 ms
    assert c.parse_machine_stat(text, 100) == {c.CPU_S: 775.0, c.STOLEN_S: 66.0}


def test_processor_time_is_read_of_version_2_where_it_is_mounted_and_of_cpuacct_where_it_is_not(
    tmp_path,
):
    v1 = {"cpu": tmp_path / "cpu", "memory": tmp_path / "memory"}
    both = NodeGroup("wavetank/a/c1", Hierarchies(v1, tmp_path / "unified", frozenset()))
    names = [
        source.path.relative_to(tmp_path).as_posix() for source in sources_of(both, 1, [])[:-1]
    ]
    assert names == ["unified/wavetank/a/c1/cpu.stat", "cpu/wavetank/a/c1/cpu.stat"]
    old = NodeGroup("wavetank/a/c1", Hierarchies(v1, None, frozenset()))
    names = [source.path.relative_to(tmp_path).as_posix() for source in sources_of(old, 1, [])[:-1]]
    assert names == ["cpu/wavetank/a/c1/cpuacct.usage", "cpu/wavetank/a/c1/cpu.stat"]


def test_disks_of_a_node_are_added_up_and_busy_is_their_mean(tmp_path):
    # reads, merged, sectors, ms; writes, merged, sectors, ms; under way, ms busy, ms weighted
    line = "10 0 8 0 20 0 16 0 0 {busy} 0"
    group = NodeGroup("wavetank/a/c1", Hierarchies({}, None, frozenset()))
    sources = []
    for number, source in enumerate(sources_of(group, 1, ["loop3", "loop4"])[-2:]):
        path = tmp_path / f"stat{number}"
        path.write_text(line.format(busy=1000 * (number + 1)))
        sources.append(replace(source, path=path))
    with recording([Watched("io1", tuple(sources), CAPACITY)], 10.0) as counters:
        pass
    (node,) = [each for each in counters.nodes if each.node == "io1"]
    last = {name: values[-1] for name, values in node.counted.items()}
    assert last[c.READS] == 20 and last[c.WRITES] == 40
    assert last[c.READ_BYTES] == 2 * 8 * 512
    assert last[c.DISK_BUSY_S] == pytest.approx(1.5)  # of 1 s and 2 s


def watched(path, name="c1"):
    return Watched(name, (Source(path, c.parse_cpuacct_usage),), CAPACITY)


def n_threads():
    return threading.active_count()


def n_files():
    return len(os.listdir("/proc/self/fd"))


def test_a_recording_reads_again_and_again_and_leaves_neither_thread_nor_open_file(tmp_path):
    path = tmp_path / "usage"
    path.write_text("1000000000")
    before = n_threads(), n_files()
    with recording([watched(path)], 0.002) as found:
        path.write_text("3000000000")
    assert (n_threads(), n_files()) == before
    (node,) = found.nodes
    assert node.node == "c1"
    assert len(node.at_s) >= 2
    assert list(node.at_s) == sorted(node.at_s)
    assert node.counted[c.CPU_S][-1] == 3.0
    assert found.machine is not None
    assert found.own_cpu_s is not None


def test_a_recording_ends_with_the_error_that_ends_what_it_was_beside(tmp_path):
    path = tmp_path / "usage"
    path.write_text("1")
    before = n_threads(), n_files()
    with pytest.raises(ZeroDivisionError), recording([watched(path)], 0.002):
        raise ZeroDivisionError
    assert (n_threads(), n_files()) == before


def test_a_counter_that_cannot_be_opened_is_said_and_a_node_that_goes_ends_its_series(tmp_path):
    path = tmp_path / "usage"
    path.write_text("5")
    nodes = [watched(path), watched(tmp_path / "none", "c2")]
    with recording(nodes, 0.002) as found:
        path.write_text("gone")  # a file that no longer holds a number
    assert found.missing == [f"c2: {tmp_path / 'none'}: No such file or directory"]
    assert [node.node for node in found.nodes if node.counted] == ["c1"]
    assert len(found.nodes[0].at_s) >= 1  # the first reading is made before the block begins


def test_what_a_host_over_ssh_tells_of_itself_is_read_with_gaps():
    facts = parse_facts("c 8\nn eth0 10000\nd 65025\n")  # 65025 = 254 * 256 + 1
    assert facts == Facts(8.0, "eth0", 10_000 * 10**6 / 8, "254:1")
    # a device out of software tells no speed, or -1; tmpfs and overlays have device numbers of no disk
    assert parse_facts("c 2\nn veth1 \nd 41\n") == Facts(2.0, "veth1", None, None)
    assert parse_facts("c 2\nn eth0 -1\nd 0\n") == Facts(2.0, "eth0", None, None)


def test_a_reading_of_a_host_has_its_own_device_and_disk_alone():
    text = (  # Linux 6.18: uptime, stat, net/dev, diskstats
        "1005.31 1162.66\ncpu  100 0 50 9 1 0 0 7 0 0\ncpu0 100 0 50 9 1 0 0 7 0 0\n"
        "Inter-|   Receive                                                |  Transmit\n"
        " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed\n"
        "    lo: 5 1 0 0 0 0 0 0 5 1 0 0 0 0 0 0\n  eth0: 7 1 0 0 0 0 0 0 9 1 0 0 0 0 0 0\n"
        " 254       1 vda1 368 0 1504 75 419 161 548832 378 0 376 507 0 0 0 0 53 52\n"
        "   7       0 loop0 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1\n"
    )
    at_s, counted = parse_reading(text, Facts(1.0, "eth0", None, "254:1"))
    assert at_s == 1005.31
    assert (counted[c.CPU_S], counted[c.RECEIVED_BYTES], counted[c.SENT_BYTES]) == (1.5, 7, 9)
    assert counted[c.WRITTEN_BYTES] == 548832 * 512
    _, counted = parse_reading(text, Facts(1.0, None, None, None))
    assert set(counted) == {c.CPU_S, c.STOLEN_S}


@pytest.mark.parametrize(
    ("is_v2", "file", "text", "found_s"),
    [
        (True, "g/cpu.stat", "usage_usec 5120000\nuser_usec 1\n", 5.12),
        (False, "g/cpuacct.usage", "5120000000\n", 5.12),
        (True, "elsewhere", "", None),
    ],
)
def test_processor_time_of_a_group_is_read_where_it_is_counted(
    is_v2, file, text, found_s, tmp_path
):
    (tmp_path / "g").mkdir()
    (tmp_path / file).write_text(text)
    where = (
        Hierarchies({}, tmp_path, frozenset())
        if is_v2
        else Hierarchies({"cpu": tmp_path}, None, frozenset())
    )
    assert used_cpu_s(NodeGroup("g", where)) == found_s
    assert used_cpu_s(NodeGroup("g", Hierarchies({}, None, frozenset()))) is None
