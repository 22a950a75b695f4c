"""A file for each process: each byte of the shared file is in one part, and is moved when it was."""

import pytest
from kernel_models import (
    MPI_CREATE_RDWR,
    O_CREAT,
    O_RDWR,
    O_WRONLY,
    abyss,
    at_random,
    btio,
    linear,
    member,
    model,
    model_file,
    phase,
    written,
)
from variant_bytes import performed, places_in_file

from wavetank.kernel.construction.from_model import make_kernel
from wavetank.kernel.lowering.plan_text import lower
from wavetank.model.document.model import View
from wavetank.model.document.program import DataStep, FileStep, Program, given_by_number
from wavetank.model.document.step_walks import flat
from wavetank.variants.base import DoesNotApplyError
from wavetank.variants.make import make_variant


@pytest.fixture
def kernel_of(tmp_path):
    return lambda made: make_kernel(made, written(made, tmp_path))


def shared(calls=("pwrite", "pread"), n_ranks=3, rs=16, count=5, a=80, b=16, before=None, **more):
    """Each rank moves its bytes of one file."""
    ranks = tuple(range(n_ranks))
    mpi = calls[0].startswith("MPI")
    phases = [
        phase(number, 1, ranks, count, [member(call, rs, b)], [linear(a=a, b=b)], **more)
        for number, call in enumerate(calls, 1)
    ]
    opens = "MPI_File_open" if mpi else "open"
    steps = (
        FileStep(
            iop_type=opens,
            file_id=1,
            handle=0,
            **given_by_number(opens, MPI_CREATE_RDWR if mpi else O_RDWR | O_CREAT),
        ),
        *(DataStep(ph_id=one.ph_id, n=count) for one in phases),
        FileStep(iop_type="MPI_File_close" if mpi else "close", file_id=1, handle=0),
    )
    size = a * n_ranks + b * count
    return model(
        n_ranks,
        [model_file(1, "/s/data", size, before)],
        phases,
        [Program(ranks=ranks, steps=steps)],
    )


MODELS = {
    "segments": shared,
    "strided": lambda: shared(a=16, b=48),
    "mpi": lambda: shared(("MPI_File_write_at_all", "MPI_File_read_at_all"), collective=True),
    "random": lambda: at_random(n=16, rs=8, n_ranks=3),
    "input": lambda: shared(("pread",), before=400),
    "views": lambda: btio(steps=3, rs=96, piece=48),
}  # fmt: skip


@pytest.mark.parametrize("name", MODELS)
def test_each_byte_is_in_one_part_at_one_place(kernel_of, name):
    base = kernel_of(MODELS[name]())
    made = make_variant(base, "file-per-process")
    place = {}  # byte of the shared file -> (part, place)
    for rank in range(base.n_ranks):
        old, new = places_in_file(base, rank), places_in_file(made, rank)
        assert len(old) == len(new)
        for (_, was_read, position), (part, reading, there) in zip(old, new, strict=True):
            assert was_read == reading
            assert place.setdefault(position, (part, there)) == (part, there)
    assert len(set(place.values())) == len(place)
    parts = {}
    for part, there in place.values():
        parts.setdefault(part, set()).add(there)
    assert len(parts) == base.n_ranks
    assert all(held == set(range(len(held))) for held in parts.values())  # in sequence
    assert {call for ours in performed(made).values() for _, _, call, *_ in ours} == {
        call for ours in performed(base).values() for _, _, call, *_ in ours
    }
    (file,) = made.variant.files
    assert file.regions == "each byte of it is in one part" and len(file.new_names) == base.n_ranks
    lower(made)


def test_parts_of_an_input_file_are_made_at_their_size(kernel_of):
    made = make_variant(kernel_of(shared(("pread",), before=400)), "file-per-process")
    assert [(file.name, file.role, file.prepare_bytes) for file in made.files] == [
        ("data.0000", "input", 80),
        ("data.0001", "input", 80),
        ("data.0002", "input", 80),
    ]


def test_each_rank_opens_its_mpi_file_alone_and_without_a_view(kernel_of):
    made = make_variant(kernel_of(btio(steps=1, rs=96, piece=48)), "file-per-process")
    steps = [
        (program.ranks, step)
        for program in made.programs
        for step, _ in flat(program.steps)
        if isinstance(step, FileStep)
    ]
    assert all(step.iop_type != "MPI_File_set_view" for _, step in steps)
    opens = [(ranks, step) for ranks, step in steps if step.iop_type == "MPI_File_open"]
    assert all(made.communicators[step.communicator] == ranks for ranks, step in opens)


def test_ranks_that_opened_what_another_made_make_their_own(kernel_of):
    made = shared(("pwrite",))
    (program,) = made.programs
    plain = program.steps[0].model_copy(update={"flags": O_WRONLY})
    programs = (
        Program(ranks=(0,), steps=program.steps),
        Program(ranks=(1, 2), steps=(plain, *program.steps[1:])),
    )
    variant = make_variant(
        kernel_of(made.model_copy(update={"programs": programs})), "file-per-process"
    )
    opens = [
        step.flags
        for program in variant.programs
        for step, _ in flat(program.steps)
        if isinstance(step, FileStep) and step.iop_type == "open"
    ]
    assert len(opens) == 3 and all(flags & O_CREAT for flags in opens)


def with_step(name):
    made = shared()
    (program,) = made.programs
    more = FileStep(iop_type=name, file_id=1, handle=0, **given_by_number(name, 100))
    steps = (*program.steps[:-1], more, program.steps[-1])
    return made.model_copy(update={"programs": (Program(ranks=program.ranks, steps=steps),)})


def with_view(offsets):
    made = btio(steps=1, rs=96, piece=48, n_ranks=3)
    views = tuple(
        View(displacement=0, etype_size=8, extent=144, run_offsets=(at,), run_lengths=(48,)) for at in offsets
    )  # fmt: skip
    return made.model_copy(update={"views": views})


def reading_of_others():
    """Rank r reads behind what it wrote."""
    made = shared(a=200)
    after = made.phases[1].model_copy(update={"offset": (linear(a=200, b=16, c=80),)})
    return made.model_copy(update={"phases": (made.phases[0], after)})


@pytest.mark.parametrize(
    ("made", "reason"),
    [
        (abyss, "no two ranks move bytes of one file"),
        (lambda: shared(a=0), "several ranks move the same bytes"),
        (lambda: shared(a=8), "several ranks move the same bytes"),
        (lambda: with_step("ftruncate"), "a call of ftruncate on it"),
        (lambda: with_view((0, 24, 48)), "overlap"),
        (reading_of_others, "did not write"),
    ],
)
def test_a_file_that_ranks_need_together_stays_shared(kernel_of, made, reason):
    with pytest.raises(DoesNotApplyError, match=reason):
        make_variant(kernel_of(made()), "file-per-process")


def test_what_readers_of_the_parts_must_do_is_said(kernel_of):
    made = make_variant(kernel_of(shared()), "file-per-process")
    assert made.variant.words() == "files 1 shared -> 3, one for each process"
    assert "read the parts" in made.variant.notes[0]
