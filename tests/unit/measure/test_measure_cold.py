from measure_fakes import MB, abyss_kernel, abyss_result, phase_result, replay_result
from measure_fakes import phase as made_phase

from wavetank.kernel.document.kernel import KernelFile
from wavetank.measure.cold import (
    doubts_of_cold_reads,
    doubts_of_writes,
    possible_rate,
    read_limits,
)

KERNEL = abyss_kernel(weight=40 * MB)


def test_limits_are_read_out_of_their_words():
    limits = read_limits(
        {
            "disk read": "100 MB/s (blkio throttle)",
            "network": "1 Gbit/s each way",
            "memory": "2 GiB",
        }
    )
    assert (limits.disk_bytes_per_s, limits.network_bytes_per_s) == (100 * MB, 125 * MB)


def test_a_read_above_the_only_disk_is_doubted():
    # Two phases of 40 MB in 0.1 s: 400 MB/s each, from one disk of 100 MB/s.
    doubts = doubts_of_cold_reads(
        KERNEL, abyss_result(KERNEL, read_s=0.1), {"disk": "100 MB/s"}, ["io1"]
    )
    assert len(doubts) == 2
    assert "400.0 MB/s" in doubts[0] and "100.0 MB/s" in doubts[0]


def test_the_network_of_one_reader_bounds_many_servers():
    limits = read_limits({"network": "1 Gbit/s"})
    assert possible_rate(limits, {"c1"}, ["io1", "io2", "io3"]) == 125 * MB


def test_a_server_that_reads_from_itself_is_not_bound_by_the_network():
    limits = read_limits({"network": "1 Gbit/s"})
    assert possible_rate(limits, {"c1"}, ["c1"]) is None


def test_servers_and_ranks_have_limits_of_their_own():
    limits = read_limits(
        {
            "compute disk read": "50.0 MB/s by blkio",
            "io disk read": "100.0 MB/s by blkio",
            "compute network": "125.0 MB/s by tbf",
            "io network": "60.0 MB/s by nothing",
        }
    )
    assert (limits.disk_bytes_per_s, limits.network_bytes_per_s) == (100 * MB, 125 * MB)


def writing_kernel(weight):
    """One rank writes a file once, in requests of 1 MB."""
    return abyss_kernel().model_copy(
        update={
            "files": (KernelFile(file_id=1, name="out", role="output", prepare_bytes=0),),
            "phases": (made_phase(1, 1, [0], weight, iop_type="write", rs=MB),),
            "programs": (),
        }
    )


def written(write_s, flush_s, *, not_on_disk_bytes=0):
    """100 MB written in one phase, and then flushed."""
    kernel = writing_kernel(100 * MB)
    phase = phase_result(1, 100 * MB, 0.0, write_s, host="c1")
    result = replay_result(phase, flush_s=flush_s, not_on_disk_bytes=not_on_disk_bytes)
    return kernel, result.model_copy(update={"elapsed_s": write_s + flush_s})


DISK = {"io disk write": "50.0 MB/s by blkio", "io disk read": "10.0 MB/s by blkio"}


def test_a_write_with_its_flush_above_the_disks_is_doubted():
    # 100 MB in 0.4 + 0.6 s, and one disk takes 50 MB/s.
    (doubt,) = doubts_of_writes(*written(0.4, 0.6), DISK, ["io1"])
    assert "100.0 MB/s" in doubt and "50.0 MB/s" in doubt


def test_a_phase_that_caches_took_is_not_doubted_when_the_flush_took_its_time():
    # The phase alone was at 1 GB/s; with its flush 100 MB took 2.1 s.
    assert doubts_of_writes(*written(0.1, 2.0), DISK, ["io1"]) == []


def test_a_write_above_the_writers_network_is_doubted():
    limits = {
        "compute network": "400 Mbit/s by tbf both ways",
        "io network": "1 Gbit/s by tbf both ways",
    }
    assert len(doubts_of_writes(*written(0.4, 0.6), limits, ["io1"])) == 1  # 100 MB at 50 MB/s


def test_what_is_said_to_be_in_caches_is_not_doubted():
    made = written(0.1, 0.0, not_on_disk_bytes=100 * MB)
    assert doubts_of_writes(*made, DISK, ["io1"]) == []
