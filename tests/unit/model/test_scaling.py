"""Fields as functions of the process count, and models of runs that never were."""

from __future__ import annotations

from fractions import Fraction

import pytest
from applications import bt_io, madbench2, s3d_io
from fold_builder import PROVENANCE, Event, model_of

from wavetank.errors import ModelError
from wavetank.model.difference import compare_models
from wavetank.model.extrapolate import extrapolate
from wavetank.model.scaling import fit_function, fit_models


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({4: 7, 9: 7}, "7"),
        ({4: 4, 9: 9, 16: 16}, "np"),
        ({4: 9, 9: 19, 16: 33}, "2 * np + 1"),
        ({4: 900, 9: 400, 16: 225}, "3600 / np"),
        ({4: 20, 9: 30, 16: 40}, "10 * sqrt(np)"),
        ({2: 10, 4: 5}, "20 / np"),
    ],
)
def test_the_simplest_exact_function_is_found(values: dict[int, int], text: str) -> None:
    function = fit_function(values)
    assert str(function) == text
    assert function is not None
    assert all(function(n) == value for n, value in values.items())


def test_what_no_function_gives_exactly_is_not_fitted() -> None:
    assert fit_function({4: 900, 9: 401, 16: 225}) is None
    assert fit_function({2: 10, 4: 13}) is None  # two points lie on every line


def test_bt_io_request_size_is_the_step_over_np() -> None:
    fit = fit_models(
        [model_of(events, views=views) for events, views in (bt_io(102, n) for n in (4, 9, 16))]
    )
    step = 102**3 * 40
    # At np 16 the grid does not divide, so that ranks differ: their mean is what scales.
    assert str(fit.function(1, "rs")) == f"{step} / np"
    assert str(fit.function(41, "ph_nrep")) == "40"
    assert str(fit.function(41, "ph_weight")) == str(40 * step)
    assert str(fit.function(None, "app_st")) == str(80 * step)


def test_bt_io_at_36_processes_from_4_9_and_16() -> None:
    fit = fit_models(
        [model_of(events, views=views) for events, views in (bt_io(102, n) for n in (4, 9, 16))]
    )
    model = extrapolate(fit, 36, PROVENANCE)
    events, views = bt_io(102, 36)
    traced = model_of(events, views=views)
    # P15 table V, class B, np 36: the same phases, bytes and capacity as the run itself has.
    assert [p.ph_nrep for p in model.phases] == [p.ph_nrep for p in traced.phases]
    assert [p.ph_weight for p in model.phases] == [p.ph_weight for p in traced.phases]
    assert [p.pattern[0].rs for p in model.phases] == [102**3 * 40 // 36] * 41
    assert [p.ph_processid for p in model.phases] == [p.ph_processid for p in traced.phases]
    assert model.requirements.storage_capacity_bytes == traced.requirements.storage_capacity_bytes
    assert [one.ph_ids for one in model.series] == [tuple(range(1, 41))]
    assert model.source == "extrapolated"
    assert any("never traced" in warning for warning in model.warnings)
    assert [w.split(":")[0] for w in model.warnings if "side by side" in w] == ["phases 1-41"]


@pytest.mark.parametrize("application", ["madbench2", "s3d_io"])
def test_an_extrapolated_model_is_the_model_of_the_run_itself(application: str) -> None:
    # The fields that are functions of np: nothing is left to stand in for.
    def events(n: int) -> list[Event]:
        return madbench2(n, 8, 1000) if application == "madbench2" else s3d_io(16, n)

    model = extrapolate(fit_models([model_of(events(n)) for n in (2, 4, 8)]), 16, PROVENANCE)
    result = compare_models(model, model_of(events(16)))
    assert [d for d in result.differences if d.field not in ("file_accessmode",)] == []


def test_runs_with_other_phases_do_not_correspond() -> None:
    with pytest.raises(ModelError, match="do not correspond"):
        fit_models([model_of(madbench2(2, 8, 1000)), model_of(s3d_io(16, 4))])


def test_one_process_count_is_not_enough() -> None:
    with pytest.raises(ModelError, match="two process counts"):
        fit_models([model_of(s3d_io(16, 4))])
    with pytest.raises(ModelError, match="same number of processes"):
        fit_models([model_of(s3d_io(16, 4)), model_of(s3d_io(32, 4))])


def test_a_process_count_at_which_a_field_is_no_whole_number_is_refused() -> None:
    fit = fit_models([model_of(s3d_io(16, n)) for n in (2, 4, 8)])
    assert fit.function(1, "rs") is not None
    with pytest.raises(ModelError, match="no whole number at np 7"):
        extrapolate(fit, 7, PROVENANCE)


def test_a_size_that_follows_no_function_is_refused_by_name() -> None:
    def run(n: int, size: int) -> list[Event]:
        return [Event(r, "pwrite", offset=r * 1000, size=size) for r in range(n)]

    fit = fit_models([model_of(run(n, size)) for n, size in ((2, 10), (3, 100), (4, 11))])
    assert fit.function(1, "rs") is None
    with pytest.raises(ModelError, match="rs of phase 1 is no function"):
        extrapolate(fit, 8, PROVENANCE)


def test_values_are_kept_for_the_table() -> None:
    fit = fit_models([model_of(s3d_io(16, n)) for n in (2, 4)])
    rs = next(field for field in fit.fields if (field.ph_id, field.field) == (1, "rs"))
    total = 16**3 * 16 * 8
    assert rs.values == {2: Fraction(total, 2), 4: Fraction(total, 4)}
