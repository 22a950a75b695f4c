"""Requests that programs give to the kernel through libaio, or by syscall(2), are rows."""

from __future__ import annotations

import platform
import subprocess
from pathlib import Path

import pytest
from tracer_run import Call, calls, compile_c, need, run_traced

from waiting import HANG_S
from wavetank.notes import texts

x86_64 = pytest.mark.skipif(
    platform.machine() != "x86_64", reason="calls of syscall(2) are looked at on x86-64 alone"
)


@pytest.fixture
def program(tmp_path: Path) -> list[str]:
    """The program's command but for its last words; it is skipped where the kernel takes no such requests."""
    need("libwavetank-trace.so", "gcc")
    shared = ("-shared", "-fPIC")
    library = compile_c("libaio_calls.c", tmp_path / "libaio.so.1", *shared, "-DLIBRARY")
    linked = (str(library), f"-Wl,-rpath,{tmp_path}")
    compile_c("libaio_calls.c", tmp_path / "plugin.so", *shared, "-DPLUGIN", *linked)
    found = compile_c("libaio_calls.c", tmp_path / "libaio_calls", "-DLINKED", *linked, "-ldl")
    untraced = subprocess.run([found, "linked"], cwd=tmp_path, timeout=HANG_S, check=False)
    if untraced.returncode == 77:
        pytest.skip("the kernel refuses io_setup")
    assert untraced.returncode == 0
    return [str(found)]


TAKEN = [
    Call("aio_write", "aio.bin", 8192, 4096, 4096),
    Call("aio_write", "aio.bin", 0, 300, 300),  # of two pieces
    Call("aio_read", "aio.bin", 8192, 300, 300),
    Call("aio_write", "aio.bin", 500, 50, 50),
]


def test_requests_through_libaio_are_rows_where_they_are_made(
    program: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = run_traced([*program, "linked"], tmp_path, monkeypatch)
    assert [call for call in calls(trace) if call.op.startswith("aio_")] == TAKEN
    assert not texts(trace.notes)


@pytest.mark.parametrize(
    ("how", "library"),
    [("plugin", "plugin.so"), pytest.param("handle", "libaio.so.1", marks=x86_64)],
)
@pytest.mark.usefixtures("program")
def test_requests_of_a_library_that_is_loaded_during_the_run_are_rows_too(
    how: str, library: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a plugin with a library of its own, which the tracer does not find behind itself; of one that is asked for its function."""
    alone = compile_c("libaio_calls.c", tmp_path / "alone", "-ldl")
    trace = run_traced([str(alone), how, str(tmp_path / library)], tmp_path, monkeypatch)
    assert [call for call in calls(trace) if call.op.startswith("aio_")] == TAKEN
    assert not texts(trace.notes)


@x86_64
@pytest.mark.usefixtures("program")
def test_requests_of_an_older_library_that_is_asked_for_its_function_are_said_to_be_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It makes them by the processor's instruction."""
    options = ("-shared", "-fPIC", "-DLIBRARY", "-DINLINE")
    library = compile_c("libaio_calls.c", tmp_path / "libaio.so.1", *options)
    alone = compile_c("libaio_calls.c", tmp_path / "alone", "-ldl")
    trace = run_traced([str(alone), "handle", str(library)], tmp_path, monkeypatch)
    assert not [call for call in calls(trace) if call.op.startswith("aio_")]
    (warning,) = texts(trace.notes)
    assert warning.startswith("libaio was loaded")
    assert warning.endswith(f"are not seen: {library}")


@x86_64
def test_requests_made_by_syscall_are_rows_too(
    program: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = run_traced([*program, "raw"], tmp_path, monkeypatch)
    assert [call for call in calls(trace) if call.op.startswith("aio_")] == TAKEN
    assert not texts(trace.notes)


@pytest.mark.usefixtures("program")
def test_fio_with_libaio_makes_the_requests_of_its_own_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need("libwavetank-trace.so", "fio")
    job = ("--name=job", "--filename=data.bin", "--rw=randrw", "--bs=4k", "--size=64k", "--thread")
    argv = ["fio", *job, "--ioengine=libaio", "--iodepth=4", "--write_iolog=requests"]
    if (
        "libaio"
        not in subprocess.run(
            ["fio", "--enghelp"], capture_output=True, text=True, timeout=HANG_S, check=False
        ).stdout
    ):
        pytest.skip("this fio has no libaio")
    trace = run_traced(argv, tmp_path, monkeypatch)
    lines = [line.split() for line in (tmp_path / "requests").read_text().splitlines()]
    # [time] FILE read|write OFFSET BYTES
    wanted = [
        (f"aio_{words[-3]}", int(words[-2]), int(words[-1]))
        for words in lines
        if len(words) >= 4 and words[-3] in ("read", "write")
    ]
    found = [
        (call.op, call.offset, call.size)
        for rank in range(trace.n_ranks)
        for call in calls(trace, rank)
        if call.file == "data.bin" and call.op.startswith("aio_")
    ]
    assert len(wanted) == 16
    assert found == wanted
