"""Fields as functions of the process count, and models of runs that never were."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from applications import BT_GRID, bt_io, madbench2, s3d_io
from fold_builder import PROVENANCE, Event, model_of, trace_of

from model_events import unfold
from wavetank.errors import ModelError
from wavetank.model.comparison.difference import compare_models
from wavetank.model.document.model import Boundaries, Model
from wavetank.model.extract import extract_model
from wavetank.model.scaling.extrapolation import extrapolate
from wavetank.model.scaling.fitting import fit_models
from wavetank.model.scaling.functions.process_functions import candidates
from wavetank.model.scaling.name_functions import name_pattern
from wavetank.notes import note, texts
from wavetank.trace.schema import FileView, Trace


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({4: 7, 9: 7}, "7"),
        ({4: 4, 9: 9, 16: 16}, "np"),
        ({4: 9, 9: 19, 16: 33, 25: 51}, "2 * np + 1"),
        ({4: 900, 9: 400, 16: 225}, "3600 / np"),
        ({4: 20, 9: 30, 16: 40}, "10 * sqrt(np)"),
        ({2: 20, 4: 10, 5: 8}, "40 / np"),
    ],
)
def test_the_simplest_exact_function_is_found(values: dict[int, int], text: str) -> None:
    function = candidates(values)[0]
    assert str(function) == text
    assert all(function(n) == value for n, value in values.items())


def test_what_no_function_gives_exactly_is_not_fitted() -> None:
    assert candidates({4: 900, 9: 401, 16: 225}) == ()
    assert candidates({2: 10, 4: 13}) == ()  # two points lie on every line


@pytest.mark.parametrize(
    ("values", "further"),
    [
        ({2: 10, 4: 5}, {10: 2}),  # 20 / np
        ({4: 9, 9: 19, 16: 33}, {25: 51}),  # 2 * np + 1
        ({3: 33, 5: 20}, {7: 14}),  # floor(100 / np)
    ],
)
def test_a_formula_that_one_run_alone_checks_is_no_result(
    values: dict[int, int], further: dict[int, int]
) -> None:
    assert candidates(values) == ()
    assert candidates(values, least_checks=1) != ()
    assert candidates({**values, **further}) != ()


def test_what_one_run_alone_checks_is_neither_offered_nor_extrapolated() -> None:
    # A write of 1000 np + 24 bytes by rank 0: a line, which three runs check once.
    def run(n: int) -> Model:
        size = 1000 * n + 24
        events = [Event(0, "pwrite", 0, 0, size)]
        return model_of([*events, *(Event(r, "pwrite", 1, r * 10, 10) for r in range(n))])

    fit = fit_models([run(n) for n in (2, 3, 4)])
    (field,) = (one for one in fit.fields if (one.ph_id, one.field) == (1, "rs"))
    assert (field.function, [str(one) for one in field.unsure]) == (None, ["1000 * np + 24"])
    made = extrapolate(fit, 8, PROVENANCE)
    assert {p.pattern[0].rs for p in made.phases} == {10}
    assert made.extrapolation is not None
    assert any("trace a further run" in one.reason for one in made.extrapolation.not_extrapolated)
    four = fit_models([run(n) for n in (2, 3, 4, 5)])
    assert str(four.function(1, "rs")) == "1000 * np + 24"
    assert extrapolate(four, 8, PROVENANCE).phases[0].pattern[0].rs == 8024


@pytest.mark.parametrize(
    ("names", "common"),
    [
        (["lu.A.4", "lu.A.16"], "lu.A"),
        (["lu.A.16", "lu.A.12"], "lu.A"),
        (["bt.W.4.x", "bt.W.9.x"], "bt.W"),
        (["prog4", "prog16"], "prog"),
        (["ior", "ior-mpich"], "ior"),
    ],
)
def test_names_that_differ_in_their_ends_are_given_one(names: list[str], common: str) -> None:
    def run(n: int, name: str) -> Model:
        return model_of(madbench2(n, 4, 1000)).model_copy(update={"application": name})

    models = [run(n, name) for n, name in zip((2, 4), names, strict=True)]
    with pytest.raises(ModelError, match=f"--name {common}$"):
        fit_models(models)
    with pytest.raises(ModelError, match=r"Give runs of one program$"):
        fit_models([run(2, "lu.A.4"), run(4, "bt.A.4")])


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


def views_by_rank(model: Model) -> list[list[object]]:
    """The file view of each rank in each phase at MPI-IO level."""
    return [
        [model.views[i] for i in phase.view_ids or [phase.view_id or 0] * phase.ph_np]
        for phase in model.phases
        if phase.offset_view is not None
    ]


TABLE_V = {("B", 25): 1.62, ("B", 36): 1.12, ("C", 36): 4.5}
"""P15 table V (METHOD.md, known answers): request size in MiB, class and np; class B 40 steps of 1.6 GB in all."""


@pytest.mark.parametrize(
    ("bt_class", "steps", "counts"), [("B", 40, (25, 36)), ("C", 4, (36,))]
)  # class C's full grid and views; its steps are alike
def test_bt_io_at_25_and_36_processes_from_4_9_and_16_is_the_run_itself(
    bt_class: str, steps: int, counts: tuple[int, ...]
) -> None:
    grid = BT_GRID[bt_class]

    def model(n: int) -> Model:
        events, views = bt_io(grid, n, steps)
        return model_of(events, views=views)

    fit = fit_models([model(n) for n in (4, 9, 16)])
    for n in counts:
        made, traced = extrapolate(fit, n, PROVENANCE), model(n)
        assert compare_models(made, traced).differences == ()
        assert [p.offset for p in made.phases] == [p.offset for p in traced.phases]
        assert views_by_rank(made) == views_by_rank(traced)
        # writes of one repetition, and a read of as many; each step is the whole grid of five doubles a point
        assert [(p.ph_nrep, p.ph_weight) for p in made.phases] == [
            *[(1, grid**3 * 40)] * steps,
            (steps, steps * grid**3 * 40),
        ]
        assert made.requirements.storage_capacity_bytes == steps * grid**3 * 40
        assert made.app_st == 2 * steps * grid**3 * 40
        assert [one.ph_ids for one in made.series] == [tuple(range(1, steps + 1))]
        if (bt_class, n) in TABLE_V:
            mean = made.phases[0].ph_weight / n / 2**20
            assert mean == pytest.approx(TABLE_V[bt_class, n], abs=0.011)
        assert made.source == "extrapolated"
        assert made.extrapolation is not None
        assert made.extrapolation.traced_np == (4, 9, 16)
        assert made.extrapolation.not_extrapolated == ()
        assert any("never traced" in warning for warning in texts(made.notes))


def test_how_blocks_are_divided_is_not_guessed() -> None:
    # 12 divides by 2, 3 and 4: that NPB's first blocks are the longer ones shows at 5 only, and not at 6.
    runs = [bt_io(12, n, steps=2) for n in (4, 9, 16)]
    fit = fit_models([model_of(events, views=views) for events, views in runs])
    assert extrapolate(fit, 36, PROVENANCE).extrapolation.not_extrapolated == ()  # type: ignore[union-attr]
    with pytest.raises(ModelError, match="do not tell how 5 parts are made"):
        extrapolate(fit, 25, PROVENANCE)


def test_a_process_count_that_makes_no_square_grid_is_refused() -> None:
    runs = [bt_io(12, n, steps=2) for n in (4, 9, 16)]
    fit = fit_models([model_of(events, views=views) for events, views in runs])
    with pytest.raises(ModelError, match="np is no square"):
        extrapolate(fit, 30, PROVENANCE)


def test_a_rank_that_does_more_still_has_its_place_among_the_others() -> None:
    # As NPB's own BT: rank 0 reads an input file, and so follows a program of its own.
    def run(n: int) -> tuple[list[Event], tuple[FileView, ...]]:
        events, views = bt_io(10, n, steps=2)
        read = [Event(0, "open", 1), Event(0, "read", 1, 0, 80), Event(0, "close", 1)]
        return [*read, *events], views

    fit = fit_models([model_of(e, views=v) for e, v in map(run, (4, 9, 16))])
    made = extrapolate(fit, 25, PROVENANCE)
    events, views = run(25)
    traced = model_of(events, views=views)
    assert compare_models(made, traced).differences == ()
    assert views_by_rank(made) == views_by_rank(traced)


def test_a_line_through_a_single_ranks_values_is_not_taken_where_others_follow_none() -> None:
    # Rank 0 has 4400, 2800 and 2000 bytes of 22 columns: 9600 / q - 400 by chance, for 11, 7 and 5 is 24 / q - 1.
    def run(n: int, sizes: list[int]) -> list[Event]:
        head = [Event(0, "pread", 1, 0, 10)]
        return head + [Event(r, "pwrite", 0, r * 10**6, size) for r, size in enumerate(sizes)]

    sizes = {4: [4400, 4000, 4100, 4300], 9: [2800, *range(2501, 2509)], 16: [2000, *range(1801, 1816)]}  # fmt: skip
    fit = fit_models([model_of(run(n, sizes[n])) for n in (4, 9, 16)])
    made = extrapolate(fit, 64, PROVENANCE)
    assert all("pwrite" not in phase.pattern[0].iop_type for phase in made.phases)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"application": "other"}, "different programs"),
        ({"notes": (note("unfinished", "ranks", "rank 3 is cut short"),)}, "np 4 is not whole"),
        ({"source": "extrapolated"}, "np 4 is extrapolated itself"),
        (
            {"boundaries": Boundaries(split_at_communication={}, split_at_computation_s=1, similarity=None)},
            "different rules",
        ),
    ],
)  # fmt: skip
def test_runs_that_cannot_be_fitted_together_are_refused(
    change: dict[str, object], message: str
) -> None:
    one, other = (model_of(s3d_io(16, n)) for n in (2, 4))
    with pytest.raises(ModelError, match=message):
        fit_models([one, other.model_copy(update=change)])


@pytest.mark.parametrize("application", ["madbench2", "s3d_io"])
def test_an_extrapolated_model_is_the_model_of_the_run_itself(application: str) -> None:
    # The fields that are functions of np: nothing is left to stand in for.
    def events(n: int) -> list[Event]:
        return madbench2(n, 8, 1000) if application == "madbench2" else s3d_io(16, n)

    model = extrapolate(fit_models([model_of(events(n)) for n in (2, 4, 8)]), 16, PROVENANCE)
    result = compare_models(model, model_of(events(16)))
    assert [d for d in result.differences if d.field not in ("file_accessmode",)] == []


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
    with pytest.raises(
        ModelError,
        match="phase 1: rs: no function that wavetank knows gives 10 at np 2, 100 at np 3",
    ):
        extrapolate(fit, 8, PROVENANCE)


def ior_file_per_process(n: int, blocks: int = 8) -> Trace:
    """IOR -F: each rank writes a file of its own, named by its number in eight digits, and reads it back."""
    events = [
        event
        for rank in range(n)
        for handle, op in enumerate(("pwrite", "pread"))
        for event in (
            Event(rank, "open", rank, handle=handle),
            *(Event(rank, op, rank, i * 1000, 1000, handle=handle) for i in range(blocks)),
            Event(rank, "close", rank, handle=handle),
        )
    ]
    return trace_of(events, paths=[f"/scratch/testFile.{rank:08d}" for rank in range(n)])


def model_of_trace(trace: Trace) -> Model:
    return extract_model(trace, PROVENANCE)


def test_a_file_for_each_process_is_a_function_of_the_rank() -> None:
    fit = fit_models([model_of_trace(ior_file_per_process(n)) for n in (2, 4, 8)])
    assert str(fit.function(None, "app_nfiles")) == "np"
    assert [str(pattern) for pattern in fit.families.values()] == ["/scratch/testFile.{rank:08d}"]
    model = extrapolate(fit, 16, PROVENANCE)
    run = model_of_trace(ior_file_per_process(16))
    assert compare_models(model, run).differences == ()
    assert [file.file_name for file in model.files] == [file.file_name for file in run.files]
    assert model.requirements.storage_capacity_bytes == 16 * 8 * 1000
    # Every rank follows a program of its own, on its own file.
    assert [program.ranks for program in model.programs] == [(rank,) for rank in range(16)]


def test_an_extrapolated_file_per_process_model_holds_together() -> None:
    fit = fit_models([model_of_trace(ior_file_per_process(n)) for n in (2, 4)])
    model = extrapolate(fit, 100, PROVENANCE)
    again = Model.model_validate_json(model.model_dump_json())
    events = list(unfold(again.programs, again.phases, 99))
    assert [e.iop_type for e in events].count("pwrite") == 8
    assert {again.files[e.file_id - 1].file_name for e in events} == {"/scratch/testFile.00000099"}


@pytest.mark.parametrize(
    ("names", "pattern"),
    [
        ({0: "a.0", 1: "a.1", 5: "a.5"}, "a.{rank}"),
        ({0: "out/1/part007", 3: "out/4/part010"}, "out/{rank+1}/part{rank+7:03d}"),
        ({0: "a.9", 1: "a.10"}, "a.{rank+9}"),
        ({0: "a.3", 1: "a.1", 2: "a.4"}, None),
        ({0: "a", 1: "b"}, None),
    ],
)
def test_names_are_functions_of_the_rank_or_none(
    names: dict[int, str], pattern: str | None
) -> None:
    found = name_pattern(names)
    assert (None if found is None else str(found)) == pattern
    if found is not None:
        assert {rank: found.of(rank) for rank in names} == names


def test_groups_of_ranks_scale_with_the_processes() -> None:
    # The even ranks write blocks of a file, rank 0 alone a header in another.
    def run(n: int) -> list[Event]:
        return [
            Event(0, "pwrite", 0, size=64),
            *(Event(r, "pwrite", 1, r * 500, 1000) for r in range(0, n, 2)),
            *(Event(r, "pread", 1, 0, 10) for r in range(1, n, 2)),
        ]

    model = extrapolate(fit_models([model_of(run(n)) for n in (4, 8, 12)]), 32, PROVENANCE)
    assert [
        d
        for d in compare_models(model, model_of(run(32))).differences
        if d.field != "file_accessmode"
    ] == []


@pytest.mark.parametrize(
    "names",
    [lambda n, r: f"tmp-{'abcdefgh'[(r * 3 + n) % 8]}", lambda n, r: f"tmp-{(r * r + n) % 7}"],
)
def test_files_that_follow_no_function_are_left_out_and_the_rest_is_there(
    names: Callable[[int, int], str],
) -> None:
    # Every rank writes a file of a name without a rule, and its block of a shared one.
    def run(n: int) -> Model:
        events = [
            event
            for rank in range(n)
            for event in (
                Event(rank, "pwrite", rank + 1, 0, 50),
                Event(rank, "pwrite", 0, rank * 100, 100, handle=1),
            )
        ]
        paths = ["/d/shared", *(f"/d/{names(n, rank)}-{rank}" for rank in range(n))]
        return model_of_trace(trace_of(events, paths=paths))

    made = extrapolate(fit_models([run(n) for n in (2, 3, 5)]), 8, PROVENANCE)
    assert [file.file_name for file in made.files] == ["/d/shared"]
    assert made.app_st == 800
    assert made.extrapolation is not None
    missing = made.extrapolation.not_extrapolated
    assert missing
    assert all(one.what.startswith("the I/O on tmp-") for one in missing)


def test_few_ranks_do_the_same_at_every_process_count() -> None:
    # As ABYSS-P: ranks 0 and 1 read a file each, whatever np; at np 2 there is no other rank.
    def run(n: int) -> list[Event]:
        reads = [Event(r, "pread", r, i * 8191, 8191) for r in (0, 1) for i in range(20)]
        return [*reads, *(Event(r, "MPI_Barrier", -1) for r in range(n))]

    def model(n: int) -> Model:
        return model_of_trace(trace_of(run(n), n_ranks=n))

    made = extrapolate(fit_models([model(n) for n in (2, 3, 4)]), 16, PROVENANCE)
    assert made.n_ranks == 16
    assert [(phase.ph_processid, phase.ph_nrep) for phase in made.phases] == [
        ((0,), 20),
        ((1,), 20),
    ]
    assert compare_models(made, model(16)).differences == ()
