"""A traced program inherits what an untraced one does: descriptors, signals, limits, umask, locale."""

import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tracer_run import need

from waiting import HANG_S
from wavetank.trace.reader import read_trace

WAVETANK = [sys.executable, "-c", "from wavetank.cli.main import main; main()"]
SHELL_DESCRIPTORS = 7  # given by the starting process besides 0, 1 and 2
STATUS = ("Umask", "SigBlk", "SigIgn", "SigCgt", "CapInh", "CapEff", "CapBnd", "NoNewPrivs", "Seccomp", "Cpus_allowed")  # fmt: skip
OURS = (
    "LD_PRELOAD=",
    "WAVETANK_TRACE_",
    "UCX_MEM_MMAP_HOOK_MODE=",
)  # what tracing needs in the environment
LOOK = """
cat /proc/self/status /proc/self/limits; umask; pwd
for f in /proc/$$/fd/*; do echo ${f##*/} $(readlink $f); done
env -0 | tr '\\0' '\\n'
"""
# How a program that is traced starts another one, which looks at itself.
STARTED = {
    "a shell's child": ["sh", "-c", '"$@"; exit $?', "sh"],
    "a shell's background": ["sh", "-c", '"$@" & wait $!', "sh"],
    "spawned by Python": [sys.executable, "-c", "import subprocess, sys; subprocess.run(sys.argv[1:], close_fds=False)"],
    "started by xargs": ["sh", "-c", 'printf "%s\\0" "$@" | xargs -0 env', "sh"],
}  # fmt: skip


@pytest.fixture(autouse=True)
def _built() -> None:
    need("libwavetank-trace-openmpi.so")


def as_a_shell(where: Path) -> Callable[[], None]:
    """What a process changes of itself between fork and exec, before the command."""

    def change() -> None:
        os.umask(0o27)
        os.chdir(where / "folder")
        resource.setrlimit(resource.RLIMIT_NOFILE, (200, 300))
        resource.setrlimit(resource.RLIMIT_STACK, (1 << 22, 1 << 23))
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2, signal.SIGTERM])
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # a command in the background
        os.dup2(os.open(where / "written", os.O_WRONLY | os.O_CREAT, 0o666), SHELL_DESCRIPTORS)
        os.set_inheritable(SHELL_DESCRIPTORS, True)

    return change


def seen(where: Path, program: list[str], traced: bool, folder: str = "t") -> str:
    """What a program writes to its standard output."""
    command = [*WAVETANK, "trace", "-o", str(where / folder), "--", *program] if traced else program
    (where / "folder").mkdir(exist_ok=True)
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=HANG_S,
        check=False,
        close_fds=False,
        env={"PATH": os.environ["PATH"], "WORD": "with blank", "LANG": "C"},
        preexec_fn=as_a_shell(where),
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_program_has_the_same_signals_umask_and_rights(tmp_path: Path) -> None:
    def facts(traced: bool) -> list[str]:
        lines = seen(tmp_path, ["cat", "/proc/self/status"], traced).splitlines()
        return [line for line in lines if line.split(":")[0] in STATUS]

    untraced = facts(False)
    assert len(untraced) == len(STATUS)
    assert facts(True) == untraced


def test_a_program_has_the_same_limits(tmp_path: Path) -> None:
    program = ["cat", "/proc/self/limits"]
    assert seen(tmp_path, program, traced=True) == seen(tmp_path, program, traced=False)


def test_a_program_has_the_same_descriptors_and_working_directory(tmp_path: Path) -> None:
    program = ["sh", "-c", "pwd; for f in /proc/$$/fd/*; do echo ${f##*/} $(readlink $f); done"]

    def facts(traced: bool) -> list[str]:
        lines = seen(tmp_path, program, traced).splitlines()
        return [line.split("pipe:")[0] for line in lines]  # of the test, a new one each time

    untraced = facts(False)
    assert untraced[0] == str(tmp_path / "folder")
    assert f"{SHELL_DESCRIPTORS} {tmp_path / 'written'}" in untraced
    assert facts(True) == untraced


def test_a_program_has_the_same_environment_but_for_what_tracing_needs(tmp_path: Path) -> None:
    def facts(traced: bool) -> list[str]:
        words = seen(tmp_path, ["env", "-0"], traced).split("\0")
        return sorted(word for word in words if not word.startswith(OURS))

    assert facts(True) == facts(False)


@pytest.mark.parametrize("way", STARTED)
def test_what_a_traced_program_starts_sees_what_it_sees_untraced(tmp_path: Path, way: str) -> None:
    need("libwavetank-trace-openmpi.so", "xargs")
    program = [*STARTED[way], "sh", "-c", LOOK]

    def facts(traced: bool) -> list[str]:
        kept = []
        for line in seen(tmp_path, program, traced).splitlines():
            name, colon, _ = line.partition(":")
            if not (line.startswith(OURS) or (colon and "\t" in line and name not in STATUS)):
                kept.append(line.split("pipe:")[0])
        return kept

    untraced = facts(False)
    ignored = next(line for line in untraced if line.startswith("SigIgn:"))
    assert int(ignored.split()[1], 16) & 3 == 3  # SIGHUP and SIGINT
    assert (
        "Max open files            200                  300                  files     " in untraced
    )
    assert f"{SHELL_DESCRIPTORS} {tmp_path / 'written'}" in untraced
    assert "WORD=with blank" in untraced
    assert facts(True) == untraced


