"""POSIX and stdio programs with known calls, reproduced call for call."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tracer_run import Call, calls, compile_c, need, run_traced

from waiting import HANG_S
from wavetank import native
from wavetank.notes import texts
from wavetank.trace.ops import OPS
from wavetank.trace.reader import read_trace


@pytest.fixture(autouse=True)
def _built() -> None:
    need("libwavetank-trace-decode.so", "gcc")
    need("libwavetank-trace-openmpi.so")


def test_every_posix_call_is_reproduced_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = compile_c("posix_calls.c", tmp_path / "posix_calls")
    trace = run_traced([str(program)], tmp_path, monkeypatch)
    d = "data.bin"
    c = "copy.bin"
    after_reads = 8192 + 2 * 8191
    assert calls(trace) == [
        Call("open", d),
        *(Call("write", d, i * 4096, 4096, 4096) for i in range(10)),
        Call("lseek", d, 8192),
        Call("read", d, 8192, 8191, 8191),
        Call("read", d, 16383, 8191, 8191),
        Call("pwrite", d, 3, 10, 10),
        Call("pread", d, 40950, 20, 10),
        Call("writev", d, after_reads, 128, 128),
        Call("readv", d, after_reads + 128, 128, 128),
        Call("pwritev", d, 1000, 128, 128),
        Call("preadv", d, 2000, 128, 128),
        Call("fsync", d),
        Call("fdatasync", d),
        Call("ftruncate", d),
        Call("fallocate", d, 0),
        Call("dup", d),
        Call("lseek", d, 100),
        Call("read", d, 100, 1, 1),
        Call("close", d),
        Call("read", d, 101, 2, 2),
        Call("dup", d),
        Call("close", d),
        Call("mmap", d, 0),
        Call("munmap", d, 0),
        Call("close", d),
        Call("open", d),
        Call("write", d, 60000, 5, 5),
        Call("close", d),
        Call("open", d),
        Call("open", c),
        Call("sendfile", d, 10, 1000, 1000),
        Call("sendfile_to", c, 0, 1000, 1000),
        Call("sendfile", d, 0, 500, 500),
        Call("sendfile_to", c, 1000, 500, 500),
        Call("copy_file_range", d, 7, 64, 64),
        Call("copy_file_range_to", c, 3, 64, 64),
        Call("copy_file_range", d, 59905, 100, 100),  # 2^62 asked for: no request, a bound
        Call("copy_file_range_to", c, 2000, 100, 100),
        Call("sendfile", d, 20, 300, 300),  # splice
        Call("sendfile_to", c, 1500, 300, 300),
        Call("close", d),
        Call("close", c),
        Call("open", "missing.bin"),
        Call("open", d),
        *(Call("pread", d, i * 1024, 512, 512) for i in range(4)),
        Call("close", d),
    ]


def test_regular_and_strided_operations_are_one_row_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = compile_c("posix_calls.c", tmp_path / "posix_calls")
    folds = run_traced([str(program)], tmp_path, monkeypatch).folds
    rows = {
        (OPS[int(op)].name, int(count), int(size), int(disp))
        for op, count, size, disp in zip(folds.op, folds.count, folds.size, folds.disp, strict=True)
    }
    assert ("write", 10, 4096, 4096) in rows
    assert ("pread", 4, 512, 1024) in rows


@pytest.mark.parametrize("flags", [(), ("-D_FORTIFY_SOURCE=2",)], ids=["plain", "fortified"])
def test_streams_come_out_as_the_operations_that_reach_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flags: tuple[str, ...]
) -> None:
    program = compile_c("stdio_calls.c", tmp_path / "stdio_calls", *flags)
    strace = _strace([str(program)], tmp_path)
    trace = run_traced([str(program)], tmp_path, monkeypatch)
    found = [call for call in calls(trace) if call.op in {"read", "write"}]
    assert [(call.op, call.size, call.moved) for call in found] == strace
    # 1000 lines of 10 bytes, then 10 + 10,000 more; all of it went through the buffer and out again.
    written = sum(call.moved for call in found if call.op == "write" and call.file == "lines.txt")
    assert written == 1000 * 10 + len("changed") + 10000
    assert [c for c in found if c.file == "left.txt"] == [
        Call("write", "left.txt", 0, 1, 1),
        Call("write", "left.txt", 1, 1, 1),
    ]


def _strace(argv: list[str], where: Path) -> list[tuple[str, int, int]]:
    """(call, bytes asked, bytes moved) of reads and writes of files below ``where``, by the kernel."""
    need("libwavetank-trace-decode.so", "strace")
    log = where / "strace.txt"
    subprocess.run(
        ["strace", "-f", "-y", "-e", "trace=read,write", "-s", "0", "-o", str(log), *argv],
        cwd=where, check=True, timeout=HANG_S,
    )  # fmt: skip
    found = []
    for line in log.read_text().splitlines():
        call = line.split(maxsplit=1)[1]  # 123 read(3</tmp/x/lines.txt>, ""..., 4096) = 4096
        if f"<{where}/" in call and "strace.txt" not in call:
            name, rest = call.split("(", 1)
            asked = int(rest.rsplit(")", 1)[0].rsplit(",", 1)[1])
            found.append((name, asked, int(rest.rsplit("=", 1)[1])))
    for path in where.glob("*.txt"):
        path.unlink()
    return found


def test_python_programs_come_out_without_their_own_modules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "program.py").write_text(
        "import json, csv\n"
        "with open('out.bin', 'wb', buffering=0) as f:\n"
        "    for i in range(5): f.write(b'x' * 1000)\n"
        "with open('out.bin', 'rb', buffering=0) as f:\n"
        "    f.seek(2000)\n"
        "    f.read(500)\n"
    )
    trace = run_traced([sys.executable, "program.py"], tmp_path, monkeypatch)
    assert {Path(file.path).name for file in trace.files} == {"out.bin"}
    found = [call for call in calls(trace) if call.op in {"read", "write", "lseek"}]
    assert [call for call in found if call.op == "write"] == [
        Call("write", "out.bin", i * 1000, 1000, 1000) for i in range(5)
    ]
    assert Call("lseek", "out.bin", 2000) in found
    assert found[-1] == Call("read", "out.bin", 2000, 500, 500)


def test_all_that_a_killed_program_did_is_readable(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(
        "import os\n"
        "f = open('out.bin', 'wb', buffering=0)\n"
        "for i in range(3000):\n"
        "    f.write(b'x' * (100 + i % 2))\n"
        "for i in range(50):\n"
        "    f.write(b'x' * 10)\n"
        "os.kill(os.getpid(), 9)\n"
    )
    out = tmp_path / "killed.trace"
    out.mkdir()
    library = native.find("lib/libwavetank-trace-openmpi.so", "test")
    done = subprocess.run(
        [sys.executable, "program.py"], cwd=tmp_path, timeout=HANG_S, check=False,
        env={**os.environ, "LD_PRELOAD": str(library), "WAVETANK_TRACE_DIR": str(out)},
    )  # fmt: skip
    assert done.returncode == -signal.SIGKILL
    trace = read_trace(out)
    assert not trace.ranks[0].complete
    assert any("did not end in order" in warning for warning in texts(trace.notes))
    writes = [call.size for call in calls(trace) if call.op == "write"]
    assert writes == [100 + i % 2 for i in range(3000)] + [10] * 50
    assert (trace.folds.end_ns >= trace.folds.start_ns).all()


def test_a_program_without_io_leaves_a_valid_empty_trace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = run_traced(["true"], tmp_path, monkeypatch)
    assert trace.n_ranks == 0 or len(trace.folds) == 0
    assert trace.files == ()
