import json
from collections import Counter

import pytest

from wavetank.kernel.results.replay_output import bucket_middle_ns, outcome, summarise


def report(rank: int, phases: list[object], **more: object) -> dict[str, object]:
    return {
        "rank": rank, "host": "c1", "mpi": "Open MPI v4.1.4", "elapsed_ns": 1_000_000_000, "metadata_ns": 500,
        "metadata_operations": 2, "sync_ns": 0, "syncs": 0, "pause_wanted_ns": 0, "pause_ns": 0, "drift_ns": 0,
        "extra_seeks": 0, "long_reads": 0, "waited_opens": 0, "opens_again": 0, "waited_reads": 0, "other_results": 0,
        "compared": [0, 0, 0, 0], "final_flush_ns": 0,
        "not_on_disk": 0, "started": [5, 1_700_000_000_000_000_005],
        "io": {"sums": [0, 0, 0], "merged_below_ns": 0, "spans": []},
        "phases": phases, **more,
    }  # fmt: skip


def printed(*reports: dict[str, object], noise: str = "") -> str:
    lines = "".join(json.dumps(one) + "\n" for one in reports)
    return f"{noise}wavetank-replay-result 1\n{lines}wavetank-replay-result-end\n{noise}"


# [ph_id, bytes, operations, io_ns, first_ns, last_ns, max_ns, [[bucket, count], ...]]
FIRST = [1, 100, 4, 40, 1_000_000_000, 3_000_000_000, 12, [[10, 3], [12, 1]]]
SECOND = [1, 300, 4, 60, 2_000_000_000, 5_000_000_000, 15, [[15, 4]]]


def test_a_phase_lasts_from_the_first_ranks_start_to_the_last_ranks_end():
    result = outcome(printed(report(0, [FIRST]), report(1, [SECOND])), "", 0, 2, {})
    (phase,) = result.phases
    assert phase.time_s == pytest.approx(4.0)
    assert phase.rate_bytes_per_s == pytest.approx(100.0)  # 400 bytes in 4 s
    assert phase.iops == pytest.approx(2.0)  # 8 operations in 4 s
    assert [rank.io_time_s for rank in phase.ranks] == pytest.approx([40e-9, 60e-9])
    assert result.metadata_time_s == pytest.approx(1e-6)


def test_what_a_launcher_prints_around_the_result_does_not_matter():
    noise = "[host:123] some warning {of} the launcher\n"
    assert outcome(printed(report(0, [FIRST]), noise=noise), "", 0, 1, {}).status == "ok"


def test_a_rank_that_is_missing_is_a_failure():
    result = outcome(printed(report(0, [FIRST])), "", 0, 2, {})
    assert result.status == "failed" and result.phases == ()


def test_a_failure_names_rank_call_file_offset_and_reason():
    line = (
        'x\nwavetank-replay-failure {"rank": 3, "call": "pwrite", "file": "out.1", "offset": 4096, "size": 512, '
        '"reason": "No space left on device"}\n'
    )
    result = outcome(line, "mpirun noise", 1, 4, {"pauses": "drop"})
    assert (
        result.failure
        == "rank 3 pwrite of out.1 at offset 4096 (512 bytes): No space left on device"
    )
    assert result.settings == {"pauses": "drop"}


def test_a_rank_that_dies_silently_leaves_the_launchers_words():
    stderr = "-----\nmpirun noticed that process rank 2 exited on signal 9 (Killed).\n-----\n"
    result = outcome("", stderr, 137, 4, {})
    assert result.status == "failed" and "rank 2 exited on signal 9" in (result.failure or "")


@pytest.mark.parametrize(
    "stdout",
    [
        "",
        "wavetank-replay-result 1\n{\n",
        "wavetank-replay-result 1\n{\nwavetank-replay-result-end",
    ],
)
def test_output_that_was_cut_short_is_a_failure(stdout):
    assert outcome(stdout, "", 0, 1, {}).status == "failed"


def test_percentiles_are_by_nearest_rank():
    # 100 values: 50 of 1 ns, 45 of 2 ns, 4 of 3 ns, 1 of 4 ns
    summary = summarise([Counter({1: 50, 2: 45, 3: 4, 4: 1})], 4)
    found = (summary.p50_s, summary.p95_s, summary.p99_s, summary.max_s)
    assert found == pytest.approx((1e-9, 2e-9, 3e-9, 4e-9))


def test_histograms_of_ranks_add_up():
    summary = summarise([Counter({1: 1}), Counter({9: 3})], 9)
    assert summary.p50_s == pytest.approx(9e-9)


@pytest.mark.parametrize(
    "value", [0, 1, 31, 32, 33, 63, 64, 65, 1000, 123_456, 10**9, 2**40 + 12345]
)
def test_a_bucket_stands_for_values_within_a_64th(value):
    # the C program's rule: below 32 the value; else 32 counters to each power of two
    if value < 32:
        bucket = value
    else:
        shift = value.bit_length() - 6
        bucket = (shift + 1) * 32 + (value >> shift) - 32
    assert abs(bucket_middle_ns(bucket) - value) <= value / 64


def test_drift_and_other_facts_reach_the_settings():
    one = report(
        0, [FIRST], pause_wanted_ns=2_000_000_000, drift_ns=1_500_000, extra_seeks=3, long_reads=2
    )
    settings = outcome(printed(one), "", 0, 1, {}).settings
    assert settings["pauses_wanted_s"] == "2.000000" and settings["pauses_drift_s"] == "0.001500"
    assert settings["extra_seeks"] == "3" and settings["reads_longer_than_traced"] == "2"
