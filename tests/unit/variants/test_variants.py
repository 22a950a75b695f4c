"""Variants move the same bytes, in the same order where the knob is not about order, and say what they change."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernel_models import (
    MPI_CREATE_RDWR,
    O_RDONLY,
    abyss,
    at_random,
    btio,
    file_per_process,
    irregular,
    linear,
    listed,
    member,
    model,
    model_file,
    phase,
    read_write_three_times,
    written,
)
from variant_bytes import bytes_in_order, performed

from wavetank.errors import KernelError, UsageError
from wavetank.kernel.construction.from_model import make_kernel
from wavetank.kernel.lowering.kernel_hash import kernel_hash
from wavetank.kernel.lowering.plan_text import lower
from wavetank.model.document.access_runs import RunArrays
from wavetank.model.document.phase import Run
from wavetank.model.document.program import DataStep, FileStep, PauseStep, Program, RepeatStep
from wavetank.model.document.step_walks import flat
from wavetank.variants.base import DoesNotApplyError
from wavetank.variants.certificate import certify
from wavetank.variants.ignored import ignored_hints
from wavetank.variants.make import make_variant, make_variants
from wavetank.variants.registry import knob, knob_names
from wavetank.variants.request_size import _joined

HINTS = ("collective-buffering", "collective-buffer", "aggregators", "data-sieving")


@pytest.fixture
def kernel_of(tmp_path):
    return lambda made: make_kernel(made, written(made, tmp_path))


def independent(n_ranks=4, rs=512, count=6, call="MPI_File_write_at", **more):
    """Each rank writes its own contiguous part of one file by independent MPI-IO calls; then all read it so."""
    ranks = tuple(range(n_ranks))
    reading = call.replace("write", "read")
    phases = [
        phase(1, 1, ranks, count, [member(call, rs, rs)], [linear(a=rs * count, b=rs)], **more),
        phase(2, 1, ranks, count, [member(reading, rs, rs)], [linear(a=rs * count, b=rs)], **more),
    ]
    steps = (
        FileStep(iop_type="MPI_File_open", file_id=1, handle=0, mpi_mode=MPI_CREATE_RDWR),
        DataStep(ph_id=1, n=count),
        FileStep(iop_type="MPI_File_sync", file_id=1, handle=0),
        DataStep(ph_id=2, n=count),
        FileStep(iop_type="MPI_File_close", file_id=1, handle=0),
    )
    return model(
        n_ranks, [model_file(1, "/s/shared", rs * count * n_ranks)], phases,
        [Program(ranks=ranks, steps=steps)], name="independent",
    )  # fmt: skip


MODELS = {
    "abyss": lambda: abyss(size=5000, rs=81),
    "btio": lambda: btio(steps=3, rs=96, piece=48),
    "fpp": lambda: file_per_process(rs=64),
    "rw3": lambda: read_write_three_times(rs=16),
    "irregular": irregular,
    "random": lambda: at_random(n=32, rs=16, n_ranks=2),
    "random-mpi": lambda: at_random(n=32, rs=16, n_ranks=2, calls=("MPI_File_write_at", "MPI_File_read_at")),
    "independent": independent,
}  # fmt: skip


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize(
    "setting", [*HINTS, "collective-calls", "request-size=1KiB", "request-size=200"]
)
def test_every_rank_moves_the_same_bytes_in_the_same_order(kernel_of, name, setting):
    base = kernel_of(MODELS[name]())
    for made in make_variants(base, (setting,)).kernels:
        assert bytes_in_order(made) == bytes_in_order(base)
        assert [step for step, _ in unrolled(made, "open")] == [
            step for step, _ in unrolled(base, "open")
        ]
        assert made.variant.calls == sum(map(len, performed(base).values()))
        assert made.variant.new_calls == sum(map(len, performed(made).values()))
        assert {file.regions for file in made.variant.files} <= {"equal"}
        assert kernel_hash(made) != kernel_hash(base)
        lower(made)


def unrolled(kernel, name):
    return [
        (step.iop_type, times)
        for program in kernel.programs
        for step, times in flat(program.steps)
        if isinstance(step, FileStep) and name in step.iop_type
    ]


def test_every_knob_applies_to_some_model_and_not_to_another(kernel_of):
    kernels = [kernel_of(made()) for made in MODELS.values()]
    kernels.append(kernel_of(btio(steps=2, rs=96, piece=48)))
    kernels.append(kernel_of(through_views()))
    for name in knob_names():
        applies = {bool(make_variants(kernel, (name,)).kernels) for kernel in kernels}
        assert applies == {True, False}, name


def through_views():
    """btio's file, by independent calls through the same views."""
    made = btio(steps=2, rs=96, piece=48)
    return made.model_copy(
        update={
            "phases": tuple(
                one.model_copy(
                    update={
                        "collective": False,
                        "pattern": tuple(
                            each.model_copy(update={"iop_type": each.iop_type.replace("_all", "")})
                            for each in one.pattern
                        ),
                    }
                )
                for one in made.phases
            )
        }
    )


