import json

import pytest
from measure_fakes import MB, FakeCluster, FakeHost, abyss_kernel

from wavetank.cluster.host import Finished
from wavetank.errors import MeasurementError, RemoteCommandError, UsageError
from wavetank.measure.characterise import (
    Effort,
    characterise,
    peaks_of,
    request_sizes,
    shortfalls,
)
from wavetank.measure.fio import read_fio
from wavetank.measure.iperf import read_iperf
from wavetank.measure.requirement import Requirement
from wavetank.report.plots.characterisation import save_rates

RATES = {"write": 90 * MB, "rewrite": 95 * MB, "read": 100 * MB, "reread": 900 * MB}


class MeasuredHost(FakeHost):
    """Answers as fio and iperf3 do; ``speed`` multiplies its storage rates."""

    def __init__(self, name, log, speed=1.0, without=()):
        super().__init__(name, log)
        self.speed = speed
        self.without = without
        self.calls = 0
        self.free_blocks = 2**20  # 4 GiB
        self.tests = tuple(RATES)

    def start(self, argv, *, log, env=None):
        self.log.append((self.name, "start", *argv))

    def run(self, argv, *, timeout_s=60.0, env=None, stdin=""):
        super().run(argv)
        if argv[0] in self.without:
            raise RemoteCommandError(self.name, argv, 127, f"{argv[0]}: not found")
        return Finished(self.answer(argv), "", 0.0)

    def answer(self, argv):
        if argv[0] == "iperf3" and "--client" in argv:
            return json.dumps({"end": {"sum_received": {"bits_per_second": 8 * 120 * MB}}})
        if argv[:2] == ["fio", "--version"]:
            return "fio-3.33\n"
        if argv[0] == "stat":
            return f"{self.free_blocks} 4096\n"
        if argv[0] != "fio":
            return ""
        options = dict(part.lstrip("-").partition("=")[::2] for part in argv[1:])
        if options.get("ioengine") == "filecreate":
            return fio("read", 0, 5000.0)
        direction = options["rw"]
        # write, rewrite, read, reread come in this order for each request size.
        test = self.tests[self.calls % len(self.tests)]
        assert test.endswith(direction)
        self.calls += 1
        return fio(direction, RATES[test] * self.speed, 1.0)


def fio(direction, rate, iops):
    job = {
        "error": 0,
        "read": {"io_bytes": 0, "bw_bytes": 0, "iops": 0},
        "write": {"io_bytes": 0, "bw_bytes": 0, "iops": 0},
    }
    job[direction] = {"io_bytes": 64 * MB, "bw_bytes": rate, "iops": iops}
    return "fio: a warning\n" + json.dumps({"jobs": [job]})


LIMITS = {
    "io disk read": "100.0 MB/s by blkio",
    "io disk write": "50.0 MB/s by blkio",
    "io network": "125.0 MB/s by tbf",
}


def cluster(n_io=2, without=()):
    made = FakeCluster(n_io=n_io, limits=LIMITS)
    made.compute_hosts = tuple(
        MeasuredHost(f"c{i + 1}", made.log, without=without) for i in range(2)
    )
    made.io_hosts = tuple(MeasuredHost(f"io{i + 1}", made.log, speed=i + 1) for i in range(n_io))
    made.storage_hosts = made.io_hosts
    made.storage_path = "/storage"
    return made


def measured(on=None, sizes=(4096, 8191)):
    on = on or cluster()
    return characterise(on, Effort(sizes=sizes))


def test_the_peak_is_the_sum_over_the_io_nodes():
    # io1 reads at 100 MB/s, io2 at 200 MB/s.
    found = measured()
    assert found.peak("read") == 300 * MB
    assert found.peaks() == {"read": 300 * MB, "write": 270 * MB}


