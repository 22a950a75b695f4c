"""Applications that move no data: calls a second stand where rates and IOPS do for others."""

import pytest
from compare_fakes import configuration, of
from test_compare_metrics import described_runs, split_runs

from wavetank.compare.configuration import CallEstimate
from wavetank.compare.decisions import decide, quantity
from wavetank.compare.effects import effects
from wavetank.compare.knobs import Knobs
from wavetank.compare.tables.phases import call_results_table
from wavetank.kernel.results.result import CallRate


def without_data(cluster, times, costs=None):
    """1000 calls, all of the I/O time."""
    each = configuration(cluster, times, costs=costs)
    zeros = of(*[0.0] * len(times))
    per_s = of(*[1000 / time for time in times])
    return each.model_copy(
        update={
            "weight_bytes": 0, "phases": (), "rate_bytes_per_s": zeros, "iops": zeros, "calls_per_s": per_s,
            "calls": (CallEstimate(call="create", n=1000, time_s=of(*times), per_s=per_s),),
        }
    )  # fmt: skip


def with_calls(run, *calls):
    result = run.result.model_copy(
        update={
            "calls": tuple(
                CallRate(call=name, n=n, time_s=time_s, per_s=n / time_s if time_s else None)
                for name, n, time_s in calls
            )
        }
    )
    return run.model_copy(update={"result": result})


def test_calls_a_second_are_of_each_kind_over_all_repetitions():
    # two repetitions of 0.5 s and 1 s of metadata: 100 creates in 0.25 and 0.5 s, 300 stats in the rest
    runs = split_runs((0, 0.5, 0), (0, 1.0, 0))
    runs = [
        with_calls(run, ("create", 100, time_s), ("stat", 300, time_s))
        for run, time_s in zip(runs, (0.25, 0.5), strict=True)
    ]
    each = described_runs(runs)
    assert [(call.call, call.n) for call in each.calls] == [("create", 100), ("stat", 300)]
    assert each.calls[0].per_s.values == pytest.approx((400.0, 200.0))
    assert each.calls_per_s.values == pytest.approx((800.0, 400.0))  # 400 calls in all


def test_a_kind_without_measurable_time_has_no_rate():
    each = described_runs([with_calls(split_runs((0, 0.5, 0))[0], ("close", 5, 0.0))])
    assert each.calls[0].per_s is None
    assert each.calls_per_s.median == pytest.approx(10.0)


def test_results_of_an_earlier_version_tell_no_calls():
    each = described_runs(split_runs((0, 0.5, 0)))
    assert each.calls == () and each.calls_per_s is None


def test_a_change_is_judged_by_calls_a_second_where_no_data_is_moved():
    # 1000 calls in 1 s, then in 0.5 s: +100 %
    pair = [without_data("one", [1.0] * 4), without_data("two", [0.5] * 4)]
    knobs = {name: Knobs({"data servers": name}) for name in ("one", "two")}
    (effect,) = effects(pair, knobs, decide(pair))
    assert effect.rate_change_percent.median == pytest.approx(100.0)
    assert effect.clear


def test_there_is_no_ratio_of_bytes_and_cost_without_bytes():
    each = without_data("one", [1.0] * 4, costs=[2.0] * 4)
    assert quantity(each, "ratio") is None
    assert quantity(each, "cost") is not None and quantity(each, "time") is not None


def test_the_table_of_calls_shows_those_that_take_time():
    slow = without_data("one", [1.0] * 4)
    quick = CallEstimate(call="close", n=1000, time_s=of(0.001), per_s=of(1e6))
    both = slow.model_copy(update={"calls": (*slow.calls, quick)})
    table = call_results_table([both], small=False)
    assert [row["call"] for row in table.records()] == ["create", "close"]
    assert len(table.shown) == 1
    assert "1 kinds of calls" in table.caption