@pytest.mark.parametrize(
    ("setting", "hints"),
    [
        ("collective-buffering=on", {"romio_cb_read": "enable", "romio_cb_write": "enable"}),
        ("collective-buffering=off", {"romio_cb_read": "disable", "romio_cb_write": "disable"}),
        ("collective-buffer=4MiB", {"cb_buffer_size": "4194304"}),
        ("aggregators=2", {"cb_nodes": "2", "cb_config_list": "*:*"}),
        ("aggregators=all", {"cb_nodes": "4", "cb_config_list": "*:*"}),
    ],
)
def test_hints_are_given_at_every_open_and_nothing_else_changes(kernel_of, setting, hints):
    base = kernel_of(btio(steps=2, rs=96, piece=48))
    made = make_variant(base, setting)
    opens = [
        step
        for program in made.programs
        for step, _ in flat(program.steps)
        if isinstance(step, FileStep) and step.iop_type == "MPI_File_open"
    ]
    assert opens and all(dict(made.infos[step.info_id]) == hints for step in opens)
    assert set(made.variant.hints) == set(hints)
    assert made.phases == base.phases and made.files == base.files
    assert made.variant.phases == ()
    lines = zip(
        lower(base).splitlines(),
        lower(made).replace(info_line(made), "").splitlines(),
        strict=False,
    )
    assert all(one == other or "MPI_File_open" in one for one, other in lines)


def info_line(kernel):
    return next(line + "\n" for line in lower(kernel).splitlines() if line.startswith("info "))


def test_hints_of_the_application_stay_beside_the_new_one(kernel_of):
    base = kernel_of(btio(steps=1, rs=96, piece=48))
    first = make_variant(base, "aggregators=2").model_copy(update={"variant": None})
    made = make_variant(first, "collective-buffer=1MiB")
    assert {"cb_nodes": "2", "cb_config_list": "*:*", "cb_buffer_size": "1048576"} in map(
        dict, made.infos
    )
    assert make_variant(first, "aggregators=1").variant.before == "2"
    with pytest.raises(DoesNotApplyError, match="have these hints already"):
        make_variant(first, "aggregators=2")


def test_data_sieving_is_for_independent_calls_through_views_with_gaps(kernel_of):
    made = make_variant(kernel_of(through_views()), "data-sieving=off")
    assert {"romio_ds_read": "disable", "romio_ds_write": "disable"} in map(dict, made.infos)
    with pytest.raises(DoesNotApplyError, match="file view with gaps"):
        make_variant(kernel_of(independent()), "data-sieving=off")


def test_reads_to_the_end_of_a_file_are_merged_with_their_short_last_one(kernel_of):
    base = kernel_of(abyss(size=1_000_000, rs=8191))
    made = make_variant(base, "request-size=64KiB")
    assert made.variant.words() == "request size 8,191 B -> 65,528 B"
    reads = performed(made)[0]
    assert [asked for *_, asked, _ in reads] == [65_528] * 15 + [3 * 8191]
    assert sum(moved for *_, moved in reads) == 1_000_000
    (changed, _) = made.variant.phases
    assert (changed.ph_ids, changed.calls, changed.new_calls) == ((1,), 123, 16)