def test_all_four_tests_run_for_each_size_on_each_local_file_system_and_the_mount():
    found = measured()
    assert len(found.storage) == 4 * 2 * (2 + 1)
    assert {each.node for each in found.storage if each.where == "global"} == {"c1"}


def test_only_reading_for_the_first_time_is_cold():
    on = cluster(n_io=1)
    measured(on, sizes=(4096,))
    steps = [
        "drop" if entry == ("drop_caches",) else part
        for entry in on.log
        for part in entry
        if entry == ("drop_caches",) or part.startswith("--rw=")
    ]
    once = ["--rw=write", "--rw=write", "drop", "--rw=read", "--rw=read"]
    assert steps == once * 2  # io1, and c1 through the mount


def test_the_quick_part_for_peaks_reads_cold_and_touches_nothing_else():
    on = cluster()
    for host in on.io_hosts:
        host.tests = ("write", "read")
    found = peaks_of(on, [abyss_kernel()], lambda text: None)
    assert {each.test for each in found.storage} == {"write", "read"}
    assert {each.rs for each in found.storage} == {8191, 2**20}
    assert {each.node for each in found.storage} == {"io1", "io2"}
    assert found.peaks() == {"read": 300 * MB, "write": 270 * MB}
    assert (found.network, found.metadata) == ((), ())


def test_limits_are_shown_with_what_was_measured():
    checks = {(c.node, c.what): c for c in measured().limits}
    assert checks["io1", "disk read"].within
    assert not checks["io1", "disk write"].within  # 90 MB/s where 50 were asked
    assert checks["io1", "network"].measured_bytes_per_s == 120 * MB


def test_a_file_that_passes_in_one_burst_says_nothing_of_a_limit():
    # fio answers with 64 MB, which a limit of 1 GB/s lets through in 0.064 s.
    on = cluster(n_io=1)
    on.limits = lambda: {"io disk read": "1.0 GB/s by blkio"}
    (check,) = measured(on).limits
    assert (check.what, check.measured_bytes_per_s, check.within) == ("disk read", None, None)


def test_nothing_is_left_behind():
    on = cluster()
    measured(on)
    assert ("io1", "rm", "-f", "--", "/storage/wavetank-characterise") in on.log
    assert ("io1", "rm", "-rf", "--", "/storage/wavetank-characterise.d") in on.log


def test_requests_that_a_file_system_has_no_room_for_are_left_out_and_said():
    found = measured(sizes=(4096, 2**40))
    assert {each.rs for each in found.storage} == {4096}
    assert "io1 /storage: requests of 1.0 TiB were left out: it has 4.0 GiB free" in found.notes


def test_requests_that_a_node_has_no_memory_for_are_left_out_and_said():
    # A request is a buffer of fio: with 2 GiB at most a quarter, 512 MiB.
    on = cluster(n_io=1)
    on.limits = lambda: {**LIMITS, "io memory": "2.0 GiB by cgroup"}
    found = measured(on, sizes=(2**20, 2**30))
    assert {each.rs for each in found.storage if each.where == "local"} == {2**20}
    assert {each.rs for each in found.storage if each.where == "global"} == {2**20, 2**30}
    assert any("io1" in note and "2.0 GiB of memory" in note for note in found.notes)


def test_a_request_above_the_test_file_has_a_file_of_its_own_size():
    on = cluster(n_io=1)
    measured(on, sizes=(2**30,))
    assert {part for entry in on.log for part in entry if part.startswith("--size=")} == {
        f"--size={2**30}"
    }


def test_a_mount_that_does_not_know_its_room_has_that_of_its_servers():
    on = cluster()
    on.compute_hosts[0].free_blocks = 0
    found = measured(on, sizes=(4096, 2**40))
    assert {each.rs for each in found.storage if each.where == "global"} == {4096}
    assert any(
        note.startswith("c1") and "8.0 GiB free" in note for note in found.notes
    )  # two of 4 GiB


