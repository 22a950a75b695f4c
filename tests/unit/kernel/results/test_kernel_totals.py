"""All phases of a run together, as measure and replay print them and as rankings count them."""

import pytest
from measure_fakes import phase_result, replay_result
from test_compare_metrics import described, measured

from wavetank.kernel.results import totals
from wavetank.kernel.tables.results import totals_table

# A reads 6 MB from 0 s to 2 s, B 3 MB from 1 s to 3 s: at once from 1 s to 2 s, so that I/O is 3 s. Then 1 s of metadata.
OVERLAPPING = replay_result(
    phase_result(1, 6_000_000, 0.0, 2.0, operations=60),
    phase_result(2, 3_000_000, 1.0, 3.0, operations=20),
    metadata_s=1.0,
)


def test_totals_are_sums_over_the_phases_and_rates_over_the_io_time() -> None:
    # 9 MB and 80 operations in 3 s + 1 s; the phases' rates are 3 and 1.5 MB/s, their times 4 s.
    (row,) = totals_table(OVERLAPPING).records()
    assert row == {
        "bytes": 9_000_000, "operations": 80, "io_time_s": 4.0, "rate_bytes_per_s": 2_250_000.0, "iops": 20.0,
    }  # fmt: skip


def test_what_all_calls_moved_counts_where_it_is_more_than_the_phases_hold() -> None:
    # 12 MB and 100 operations in 4 s.
    own = OVERLAPPING.model_copy(update={"moved_bytes": 12_000_000, "n_operations": 100})
    assert (totals.rate_bytes_per_s(own), totals.iops(own)) == (3_000_000.0, 25.0)


def test_a_run_without_io_has_no_rate() -> None:
    (row,) = totals_table(replay_result()).records()
    assert (row["bytes"], row["rate_bytes_per_s"], row["iops"]) == (0, None, None)


def test_the_rate_is_the_one_that_a_campaign_ranks_by() -> None:
    ranked = described(2.0)
    (one,) = measured(2.0)
    assert totals.rate_bytes_per_s(one.result) == pytest.approx(ranked.rate_bytes_per_s.median)
    assert totals.iops(one.result) == pytest.approx(ranked.iops.median)
