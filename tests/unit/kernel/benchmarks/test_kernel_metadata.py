"""Kernels of calls that move no data: directories that are kept, what is in them, and mdtest's lines."""

from __future__ import annotations

import os
from pathlib import Path

import kernel_models as km
import numpy as np
import pytest

from wavetank.errors import KernelError
from wavetank.kernel.construction.from_model import make_kernel
from wavetank.kernel.document.kernel import Kernel, KernelFile, folders_beforehand
from wavetank.kernel.fidelity.certificate import replay_fidelity
from wavetank.kernel.files.tree_names import tree_names
from wavetank.kernel.preparation.input_files import prepare_files, remove_files
from wavetank.model.document.file import ModelFile
from wavetank.model.document.metadata import MetadataCall, MetadataPhase
from wavetank.model.document.model import Model
from wavetank.model.document.program import (
    DataStep,
    FileStep,
    IrregularOrderStep,
    Program,
    RepeatStep,
    Step,
    SyncStep,
    given_by_number,
)
from wavetank.notes import texts

MEET = SyncStep(communicator=0)
FOLDER = os.O_RDONLY | os.O_DIRECTORY


def call(name: str, file_id: int, number: int = 0, count: int = 1, error: int = 0) -> FileStep:
    given = given_by_number(name, number)
    return FileStep(iop_type=name, file_id=file_id, handle=0, count=count, error=error, **given)


def create(file_id: int) -> list[Step]:
    return [call("open", file_id, km.O_CREAT | km.O_WRONLY), call("close", file_id)]


def look(file_id: int) -> list[Step]:
    return [call("open", file_id), call("close", file_id)]


def listing(file_id: int, n_entries: int) -> list[Step]:
    """A directory that is listed to its end; "." and ".." are entries too."""
    return [
        call("open", file_id, FOLDER), call("readdir", file_id, 0, n_entries + 2), call("readdir", file_id, 1),
        call("close", file_id),
    ]  # fmt: skip


def phase(
    md_id: int, name: str, n: int, ranks: tuple[int, ...], objects: str = "files"
) -> MetadataPhase:
    return MetadataPhase(
        md_id=md_id, ranks=ranks, n_calls=n, n_files=n, n_directories=0, n_parents=1, sharing="one", names=(),
        calls=(
            MetadataCall(call=name, objects=objects, n=n, n_objects=n, least=1, most=n, busy_s=None),  # type: ignore[arg-type]
        ),
        tick_first=0, tick_last=0, start_s=None, end_s=None, time_s=None, busy_s=None,
    )  # fmt: skip


def files(paths: list[str], folders: tuple[str, ...] = ()) -> tuple[ModelFile, ...]:
    return tuple(
        km.model_file(number, path, 0).model_copy(update={"n_operations": 0, "directory": path in folders})
        for number, path in enumerate(paths, start=1)
    )  # fmt: skip


def kernel_of(model: Model, tmp_path: Path) -> Kernel:
    return make_kernel(model, km.written(model, tmp_path))


def benchmark(
    tmp_path: Path,
    *,
    own: bool,
    stride: int = 0,
    phases: str = "CTEr",
    folders: int = 1,
    n: int = 4,
) -> Kernel:
    """Two ranks, n files each, as mdtest does it; in some folders of equal numbers."""
    paths = [
        f"/out/run/{f'tree.{rank}' if own else 'tree'}{f'/d{file % folders}' if folders > 1 else ''}/f.{rank}.{file}"
        for rank in range(2)
        for file in range(n)
    ]
    steps = {
        "C": create, "T": lambda file: [call("stat", file)], "E": look, "r": lambda file: [call("unlink", file)],
    }  # fmt: skip
    names = {"C": "create", "T": "stat", "E": "open", "r": "unlink"}
    programs = []
    for rank in range(2):
        made: list[Step] = [MEET]
        for letter in phases:
            of = (rank + "CTEr".index(letter) * stride) % 2
            made += [step for file in range(n) for step in steps[letter](of * n + file + 1)]
            made.append(MEET)
        programs.append(Program(ranks=(rank,), steps=tuple(made)))
    model = km.model(
        files=files(paths), phases=(), programs=tuple(programs), n_ranks=2, communicators=((0, 1),)
    ).model_copy(
        update={
            "metadata": tuple(
                phase(number, names[letter], 2 * n, (0, 1))
                for number, letter in enumerate(phases, start=1)
            ),
        }
    )
    return kernel_of(model, tmp_path)