def test_temporary_storage_of_compute_nodes_is_measured_and_is_no_part_of_the_peak():
    on = cluster(n_io=1)
    on.scratch_path = "/scratch"
    on.limits = lambda: {**LIMITS, "compute scratch read": "100.0 MB/s by blkio"}
    found = measured(on, sizes=(4096,))
    scratch = {each.node for each in found.storage if each.where == "scratch"}
    assert scratch == {"c1", "c2"}
    assert found.peak("read") == 100 * MB  # of io1 alone
    assert {c.node for c in found.limits if c.what == "scratch read"} == {"c1", "c2"}
    assert {m.node for m in found.metadata if m.where == "scratch"} == {"c1", "c2"}


def test_the_network_is_measured_both_ways():
    pairs = {(each.sender, each.receiver) for each in measured().network}
    assert pairs == {("io1", "c1"), ("c1", "io1"), ("io2", "c1"), ("c1", "io2")}


def test_the_plot_names_every_rate_and_is_a_file_of_the_kind_asked_for(tmp_path):
    found = measured()
    for name, begins in (("rates.svg", b"<?xml"), ("rates.png", b"\x89PNG")):
        save_rates(found, tmp_path / name)
        assert (tmp_path / name).read_bytes().startswith(begins)
    text = (tmp_path / "rates.svg").read_text()
    # io2 reads at twice 100 MB/s, by requests of 8191 B
    assert "io2, local, read by 8,191 B: 200.0 MB/s" in text
    with pytest.raises(UsageError, match=r"\.svg or \.png"):
        save_rates(found, tmp_path / "rates.gif")


def test_without_iperf3_the_network_is_not_measured_and_that_is_said():
    found = measured(cluster(without=("iperf3",)))
    assert found.network == () and "iperf3" in found.notes[0]


def test_without_fio_nothing_can_be_measured():
    with pytest.raises(MeasurementError, match="apt-get install fio"):
        measured(cluster(without=("fio",)))


def test_an_instance_below_the_users_need_is_discarded_with_the_reason():
    found = measured()
    (why,) = shortfalls(found, [Requirement("read", 150 * MB)])
    assert "c3.2xlarge is discarded: io1: read 100.0 MB/s is below 150.0 MB/s" in why
    assert shortfalls(found, [Requirement("read", 100 * MB), Requirement("network", MB)]) == []


def test_only_request_sizes_that_carry_bytes_are_worth_measuring():
    # The writes of 4096 B are 80 kB of 54 MB.
    assert request_sizes(abyss_kernel()) == (8191,)


def test_a_characterisation_survives_its_file(tmp_path):
    found = measured()
    found.write(tmp_path / "c.json")
    assert type(found).read(tmp_path / "c.json") == found


@pytest.mark.parametrize("text", ["", "{}", "no json", '{"jobs": []}', '{"jobs": [{"error": 5}]}'])
def test_output_that_is_not_fios_is_an_error(text):
    with pytest.raises(MeasurementError, match="fio"):
        read_fio(text, "read")


@pytest.mark.parametrize("text", ["", "{}", '{"error": "unable to connect"}'])
def test_output_that_is_not_iperfs_is_an_error(text):
    with pytest.raises(MeasurementError, match="iperf3"):
        read_iperf(text)


class SlowServer(MeasuredHost):
    """Refuses the first connections, as iperf3 does: with status 0."""

    refusals = 2

    def answer(self, argv):
        if argv[0] == "iperf3" and "--client" in argv and self.refusals:
            self.refusals -= 1
            return json.dumps({"end": {}, "error": "unable to connect to server"})
        return super().answer(argv)


def test_a_network_server_that_does_not_listen_yet_is_tried_again():
    on = cluster(n_io=1)
    on.io_hosts = (SlowServer("io1", on.log),)
    on.storage_hosts = on.io_hosts
    rates = {each.sender: each.bytes_per_s for each in measured(on).network}
    assert rates["io1"] == 120 * MB
