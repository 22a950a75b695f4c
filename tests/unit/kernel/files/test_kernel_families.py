"""Kernels of hundreds of files that are used alike: their directories, the replay's text, and mdtest's lines."""

from __future__ import annotations

from pathlib import Path

import kernel_models as km
import pytest
from call_cases import CREATE, N, benchmark, model_of, on
from fold_builder import Event
from plan_reader import read_plan

from wavetank.errors import KernelError
from wavetank.kernel.construction.from_model import make_kernel
from wavetank.kernel.document.kernel import Kernel, KernelMembers, folders_beforehand
from wavetank.kernel.fidelity.certificate import replay_fidelity
from wavetank.kernel.lowering.plan_text import lower
from wavetank.kernel.preparation.input_files import prepare_files, remove_files
from wavetank.model.document.file_members import Visits
from wavetank.model.document.model import Model


def kernel_of(model: Model, tmp_path: Path) -> Kernel:
    return make_kernel(model, km.written(model, tmp_path))


@pytest.mark.parametrize(
    ("how", "options"),
    [
        ({"own": True}, "-F -u -C -T -E -r"),
        ({"own": False}, "-F -C -T -E -r"),
        ({"own": False, "stride": 1}, "-F -C -T -E -r -N 1"),
        ({"own": True, "size": 4096, "makes_tree": True}, "-F -u -C -T -E -r -w 4096"),
    ],
)
@pytest.mark.parametrize("families", [True, False])
def test_files_in_a_family_are_the_same_line_of_mdtest(
    tmp_path: Path, how: dict[str, int], options: str, families: bool
) -> None:
    model = model_of(benchmark(**how), families=families)
    (line,) = kernel_of(model, tmp_path).mdtest
    assert line.command.startswith(f"mpirun -np 2 mdtest -n {N} {options} -d ./")


@pytest.mark.parametrize("n", [5, N])
def test_one_task_with_directories_and_then_files_is_a_line_for_each(
    tmp_path: Path, n: int
) -> None:
    # rmdir comes early and at the end, so that all that lies between is one phase of calls.
    def each(op: str, first: int, arg: int = 0) -> list[Event]:
        return [on(0, op, i, arg=arg) for i in range(first, first + n)]

    events = [
        on(0, "mkdir", 2 * n, arg=0o755),
        *each("mkdir", 0, 0o755),
        *each("stat", 0),
        *each("rmdir", 0),
    ]
    for i in range(n, 2 * n):
        events += [on(0, "open", i, handle=i, arg=CREATE), on(0, "close", i, handle=i)]
    events += [*each("stat", n), *each("unlink", n), on(0, "rmdir", 2 * n)]
    paths = [f"/out/run/{kind}.{i}" for kind in ("dir", "file") for i in range(n)] + ["/out/run"]
    kernel = kernel_of(model_of((events, paths), families=True), tmp_path)
    assert [line.command.split(" -d ")[0] for line in kernel.mdtest] == [
        f"mpirun -np 1 mdtest -n {n} -D -C -T -r", f"mpirun -np 1 mdtest -n {n} -F -C -T -r",
    ]  # fmt: skip
    assert not kernel.mdtest_refused


def test_members_are_in_the_directories_of_the_application(tmp_path: Path) -> None:
    kernel = kernel_of(model_of(benchmark(), families=True), tmp_path)
    (file,) = kernel.files
    names = [name for name, _ in file.stored()]
    assert names[0] == "tree.0/file.0.0"
    assert names[-1] == f"tree.1/file.1.{N - 1}"
    assert folders_beforehand(kernel.files) == ["tree.0", "tree.1"]
    assert all(row.exact for row in replay_fidelity(kernel, model_of(benchmark(), families=True)))


def test_directories_that_the_run_makes_are_not_there_beforehand(tmp_path: Path) -> None:
    model = model_of(benchmark(size=10, makes_tree=True), families=True)
    kernel = kernel_of(model, tmp_path)
    assert {file.name for file in kernel.files if file.directory} == {"tree.0", "tree.1"}
    (family,) = (file for file in kernel.files if file.members is not None)
    assert next(family.stored())[0] == "tree.0/file.0.0"
    assert folders_beforehand(kernel.files) == []


