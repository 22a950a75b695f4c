from pathlib import Path

import kernel_models as km
import pytest

from wavetank.errors import KernelError
from wavetank.kernel.construction.from_model import make_kernel
from wavetank.kernel.document.kernel import Kernel
from wavetank.kernel.files.kernel_files import kernel_files, safe_names
from wavetank.kernel.lowering.plan_text import lower
from wavetank.kernel.ordering.waits import find_waits
from wavetank.model.document.model import Model
from wavetank.model.document.program import DataStep, FileStep, Program, RepeatStep, SyncStep
from wavetank.notes import texts


def kernel_of(model: Model, folder: Path) -> Kernel:
    return make_kernel(model, km.written(model, folder))


def test_files_with_the_same_base_name_stay_apart_and_readable():
    names = safe_names({1: "/data/a/reads.fq", 2: "/data/b/reads.fq", 3: "/data/genome.fa"})
    assert names == {1: "a-reads.fq", 2: "b-reads.fq", 3: "genome.fa"}


@pytest.mark.parametrize(
    "path",
    ["/data/../../etc/passwd", "..", "/", "/data/..", "a/b/../..", "/x/\n", "/x/ ", "/x/ä\0"],
)
def test_no_name_leaves_the_root(path):
    name = safe_names({1: path})[1]
    assert name not in ("", ".", "..") and "/" not in name and "\0" not in name and "\n" not in name


def test_names_that_differ_in_case_only_stay_apart():
    names = safe_names({1: "/a/Out", 2: "/b/out"})
    assert len({name.casefold() for name in names.values()}) == 2


def test_the_same_path_twice_still_gets_two_names():
    names = safe_names({1: "/a/out", 2: "/a/out"})
    assert len(set(names.values())) == 2


def test_a_very_long_name_fits_a_file_system():
    names = safe_names({1: "/" + "x" * 255, 2: "/" + "x" * 254 + "y"})
    assert len(set(names.values())) == 2 and all(
        len(name.encode()) <= 255 for name in names.values()
    )


def test_a_file_that_existed_and_is_read_is_an_input_of_its_size(tmp_path):
    kernel = kernel_of(km.abyss(1000), tmp_path)
    assert [(f.name, f.role, f.prepare_bytes) for f in kernel.files] == [
        ("reads1.fastq", "input", 1000),
        ("reads2.fastq", "input", 1000),
    ]


def test_a_file_that_is_written_before_it_is_read_is_an_output(tmp_path):
    (file,) = kernel_of(km.btio(), tmp_path).files
    assert (file.role, file.prepare_bytes) == ("output", 0)


def test_a_file_that_existed_and_is_read_and_written_is_both(tmp_path):
    (file,) = kernel_of(km.read_write_three_times(4096), tmp_path).files
    assert (file.role, file.prepare_bytes) == ("both", 3 * 4096)


def test_a_file_read_first_whose_size_was_not_recorded_is_as_large_as_its_reads():
    one = km.phase(1, 1, (0,), 3, [km.member("pread", 100, 200)], [km.linear(b=200, c=50)], 260,
                   moved_last=(60,))  # fmt: skip
    (file,) = kernel_files([km.model_file(1, "/f", 9999)], [one], [])
    # offsets 50, 250, 450; the last moves 60 bytes: 450 + 60
    assert (file.role, file.prepare_bytes) == ("input", 510)


def test_a_file_read_through_views_is_as_large_as_their_last_visible_byte(tmp_path):
    made = km.btio(steps=2, rs=960, piece=480, n_ranks=2)
    reading = made.model_copy(
        update={
            "phases": made.phases[-1:],
            "series": (),
            "programs": tuple(p.model_copy(update={"steps": p.steps[-4:]}) for p in made.programs),
        }
    )
    (file,) = kernel_of(reading, tmp_path).files
    # 2 reads of 960 bytes by each of 2 ranks, all of the file: 2 * 960 * 2
    assert (file.role, file.prepare_bytes) == ("input", 3840)


@pytest.mark.parametrize(
    ("before", "flags"),
    [(3165, km.O_WRONLY | km.O_CREAT | km.O_TRUNC), (0, km.O_WRONLY | km.O_CREAT)],
)
def test_what_an_earlier_run_left_of_a_file_is_no_input(before, flags):
    one = km.phase(1, 1, (0,), 1, [km.member("write", 100)], [km.linear()])
    program = Program(
        ranks=(0,), steps=(FileStep(iop_type="open", file_id=1, handle=0, flags=flags),)
    )
    (file,) = kernel_files([km.model_file(1, "/f", 100, before)], [one], [program])
    assert (file.role, file.prepare_bytes) == ("output", 0)