def test_requests_with_something_between_them_are_not_merged(kernel_of):
    made = file_per_process(n_ranks=1, rs=64, count=8)
    (program,) = made.programs
    apart = (PauseStep(seconds=0.1), DataStep(ph_id=1, n=1))
    steps = tuple(
        RepeatStep(times=8, steps=apart) if step == DataStep(ph_id=1, n=8) else step
        for step in program.steps
    )
    base = kernel_of(made.model_copy(update={"programs": (Program(ranks=(0,), steps=steps),)}))
    variant = make_variant(base, "request-size=1MiB")
    assert [one.ph_ids for one in variant.variant.phases] == [(2,)]
    assert bytes_in_order(variant) == bytes_in_order(base)


def test_requests_of_a_loop_are_merged_within_its_body(kernel_of):
    made = file_per_process(n_ranks=1, rs=64, count=12)
    (program,) = made.programs
    apart = (PauseStep(seconds=0.1), DataStep(ph_id=1, n=6))
    steps = tuple(
        RepeatStep(times=2, steps=apart) if step == DataStep(ph_id=1, n=12) else step
        for step in program.steps
    )
    base = kernel_of(made.model_copy(update={"programs": (Program(ranks=(0,), steps=steps),)}))
    variant = make_variant(
        base, "request-size=256"
    )  # four of them; the body's six are two times three
    assert [asked for *_, call, _, asked, _ in performed(variant)[0] if call == "write"] == [
        192
    ] * 4
    assert bytes_in_order(variant) == bytes_in_order(base)


runs = st.lists(
    st.tuples(
        st.integers(1, 5), st.sampled_from([0, 1, 3, 8, 40]), st.integers(0, 60),
        st.sampled_from([0, 1, 3, 8, 11, 40]), st.booleans(), st.booleans(),
    ),
    min_size=1, max_size=8,
)  # fmt: skip


@given(runs, st.sampled_from([1, 8, 16, 24]))
def test_merged_lists_of_requests_move_the_same_bytes_in_order(rows, size):
    count, sizes, moved, offset, disp = [], [], [], [], []
    end = 0
    for n, rs, at, step, goes_on, short in rows:
        count.append(n)
        sizes.append(rs)
        moved.append(n * rs - (rs // 2 if short else 0))
        offset.append(end if goes_on else at)
        disp.append(step if n > 1 else 0)
        end = offset[-1] + (n - 1) * disp[-1] + rs
    before = RunArrays(
        *(np.array(each, dtype=np.int64) for each in (count, sizes, moved, offset, disp))
    )
    after = _joined(before, size)
    assert _bytes(after) == _bytes(before)
    assert int(after.count.sum()) <= int(before.count.sum())
    assert all(rs <= max(size, *sizes) for rs in after.size.tolist())


def _bytes(of):
    return [
        position
        for count, rs, moved, offset, disp in zip(
            *(each.tolist() for each in (of.count, of.size, of.moved, of.offset, of.disp)),
            strict=True,
        )
        for n in range(count)
        for position in range(
            offset + n * disp,
            offset + n * disp + (rs if n < count - 1 else moved - (count - 1) * rs),
        )
    ]


def test_independent_calls_become_collective_where_all_openers_make_them(kernel_of):
    made = make_variant(kernel_of(independent()), "collective-calls")
    assert {call for ours in performed(made).values() for _, _, call, *_ in ours} == {
        "MPI_File_write_at_all",
        "MPI_File_read_at_all",
    }
    assert all(one.collective for one in made.phases)
    assert made.variant.setting == "collective-calls=on"
    assert made.variant.calls == made.variant.new_calls


def test_calls_of_some_openers_only_stay_independent(kernel_of):
    made = independent()
    first = made.phases[0].model_copy(update={"ph_processid": (0, 1, 2), "ph_np": 3})
    (program,) = made.programs
    without = tuple(step for step in program.steps if step != DataStep(ph_id=1, n=6))
    base = kernel_of(
        made.model_copy(
            update={
                "phases": (first, made.phases[1]),
                "programs": (
                    Program(ranks=(0, 1, 2), steps=program.steps),
                    Program(ranks=(3,), steps=without),
                ),
            }
        )
    )
    variant = make_variant(base, "collective-calls")
    assert [one.ph_ids for one in variant.variant.phases] == [(2,)]
    assert "1 of them do not make these calls" in variant.variant.notes[0]


def test_posix_calls_have_a_reason_for_each_mpi_knob(kernel_of):
    found = make_variants(kernel_of(read_write_three_times()))
    assert found.kernels == ()
    reasons = dict(found.refused)
    assert list(reasons) == knob_names()
    assert all(reasons.values())
    assert "alternate" in reasons["request-size"]


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("aggregator=1", "there is no knob 'aggregator'"),
        ("aggregators=-1", "takes a number of ranks"),
        ("aggregators=", "names no knob and value"),
        ("aggregators", "write for example aggregators=1"),
        ("request-size=much", "takes a size"),
        ("request-size=2GiB", "takes a size up to 1GiB"),
        ("collective-buffer=0", "takes a size from 1B"),
        ("collective-buffering=yes", "takes on or off"),
        ("data-sieving=1", "takes on or off"),
        ("collective-calls=off", "takes on"),
    ],
)
def test_wrong_settings_say_what_is_right(kernel_of, setting, message):
    with pytest.raises(UsageError, match=message):
        make_variant(kernel_of(btio(steps=1)), setting)


