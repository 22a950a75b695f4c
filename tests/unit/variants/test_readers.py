"""A file that one rank reads, read by several: every byte once, none twice, each rank its own part."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernel_models import abyss, at_random, file_per_process, written
from variant_bytes import bytes_touched, performed

from wavetank.errors import UsageError
from wavetank.kernel.construction.from_model import make_kernel
from wavetank.kernel.lowering.plan_text import lower
from wavetank.measure.mapping import place_ranks
from wavetank.model.document.program import DataStep, FileStep, Program, SyncStep
from wavetank.model.document.step_walks import flat
from wavetank.variants.base import DoesNotApplyError
from wavetank.variants.make import make_variant


@pytest.fixture
def kernel_of(tmp_path):
    return lambda made: make_kernel(made, written(made, tmp_path))


@given(st.integers(700, 3000), st.integers(40, 90), st.integers(2, 4))
def test_every_byte_is_read_once(tmp_path_factory, size, rs, n):
    made = abyss(size=size, rs=rs)
    base = make_kernel(made, written(made, tmp_path_factory.mktemp("k")))
    variant = make_variant(base, f"readers={n}")
    assert bytes_touched(variant) == bytes_touched(base)
    assert variant.variant.calls == variant.variant.new_calls
    for file_id in (1, 2):
        of_ranks = [
            sum(file == file_id for file, *_ in ours)
            for ours in performed(variant).values()
            if ours
        ]
        assert sum(count > 0 for count in of_ranks) == n
        assert max(of_ranks) - min(count for count in of_ranks if count) <= n + 1
    assert null_seeks(variant) == null_seeks(base)
    lower(variant)


def null_seeks(kernel):
    return sum(
        step.null_seeks * times * len(program.ranks)
        for program in kernel.programs
        for step, times in flat(program.steps)
        if isinstance(step, DataStep)
    )


def test_each_reader_opens_and_closes_the_file(kernel_of):
    variant = make_variant(kernel_of(abyss(size=5000, rs=81)), "readers=all")
    for program in variant.programs:
        names = [
            step.iop_type
            for step, _ in flat(program.steps)
            if isinstance(step, FileStep) and step.file_id == 1
        ]
        assert names[0] == "open" and names[-1] == "close"


def test_others_read_where_the_reader_did_between_the_same_barriers(kernel_of):
    made = abyss(size=5000, rs=81)
    barrier = SyncStep(communicator=0)
    programs = tuple(
        Program(ranks=each.ranks, steps=(barrier, *each.steps)) for each in made.programs
    )
    variant = make_variant(kernel_of(made.model_copy(update={"programs": programs})), "readers=all")
    for program in variant.programs:
        kinds = [type(step) for step in program.steps]
        reads = [place for place, kind in enumerate(kinds) if kind is DataStep]
        syncs = [place for place, kind in enumerate(kinds) if kind is SyncStep]
        assert syncs[0] < min(reads) and max(reads) < syncs[1]


@pytest.mark.parametrize(
    ("made", "setting", "reason"),
    [
        (file_per_process, "readers=all", "no input file that one rank alone reads"),
        (lambda: at_random(before=64 * 4096), "readers=all", "it has one rank"),
        (lambda: abyss(size=500, rs=81), "readers=4", "too few for 4 readers"),
        (abyss, "readers=9", "fewer than 9 readers"),
        (lambda: at_random(n_ranks=1, before=64 * 4096, calls=("pread",)).model_copy(update={"n_ranks": 2}),
         "readers=2", "not read from one place on without gaps"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_in_parts_says_why(kernel_of, made, setting, reason):
    with pytest.raises(DoesNotApplyError, match=reason):
        make_variant(kernel_of(made()), setting)


@pytest.mark.parametrize("value", ["1", "none", "0"])
def test_wrong_numbers_of_readers_are_refused(kernel_of, value):
    with pytest.raises(UsageError, match="from 2 on"):
        make_variant(kernel_of(abyss()), f"readers={value}")


def test_ranks_stay_where_they_were(kernel_of):
    base = kernel_of(abyss(size=5000, rs=81))
    variant = make_variant(base, "readers=all")
    nodes = ("c1", "c2")
    assert place_ranks(variant, nodes, "1PxCN") == place_ranks(base, nodes, "1PxCN")