def test_a_replay_of_calls_that_it_performs_as_they_are_is_exact(tmp_path):
    for made in (km.btio(), km.file_per_process(), km.read_write_three_times()):
        assert texts(kernel_of(made, tmp_path).notes) == ()


def test_seeks_whose_place_is_not_kept_are_said(tmp_path):
    (sentence,) = texts(kernel_of(km.abyss(1_000_000), tmp_path).notes)
    # ceil(1000000 / 8191) = 123 reads by each of two ranks, 3 seeks each
    assert sentence.startswith("Seeks that move nothing (738)")


def test_posix_calls_inside_mpi_io_are_left_to_the_library(tmp_path):
    made = km.btio(steps=2)
    inside = km.phase(9, 1, (0,), 2, [km.member("pwrite", 3840, 3840)], [km.linear(b=3840)])
    inside = inside.model_copy(update={"by_library": True})
    program = made.programs[0]
    steps = (*program.steps, DataStep(ph_id=9, n=2))
    made = made.model_copy(
        update={
            "phases": (*made.phases, inside),
            "programs": (program.model_copy(update={"steps": steps}), *made.programs[1:]),
        }
    )
    kernel = kernel_of(made, tmp_path)
    assert [phase.ph_id for phase in kernel.phases] == [1, 2, 3]
    assert "pwrite" not in lower(kernel)


def test_a_call_without_a_replay_is_left_out_and_said(tmp_path):
    made = km.read_write_three_times()
    program = made.programs[0]
    steps = (*program.steps, FileStep(iop_type="lockf", file_id=1, handle=0, count=5))
    made = made.model_copy(update={"programs": (program.model_copy(update={"steps": steps}),)})
    kernel = kernel_of(made, tmp_path)
    assert any(
        sentence.startswith("5 lockf calls are left out") for sentence in texts(kernel.notes)
    )


def test_a_model_without_io_makes_no_kernel(tmp_path):
    made = km.model(2, [], [], [])
    with pytest.raises(KernelError, match="no I/O phase"):
        kernel_of(made, tmp_path)


def test_files_that_no_storage_holds_are_left_out(tmp_path):
    made = km.irregular()
    files = (made.files[0].model_copy(update={"file_name": "/proc/self/statm"}),)
    with pytest.raises(KernelError, match="no I/O phase"):
        kernel_of(made.model_copy(update={"files": files}), tmp_path)


def writer_and_reader(sync: bool, start_of_read_s: float = 2.0) -> Model:
    """Rank 0 writes a file, rank 1 reads it later."""
    written = km.phase(
        1, 1, (0,), 4, [km.member("write", 10, 10)], [km.linear(b=10)], start_s=0.0, end_s=1.0
    )
    read = km.phase(2, 1, (1,), 4, [km.member("read", 10, 10)], [km.linear(b=10)],
                    start_s=start_of_read_s, end_s=start_of_read_s + 1)  # fmt: skip
    between = (SyncStep(communicator=0),) if sync else ()
    flags = km.O_WRONLY | km.O_CREAT
    closing = FileStep(iop_type="close", file_id=1, handle=0)
    programs = [
        Program(ranks=(0,), steps=(FileStep(iop_type="open", file_id=1, handle=0, flags=flags),
                                   DataStep(ph_id=1, n=4), closing, *between)),
        Program(ranks=(1,), steps=(*between, FileStep(iop_type="open", file_id=1, handle=0),
                                   DataStep(ph_id=2, n=4), closing)),
    ]  # fmt: skip
    return km.model(
        2, [km.model_file(1, "/s/out", 40)], [written, read], programs, communicators=((0, 1),)
    )


def test_a_reader_waits_for_a_writer_that_no_collective_orders(tmp_path):
    kernel = kernel_of(writer_and_reader(sync=False), tmp_path)
    lines = [line.split()[:2] for line in lower(kernel).splitlines() if line.startswith(" ")]
    words = [line[0] for line in lines]
    # after the writer's close, before the reader's open
    assert words.index("signal") == words.index("do", words.index("data")) + 1
    assert words[words.index("await") + 1] == "do"
    assert any("wait until the earlier one is done" in sentence for sentence in texts(kernel.notes))


def test_a_collective_between_needs_no_wait(tmp_path):
    assert find_waits(kernel_of(writer_and_reader(sync=True), tmp_path)).number == 0