# --- mdtest ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("how", "options"),
    [
        ({"own": True}, "-n 4 -F -u -C -T -E -r"),
        ({"own": False}, "-n 4 -F -C -T -E -r"),
        ({"own": False, "stride": 1}, "-n 4 -F -C -T -E -r -N 1"),
        ({"own": False, "phases": "CT"}, "-n 4 -F -C -T"),
        # two directories below a third that has no files: leaves of a tree with two branches
        ({"own": True, "folders": 2}, "-n 4 -F -u -b 2 -z 1 -L -C -T -E -r"),
    ],
)
def test_phases_of_equal_numbers_of_files_are_a_line_of_mdtest(tmp_path, how, options):
    kernel = benchmark(tmp_path, **how)
    (line,) = kernel.mdtest
    assert line.command.startswith(f"mpirun -np 2 mdtest {options} -d ./")
    assert line.md_ids == tuple(range(1, len(how.get("phases", "CTEr")) + 1))
    assert not kernel.mdtest_refused


def test_what_is_looked_at_only_must_be_made_by_mdtest_before(tmp_path):
    (line,) = benchmark(tmp_path, own=False, phases="T").mdtest
    assert " -T " in line.command and " -C" not in line.command
    assert any("run the same line with -C" in sentence for sentence in texts(line.not_reproduced))


def data(n: int) -> DataStep:
    return DataStep(ph_id=1, n=n)


@pytest.mark.parametrize(
    ("reads", "is_mdtests"),
    [
        ((data(1),), True),
        ((data(2),), False),
        ((data(1), data(1)), False),
        ((RepeatStep(times=2, steps=(data(1),)),), False),
        ((data(1), MEET, data(1)), False),
    ],
)
def test_mdtest_reads_a_file_by_one_call(tmp_path, reads, is_mdtests):
    # As ABYSS-P: the first of thousands of reads comes before a collective, and the others come after it.
    n = 1 if is_mdtests else 2
    model = km.model(
        2, [km.model_file(number, f"/in/{number}", n * 4096) for number in (1, 2)],
        [km.phase(number, number, (number - 1,), n, [km.member("read", 4096, 4096)], [km.linear(b=4096)]) for number in (1, 2)],
        [
            Program(
                ranks=(number - 1,),
                steps=(MEET, call("open", number), *(as_of(number, step) for step in reads), call("close", number)),
            )
            for number in (1, 2)
        ],
        communicators=((0, 1),),
    ).model_copy(update={"metadata": (phase(1, "open", 2, (0, 1)),)})  # fmt: skip
    lines = [line.command for line in kernel_of(model, tmp_path).mdtest]
    assert ["-e 4096" in line for line in lines] == [True] * is_mdtests


def as_of(ph_id: int, step: Step) -> Step:
    """The same step, of another phase."""
    if isinstance(step, DataStep):
        return step.model_copy(update={"ph_id": ph_id})
    if isinstance(step, RepeatStep):
        return step.model_copy(update={"steps": tuple(as_of(ph_id, one) for one in step.steps)})
    return step


def test_a_phase_of_calls_that_mdtest_does_not_make_is_refused_with_the_reason(tmp_path):
    steps = tuple(step for file in (1, 2, 3) for step in (call("chmod", file, 0o644),))
    model = km.model(
        files=files(["/d/a", "/d/b", "/d/c"]), phases=(), programs=(Program(ranks=(0,), steps=steps),), n_ranks=1
    ).model_copy(update={"metadata": (phase(1, "chmod", 3, (0,)),)})  # fmt: skip
    kernel = kernel_of(model, tmp_path)
    assert not kernel.mdtest
    (refused,) = kernel.mdtest_refused
    assert refused.md_ids == (1,)
    assert refused.reason == "mdtest makes no chmod calls of its own"


