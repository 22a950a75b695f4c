"""Ranks that disagree on collective operations are refused, whatever the folding of their programs."""

from __future__ import annotations

import random
import re
from pathlib import Path

import kernel_models as km
import pytest

from wavetank.errors import KernelError
from wavetank.kernel.construction.from_model import make_kernel
from wavetank.kernel.document import calls
from wavetank.kernel.document.kernel import Kernel
from wavetank.kernel.lowering.collectives import disagreements, require_agreement
from wavetank.kernel.lowering.sequences import (
    Folded,
    beginning,
    first_difference,
    joined,
    one,
    repeated,
    word_at,
)
from wavetank.model.document.program import DataStep, FileStep, Program, RepeatStep, Step, SyncStep

BARRIER = SyncStep(communicator=0)
EVERYONE = (0, 1, 2, 3)


def kernel_of(made, folder: Path) -> Kernel:
    return make_kernel(made, km.written(made, folder))


def barriers(folder: Path, *of_rank: tuple[Step, ...], communicators=((0, 1),)) -> Kernel:
    """A kernel of ranks that only synchronise."""
    kernel = kernel_of(km.btio(1, n_ranks=len(of_rank)), folder)
    programs = tuple(Program(ranks=(rank,), steps=steps) for rank, steps in enumerate(of_rank))
    return kernel.model_copy(update={"programs": programs, "communicators": communicators})


@pytest.mark.parametrize("n_ranks", [3, 4])
def test_programs_that_agree_are_let_through(tmp_path, n_ranks):
    for made in (
        km.btio(5, n_ranks=n_ranks),
        km.abyss(n_ranks=n_ranks),
        km.file_per_process(n_ranks),
    ):
        require_agreement(kernel_of(made, tmp_path))


def test_a_barrier_too_many_is_named_with_communicator_rank_and_place(tmp_path):
    kernel = kernel_of(km.btio(2, n_ranks=4), tmp_path)
    longer = kernel.programs[2].model_copy(update={"steps": (*kernel.programs[2].steps, BARRIER)})
    programs = (*kernel.programs[:2], longer, kernel.programs[3])
    # open, set_view, 2 x (write, barrier), close, open, set_view, 2 reads, close: 12 operations
    assert list(disagreements(kernel.model_copy(update={"programs": programs}))) == [
        "the ranks disagree on the collective operations of communicator 0 (ranks 0-3), and would wait for each other "
        "for ever: operation 13 is rank 0's end of its program, and rank 2's barrier. Make the kernel again from a "
        "trace of the whole run, or mend its programs"
    ]


def test_another_operation_is_named_with_its_file(tmp_path):
    kernel = kernel_of(km.btio(3, n_ranks=2), tmp_path)
    steps = list(kernel.programs[1].steps)
    at = next(i for i, step in enumerate(steps) if isinstance(step, DataStep))
    steps[at] = FileStep(iop_type="MPI_File_sync", file_id=1, handle=0)
    programs = (kernel.programs[0], Program(ranks=(1,), steps=tuple(steps)))
    with pytest.raises(KernelError) as raised:
        require_agreement(kernel.model_copy(update={"programs": programs}))
    assert (
        "operation 3 is rank 0's MPI_File_write_at_all of btio.full.out, and rank 1's MPI_File_sync "
        "of btio.full.out" in str(raised.value)
    )


def test_a_rank_without_a_program_misses_what_the_others_wait_for(tmp_path):
    kernel = barriers(tmp_path, (BARRIER,), (BARRIER,))
    programs = (kernel.programs[0],)
    (found,) = disagreements(kernel.model_copy(update={"programs": programs}))
    assert "operation 1 is rank 0's barrier, and rank 1's end of its program" in found


def test_a_file_on_a_communicator_without_the_rank_is_named(tmp_path):
    kernel = kernel_of(km.btio(1, n_ranks=2), tmp_path)
    found = list(disagreements(kernel.model_copy(update={"communicators": ((0,),)})))
    assert found == [
        "rank 1 performs MPI_File_open of btio.full.out on communicator 0 (ranks 0), which it is not in. "
        "Make the kernel again from a trace of the whole run"
    ]


def test_communicators_are_compared_each_on_its_own(tmp_path):
    pair = SyncStep(communicator=1)
    agreeing = barriers(
        tmp_path, (BARRIER, pair), (BARRIER,), (pair, pair), communicators=((0, 1), (0, 2))
    )
    (found,) = disagreements(agreeing)
    assert (
        "communicator 1 (ranks 0, 2)" in found
        and "operation 2 is rank 0's end of its program" in found
    )