def test_a_read_that_began_before_the_write_ended_does_not_wait(tmp_path):
    assert find_waits(kernel_of(writer_and_reader(False, 0.5), tmp_path)).number == 0


def test_a_wait_is_never_put_where_the_writer_may_need_the_reader_first(tmp_path):
    """Both ranks open at the start, meet, then rank 0 writes and rank 1 reads: waiting before the open would hang."""
    made = writer_and_reader(sync=False)
    meeting = SyncStep(communicator=0)
    programs = tuple(
        program.model_copy(update={"steps": (program.steps[0], meeting, *program.steps[1:])})
        for program in made.programs
    )
    text = lower(kernel_of(made.model_copy(update={"programs": programs}), tmp_path))
    words = [line.split()[0] for line in text.splitlines() if line.startswith(" ")]
    assert words.index("await") > words.index("sync", words.index("signal"))
    assert words[words.index("await") + 1] == "data"


def test_ranks_that_write_and_read_within_one_open_signal_before_they_wait(tmp_path):
    ranks = (0, 1)
    written = km.phase(
        1,
        1,
        ranks,
        4,
        [km.member("pwrite", 10, 20)],
        [km.linear(a=10, b=20)],
        start_s=0.0,
        end_s=1.0,
    )
    read = km.phase(2, 1, ranks, 4, [km.member("pread", 10, 20)], [km.linear(a=-10, b=20, c=10)],
                    start_s=2.0, end_s=3.0)  # fmt: skip
    flags = km.O_RDWR | km.O_CREAT
    steps = (FileStep(iop_type="open", file_id=1, handle=0, flags=flags), DataStep(ph_id=1, n=4),
             DataStep(ph_id=2, n=4), FileStep(iop_type="close", file_id=1, handle=0))  # fmt: skip
    made = km.model(
        2, [km.model_file(1, "/s/f", 80)], [written, read], [Program(ranks=ranks, steps=steps)]
    )
    words = [
        line.split()[0]
        for line in lower(kernel_of(made, tmp_path)).splitlines()
        if line.startswith(" ")
    ]
    assert words[words.index("do") :] == ["do", "data", "signal", "await", "data", "do"]


def test_a_wait_beside_a_loop_that_meets_other_ranks_is_left_out(tmp_path):
    made = writer_and_reader(sync=False)
    loop = RepeatStep(times=2, steps=(SyncStep(communicator=0), DataStep(ph_id=2, n=2)))
    reader = made.programs[1]
    programs = (made.programs[0], reader.model_copy(update={"steps": (reader.steps[0], loop)}))
    assert (
        find_waits(kernel_of(made.model_copy(update={"programs": programs}), tmp_path)).number == 0
    )


def test_a_request_far_beyond_what_it_moved_asks_for_that_only(tmp_path):
    """Coreutils' cp asks copy_file_range for 2^63 bytes, and gets the file's 300000."""
    ask = 9223372035781033984
    one = km.phase(
        1,
        1,
        (0,),
        1,
        [km.member("copy_file_range", ask)],
        [km.linear()],
        300_000,
        moved_last=(300_000,),
    )
    steps = (FileStep(iop_type="open", file_id=1, handle=0), DataStep(ph_id=1, n=1),
             FileStep(iop_type="copy_file_range", file_id=1, handle=0, size=ask, offset=300_000))  # fmt: skip
    made = km.model(
        1, [km.model_file(1, "/s/big", 300_000, 300_000)], [one], [Program(ranks=(0,), steps=steps)]
    )
    kernel = kernel_of(made, tmp_path)
    text = lower(kernel)
    assert (
        str(ask) not in text
        and "linear 1 300000 0 0 0 300000" in text
        and "empty copy_file_range 1 0 300000 0 1 0" in text
    )
    assert "-b 300000 -t 300000" in kernel.ior[0].command
    assert any(str(ask) in sentence for sentence in texts(kernel.notes))


def test_a_file_that_is_only_looked_at_is_an_input(tmp_path):
    made = km.irregular()
    looked = FileStep(iop_type="stat", file_id=2, handle=0)
    program = made.programs[0]
    made = made.model_copy(
        update={
            "files": (*made.files, km.model_file(2, "/usr/local/bin/python3", 0, 6_000_000)),
            "programs": (program.model_copy(update={"steps": (looked, *program.steps)}),),
        }
    )
    assert [(f.name, f.role, f.prepare_bytes) for f in kernel_of(made, tmp_path).files][1] == (
        "python3",
        "input",
        0,
    )
