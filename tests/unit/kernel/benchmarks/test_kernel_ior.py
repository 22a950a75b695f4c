"""The IOR lines of P15 (tables II, VII and IX), P16 and P18."""

from pathlib import Path

import kernel_models as km
import pytest

from wavetank.kernel.benchmarks.ior import parse_command
from wavetank.kernel.construction.from_model import make_kernel
from wavetank.kernel.document.kernel import Kernel
from wavetank.model.document.model import Model
from wavetank.notes import texts

# method, section 2: the files that ABYSS-P reads in P16 and P18
ABYSS_FILE = 17_496_014_848


def kernel_of(
    model: Model, folder: Path, version: str = "4.0", *, approximate: bool = False
) -> Kernel:
    return make_kernel(model, km.written(model, folder), version, approximate)


def test_abyss_gets_the_papers_line_for_each_file(tmp_path):
    kernel = kernel_of(km.abyss(ABYSS_FILE), tmp_path)
    assert len(kernel.ior) == 2
    for line, name in zip(kernel.ior, ("reads1.fastq", "reads2.fastq"), strict=True):
        # P16, P18: -r -N 1 -a POSIX -b 17496014848 -t 8192 -k
        assert line.command.startswith("mpirun -np 1 ior -r -N 1 -a POSIX ")
        assert "-b 17496014848 -t 8192 -k" in line.command
        assert line.command.endswith(f"-o {name}")


def test_abyss_lines_say_what_they_round_and_that_they_run_together(tmp_path):
    line = kernel_of(km.abyss(ABYSS_FILE), tmp_path).ior[0]
    text = " ".join(texts(line.not_reproduced))
    assert "Request size 8191 becomes 8192" in text
    # 17496014848 / 8191 = 2136004.7: 2136005 reads; 17496014848 / 8192 = 2135744 exactly
    assert "Operations: 2136005 become 2135744" in text
    assert "Bytes:" not in text  # the papers' file is a multiple of 8192
    assert "at the same time" in text


def test_a_file_that_is_no_multiple_of_the_transfer_is_read_to_the_last_whole_one(tmp_path):
    line = kernel_of(km.abyss(1_000_000), tmp_path).ior[0]
    assert (
        parse_command(line.command).block == 122 * 8192
    )  # 122 * 8192 = 999424 <= 1000000 < 123 * 8192
    assert any(
        sentence.startswith("Bytes: 1000000 become 999424")
        for sentence in texts(line.not_reproduced)
    )


@pytest.mark.parametrize(
    ("np", "megabytes"),
    # P15 table VII, s = rep = 40: class B 4 to 36, class C 4 to 36 (as its table V prints them)
    [(4, 10.0), (9, 4.5), (16, 2.5), (25, 1.62), (36, 1.12), (4, 40.55), (9, 18.0), (16, 10.14), (25, 6.49), (36, 4.5)],
)  # fmt: skip
def test_bt_io_gets_the_parameters_of_p15_table_vii(tmp_path, np, megabytes):
    rs = round(megabytes * 1_000_000)
    rs -= rs % 8
    kernel = kernel_of(km.btio(40, rs, rs, np), tmp_path)
    writes, reads = (parse_command(line.command) for line in kernel.ior)
    assert (writes.n_tasks, writes.segments, writes.block, writes.transfer) == (np, 40, rs, rs)
    assert (reads.n_tasks, reads.segments, reads.block, reads.transfer) == (np, 40, rs, rs)
    assert writes.write and not reads.write and writes.collective and writes.api == "MPIIO"
    assert kernel.ior[0].ph_ids == tuple(range(1, 41)) and kernel.ior[1].ph_ids == (41,)


