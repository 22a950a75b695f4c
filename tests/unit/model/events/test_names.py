"""One file under all its names: links, renames, what took another file's place, and what only seems the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pytest
from fold_builder import PROVENANCE, Event, trace_of

from wavetank.model.document.model import Model
from wavetank.model.document.program import FileStep
from wavetank.model.extract import extract_model
from wavetank.trace.schema import FileIdentity

BORN = 1_700_000_000_000_000_000


@dataclass(frozen=True)
class Name:
    """A name of a trace, and the file that it led to."""

    path: str
    inode: int | None = None
    born_ns: int | None = BORN
    symlink_to: str | None = None
    file_system: str = "ext4"
    generation: int = 0

    @property
    def identity(self) -> FileIdentity | None:
        if self.inode is None:
            return None
        return FileIdentity("n1 8:1", self.inode, self.born_ns, self.generation)


def writes(name: int, handle: int, rank: int = 0) -> list[Event]:
    """Open, five writes of 10 bytes, close."""
    return [
        Event(rank, "open", name, handle=handle, arg=0o101),
        *(Event(rank, "pwrite", name, i * 10, 10, handle=handle) for i in range(5)),
        Event(rank, "close", name, handle=handle),
    ]


def reads(name: int, handle: int, rank: int = 0) -> list[Event]:
    """Open, five reads of 10 bytes, close."""
    return [
        Event(rank, "open", name, handle=handle),
        *(Event(rank, "pread", name, i * 10, 10, handle=handle) for i in range(5)),
        Event(rank, "close", name, handle=handle),
    ]


def pair(op: str, old: int, new: int, rank: int = 0) -> list[Event]:
    """A call on two names."""
    return [
        Event(rank, op, old, handle=-1, offset=-1, arg=0),
        Event(rank, op, new, handle=-1, offset=-1, arg=1),
    ]


def model_of(events: Sequence[Event], names: Sequence[Name]) -> Model:
    trace = trace_of(events, paths=[name.path for name in names])
    files = tuple(
        replace(
            file,
            identity=name.identity,
            symlink_to=name.symlink_to,
            file_system=name.file_system,
        )
        for file, name in zip(trace.files, names, strict=True)
    )
    return extract_model(replace(trace, files=files), PROVENANCE)


def named(model: Model) -> list[tuple[str, tuple[str, ...], int]]:
    """Each file's name, its other names, and its data operations."""
    return [
        (file.file_name, tuple(name.path for name in file.other_names), file.n_operations)
        for file in model.files
    ]


def steps(model: Model) -> list[tuple[str, int, int]]:
    """Call, file and name of each call on a file."""
    return [
        (step.iop_type, step.file_id, step.name)
        for step in model.programs[0].steps
        if isinstance(step, FileStep)
    ]


def test_a_hard_link_is_the_file_under_its_other_name() -> None:
    model = model_of([*writes(0, 0), *reads(1, 1)], [Name("/s/a", 5), Name("/s/b", 5)])
    assert named(model) == [("/s/a", ("/s/b",), 10)]
    assert steps(model) == [("open", 1, 0), ("close", 1, 0), ("open", 1, 1), ("close", 1, 0)]
    # 5 x 10 bytes, written and read again: the space of one file.
    assert model.requirements.storage_capacity_bytes == 50


def test_a_symbolic_link_is_named_as_one_and_never_the_files_own_name() -> None:
    names = [Name("/s/link", 5, symlink_to="/s/a"), Name("/s/a", 5)]
    model = model_of([*reads(0, 0), *reads(1, 1)], names)
    (file,) = model.files
    assert file.file_name == "/s/a"
    assert [(name.path, name.symlink) for name in file.other_names] == [("/s/link", True)]


def test_a_file_has_the_name_that_it_was_renamed_to() -> None:
    events = [*writes(0, 0), *pair("rename", 0, 1), *reads(1, 1)]
    model = model_of(events, [Name("/s/ckpt.tmp", 5), Name("/s/ckpt", 5)])
    assert named(model) == [("/s/ckpt", ("/s/ckpt.tmp",), 10)]
    assert steps(model)[:4] == [
        ("open", 1, 1), ("close", 1, 0), ("rename", 1, 1), ("rename", 1, 0),
    ]  # fmt: skip


def test_files_beside_those_of_several_names_stay_as_they_are() -> None:
    # 40 files of their own, one of them reached by a link in another spelling; and one renamed to a name that came before.
    names = [Name(f"/s/{i}", 100 + i) for i in range(40)]
    names += [Name("/s/link", 105, symlink_to="/s//5"), Name("/s/new", 7), Name("/s/old", 7)]
    events = [event for i in range(40) for event in writes(i, i)]
    events += [*reads(40, 40), *writes(42, 41), *pair("rename", 42, 41), *reads(41, 42)]
    found = {name: (others, n) for name, others, n in named(model_of(events, names))}
    assert found["/s/5"] == (("/s/link",), 10)
    assert found["/s/new"] == (("/s/old",), 10)
    assert all(found[f"/s/{i}"] == ((), 5) for i in range(40) if i != 5)
    assert len(found) == 41


