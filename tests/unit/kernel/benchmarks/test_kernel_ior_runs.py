"""IOR lines that run one after another: what they read is there, random offsets, and what IOR would refuse."""

from pathlib import Path

import kernel_models as km
import numpy as np
import pytest

from wavetank.kernel.benchmarks.ior import parse_command
from wavetank.kernel.benchmarks.random_groups import lie_at_random
from wavetank.kernel.construction.from_model import make_kernel
from wavetank.kernel.document.kernel import IorLine, Kernel
from wavetank.kernel.fidelity.benchmark_certificate import ior_fidelity
from wavetank.model.document.model import Model
from wavetank.model.document.phase import Run
from wavetank.notes import texts


def kernel_of(model: Model, folder: Path, version: str = "4.0", *, exact: bool = False) -> Kernel:
    return make_kernel(model, km.written(model, folder), version, approximate=not exact)


def all_lines(kernel: Kernel) -> list[str]:
    return [command for line in kernel.ior for command in (line.before, line.command) if command]


def runs_through(lines: list[str]) -> None:
    """Play the lines as IOR does: a write removes the file, a read past a file's end is an error."""
    size: dict[str, int] = {}
    for command in lines:
        ior = parse_command(command)
        for name, extent in ior.extents().items():
            if ior.write:
                size[name] = extent
            else:
                assert size.get(name, 0) >= extent, command


def header_and_rest() -> Model:
    """8 bytes are written at 0 of a file that is there; then 100 MiB of it are read."""
    write = km.phase(1, 1, (0,), 1, [km.member("pwrite", 8)], [km.linear()])
    read = km.phase(2, 1, (0,), 100, [km.member("pread", 1 << 20, 1 << 20)], [km.linear(b=1 << 20)])
    file = km.model_file(1, "/s/f", 100 << 20, 100 << 20)
    return km.model(1, [file], [write, read], [])


@pytest.mark.parametrize(
    "model",
    [km.abyss(100_000), km.btio(3), km.file_per_process(3), km.read_write_three_times(), km.irregular(),
     km.at_random(), km.at_random(n_ranks=3, before=1 << 20, calls=("pread", "pwrite")), header_and_rest()],
    ids=["abyss", "btio", "file per process", "read and write", "irregular", "random", "random input", "header"],
)  # fmt: skip
@pytest.mark.parametrize("exact", [True, False])
def test_the_lines_run_one_after_another_in_an_empty_directory(tmp_path, model, exact):
    runs_through(all_lines(kernel_of(model, tmp_path, exact=exact)))


def test_a_read_of_more_than_a_line_before_left_has_its_file_made(tmp_path):
    write, read = kernel_of(header_and_rest(), tmp_path, exact=True).ior
    assert write.before is None
    assert read.before is not None
    made = parse_command(read.before)
    assert (made.write, made.fsync, made.extents()) == (True, True, {"f": 100 << 20})
    assert any("made by the line before it" in sentence for sentence in texts(read.not_reproduced))


def test_what_a_line_before_wrote_is_not_made_again(tmp_path):
    assert all(line.before is None for line in kernel_of(km.file_per_process(3), tmp_path).ior)


def random_lines(folder: Path, version: str = "4.0", **model: object) -> list[IorLine]:
    return list(kernel_of(km.at_random(**model), folder, version).ior)  # type: ignore[arg-type]


def test_random_places_are_written_and_read_with_the_same_seed(tmp_path):
    write, read = random_lines(tmp_path)
    for line in (write, read):
        assert " -z --random-offset-seed=1 " in line.command
        ior = parse_command(line.command)
        # one block of all 64 operations: IOR refuses -z with one transfer in a block
        assert (ior.random, ior.segments, ior.block, ior.transfer) == (True, 1, 64 * 4096, 4096)
        assert any("each place of the first 262144 bytes once" in said for said in texts(line.not_reproduced))  # fmt: skip


def test_random_places_are_refused_unless_approximate_is_asked_for(tmp_path):
    kernel = kernel_of(km.at_random(), tmp_path, exact=True)
    assert kernel.ior == () and "irregular" in kernel.ior_refused[0].reason


def test_ranks_that_share_a_file_at_random_are_said_to_differ_in_number(tmp_path):
    write, _ = random_lines(tmp_path, n_ranks=3)
    assert parse_command(write.command).extents() == {"data": 3 * 64 * 4096}
    assert any("tasks make different numbers of operations" in said for said in texts(write.not_reproduced))  # fmt: skip


@pytest.mark.parametrize("version", ["3.3", "2.10"])
def test_versions_without_a_seed_are_not_given_one(tmp_path, version):
    write, _ = random_lines(tmp_path, version)
    assert " -z -o data" in write.command
    assert any(
        f"IOR {version} has no option for the seed" in str(note) for note in write.not_reproduced
    )


