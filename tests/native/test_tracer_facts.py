"""What real programs do that tracers get wrong, each by itself: the known facts on ABYSS-P and gfortran."""

import subprocess
from pathlib import Path

import pytest
from tracer_run import PROGRAMS, Call, calls, compile_c, need, run_traced

from waiting import HANG_S
from wavetank.trace.importers import strace
from wavetank.trace.schema import Trace


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory) -> Trace:
    need("libwavetank-trace-openmpi.so", "gcc")
    where = tmp_path_factory.mktemp("facts")
    flags = ("-D_FORTIFY_SOURCE=2", "-rdynamic", "-ldl")
    program = compile_c("own_fopen.c", where / "own_fopen", *flags)
    symbols = subprocess.run(
        ["nm", "-D", str(program)], capture_output=True, text=True, check=True, timeout=HANG_S
    ).stdout
    assert " T fopen" in symbols  # the program exports it
    assert "__fprintf_chk" in symbols  # and is fortified
    with pytest.MonkeyPatch.context() as monkeypatch:
        return run_traced([str(program)], where, monkeypatch)


SIZE = 2000 * 10


def test_what_goes_through_the_programs_own_fopen_and_fprintf_chk_is_seen(traced: Trace) -> None:
    found = calls(traced)
    assert found[0] == Call("open", "out.txt")
    end = found.index(Call("close", "out.txt"))
    writes = found[1:end]
    assert {call.op for call in writes} == {"write"}
    assert sum(call.moved for call in writes) == SIZE


def test_tells_and_the_short_and_empty_reads_at_the_end_are_recorded(traced: Trace) -> None:
    found = calls(traced)
    begin = found.index(Call("close", "out.txt")) + 1
    full, rest = divmod(SIZE, 8191)
    expected = [Call("open", "out.txt")]
    for i, moved in enumerate([*[8191] * full, rest, 0]):
        at = min(i * 8191, SIZE)
        expected += [Call("lseek", "out.txt", at)] * 40
        expected.append(Call("read", "out.txt", at, 8191, moved))
    expected.append(Call("close", "out.txt"))
    assert found[begin:] == expected


def test_a_descriptor_used_again_for_proc_is_not_the_data_file(traced: Trace) -> None:
    assert [Path(file.path).name for file in traced.files] == ["out.txt"]


def test_gfortran_s_markers_are_rewritten_with_backward_jumps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need("libwavetank-trace-openmpi.so", "gfortran", "strace")
    program = tmp_path / "unformatted"
    subprocess.run(
        ["gfortran", "-o", str(program), str(PROGRAMS / "unformatted.f90")],
        cwd=tmp_path, check=True, capture_output=True, timeout=HANG_S,
    )  # fmt: skip
    log = tmp_path / "strace.log"
    subprocess.run(
        ["strace", "-f", "-ttt", "-y", "-T", "-s", "0", "-o", str(log), str(program)],
        cwd=tmp_path, check=True, timeout=HANG_S,
    )  # fmt: skip
    (tmp_path / "records.bin").unlink()
    kernel = [call for call in calls(strace.read(log)) if call.file == "records.bin"]
    ours = [
        call for call in calls(run_traced([str(program)], tmp_path, monkeypatch))
        if call.file == "records.bin"
    ]  # fmt: skip
    moving = {"read", "write"}
    assert [c for c in ours if c.op in moving] == [c for c in kernel if c.op in moving]
    writes = [call for call in ours if call.op == "write"]
    ends = [call.offset + call.moved for call in writes]
    jumps = [w for w, end in zip(writes[1:], ends[:-1], strict=True) if w.offset < end]
    assert len(jumps) >= 3  # one a record of 400,004 bytes, which no buffer of 128 KiB holds
    assert max(ends) == 3 * (50000 * 8 + 4 + 2 * 4)
