"""A kernel's names of one file: which are there before, which the run makes, and which stand in for others."""

from __future__ import annotations

import os
from pathlib import Path

import kernel_models as km
import numpy as np
import pytest

from wavetank.errors import KernelError
from wavetank.kernel.document.kernel import Kernel, KernelFile, KernelName
from wavetank.kernel.files.file_names import NamePlan, apply_names, with_names
from wavetank.kernel.preparation.input_files import prepare_files, remove_files
from wavetank.model.document.file import FileName, ModelFile
from wavetank.model.document.program import (
    FileStep,
    IrregularOrderStep,
    Program,
    RepeatStep,
    Step,
    given_by_number,
)

MAKE = os.O_CREAT | os.O_WRONLY


def file(name: str, *others: str, number: int = 1, symlinks: tuple[str, ...] = ()) -> ModelFile:
    return km.model_file(number, name, 100).model_copy(
        update={"other_names": tuple(FileName(path=o, symlink=o in symlinks) for o in others)}
    )


def step(call: str, name: int = 0, given: int = 0, number: int = 1) -> FileStep:
    of_call = given_by_number(call, given)
    return FileStep(iop_type=call, file_id=number, handle=0, name=name, **of_call)


def renamed(old: int, new: int, call: str = "rename") -> list[FileStep]:
    return [step(call, old), step(call, new, 1)]


def applied(
    files: list[ModelFile], role: str, *programs: list[Step]
) -> tuple[list[KernelFile], list[Program], list[str]]:
    made = [
        KernelFile(
            file_id=one.file_id, name="x", role=role, prepare_bytes=0 if role == "output" else 100
        )
        for one in files
    ]  # fmt: skip
    ranks = [Program(ranks=(rank,), steps=tuple(steps)) for rank, steps in enumerate(programs)]
    return apply_names(files, made, ranks)


def names(found: KernelFile) -> list[tuple[str, str | None]]:
    return [(found.name, None), *((other.name, other.prepared) for other in found.other_names)]


def test_a_name_that_a_rename_makes_is_not_prepared() -> None:
    steps = [step("open", 1, MAKE), *renamed(1, 0)]
    (found,), programs, told = applied([file("/s/ckpt", "/s/tmp")], "output", steps)
    assert names(found) == [("ckpt", None), ("tmp", None)]
    assert [one.name for one in programs[0].steps] == [1, 1, 0]  # type: ignore[union-attr]
    assert told == []


def test_an_input_that_is_renamed_is_prepared_under_its_first_name_and_made_again_each_run() -> (
    None
):
    steps = [step("open", 1), *renamed(1, 0), RepeatStep(times=2, steps=(step("open"),))]
    (found,), programs, _ = applied([file("/s/new", "/s/old")], "input", steps)
    assert names(found) == [("old", None), ("new", None)]
    assert found.role == "both"
    first, *_, last = programs[0].steps
    assert isinstance(first, FileStep) and isinstance(last, RepeatStep)
    assert first.name == 0
    assert [one.name for one in last.steps] == [1]  # type: ignore[union-attr]


def test_links_of_inputs_are_prepared_as_links() -> None:
    one = file("/s/a", "/s/b", "/s/c", symlinks=("/s/c",))
    (found,), _, _ = applied([one], "input", [step("open"), step("open", 1), step("open", 2)])
    assert names(found) == [("a", None), ("b", "link"), ("c", "symlink")]
    assert found.role == "input"


def test_a_symbolic_link_that_waits_for_its_file_is_prepared() -> None:
    one = file("/s/out", "/s/latest", symlinks=("/s/latest",))
    (found,), _, _ = applied([one], "output", [step("open", 0, MAKE), step("open", 1)])
    assert names(found) == [("out", None), ("latest", "symlink")]


def test_a_name_that_no_step_makes_has_the_one_that_made_the_file_stand_in() -> None:
    one = file("/mnt1/x", "/mnt2/x")
    (found,), programs, told = applied([one], "output", [step("open")], [step("open", 1, MAKE)])
    assert names(found) == [("mnt2-x", None)]
    assert [program.steps[0].name for program in programs] == [0, 0]  # type: ignore[union-attr]
    assert told == [
        "/mnt2/x goes by /mnt1/x too, and no traced call made that name: the replay uses the first one throughout."
    ]


def test_files_that_had_one_name_after_another_share_it_below_the_root() -> None:
    files = [file("/s/state"), file("/s/state", "/s/new", number=2)]
    steps = [step("open"), step("open", 1, MAKE, number=2)]
    steps += [step("rename", 1, number=2), step("rename", 0, 1, number=2)]
    (before, after), _, _ = applied(files, "output", steps)
    assert (names(before), names(after)) == ([("state", None)], [("state", None), ("new", None)])