def test_directories_that_are_a_family_hold_the_files_of_others(tmp_path: Path) -> None:
    # each directory is made and gets a file; both are families
    events = [
        event
        for i in range(N)
        for event in (
            on(0, "mkdir", i, arg=0o755),
            on(0, "open", N + i, handle=i, arg=CREATE),
            on(0, "close", N + i, handle=i),
        )
    ]
    paths = [f"/t/dir{i}" for i in range(N)] + [f"/t/dir{i}/f{i}" for i in range(N)]
    kernel = kernel_of(model_of((events, paths), families=True), tmp_path)
    stored = [[name for name, _ in file.stored()] for file in kernel.files]
    assert [len(names) for names in stored] == [N, N]
    assert stored[1][3] == f"{stored[0][3]}/f3"
    assert folders_beforehand(kernel.files) == []


@pytest.mark.parametrize("first", ["stat", "open"])
def test_files_that_were_there_are_made_where_they_were(tmp_path: Path, first: str) -> None:
    # Two ranks look at files of their own, and write them anew later: none made the other's.
    events = []
    for rank in range(2):
        mine = range(rank * N, (rank + 1) * N)
        for file in mine:
            look = [on(rank, "stat", file)]
            if first == "open":
                look = [on(rank, "open", file, handle=file), on(rank, "close", file, handle=file)]
            events += look
        for file in mine:
            events += [
                on(rank, "open", file, handle=2 * N + file, arg=CREATE),
                on(rank, "close", file, handle=2 * N + file),
            ]
    paths = [f"/set/{rank}/f{i}" for rank in range(2) for i in range(N)]
    kernel = kernel_of(model_of((events, paths), families=True), tmp_path)
    (file,) = kernel.files
    assert file.is_prepared
    root = tmp_path / "root"
    root.mkdir()
    for _ in range(2):
        prepare_files(kernel, root)
        assert sum(path.is_file() for path in (root / "1").iterdir()) == N
    remove_files(kernel, root)
    assert list(root.iterdir()) == []


def test_a_plan_names_to_each_rank_the_members_that_it_visits(tmp_path: Path) -> None:
    plan = read_plan(lower(kernel_of(model_of(benchmark(), families=True), tmp_path)))
    (members,) = plan.members.values()
    assert (members.n, members.in_tree) == (2 * N, True)
    for rank, visits in members.visits.items():
        assert visits.names == [(f"tree.{rank}/file.{rank}.{i}",) for i in range(N)]
        assert visits.order.tolist() == [*range(N)] * 4


def test_members_of_a_plan_in_another_order_are_no_exact_replay(tmp_path: Path) -> None:
    model = model_of(benchmark(), families=True)
    kernel = kernel_of(model, tmp_path)
    (file,) = kernel.files
    assert file.members is not None
    turned = file.members.visits.all().copy()
    turned[[4, 5]] = turned[[5, 4]]
    visits = Visits.of(file.members.visits.ranks, file.members.visits.n_visits, turned)
    other = file.model_copy(update={"members": file.members.model_copy(update={"visits": visits})})
    rows = replay_fidelity(kernel.model_copy(update={"files": (other,)}), model)
    assert any("order of visits: rank 0, visit 5" in str(row) for row in rows)


@pytest.mark.parametrize(
    ("name", "in_tree", "good"),
    [
        ("a/b", True, True), ("a/b", False, False), ("..", True, False), ("a/../b", True, False), ("/a", True, False),
        ("a/", True, False), ("a..b", False, True), ("", True, False), ("a/..", True, False),
    ],
)  # fmt: skip
def test_a_members_name_stays_below_its_folder(name: str, in_tree: bool, good: bool) -> None:
    body = {
        "names": ["x", name], "in_tree": in_tree, "prepare_bytes": 0,
        "visits": {"ranks": [0], "n_visits": [2], "order": None},
    }  # fmt: skip
    if good:
        assert KernelMembers.model_validate(body).names == ("x", name)
    else:
        with pytest.raises(ValueError, match="leaves the folder"):
            KernelMembers.model_validate(body)


def test_a_plan_with_fewer_visits_than_it_says_is_damaged(tmp_path: Path) -> None:
    text = lower(kernel_of(model_of(benchmark(), families=True), tmp_path))
    line = next(line for line in text.splitlines() if line.startswith("visits "))
    with pytest.raises(KernelError, match="damaged"):
        read_plan(text.replace(line, line.rsplit(" ", 1)[0]))
