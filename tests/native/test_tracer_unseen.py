"""What the tracer cannot record is said: raw system calls, io_uring, static programs that a script starts."""

import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tracer_run import FAMILIES, PROGRAMS, calls, compile_c, need, run_traced

from waiting import HANG_S
from wavetank.notes import texts


@pytest.fixture
def raw_calls(tmp_path: Path) -> Path:
    need("libwavetank-trace.so", "gcc")
    return compile_c("raw_calls.c", tmp_path / "raw_calls")


def test_raw_system_calls_are_named_and_later_positions_are_right(
    raw_calls: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = run_traced([str(raw_calls), "data"], tmp_path, monkeypatch)
    (warning,) = texts(trace.notes)
    assert "syscall(2), which are not seen: pwrite64, write" in warning
    # 100 bytes were written by the raw call before.
    assert [(c.offset, c.size) for c in calls(trace) if c.op == "write"] == [(100, 5)]


def test_io_uring_without_its_library_is_noticed(
    raw_calls: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = run_traced([str(raw_calls), "ring"], tmp_path, monkeypatch)
    (warning,) = texts(trace.notes)
    assert "uses io_uring" in warning


def test_a_static_program_that_a_script_starts_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need("libwavetank-trace.so", "gcc")
    static = compile_c("raw_calls.c", tmp_path / "static", "-static")
    trace = run_traced(["sh", "-c", f"{static} data; true"], tmp_path, monkeypatch)
    assert [w for w in texts(trace.notes) if "statically linked" in w and str(static) in w]


@pytest.mark.parametrize("flag", ["-static", "-static-pie"])
def test_a_static_program_is_refused_before_it_runs(tmp_path: Path, flag: str) -> None:
    from wavetank.errors import TraceError
    from wavetank.trace.capture import trace

    need("libwavetank-trace.so", "gcc")
    program = compile_c("raw_calls.c", tmp_path / "static", flag)
    with pytest.raises(TraceError, match="statically linked"):
        trace([str(program), "data"], tmp_path / "t")
    assert not (tmp_path / "t").exists()


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user may write into, which pytest's own are not."""
    folder = Path(tempfile.mkdtemp(prefix="wavetank-setuid-"))
    folder.chmod(0o777)
    yield folder
    shutil.rmtree(folder)


def as_nobody(call: Callable[[], list[str]]) -> list[str]:
    """What a call returns in a process of user "nobody"."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        found = ["it failed"]
        try:
            os.setgroups([])
            os.setresgid(65534, 65534, 65534)
            os.setresuid(65534, 65534, 65534)
            found = call()
        finally:
            os.write(writing, json.dumps(found).encode())
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as stream:
        found = json.load(stream)
    os.waitpid(child, 0)
    assert isinstance(found, list)
    return found


def test_a_setuid_program_of_somebody_else_is_named_and_runs_untraced(
    open_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from wavetank.launchers.registry import launcher
    from wavetank.trace.capture import CaptureOptions, trace
    from wavetank.trace.program import check_program

    need("libwavetank-trace.so", "gcc")
    if os.geteuid() != 0:  # nobody else's program can be made here
        (sentence,) = check_program([shutil.which("su") or "/bin/su"], launcher("none"))
        assert "rights of another user" in sentence
        return
    if os.statvfs(open_folder).f_flag & os.ST_NOSUID:
        pytest.skip(f"{open_folder} is on a file system without setuid programs")
    program = compile_c("names.c", open_folder / "names")
    monkeypatch.chdir(open_folder)
    plain = trace([str(program), "again"], open_folder / "plain.trace", CaptureOptions())
    assert {file.path for file in plain.trace.files} == {str(open_folder / "u")}
    (open_folder / "u").unlink()
    program.chmod(0o4755)

    def traced() -> list[str]:
        found = trace([str(program), "again"], open_folder / "setuid.trace", CaptureOptions())
        return [*(file.path for file in found.trace.files), *texts(found.index.notes)]

    warnings = as_nobody(traced)
    assert (open_folder / "u").stat().st_uid == 0  # it ran, and with its owner's rights
    assert len(warnings) == 1
    assert "runs with the rights of another user" in warnings[0]


def test_a_program_in_a_cleaned_environment_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need("libwavetank-trace.so")
    script = "echo word > a; env -i cp a b; (unset LD_PRELOAD; exec tail a)"
    trace = run_traced(["sh", "-c", script], tmp_path, monkeypatch)
    (warning,) = [w for w in texts(trace.notes) if "LD_PRELOAD" in w]
    named = [Path(word).name for word in warning.split(": ")[1].split(", ")]
    assert sorted(named) == ["cp", "tail"]


def test_a_program_that_gets_other_rights_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need("libwavetank-trace.so")
    program = Path(shutil.copy(shutil.which("cat") or "/bin/cat", tmp_path / "reader"))
    if os.geteuid() != 0:
        pytest.skip("only root can give a program away")
    os.chown(program, 65534, -1)
    program.chmod(0o4755)
    (tmp_path / "input").write_text("word")
    trace = run_traced(["sh", "-c", f"{program} input; true"], tmp_path, monkeypatch)
    (warning,) = [w for w in texts(trace.notes) if "rights of another user" in w]
    assert warning.endswith(f": {program}")


def names_in(warnings: tuple[str, ...], what: str) -> list[str]:
    """Base names of the programs that the warning of this kind names."""
    (warning,) = [one for one in warnings if what in one]
    return sorted(Path(word).name for word in warning.rpartition(": ")[2].split(", "))


@pytest.mark.parametrize(
    "way",
    ["execve", "execle", "execv", "fexecve", "execveat", "folder", "spawn", "vfork", "system", "popen"],
)  # fmt: skip
def test_a_program_started_in_any_way_without_the_tracer_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    need("libwavetank-trace.so", "gcc", "cp")
    starts = compile_c("starts.c", tmp_path / "starts")
    copy = Path(shutil.which("cp") or "/bin/cp").resolve()
    (tmp_path / "a").write_text("word")
    trace = run_traced([str(starts), way, str(copy), "a", "b"], tmp_path, monkeypatch)
    assert (tmp_path / "b").read_text() == "word"
    assert "b" not in {Path(file.path).name for file in trace.files}
    # What the shell of system and popen starts is not seen either: the shell is named.
    (name,) = names_in(texts(trace.notes), "LD_PRELOAD")
    assert name in (("sh", "dash", "bash") if way in ("system", "popen") else ("cp", "coreutils"))


def test_a_program_that_keeps_the_library_and_not_the_folder_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need("libwavetank-trace.so", "cp")
    script = 'echo word > a; env -i LD_PRELOAD="$LD_PRELOAD" cp a b'
    trace = run_traced(["sh", "-c", script], tmp_path, monkeypatch)
    assert names_in(texts(trace.notes), "LD_PRELOAD") == ["cp"]


def test_a_script_of_a_static_interpreter_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from wavetank.errors import TraceError
    from wavetank.trace.capture import trace as capture

    need("libwavetank-trace.so", "gcc")
    static = compile_c("raw_calls.c", tmp_path / "static", "-static")
    for name, interpreter in (("inner", static), ("outer", tmp_path / "inner")):
        (tmp_path / name).write_text(f"#! {interpreter} data\n")
        (tmp_path / name).chmod(0o755)
    trace = run_traced(["sh", "-c", f"{tmp_path / 'outer'}; true"], tmp_path, monkeypatch)
    assert names_in(texts(trace.notes), "statically linked") == ["outer"]
    with pytest.raises(TraceError, match="statically linked"):
        capture([str(tmp_path / "outer")], tmp_path / "t")
    assert not (tmp_path / "t").exists()


def test_a_program_of_32_bits_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from wavetank.errors import TraceError
    from wavetank.trace.capture import trace as capture

    need("libwavetank-trace.so")
    program = tmp_path / "program"
    head = bytearray(Path("/bin/true").resolve().read_bytes()[:64])
    head[4] = 1  # of the class ELFCLASS32; it need not run
    program.write_bytes(head)
    program.chmod(0o755)
    trace = run_traced(["sh", "-c", f"{program} 2>/dev/null; true"], tmp_path, monkeypatch)
    assert names_in(texts(trace.notes), "32 bits") == ["program"]
    with pytest.raises(TraceError, match="32 bits"):
        capture([str(program)], tmp_path / "t")


def test_a_go_program_that_a_script_starts_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the Go compiler's note, put into a C program."""
    need("libwavetank-trace.so", "gcc")
    source = tmp_path / "go.c"
    source.write_text(
        """
        __asm__(".section .note.go.buildid,\\"a\\",@note\\n"
                ".long 4, 4, 4\\n.asciz \\"Go\\"\\n.byte 0\\n.long 1\\n.text");
        int main(void) { return 0; }
        """.replace("\\\\", "\\")
    )
    program = tmp_path / "program"
    subprocess.run(["gcc", "-o", str(program), str(source)], check=True, timeout=HANG_S)
    trace = run_traced(["sh", "-c", f"{program}; true"], tmp_path, monkeypatch)
    assert names_in(texts(trace.notes), "Go program(s)") == ["program"]


@pytest.mark.parametrize("way", ["", "deep", "apart"])
def test_a_library_whose_calls_pass_the_tracer_by_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    need("libwavetank-trace.so", "gcc")
    compile_c("plugin.c", tmp_path / "plugin.so", "-shared", "-fPIC", "-DPLUGIN")
    program = compile_c("plugin.c", tmp_path / "plugin")
    trace = run_traced([str(program), way], tmp_path, monkeypatch)
    assert (tmp_path / "plugin.out").read_text() == "hello"
    assert [c.op for c in calls(trace)] == ([] if way else ["open", "write", "close"])
    named = [w for w in texts(trace.notes) if "RTLD_DEEPBIND" in w and w.endswith("plugin.so")]
    assert bool(named) == bool(way)


def test_programs_that_wavetank_itself_starts_are_no_ranks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It asks git for its own version, wherever it writes a document."""
    need("libwavetank-trace.so")
    command = Path(sys.executable).parent / "wavetank"
    if not command.exists():
        pytest.skip("wavetank is not installed as a command")
    monkeypatch.chdir(tmp_path)
    argv = [
        str(command),
        "trace",
        "-o",
        "app.trace",
        "--",
        "cp",
        str(PROGRAMS / "plugin.c"),
        "copy",
    ]
    subprocess.run(argv, check=True, timeout=HANG_S)
    argv = [str(command), "model", "app.trace", "-o", "app.json"]
    trace = run_traced(argv, tmp_path, monkeypatch)
    assert (tmp_path / "app.json").exists()
    assert len(trace.folds) == 0
    assert not trace.ranks


@pytest.mark.parametrize(("when", "n_seen"), [("never", 1), ("at once", 0), ("before", 1)])
def test_mappings_are_said_to_be_unseen_where_mmap_is_written_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, when: str, n_seen: int
) -> None:
    need("libwavetank-trace.so", "gcc")
    if platform.machine() != "x86_64":
        pytest.skip("does not apply: the program writes code of x86-64")
    program = compile_c("overwritten.c", tmp_path / "overwritten")
    trace = run_traced([str(program), when], tmp_path, monkeypatch)
    assert [c.op for c in calls(trace)].count("mmap") == n_seen
    said = [one for one in texts(trace.notes) if "wrote over mmap in the program" in one]
    assert texts(trace.notes, "unrecorded") == tuple(said)
    assert len(said) == (when != "never")


@pytest.mark.parametrize("mode", [None, "bistro"])
def test_mappings_below_an_mpi_library_with_ucx_are_seen_or_said_to_be_unseen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str | None
) -> None:
    compiler, _, launcher = FAMILIES["mpich"]
    need("libwavetank-trace-mpich.so", compiler, launcher[0])
    program = compile_c("mapped_by_rank.c", tmp_path / "mapped_by_rank", compiler=compiler)
    monkeypatch.delenv("UCX_MEM_MMAP_HOOK_MODE", raising=False)
    if mode is not None:
        monkeypatch.setenv("UCX_MEM_MMAP_HOOK_MODE", mode)
    trace = run_traced([*launcher, "-np", "2", str(program)], tmp_path, monkeypatch)
    for rank in range(2):
        seen = "mmap" in {c.op for c in calls(trace, rank)}
        assert seen != bool(
            texts(trace.notes, "unrecorded")
        )  # an MPICH without UCX sees them in both modes
        assert seen or mode is not None