@pytest.mark.parametrize(
    ("np", "megabytes"), [(8, 122), (16, 61), (32, 30.5), (8, 977), (16, 488), (32, 244)]
)
def test_s3d_io_gets_the_parameters_of_p15_table_ix(tmp_path, np, megabytes):
    rs = int(megabytes * 1_000_000)
    ranks = tuple(range(np))
    phases = [
        km.phase(i, i, ranks, 1, [km.member("MPI_File_write_all", rs)], [km.linear(a=rs)], collective=True)
        for i in range(1, 6)
    ]  # fmt: skip
    files = [km.model_file(i, f"/s/pressure_wave_test.{i}.field.nc", np * rs) for i in range(1, 6)]
    kernel = kernel_of(km.model(np, files, phases, []), tmp_path)
    assert len(kernel.ior) == 5
    for line in kernel.ior:
        ior = parse_command(line.command)
        # s = rep = 1, b = t = rs
        assert (ior.n_tasks, ior.segments, ior.block, ior.transfer) == (np, 1, rs, rs)


def test_strided_and_shared_that_ior_lays_out_the_same_differs_in_nothing_but_its_surroundings(
    tmp_path,
):
    rs, np, rep = 262144, 4, 16  # IOR's own strided pattern
    one = km.phase(
        1,
        1,
        tuple(range(np)),
        rep,
        [km.member("pwrite", rs, np * rs)],
        [km.linear(a=rs, b=np * rs)],
    )
    kernel = kernel_of(
        km.model(np, [km.model_file(1, "/s/shared", rep * np * rs)], [one], []), tmp_path
    )
    (line,) = kernel.ior
    assert texts(line.not_reproduced) == ("Pauses between operations are left out.",)
    assert "-F" not in line.command.split()


def test_sequential_and_unique_is_one_line_with_a_file_per_process(tmp_path):
    kernel = kernel_of(km.file_per_process(4, 65536, 8), tmp_path)
    assert [parse_command(line.command).file_per_process for line in kernel.ior] == [True, True]
    ior = parse_command(kernel.ior[0].command)
    # P15 table II: -s 1, -b weight/np, -t rs, -F
    assert (ior.n_tasks, ior.segments, ior.block, ior.transfer) == (4, 1, 8 * 65536, 65536)


@pytest.mark.parametrize(
    ("names", "told", "renamed"),
    [
        (["f3.00000000", "f3.00000001", "f3.00000002"], "f3", False),  # -o f3 -F: f3.%08d of the task
        (["out.2-.00000000", "out.2-.00000001", "out.2-.00000002"], "out.2-", False),
        (["f3.00000001", "f3.00000002", "f3.00000003"], "f", True),  # no task 0
        (["f3.00000000", "f3.00000002", "f3.00000001"], "f", True),  # not the tasks' order
        (["f3.0", "f3.1", "f3.2"], "f", True),
        (["a3.00000000", "b3.00000001", "c3.00000002"], "a3.00000000", True),
    ],
)  # fmt: skip
def test_files_that_ior_named_keep_their_name(tmp_path, names, told, renamed):
    made = km.file_per_process(len(names))
    files = tuple(
        file.model_copy(update={"file_name": f"/scratch/{name}"})
        for file, name in zip(made.files, names, strict=True)
    )
    kernel = kernel_of(made.model_copy(update={"files": files}), tmp_path)
    for line in kernel.ior:
        assert line.command.endswith(f" -o {told}")
        said = [
            text
            for text in texts(line.not_reproduced)
            if text.startswith("The files are named by IOR")
        ]
        assert len(said) == renamed


def test_only_ranks_that_do_io_count(tmp_path):
    one = km.phase(1, 1, (2, 5), 4, [km.member("pwrite", 80, 80)], [km.linear(a=1000, b=80)])
    made = km.model(8, [km.model_file(1, "/s/f", 9000)], [one], [])
    kernel = kernel_of(made, tmp_path, approximate=True)
    assert parse_command(kernel.ior[0].command).n_tasks == 2
    assert any(
        "application's are 2, 5" in sentence for sentence in texts(kernel.ior[0].not_reproduced)
    )


@pytest.mark.parametrize(
    ("made", "reason"),
    [(km.read_write_three_times(), "mixes operations"), (km.irregular(), "irregular")],
)
def test_what_ior_cannot_say_is_refused_with_the_reason(tmp_path, made, reason):
    kernel = kernel_of(made, tmp_path)
    assert kernel.ior == ()
    assert reason in kernel.ior_refused[0].reason


