import json

import pytest
from measure_fakes import MB, FakeCluster, FakeHost, abyss_kernel

from wavetank.cluster.host import Finished
from wavetank.errors import MeasurementError, RemoteCommandError, UsageError
from wavetank.measure.characterise import (
    Effort,
    characterise,
    peaks_of,
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


def test_nothing_is_left_behind():
    on = cluster()
    measured(on)
    assert ("io1", "rm", "-f", "--", "/storage/wavetank-characterise") in on.log
    assert ("io1", "rm", "-rf", "--", "/storage/wavetank-characterise.d") in on.log


def test_requests_that_a_file_system_has_no_room_for_are_left_out_and_said():
    found = measured(sizes=(4096, 2**40))
    assert {each.rs for each in found.storage} == {4096}
    assert "io1 /storage: requests of 1.0 TiB were left out: it has 4.0 GiB free" in found.notes


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


def test_an_instance_below_the_users_need_is_discarded_with_the_reason():
    found = measured()
    (why,) = shortfalls(found, [Requirement("read", 150 * MB)])
    assert "c3.2xlarge is discarded: io1: read 100.0 MB/s is below 150.0 MB/s" in why
    assert shortfalls(found, [Requirement("read", 100 * MB), Requirement("network", MB)]) == []


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