def test_a_kernel_that_moves_other_bytes_gets_no_certificate(kernel_of):
    base = kernel_of(independent())
    turned = knob("request-size").turned(base, "1KiB")
    first = turned.kernel.phases[0]
    moved = first.model_copy(update={"offset": (linear(a=3072, b=1024, c=512),)})
    wrong = turned.kernel.model_copy(update={"phases": (moved, *turned.kernel.phases[1:])})
    with pytest.raises(KernelError, match="same bytes of shared"):
        certify(base, "request size", "x", type(turned)(wrong, "a", "b"))
    smaller = first.model_copy(
        update={"pattern": (first.pattern[0].model_copy(update={"rs": 512}),)}
    )
    wrong = turned.kernel.model_copy(update={"phases": (smaller, *turned.kernel.phases[1:])})
    with pytest.raises(KernelError, match="moves"):
        certify(base, "request size", "x", type(turned)(wrong, "a", "b"))


def test_programs_that_do_not_make_all_calls_get_no_certificate(kernel_of):
    base = kernel_of(file_per_process(rs=64))
    broken = base.model_copy(update={"programs": base.programs[1:]})
    with pytest.raises(KernelError, match="no variant is made"):
        make_variant(broken, "request-size=1KiB")
    found = make_variants(broken, ("request-size=1KiB",))
    assert found.kernels == () and "no variant is made" in found.refused[0][1]


def test_what_open_mpis_library_ignores():
    assert ignored_hints(("romio_cb_write", "cb_nodes", "cb_config_list"), "ompio") == (
        "romio_cb_write",
        "cb_config_list",
    )
    assert ignored_hints(("romio_cb_write",), "romio") == ()


def test_ranks_whose_lists_merge_differently_stay(kernel_of):
    def of(offsets):
        return tuple(Run(count=1, rs=10, offset=at, disp=0, moved=10) for at in offsets)

    lists = listed(of((0, 10, 50, 70)), of((100, 120, 140, 160)))
    one = phase(1, 1, (0, 1), 4, [member("pread", 10)], [lists], 80)
    steps = (
        FileStep(iop_type="open", file_id=1, handle=0, flags=O_RDONLY),
        DataStep(ph_id=1, n=4),
        FileStep(iop_type="close", file_id=1, handle=0),
    )
    made = model(2, [model_file(1, "/s/in", 200, 200)], [one], [Program(ranks=(0, 1), steps=steps)])
    with pytest.raises(DoesNotApplyError, match="different numbers of requests"):
        make_variant(kernel_of(made), "request-size=1MiB")