def test_ranks_that_do_different_numbers_of_operations_are_refused(tmp_path):
    from wavetank.model.document.phase import ListedOffsets

    listed = ListedOffsets(
        n_runs=[1, 1], count=[4, 3], rs=8, offset=[0, 99], disp=8
    )  # fmt: skip
    one = km.phase(1, 1, (0, 1), 4, [km.member("pwrite", 8, 8)], [listed], 56)
    kernel = kernel_of(km.model(2, [km.model_file(1, "/s/f", 200)], [one], []), tmp_path)
    assert "different numbers" in kernel.ior_refused[0].reason


def test_a_file_that_the_application_syncs_is_synced_by_ior(tmp_path):
    writing, reading = kernel_of(
        km.file_per_process(4), tmp_path
    ).ior  # it has an fsync after its writes
    assert " -k -e " in writing.command and "-e" not in reading.command.split()
    assert any("cache of the same node" in sentence for sentence in texts(reading.not_reproduced))
    assert all("-e" not in line.command.split() for line in kernel_of(km.btio(2), tmp_path).ior)


def test_offsets_through_a_view_are_refused_unless_approximate_is_asked_for(tmp_path):
    made = km.btio(3)
    assert kernel_of(made, tmp_path).ior == ()
    assert "layout does not have" in kernel_of(made, tmp_path).ior_refused[0].reason
    asked = kernel_of(made, tmp_path, approximate=True)
    assert asked.ior_refused == ()
    assert all(
        texts(line.not_reproduced)[0].startswith("Approximate, because") for line in asked.ior
    )


def test_a_mixed_phase_becomes_a_line_of_writes_and_one_of_reads(tmp_path):
    kernel = kernel_of(km.read_write_three_times(), tmp_path, approximate=True)
    phase = kernel.phases[0]
    lines = [parse_command(line.command) for line in kernel.ior]
    assert sorted(line.write for line in lines) == [False, True]
    for line, member in zip(lines, phase.pattern, strict=True):
        # three operations of the member's size on each rank, in a block of its own
        assert line.transfer == -(-member.rs // 8) * 8
        assert line.block == 3 * line.transfer
    assert {line.ph_ids for line in kernel.ior} == {(phase.ph_id,)}
    assert any(
        "in turns" in sentence for line in kernel.ior for sentence in texts(line.not_reproduced)
    )


def test_irregular_operations_become_their_mean_and_the_differences_are_counted(tmp_path):
    from wavetank.model.document.phase import ListedOffsets

    # rank 0: 100 and 300 bytes, rank 1: 200 bytes twice and 224: 1024 bytes in 5 operations
    listed = ListedOffsets(
        n_runs=[2, 2],
        count=[1, 1, 2, 1],
        rs=[100, 300, 200, 224],
        offset=[0, 900, 0, 7],
        disp=[0, 0, 500, 0],
    )
    one = km.phase(1, 1, (0, 1), 3, [km.member("pwrite", 100, None)], [listed], 1024)
    made = km.model(2, [km.model_file(1, "/s/f", 1200)], [one], [])
    (line,) = kernel_of(made, tmp_path, approximate=True).ior
    ior = parse_command(line.command)
    # mean: 1024 / 5 = 204.8, up to a multiple of 8: 208; 5 operations on 2 ranks: 2.5, rounded to 2 each
    assert (ior.transfer, ior.block, ior.n_tasks) == (208, 2 * 208, 2)
    assert "Operations: 5 become 4 (-20.000 %)." in texts(line.not_reproduced)
    # 4 * 208 = 832 of 1024 bytes
    assert "Bytes: 1024 become 832 (-18.750 %)." in texts(line.not_reproduced)
    assert "Request size 100 to 300 becomes 208." in texts(line.not_reproduced)


@pytest.mark.parametrize("version", ["4.0", "2.10"])
def test_a_file_of_mpi_io_is_named_with_its_directory(tmp_path, version):
    """Open MPI 4.1 opens no shared file by a name without one (MPI_ERR_OTHER; IOR and fs_test fail)."""
    kernel = kernel_of(km.btio(4), tmp_path, version, approximate=True)
    assert kernel.ior
    assert all(line.command.endswith(" -o ./btio.full.out") for line in kernel.ior)
    assert {parse_command(line.command).file for line in kernel.ior} == {"btio.full.out"}