def test_ranks_with_different_numbers_of_files_are_refused(tmp_path):
    programs = tuple(
        Program(ranks=(rank,), steps=(MEET, *(call("unlink", file) for file in some), MEET))
        for rank, some in enumerate(([1, 2], [3]))
    )
    model = km.model(
        files=files(["/d/a", "/d/b", "/d/c"]), phases=(), programs=programs, n_ranks=2, communicators=((0, 1),)
    ).model_copy(update={"metadata": (phase(1, "unlink", 3, (0, 1)),)})  # fmt: skip
    (refused,) = kernel_of(model, tmp_path).mdtest_refused
    assert "different numbers" in refused.reason


def test_processes_one_after_another_are_no_tasks_of_mdtest(tmp_path):
    programs = tuple(Program(ranks=(rank,), steps=(call("unlink", rank + 1),)) for rank in range(2))
    model = km.model(files=files(["/d/a", "/d/b"]), phases=(), programs=programs, n_ranks=2)
    model = model.model_copy(update={"metadata": (phase(1, "unlink", 2, (0, 1)),)})
    (refused,) = kernel_of(model, tmp_path).mdtest_refused
    assert "one after another" in refused.reason


# --- directories ----------------------------------------------------------------------------------


def test_files_keep_their_place_in_directories_that_the_kernel_has():
    paths = dict(enumerate(["/home/u/x", "/data/t", "/data/t/a/f", "/data/t/b/f", "/data/other/f"]))
    assert tree_names(paths, {"/data/t", "/data/t/a"}) == {
        0: "x", 1: "t", 2: "t/a/f", 3: "t/b/f", 4: "f",
    }  # fmt: skip


def test_names_that_differ_in_case_only_are_told_apart():
    names = tree_names({0: "/t/f", 1: "/t/F", 2: "/t/f"}, {"/t"})
    assert len({name.casefold() for name in names.values()}) == 3
    assert names[0] == "t/f"


def test_without_data_all_directories_below_the_common_one_are_kept(tmp_path):
    steps = tuple(call("stat", file) for file in (1, 2))
    model = km.model(
        files=files(["/data/a/f", "/data/b/f"]), phases=(), programs=(Program(ranks=(0,), steps=steps),), n_ranks=1
    )  # fmt: skip
    kernel = kernel_of(model, tmp_path)
    assert [file.name for file in kernel.files] == ["a/f", "b/f"]
    assert folders_beforehand(kernel.files) == ["a", "b"]
    assert all(row.exact for row in replay_fidelity(kernel, model))


def test_what_the_run_makes_is_not_there_beforehand():
    made = KernelFile(file_id=1, name="a", role="output", prepare_bytes=0, directory=True)
    inner = KernelFile(file_id=2, name="a/b", role="output", prepare_bytes=0, directory=True)
    file = KernelFile(file_id=3, name="a/b/f", role="output", prepare_bytes=0)
    before = KernelFile(file_id=4, name="t/c", role="input", prepare_bytes=0, directory=True)
    assert folders_beforehand([made, inner, file, before]) == ["t", "t/c"]


def test_a_directory_that_another_rank_makes_is_no_input(tmp_path):
    programs = (
        Program(ranks=(0,), steps=(MEET, call("stat", 1), MEET)),
        Program(ranks=(1,), steps=(call("mkdir", 1, 0o755), MEET, MEET)),
    )
    model = km.model(
        files=files(["/d"], ("/d",)),
        phases=(),
        programs=programs,
        n_ranks=2,
        communicators=((0, 1),),
    )
    kernel = kernel_of(model, tmp_path)
    assert [file.role for file in kernel.files] == ["output"]


def test_a_directory_that_is_removed_first_was_there(tmp_path):
    model = km.model(
        files=files(["/d"], ("/d",)), phases=(), programs=(Program(ranks=(0,), steps=(call("rmdir", 1),)),), n_ranks=1
    )  # fmt: skip
    (file,) = kernel_of(model, tmp_path).files
    assert (file.role, file.directory) == ("both", True)


