"""What keeps a program's calls in the tracer's sight, and what is said where they left it."""

from __future__ import annotations

from pathlib import Path

import pytest

from wavetank.notes import texts
from wavetank.trace.capture import CaptureOptions, tracer_environment
from wavetank.trace.inherited import added_environment
from wavetank.trace.part import Part
from wavetank.trace.part_records import read_records
from wavetank.trace.reader import assemble

UCX = "UCX_MEM_MMAP_HOOK_MODE"
NOTE, OVERWRITTEN = 9, 14  # enum wt_meta, enum wt_note


def environment(where: Path) -> dict[str, str]:
    return tracer_environment(where / "run.trace", CaptureOptions(), [Path("/lib/tracer.so")])


def test_ucx_is_asked_to_leave_mmap_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(UCX, raising=False)
    assert environment(tmp_path)[UCX] == "none"
    assert added_environment() == {UCX: "none"}


def test_what_the_user_has_set_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(UCX, "reloc")
    assert UCX not in environment(tmp_path)
    assert added_environment() == {}


def note(detail: bytes) -> bytes:
    return bytes([NOTE, 2 + len(detail), OVERWRITTEN, len(detail)]) + detail


def part(number: int, *details: bytes) -> Part:
    made = Part(Path(f"part-n-{number}-0.wt"), "n", number, 1, 0, 0, rank=number, ended=True)
    assert read_records(made, b"".join(map(note, details)))
    return made


def test_mappings_that_were_not_seen_are_no_part_of_what_the_trace_tells() -> None:
    trace = assemble([part(0, b"mmap"), part(1, b"mmap", b"mmap64")], [])
    (said,) = texts(trace.notes, "unrecorded")
    assert said.startswith("another library wrote over mmap and mmap64 in the program")
    assert said.endswith("mappings of files were not seen after that")
    assert said in texts(trace.notes)


def test_a_program_whose_functions_are_its_own_tells_all() -> None:
    trace = assemble([part(0), part(1)], [])
    assert texts(trace.notes, "unrecorded") == ()
    assert texts(trace.notes) == ()