def test_how_often_something_recurs_is_compared_without_unfolding(tmp_path):
    def rounds(times: int) -> tuple[Step, ...]:
        return (RepeatStep(times=times, steps=(BARRIER, SyncStep(communicator=0, count=3))),)

    folded = barriers(tmp_path, rounds(10**9), (SyncStep(communicator=0, count=4 * 10**9),))
    assert list(disagreements(folded)) == []
    (found,) = disagreements(
        barriers(tmp_path, rounds(10**9), (SyncStep(communicator=0, count=4 * 10**9 - 1),))
    )
    assert "operation 4000000000 is rank 0's barrier, and rank 1's end of its program" in found


def test_calls_of_a_pattern_that_steps_cut_apart_are_counted_in_their_order(tmp_path):
    """(write_at_all, read_at_all) x 4: whole on rank 0; by three calls, then five, on rank 1, and in a loop."""
    ranks = (0, 1)
    phase = km.phase(1, 1, ranks, 4, [km.member("MPI_File_write_at_all", 8, 16), km.member("MPI_File_read_at_all", 8, 16)],
                     [km.linear(a=8, b=16), km.linear(a=8, b=16)], collective=True)  # fmt: skip
    opening = FileStep(
        iop_type="MPI_File_open", file_id=1, handle=0, mpi_mode=km.MPI_CREATE_RDWR, communicator=0
    )
    single = DataStep(ph_id=1, n=3, single=True)

    def made(*steps: Step) -> Kernel:
        programs = [
            Program(ranks=(0,), steps=(opening, DataStep(ph_id=1, n=4))),
            Program(ranks=(1,), steps=(opening, *steps)),
        ]
        return kernel_of(
            km.model(2, [km.model_file(1, "/s/f", 64)], [phase], programs, communicators=(ranks,)),
            tmp_path,
        )

    five = single.model_copy(update={"n": 5})
    assert list(disagreements(made(single, five))) == []
    loop = RepeatStep(times=2, steps=(single, single.model_copy(update={"n": 1})))
    assert list(disagreements(made(loop))) == []
    odd = RepeatStep(times=8, steps=(single.model_copy(update={"n": 1}),))
    assert list(disagreements(made(odd))) == []
    (found,) = disagreements(made(single, FileStep(iop_type="MPI_File_sync", file_id=1, handle=0), five))  # fmt: skip
    assert "operation 5 is rank 0's MPI_File_read_at_all of f, and rank 1's MPI_File_sync of f" in found  # fmt: skip


def unfolded(sequence: Folded) -> list[int]:
    if sequence.word:
        return [sequence.word]
    return [word for part in sequence.parts for word in unfolded(part)] * sequence.times


def some(chance: random.Random, depth: int) -> Folded:
    if depth == 0 or chance.random() < 0.3:
        return one(chance.randint(1, 2))
    if chance.random() < 0.5:
        return repeated(some(chance, depth - 1), chance.randint(1, 3))
    return joined(some(chance, depth - 1) for _ in range(chance.randint(1, 3)))


def test_folded_sequences_compare_like_their_words():
    chance = random.Random(7)
    differ = 0
    for _ in range(2000):
        left, right = some(chance, 4), some(chance, 4)
        words, others = unfolded(left), unfolded(right)
        assert left.length == len(words)
        assert [word_at(left, i) for i in range(len(words) + 1)] == [*words, None]
        flat = [joined(one(word) for word in words[:n]).number for n in range(len(words) + 1)]
        assert [beginning(left, n) for n in range(len(words) + 1)] == flat
        found = first_difference(left, right)
        if words == others:
            assert found is None
        else:
            differ += 1
            longest = max(len(words), len(others))
            padded = [list(one) + [0] * (longest - len(one)) for one in (words, others)]
            assert found == next(i for i in range(longest) if padded[0][i] != padded[1][i])
    assert 500 < differ < 2000


def test_what_is_collective_is_what_the_replay_program_says():
    text = (Path(__file__).parents[4] / "native/replay/calls.h").read_text()
    rows = re.findall(r'X\(\w+, "(\w+)", \w+, \w+, \w+, (true|false)\)', text)
    assert len(rows) > 60
    assert {name for name, _ in rows if calls.is_collective(name)} == {
        name for name, collective in rows if collective == "true"
    }