def test_random_collective_calls_stay_in_order_and_say_so(tmp_path):
    """IOR: random offset not available with collective MPIIO."""
    model = km.at_random(calls=("MPI_File_write_at_all",), n_ranks=2)
    together = [one.model_copy(update={"collective": True}) for one in model.phases]
    (line,) = kernel_of(model.model_copy(update={"phases": tuple(together)}), tmp_path).ior
    assert "-z" not in line.command.split()
    assert any("IOR has no random collective calls" in said for said in texts(line.not_reproduced))


@pytest.mark.parametrize("exact", [True, False])
def test_a_name_that_ior_would_part_is_refused(tmp_path, exact):
    one = km.phase(1, 1, (0,), 4, [km.member("pwrite", 80, 80)], [km.linear(b=80)])
    model = km.model(1, [km.model_file(1, "/s/user@host", 320)], [one], [])
    kernel = kernel_of(model, tmp_path, exact=exact)
    assert kernel.ior == () and "at which IOR divides names" in kernel.ior_refused[0].reason


@pytest.mark.parametrize(
    ("offsets", "random"),
    [
        (km.shuffled(64), True),
        ([at * at for at in range(64)], False),  # irregular, but ever further
        ([0, 100] * 32, False),  # to and fro
        (list(range(64, 0, -1)), False),
        ([5, 1, 3], False),  # too few to say
    ],
)
def test_places_are_random_where_steps_differ_and_lead_back(offsets, random):
    assert lie_at_random(np.array(offsets, dtype=np.int64)) is random


def apart(
    model: Model, *, files: bool, starts_s: tuple[float, ...] = (0.0, 0.5, 1.0), tick: int = 0
) -> Model:
    """The first phase of a model at random, each rank's part as a phase of its own."""
    (phase, *_) = model.phases
    phases = []
    for rank in phase.ph_processid:
        (listed,) = phase.offset
        phases.append(
            km.phase(
                rank + 1, rank + 1 if files else 1, (rank,), phase.ph_nrep, list(phase.pattern),
                [type(listed).of([listed.of_rank(rank)])],
                start_s=starts_s[rank], end_s=starts_s[rank] + 1.0, tick_first=tick, tick_last=tick,
            )
        )  # fmt: skip
    names = [
        km.model_file(rank + 1, f"/s/data.{rank}", 1 << 20) for rank in range(3 if files else 1)
    ]
    return model.model_copy(update={"phases": tuple(phases), "files": tuple(names), "programs": ()})


@pytest.mark.parametrize("files", [False, True], ids=["one file", "a file for each"])
def test_ranks_at_random_at_the_same_time_are_one_line(tmp_path, files):
    kernel = kernel_of(apart(km.at_random(n_ranks=3), files=files), tmp_path)
    (line,) = kernel.ior
    ior = parse_command(line.command)
    assert line.ph_ids == (1, 2, 3)
    assert (ior.n_tasks, ior.random, ior.file_per_process) == (3, True, files)
    (row,) = ior_fidelity(kernel, kernel.phases)
    assert row.model.operations == row.kernel.operations == 3 * 64


def test_ranks_at_random_between_the_same_barriers_are_one_line(tmp_path):
    model = apart(km.at_random(n_ranks=3), files=False, starts_s=(0.0, 2.0, 4.0), tick=5)
    assert [line.ph_ids for line in kernel_of(model, tmp_path).ior] == [(1, 2, 3)]


def test_ranks_at_random_one_after_another_are_lines_of_their_own(tmp_path):
    model = apart(km.at_random(n_ranks=3), files=False, starts_s=(0.0, 2.0, 4.0))
    assert [line.ph_ids for line in kernel_of(model, tmp_path).ior] == [(1,), (2,), (3,)]


@pytest.mark.parametrize("moved", [0, 8], ids=["as IOR", "elsewhere"])
def test_blocks_of_several_transfers_in_several_segments_are_iors_own_layout(tmp_path, moved):
    # 3 ranks, 2 segments of 3 * 4 transfers of 4096 bytes; ``moved``: rank 2's last block lies further on
    def blocks(rank: int) -> tuple[Run, ...]:
        return tuple(
            Run(count=4, rs=4096, offset=(segment * 3 + rank) * 16384 + moved * segment * (rank == 2),
                disp=4096, moved=16384)
            for segment in range(2)
        )  # fmt: skip

    listed = km.listed(*map(blocks, range(3)))
    one = km.phase(1, 1, (0, 1, 2), 8, [km.member("pwrite", 4096)], [listed])
    kernel = kernel_of(
        km.model(3, [km.model_file(1, "/s/f", 98304)], [one], []), tmp_path, exact=True
    )
    if moved:
        assert kernel.ior == ()
        return
    (line,) = kernel.ior
    ior = parse_command(line.command)
    assert (ior.n_tasks, ior.segments, ior.block, ior.transfer) == (3, 2, 16384, 4096)
    (row,) = ior_fidelity(kernel, kernel.phases)
    assert row.model == row.kernel
    assert not any("Operation" in difference for difference in row.differences)