def test_checkpoints_of_one_temporary_name_and_different_final_ones_are_different_files() -> None:
    names = [Name("/s/tmp", 5), Name("/s/ckpt.0", 5), Name("/s/tmp", 6), Name("/s/ckpt.1", 6)]
    events = [
        *writes(0, 0), *pair("rename", 0, 1), *writes(2, 1), *pair("rename", 2, 3),
    ]  # fmt: skip
    model = model_of(events, names)
    assert named(model) == [("/s/ckpt.0", ("/s/tmp",), 5), ("/s/ckpt.1", ("/s/tmp",), 5)]
    assert model.requirements.storage_capacity_bytes == 100


def test_what_is_written_again_and_again_and_renamed_over_its_last_state_is_one_file() -> None:
    names = [Name(path, 5 + i) for i in range(3) for path in ("/s/tmp", "/s/ckpt")]
    events = [
        event
        for i in range(3)
        for event in (*writes(2 * i, i), *pair("rename", 2 * i, 2 * i + 1))
    ]  # fmt: skip
    model = model_of(events, names)
    assert named(model) == [("/s/ckpt", ("/s/tmp",), 15)]
    assert model.requirements.storage_capacity_bytes == 50


def test_a_file_that_a_rename_replaces_is_another_one() -> None:
    names = [Name("/s/ckpt", 4), Name("/s/tmp", 5), Name("/s/ckpt", 5)]
    events = [*reads(0, 0), *writes(1, 1), *pair("rename", 1, 2)]
    model = model_of(events, names)
    assert named(model) == [("/s/ckpt", (), 5), ("/s/ckpt", ("/s/tmp",), 5)]


def test_a_file_that_is_removed_and_made_again_under_its_name_is_one_file() -> None:
    names = [Name("/s/a", 5), Name("/s/a", 6)]
    events = [*writes(0, 0), Event(0, "unlink", 0, handle=-1, offset=-1), *writes(1, 1)]
    assert named(model_of(events, names)) == [("/s/a", (), 10)]


def test_ranks_that_open_a_file_by_different_names_share_it() -> None:
    model = model_of([*reads(0, 0, 0), *reads(1, 0, 1)], [Name("/a/x", 5), Name("/b/x", 5)])
    (file,) = model.files
    assert (file.file_np, file.file_accesstype) == (2, "shared")
    (phase,) = model.phases
    assert phase.ph_processid == (0, 1)


def test_names_of_which_only_the_path_is_known_join_the_file_that_has_it() -> None:
    names = [Name("/s/a"), Name("/s/a", 5), Name("/s/gone", symlink_to="/s/a")]
    events = [
        Event(1, "stat", 0, handle=-1, offset=-1),
        *writes(1, 0),
        Event(0, "symlink", 2, handle=-1, offset=-1, arg=1),
    ]
    assert named(model_of(events, names)) == [("/s/a", ("/s/gone",), 5)]


def test_an_inode_that_is_given_out_again_is_another_file() -> None:
    two = [*writes(0, 0), *writes(1, 1)]
    assert len(model_of(two, [Name("/s/a", 5), Name("/s/b", 5, BORN + 1)]).files) == 2
    assert len(model_of(two, [Name("/s/a", 5), Name("/s/b", 5, generation=1)]).files) == 2
    removed = [*writes(0, 0), Event(0, "unlink", 0, handle=-1, offset=-1), *writes(1, 1)]
    without_birth = [Name("/s/a", 5, None), Name("/s/b", 5, None)]
    assert len(model_of(removed, without_birth).files) == 2
    assert len(model_of(two, without_birth).files) == 1


@pytest.mark.parametrize("kind", ["fuse.sshfs", "fuse.mergerfs", "9p"])
def test_inode_numbers_that_may_lie_are_believed_only_where_the_program_renamed_or_linked(
    kind: str,
) -> None:
    names = [Name("/s/a", 5, file_system=kind), Name("/s/b", 5, file_system=kind)]
    assert len(model_of([*writes(0, 0), *reads(1, 1)], names).files) == 2
    linked = [*writes(0, 0), *pair("link", 0, 1), *reads(1, 1)]
    assert len(model_of(linked, names).files) == 1


def test_traces_without_identities_keep_a_file_for_each_name() -> None:
    assert len(model_of([*writes(0, 0), *reads(1, 1)], [Name("/s/a"), Name("/s/b")]).files) == 2


def test_a_bare_inode_takes_the_name_that_it_was_linked_to() -> None:
    events = [*writes(0, 0), *pair("link", 0, 1)]
    model = model_of(events, [Name("/s/#1234", 5), Name("/s/out", 5)])
    assert named(model) == [("/s/out", ("/s/#1234",), 5)]