def tree(tmp_path: Path, steps: list[Step], paths: list[str]) -> Kernel:
    model = km.model(
        files=files(["/t", *paths], ("/t", "/t/sub")), phases=(),
        programs=(Program(ranks=(0,), steps=tuple(steps)),), n_ranks=1,
    )  # fmt: skip
    return kernel_of(model, tmp_path)


def test_entries_without_a_name_are_filled_in_and_said(tmp_path):
    # five entries, of which the run looks at two
    kernel = tree(tmp_path, [*listing(1, 5), call("stat", 2), call("stat", 3)], ["/t/a", "/t/sub"])
    assert [file.entries for file in kernel.files] == [3, 0, 0]
    assert any("3 entries of directories" in sentence for sentence in texts(kernel.notes))


def test_what_the_run_made_or_removed_before_a_listing_is_no_entry_to_fill_in(tmp_path):
    steps = [*create(2), call("unlink", 3), *listing(1, 1)]
    kernel = tree(tmp_path, steps, ["/t/made", "/t/gone"])
    assert [file.entries for file in kernel.files] == [0, 0, 0]
    assert not texts(kernel.notes)


def test_files_that_mpi_made_or_removed_before_a_listing_are_taken_into_account(tmp_path):
    made = [call("MPI_File_open", 2, km.MPI_CREATE_RDWR), call("MPI_File_close", 2)]
    kernel = tree(tmp_path, [*made, *listing(1, 1)], ["/t/made"])
    assert kernel.files[0].entries == 0  # the file that MPI made is the one
    kernel = tree(tmp_path, [call("MPI_File_delete", 2), *listing(1, 1)], ["/t/gone"])
    assert kernel.files[0].entries == 1  # the file that MPI removed is not the one


def test_a_listing_that_is_given_up_says_nothing_about_the_next_one(tmp_path):
    begun = [call("open", 1, FOLDER), call("readdir", 1, 0, 3), call("close", 1)]
    kernel = tree(tmp_path, [*begun, *listing(1, 2)], [])
    assert kernel.files[0].entries == 2


def test_a_listing_that_ends_in_an_irregular_order_begins_anew_each_time(tmp_path):
    """Nine times: five entries are listed, and a file is looked at between some of them."""
    look, one, three, end = call("stat", 2), call("readdir", 1), call("readdir", 1, 0, 3), call("readdir", 1, 1)  # fmt: skip
    mix = IrregularOrderStep(
        steps=(one, look, three, end), order=np.array([0, 1, 0, 0, 1, 1, 0, 2, 3])
    )
    opened = [call("open", 1, FOLDER), mix, call("close", 1)]
    kernel = tree(tmp_path, [RepeatStep(times=9, steps=tuple(opened))], ["/t/a"])
    assert kernel.files[0].entries == 4


def test_directories_and_entries_are_made_and_removed(tmp_path):
    kernel = tree(tmp_path, [*listing(1, 4), call("stat", 2), call("rmdir", 3)], ["/t/a", "/t/sub"])
    root = tmp_path / "root"
    root.mkdir()
    for _ in range(2):  # again, after a run that removed one and one that did not
        prepare_files(kernel, root)
        assert sorted(path.name for path in (root / "t").iterdir()) == [
            "a", "sub", "wavetank-entry-1", "wavetank-entry-2",
        ]  # fmt: skip
        assert (root / "t/sub").is_dir()
        (root / "t/sub").rmdir()
    remove_files(kernel, root)
    assert list(root.iterdir()) == []


def test_somebodys_directory_is_left_alone(tmp_path):
    kernel = tree(tmp_path, listing(1, 0), [])
    root = tmp_path / "root"
    (root / "t").mkdir(parents=True)
    with pytest.raises(KernelError, match="was not made by wavetank"):
        prepare_files(kernel, root)
    assert (root / "t").is_dir()