def in_shell(where: Path, script: str, traced: bool, *arguments: str) -> tuple[str, str]:
    """Standard output and error of a script, in which "$@" runs a command traced or as it is."""
    wavetank = [sys.executable, "-m", "wavetank"]
    command = [*wavetank, "trace", "--force", "-o", str(where / "t"), "--"] if traced else ["env"]
    done = subprocess.run(
        ["bash", "-c", script, "bash", *command, *arguments],
        cwd=where, capture_output=True, text=True, timeout=HANG_S, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


def test_a_descriptor_that_the_shell_opened_is_the_programs_too(tmp_path: Path) -> None:
    script = 'exec 5>f; "$@" sh -c "echo inside >&5"; echo outside >&5'
    in_shell(tmp_path, script, traced=True)
    assert (tmp_path / "f").read_text() == "inside\noutside\n"
    trace = read_trace(tmp_path / "t")
    assert [Path(file.path).name for file in trace.files] == ["f"]


def test_a_script_opens_descriptors_of_its_own_as_untraced(tmp_path: Path) -> None:
    inner = "exec 5>f 6<&0 9>g; echo five >&5; (echo nine >&9); exec 5>&-; for f in /proc/$$/fd/*; do echo ${f##*/}; done"
    found = {
        traced: in_shell(tmp_path, f"\"$@\" bash -c '{inner}'", traced)[0]
        for traced in (False, True)
    }
    assert found[True] == found[False]
    assert (tmp_path / "f").read_text() + (tmp_path / "g").read_text() == "five\nnine\n"


def test_a_lock_on_a_descriptor_is_kept_by_the_traced_program(tmp_path: Path) -> None:
    need("libwavetank-trace-openmpi.so", "flock")
    # The lock is of what descriptor 9 has open: the same for the program, and another for who opens the file again.
    inner = "flock -n 9 && echo mine; flock -n lock true || echo locked"
    for traced in (False, True):
        said, _ = in_shell(tmp_path, f"exec 9>lock; flock 9; \"$@\" sh -c '{inner}'", traced)
        assert said == "mine\nlocked\n"
    # The lock ends with the last descriptor: nothing of the tracing keeps it.
    subprocess.run(["flock", "-n", str(tmp_path / "lock"), "true"], check=True, timeout=HANG_S)


@pytest.mark.parametrize("outer", [False, True], ids=["make is traced", "a recipe is traced"])
def test_makes_job_server_reaches_the_traced_makes(tmp_path: Path, outer: bool) -> None:
    need("libwavetank-trace-openmpi.so", "make")
    (tmp_path / "inner").write_text(
        "all: a b c d\na b c d:\n\t@echo $(filter --jobserver%,$(MAKEFLAGS)) | cut -c -11 > $@.txt\n"
    )
    command = "$(T) $(MAKE) -f inner" if outer else "$(MAKE) -f inner"
    (tmp_path / "Makefile").write_text(f"all:\n\t+@{command}\n")
    script = 'make -j3 T="$*"' if outer else '"$@" make -j3'
    _, said = in_shell(tmp_path, script, traced=True)
    assert "jobserver" not in said  # "warning: jobserver unavailable: using -j1"
    for name in "abcd":
        assert (tmp_path / f"{name}.txt").read_text() == "--jobserver\n"
        assert f"{name}.txt" in {Path(file.path).name for file in read_trace(tmp_path / "t").files}


def test_what_a_program_writes_through_an_inherited_descriptor_is_recorded(tmp_path: Path) -> None:
    seen(tmp_path, ["sh", "-c", f"echo hello >&{SHELL_DESCRIPTORS}"], traced=True)
    assert (tmp_path / "written").read_text() == "hello\n"
    trace = read_trace(tmp_path / "t")
    assert [Path(file.path).name for file in trace.files] == ["written"]
    assert int(trace.folds.moved.sum()) == len("hello\n")


def test_a_pipe_of_the_shell_can_be_read_by_its_name(tmp_path: Path) -> None:
    command = [*WAVETANK, "trace", "-o", "t", "--", "cat"]
    script = '"$@" <(echo hello)'
    done = subprocess.run(
        ["bash", "-c", script, "bash", *command],
        cwd=tmp_path, capture_output=True, text=True, timeout=HANG_S, check=False,
    )  # fmt: skip
    assert done.stdout == "hello\n", done.stderr
    assert done.returncode == 0


def test_a_run_without_standard_streams_ends_as_the_program_does(tmp_path: Path) -> None:
    command = [*WAVETANK, "trace", "-o", "t", "--", "sh", "-c", "echo word > out.txt; exit 3"]
    done = subprocess.run(
        ["sh", "-c", '"$@" <&- >&-', "sh", *command],
        cwd=tmp_path, capture_output=True, text=True, timeout=HANG_S, check=False,
    )  # fmt: skip
    assert done.returncode == 3
    assert "Traceback" not in done.stderr
