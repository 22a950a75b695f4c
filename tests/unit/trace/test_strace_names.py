"""Names in strace's logs: what is removed, renamed, linked and made anew while a program runs."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest
from fold_builder import PROVENANCE

from wavetank.model.extract import extract_model
from wavetank.notes import texts
from wavetank.trace.events import unfold
from wavetank.trace.open import open_trace
from wavetank.trace.ops import OPS
from wavetank.trace.schema import Trace

AT = "AT_FDCWD</w>"


def log(where: Path, *calls: str) -> Trace:
    """The trace of a log; a call is what is behind its time, without its duration."""
    path = where / "run.strace"
    lines = [f"7 1700000000.{100000 + i} {call} <0.000010>\n" for i, call in enumerate(calls)]
    path.write_text("".join(lines))
    return open_trace(path)


def found(trace: Trace) -> list[tuple[str, str, int]]:
    """(call, path, errno) of each operation."""
    events = unfold(trace.folds)
    return [
        (OPS[int(op)].name, trace.files[int(file)].path, int(error))
        for op, file, error in zip(events.op, events.file, events.error, strict=True)
    ]


def test_a_file_that_is_removed_and_made_again_is_another_file(tmp_path: Path) -> None:
    trace = log(
        tmp_path,
        f'openat({AT}, "a", O_WRONLY|O_CREAT|O_EXCL, 0600) = -1 EEXIST (File exists)',
        f'unlinkat({AT}, "a", 0) = 0',
        f'openat({AT}, "a", O_WRONLY|O_CREAT|O_EXCL, 0600) = 4</w/a>',
        'write(4</w/a>, "one", 3) = 3',
        "close(4</w/a>) = 0",
    )
    assert found(trace) == [
        ("open", "/w/a", errno.EEXIST), ("unlink", "/w/a", 0), ("open", "/w/a", 0), ("write", "/w/a", 0),
        ("close", "/w/a", 0),
    ]  # fmt: skip
    first, second = (file.identity for file in trace.files)
    assert first != second
    assert not texts(trace.notes, "unrecorded")


def test_an_atomic_replacement_leads_the_name_to_the_new_file(tmp_path: Path) -> None:
    trace = log(
        tmp_path,
        f'openat({AT}, "t", O_WRONLY|O_CREAT|O_TRUNC, 0600) = 4</w/t>',
        'write(4</w/t>, "abcd", 4) = 4',
        'rename("t", "f") = 0',
        "close(4</w/f>) = 0",
        f'openat({AT}, "f", O_RDWR|O_APPEND) = 4</w/f>',
        'write(4</w/f>, "ef", 2) = 2',
    )
    rows = [row for row in found(trace) if row[0] == "rename"]
    assert rows == [("rename", "/w/t", 0), ("rename", "/w/f", 0)]
    (file,) = extract_model(trace, PROVENANCE).files
    assert (file.file_name, file.file_size) == (
        "/w/f",
        6,
    )  # appended behind what has another name now


@pytest.mark.parametrize(
    ("call", "rows"),
    [
        ('unlink("/w/a") = 0', [("unlink", "/w/a", 0)]),
        ('unlink("/w/a") = -1 ENOENT (No such file)', [("unlink", "/w/a", errno.ENOENT)]),
        (f'unlinkat({AT}, "d", AT_REMOVEDIR) = 0', [("rmdir", "/w/d", 0)]),
        ('unlinkat(5</w/d>, "x", 0) = 0', [("unlink", "/w/d/x", 0)]),
        ('mkdir("/w/d", 0755) = 0', [("mkdir", "/w/d", 0)]),
        (f'renameat(5</w/d>, "a", {AT}, "../b") = 0', [("rename", "/w/d/a", 0), ("rename", "/b", 0)]),
        (f'renameat2({AT}, "a", {AT}, "b", RENAME_NOREPLACE) = 0', [("rename", "/w/a", 0), ("rename", "/w/b", 0)]),
        (f'linkat({AT}, "a", {AT}, "b", 0) = 0', [("link", "/w/a", 0), ("link", "/w/b", 0)]),
        ('truncate("/w/a", 77) = 0', [("truncate", "/w/a", 0)]),
        (f'fchmodat({AT}, "a", 0600) = 0', [("chmod", "/w/a", 0)]),
        (f'utimensat({AT}, "a", NULL, 0) = 0', [("utime", "/w/a", 0)]),
        ('unlink("/etc/passwd") = 0', []),
        ('unlink("odd \\"name\\"\\n") = 0', [("unlink", '/w/odd "name"\n', 0)]),
    ],
)  # fmt: skip
def test_calls_on_names_are_operations(
    call: str, rows: list[tuple[str, str, int]], tmp_path: Path
) -> None:
    known = f'openat({AT}, "o", O_RDONLY) = -1 ENOENT (No such file)'
    assert found(log(tmp_path, known, call))[1:] == rows


def test_names_in_folders_that_are_not_known_are_counted(tmp_path: Path) -> None:
    trace = log(
        tmp_path,
        'unlink("a") = 0',
        'rename("a", "b") = 0',
        'chdir("/w/x") = 0',
        'unlink("a") = 0',
        'chdir("../y") = 0',
        'mkdir("d", 0700) = 0',
    )
    assert found(trace) == [("unlink", "/w/x/a", 0), ("mkdir", "/w/y/d", 0)]
    notes = texts(trace.notes, "unrecorded")
    assert any("1 unlink" in text for text in notes) and any("1 rename" in text for text in notes)


def test_what_lies_in_a_renamed_folder_goes_along(tmp_path: Path) -> None:
    trace = log(
        tmp_path,
        f'openat({AT}, "d/f", O_WRONLY|O_CREAT|O_EXCL, 0600) = 4</w/d/f>',
        'write(4</w/d/f>, "abc", 3) = 3',
        'rename("/w/d", "/w/e") = 0',
        'write(4</w/e/f>, "def", 3) = 3',
        "close(4</w/e/f>) = 0",
        f'openat({AT}, "e/f", O_WRONLY|O_APPEND) = 4</w/e/f>',
        'write(4</w/e/f>, "g", 1) = 1',
    )
    events = unfold(trace.folds)
    writes = [int(at) for op, at in zip(events.op, events.offset, strict=True) if OPS[int(op)].name == "write"]  # fmt: skip
    assert writes == [0, 3, 6]
