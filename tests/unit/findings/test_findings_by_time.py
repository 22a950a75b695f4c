"""Findings that rest on measured times: their grade, and what they name. Times are put beside a model by hand."""

from __future__ import annotations

from typing import Any

import pytest
from fold_builder import Event, model_of

from wavetank.findings.all_findings import all_findings
from wavetank.findings.answer import what_it_is
from wavetank.findings.finding import HEADLINES, Finding
from wavetank.model.document.model import Model
from wavetank.model.document.run_times import FileTimes, RankSpread, RunTimes

MIB = 1024 * 1024
N_RANKS = 64
FILE: dict[str, Any] = {
    "name": "/scratch/out.h5", "level": "mpiio", "streams": False, "n_ranks": N_RANKS, "n_operations": 640,
    "moved": 640 * MIB, "read_s": 0.0, "write_s": 640.0, "metadata_s": 0.0, "n_posix": 640, "n_syncs": 0, "n_unaligned": 0,
    "alignment": MIB, "stripe_count": None, "stripe_size": None, "below_s": 300.0, "below_ranks": 16,
    "below_slowest_s": 6.0, "below_slowest_bytes": 40 * MIB, "below_hosts": 16, "slowest_rank": 0, "slowest_s": 10.0,
    "slowest_bytes": 10 * MIB, "fastest_s": 10.0,
}  # fmt: skip


def collective(**times: Any) -> Model:
    """64 ranks write 640 MiB by collective calls, 10 s each."""
    events = [
        Event(rank, "MPI_File_write_at_all", offset=(i * N_RANKS + rank) * MIB, size=MIB)
        for rank in range(N_RANKS)
        for i in range(10)
    ]
    file = times.pop("file", {})
    known: dict[str, Any] = {
        "elapsed_s": 12.0, "io_s": 10.0, "io_rank": 0, "with_metadata": True, "write_s": 640.0, "mpiio_s": 640.0,
        "below_s": 300.0, "n_opens": 64, "n_files": 1, "n_hosts": 16, "moved": 640 * MIB,
        "spread": RankSpread(mean_s=10.0, least_s=10.0, most_s=10.0, most_rank=0), "files": (FileTimes(**{**FILE, **file}),),
    }  # fmt: skip
    return model_of(events).model_copy(update={"run_times": RunTimes(**{**known, **times})})


def found(model: Model) -> dict[str, Finding]:
    return {one.kind: one for one in all_findings(model)}


def test_collective_calls_that_keep_aggregators_busy_show_nothing() -> None:
    assert found(collective()) == {}


def test_time_that_no_rank_spends_in_posix_calls_is_critical() -> None:
    # 640 s over 64 ranks are 10 s each; the slowest aggregator spends 0.5 s: 95 % is exchange and waiting.
    one = found(collective(file={"below_s": 4.0, "below_slowest_s": 0.5}))["time-above-posix"]
    assert one.severity == "critical" and one.share_of_time == pytest.approx(0.95)
    assert "gains at most 5.0 %" in one.sentence


@pytest.mark.parametrize(
    ("elapsed_s", "severity"), [(12.0, "critical"), (200.0, "warning"), (2000.0, "note")]
)
def test_what_is_little_of_the_run_is_less_severe(elapsed_s: float, severity: str) -> None:
    one = found(collective(elapsed_s=elapsed_s, file={"below_slowest_s": 0.5}))["time-above-posix"]
    assert one.severity == severity


def test_one_aggregator_for_all_ranks_is_named_with_its_bytes() -> None:
    one = found(collective(file={"below_slowest_s": 8.0, "below_slowest_bytes": 640 * MIB}))
    assert set(one) == {"few-aggregators"}
    aggregator = one["few-aggregators"]
    assert "One rank moves 640.0 MiB of the 640.0 MiB of out.h5" in aggregator.sentence
    assert aggregator.paste == "lfs setstripe -c 4 DIRECTORY"
    # It takes no second: its place does not matter.
    quick = collective(
        file={"below_slowest_s": 0.9, "below_slowest_bytes": 640 * MIB, "write_s": 128.0}
    )
    assert "few-aggregators" not in found(quick)


def test_aggregators_on_one_of_several_hosts_are_too_few() -> None:
    few = found(collective(file={"below_ranks": 4, "below_hosts": 1}))["few-aggregators"]
    assert "4 ranks, all on one of 16 hosts" in few.sentence
    assert "few-aggregators" not in found(
        collective(n_hosts=1, file={"below_ranks": 4, "below_hosts": 1})
    )


def test_a_rank_that_is_slow_with_the_mean_of_the_bytes_is_told() -> None:
    spread = RankSpread(mean_s=10.0, least_s=9.0, most_s=40.0, most_rank=7)
    slow = found(collective(spread=spread, io_s=40.0, elapsed_s=50.0))["slow-ranks"]
    assert "Rank 7 spends 40.00 s" in slow.sentence
    assert slow.share_of_time == pytest.approx(0.75)  # of 40 s the mean has 10


def test_metadata_is_graded_by_its_share_of_the_time() -> None:
    load = found(
        collective(
            metadata_s=160.0, n_opens=3000, n_stats=2000, file={"write_s": 480.0}, write_s=480.0
        )
    )
    one = load["metadata-load"]
    assert one.severity == "warning" and one.share_of_time == pytest.approx(0.25)
    assert "3,000 opens and 2,000 stats" in one.sentence
    # As many calls that take 2 % of the time are nothing.
    assert "metadata-load" not in found(collective(metadata_s=13.0, n_opens=3000, n_stats=2000))


def test_small_requests_of_the_mpi_library_are_told() -> None:
    one = found(collective(file={"n_posix": 640 * 4096}))["small-requests-below"]
    assert (
        "2,621,440 POSIX requests of 640 MPI-IO calls" in one.sentence
        and "256 B each" in one.sentence
    )


def test_unaligned_requests_are_those_that_the_log_counts() -> None:
    one = found(collective(file={"n_posix": 2000, "n_unaligned": 1500}))["unaligned-requests"]
    assert "1,500 of 2,000 POSIX requests (75 %)" in one.sentence and one.severity == "warning"
    assert one.paste == "H5Pset_alignment(fapl, 65536, 1048576)"
    assert "unaligned-requests" not in found(
        collective(file={"n_posix": 20000, "n_unaligned": 1500})
    )


def test_findings_are_sorted_by_severity_and_then_by_time() -> None:
    model = collective(
        file={"below_slowest_s": 8.0, "below_slowest_bytes": 640 * MIB, "n_posix": 2000, "n_unaligned": 1500},
        metadata_s=160.0, n_opens=3000,
    )  # fmt: skip
    order = [one.kind for one in all_findings(model)]
    assert order == ["few-aggregators", "unaligned-requests", "metadata-load"]
    assert set(order) <= set(HEADLINES)


def test_flushes_are_counted_where_single_operations_do_not_show_them() -> None:
    one = found(collective(file={"n_syncs": 640}))["flush-after-each-write"]
    assert "640 flushes (fsync and its like) come with 640 writes" in one.sentence
    assert one.severity == "critical"


def test_times_that_are_the_same_on_all_ranks_are_said_once() -> None:
    (same,) = [line for line in what_it_is(collective()) if line.startswith("Time")]
    assert "10.00 s on each rank, 83 % of the run of 12.00 s" in same
    uneven = RankSpread(mean_s=10.0, least_s=9.0, most_s=40.0, most_rank=7)
    (spread,) = [line for line in what_it_is(collective(spread=uneven)) if line.startswith("Time")]
    assert "by rank 9.00 s to 40.00 s (rank 7), mean 10.00 s" in spread
