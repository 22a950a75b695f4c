from measure_fakes import MB, abyss_kernel, abyss_result

from wavetank.measure.cold import doubts_of_cold_reads, possible_read_rate, read_limits

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


def test_a_write_limit_does_not_bound_reading():
    limits = read_limits({"disk write": "10 MB/s", "disk read": "100 MB/s"})
    assert limits.disk_bytes_per_s == 100 * MB


def test_a_read_above_the_only_disk_is_doubted():
    # Two phases of 40 MB in 0.1 s: 400 MB/s each, from one disk of 100 MB/s.
    doubts = doubts_of_cold_reads(
        KERNEL, abyss_result(KERNEL, read_s=0.1), {"disk": "100 MB/s"}, ["io1"]
    )
    assert len(doubts) == 2
    assert "400.0 MB/s" in doubts[0] and "100.0 MB/s" in doubts[0]


def test_a_read_within_the_limits_is_not_doubted():
    result = abyss_result(KERNEL, read_s=1.0)  # 40 MB/s
    assert doubts_of_cold_reads(KERNEL, result, {"disk": "100 MB/s"}, ["io1"]) == []


def test_more_servers_allow_more():
    result = abyss_result(KERNEL, read_s=0.2)  # 200 MB/s from two disks of 100
    assert doubts_of_cold_reads(KERNEL, result, {"disk": "100 MB/s"}, ["io1", "io2"]) == []


def test_without_limits_there_is_nothing_to_doubt():
    assert doubts_of_cold_reads(KERNEL, abyss_result(KERNEL, read_s=0.01), {}, ["io1"]) == []


def test_the_network_of_one_reader_bounds_many_servers():
    limits = read_limits({"network": "1 Gbit/s"})
    assert possible_read_rate(limits, {"c1"}, ["io1", "io2", "io3"]) == 125 * MB


def test_a_server_that_reads_from_itself_is_not_bound_by_the_network():
    limits = read_limits({"network": "1 Gbit/s"})
    assert possible_read_rate(limits, {"c1"}, ["c1"]) is None


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
