"""Files under several names, from the traced program to the replay of its kernel and back, by the command line."""

from __future__ import annotations

from pathlib import Path

import pytest
from names_run import Round, go_round, listing, wavetank
from tracer_run import FAMILIES, compile_c, need

BLOCK = 4096
CASES = (
    "checkpoints", "replaced", "linked", "inputs", "spellings", "again", *["reused"] * 5, "nameless", "open",
)  # fmt: skip


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    need("libwavetank-trace.so", "gcc")
    return compile_c("names.c", tmp_path_factory.mktemp("names") / "names")


@pytest.fixture(scope="module")
def found(program: Path, tmp_path_factory: pytest.TempPathFactory) -> Round:
    """All cases of one process, one after another, in a folder with what they want to be there."""
    folder = tmp_path_factory.mktemp("round")
    work = folder / "work"
    (work / "folder").mkdir(parents=True)
    (work / "alias").symlink_to(".")
    for name, blocks in (("state", 3), ("first", 3)):
        (work / name).write_bytes(b"\1" * (blocks * BLOCK))
    (work / "hard").hardlink_to(work / "first")
    (work / "soft").symlink_to("first")
    return go_round([str(program), *CASES], work, folder)


def names_of(found: Round, *wanted: str) -> list[tuple[str, tuple[str, ...], int, int | None]]:
    """Of files of these names: the name, other names, size, and size before the run."""
    return sorted(
        (
            Path(file.file_name).name,
            tuple(Path(name.path).name for name in file.other_names),
            file.file_size,
            file.file_size_before,
        )
        for file in found.model.files
        if file.n_operations and Path(file.file_name).name in wanted
    )


def left(found: Round, *names: str) -> dict[str, tuple[str, int]]:
    """What the replay left of these names, which is what the program left."""
    assert {name: found.left[name] for name in names} == {
        name: found.left_by_replay.get(name) for name in names
    }
    return {name: found.left_by_replay[name] for name in names}


def test_checkpoints_are_written_under_one_name_and_renamed(found: Round) -> None:
    steps = [f"step.{i}" for i in range(3)]
    assert names_of(found, *steps) == [(name, ("step.tmp",), 5 * BLOCK, None) for name in steps]
    left(found, *steps)


def test_an_input_is_replaced_by_a_rename(found: Round) -> None:
    assert names_of(found, "state") == [
        ("state", (), 3 * BLOCK, 3 * BLOCK),
        ("state", ("state.new",), 2 * BLOCK, None),
    ]
    assert left(found, "state") == {"state": ("file", 2 * BLOCK)}


def test_links_that_a_program_makes_are_made_by_the_replay(found: Round) -> None:
    assert names_of(found, "a") == [("a", ("b", "s"), 3 * BLOCK, None)]
    assert left(found, "a", "b", "s") == {
        "a": ("file", 3 * BLOCK), "b": ("link of a", 3 * BLOCK), "s": ("symlink to a", 0),
    }  # fmt: skip


def test_links_that_are_there_before_are_prepared(found: Round) -> None:
    assert names_of(found, "first") == [("first", ("hard", "soft"), 3 * BLOCK, 3 * BLOCK)]
    assert left(found, "first", "hard", "soft") == {
        "first": ("file", 3 * BLOCK), "hard": ("link of first", 3 * BLOCK), "soft": ("symlink to first", 0),
    }  # fmt: skip


def test_spellings_of_a_name_and_links_to_folders_are_no_other_names(found: Round) -> None:
    assert names_of(found, "plain") == [("plain", (), 2 * BLOCK, None)]


def test_a_name_that_is_removed_and_made_again_is_one_file(found: Round) -> None:
    assert names_of(found, "u") == [("u", (), 4 * BLOCK, None)]
    left(found, "u")


def test_a_reused_inode_number_is_another_file(found: Round) -> None:
    assert names_of(found, "gone", "other") == [
        ("gone", (), 2 * BLOCK, None),
        ("other", (), 3 * BLOCK, None),
    ]
    left(found, "other")


def test_a_file_without_a_name_gets_one(found: Round) -> None:
    ((_, others, size, _),) = names_of(found, "named")
    assert (len(others), size) == (1, 100)
    left(found, "named")


def test_names_that_change_under_an_open_file(found: Round) -> None:
    assert names_of(found, "ended", "scratch") == [
        ("ended", ("begun",), 2 * BLOCK + 10, None),
        ("scratch", (), 2 * BLOCK + 20, None),
    ]
    left(found, "ended")


def test_the_replay_leaves_the_names_that_the_program_left_and_no_others(found: Round) -> None:
    # "alias" is a link to a folder: no name of a file.
    assert set(found.left_by_replay) == set(found.left) - {"alias"}


def test_the_replay_s_own_model_is_the_same(found: Round) -> None:
    assert "the same I/O" in found.difference


def test_processes_that_know_a_file_by_different_names(program: Path, tmp_path: Path) -> None:
    need("libwavetank-trace-openmpi.so", FAMILIES["openmpi"][2][0])
    work = tmp_path / "work"
    work.mkdir()
    found = go_round([str(program), "processes"], work, tmp_path, "openmpi")
    assert names_of(found, "moved") == [("moved", ("made",), 3 * BLOCK, None)]
    assert left(found, "moved") == {"moved": ("file", 3 * BLOCK)}
    assert set(found.left_by_replay) == {"moved"}


def test_processes_of_a_script_rewrite_a_checkpoint(tmp_path: Path) -> None:
    need("libwavetank-trace.so", "sh", "head", "mv", "sed", "cp", "mpirun.openmpi")
    work = tmp_path / "work"
    work.mkdir()
    versions = "for i in 1 2 3 4 5; do head -c 50000 /dev/zero > new; mv new now; done"
    script = f"{versions}; ln now old; sed -i s/x/y/ old; mv old last; cp last copy"
    wavetank("trace", "-o", "../trace", "--", "sh", "-c", script, cwd=work)
    wavetank("model", "trace", "-o", "model.json", cwd=tmp_path)
    wavetank("kernel", "model.json", "-o", "kernel.json", cwd=tmp_path)
    (tmp_path / "root").mkdir()
    wavetank("replay", "kernel.json", "--root", "root", "--launcher", "openmpi", cwd=tmp_path)
    left = dict.fromkeys(("copy", "last", "now"), ("file", 50000))
    assert listing(work) == left
    assert listing(tmp_path / "root") == left