def kernel_of(tmp_path: Path, *files: KernelFile) -> Kernel:
    from wavetank.kernel.construction.from_model import make_kernel

    made = make_kernel(km.abyss(1000), km.written(km.abyss(1000), tmp_path))
    return made.model_copy(update={"files": files})


def test_prepared_names_are_links_and_others_are_cleared_away(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    linked = KernelFile(
        file_id=1, name="a", role="both", prepare_bytes=300,
        other_names=(
            KernelName(name="b", prepared="link"), KernelName(name="sub/c", prepared="symlink"), KernelName(name="d"),
        ),
    )  # fmt: skip
    replaced = KernelFile(
        file_id=2, name="a", role="output", prepare_bytes=0, other_names=(KernelName(name="e"),)
    )
    (root / "sub").mkdir()
    kernel = kernel_of(tmp_path, linked, replaced)
    prepare_files(kernel, root)
    before = (root / "a").read_bytes()
    assert (root / "a").samefile(root / "b")
    assert os.readlink(root / "sub" / "c") == "../a"
    # What a run leaves: another file under the name, and a further name.
    (root / "e").write_bytes(b"other")
    (root / "e").replace(root / "a")
    (root / "d").write_bytes(b"made")
    prepare_files(kernel, root)
    assert (root / "a").read_bytes() == (root / "b").read_bytes() == before
    assert not (root / "d").exists()
    remove_files(kernel, root)
    assert [path.name for path in root.iterdir()] == ["sub"] and not any((root / "sub").iterdir())


def test_a_further_name_of_somebody_else_s_is_not_overwritten(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (root / "b").write_text("mine")
    linked = KernelFile(
        file_id=1, name="a", role="input", prepare_bytes=300, other_names=(KernelName(name="b", prepared="link"),)
    )  # fmt: skip
    with pytest.raises(KernelError, match="b exists and was not made by wavetank"):
        prepare_files(kernel_of(tmp_path, linked), root)
    assert (root / "b").read_text() == "mine"


@pytest.mark.parametrize("name", ["../b", "/b", "a/../../b"])
def test_a_further_name_never_leaves_the_root(name: str) -> None:
    with pytest.raises(ValueError, match="not a relative path"):
        KernelName(name=name)


def test_files_of_one_name_whose_folders_were_renamed_lie_side_by_side() -> None:
    # ck.tmp/data is made, its folder becomes ck0; ck.tmp/data is made again, and read as ck1/data.
    files = [file("/s/ck.tmp/data"), file("/s/ck.tmp/data", "/s/ck1/data", number=2)]
    steps = [step("open", 0, MAKE), step("open", 0, MAKE, number=2), step("open", 1, number=2)]
    (first, second), programs, told = applied(files, "output", steps)
    assert len({first.name, second.name}) == 2
    assert [one.name for one in programs[0].steps] == [0, 0, 0]  # type: ignore[union-attr]
    assert len(told) == 1
    # Removed in between, the second one takes the first one's place.
    (first, second), _, _ = applied(files, "output", [steps[0], step("unlink"), *steps[1:]])
    assert first.name == second.name


def test_a_look_at_the_name_that_a_rename_replaces_does_not_make_it_an_alias() -> None:
    # mv looks at its target first; what it sees there is the file before.
    mover: list[Step] = [step("stat", 1), step("stat", 0), *renamed(1, 0)]
    (found,), _, told = applied(
        [file("/s/ck", "/s/ck.tmp")], "output", [step("open", 1, MAKE)], mover
    )
    assert names(found) == [("ck", None), ("ck.tmp", None)]
    assert told == []


def test_a_name_that_is_given_back_by_a_rename_was_there_before() -> None:
    steps = [step("open", 0), *renamed(0, 1), *renamed(1, 0)]
    (found,), _, _ = applied([file("/s/a", "/s/b")], "input", steps)
    assert names(found) == [("a", None), ("b", None)]


def test_calls_that_come_in_no_order_are_made_by_the_kernels_names_too() -> None:
    mix = IrregularOrderStep(
        steps=(step("open", name=0), step("stat", name=2)), order=np.array([0, 1, 0])
    )
    repeat = RepeatStep(times=2, steps=(mix,))
    plan = NamePlan(order=(0, 2), prepared={}, of_step=(0, 0, 1), stand_ins=())
    (changed,) = with_names([repeat], {1: plan})
    (inner,) = changed.steps
    assert [one.name for one in inner.steps] == [0, 1]
    assert inner.order.tolist() == [0, 1, 0]
