"""wavetank trace and wavetank convert, as a user calls them."""

import gzip
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from commands_here import run_here as run
from waiting import HANG_S, until
from wavetank import native
from wavetank.notes import texts
from wavetank.trace.events import unfold
from wavetank.trace.index import TraceIndex
from wavetank.trace.open import open_trace
from wavetank.trace.ops import OPS, OPS_BY_NAME
from wavetank.trace.reader import read_trace
from wavetank.trace.schema import COLUMNS, OpKind

WAVETANK = [sys.executable, "-c", "from wavetank.cli.main import main; main()"]
WRITER = "open('out.bin', 'wb', buffering=0).write(b'x' * 1000)"


def run_apart(where: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """In a process of its own, where what the traced program prints is looked at."""
    return subprocess.run(
        [*WAVETANK, *arguments], cwd=where, capture_output=True, text=True, timeout=HANG_S, check=False
    )  # fmt: skip


@pytest.fixture(autouse=True)
def _built() -> None:
    if not native.available("lib/libwavetank-trace-openmpi.so"):
        pytest.skip("lib/libwavetank-trace-openmpi.so is not built (make setup)")


def test_a_run_is_recorded_and_said_on_standard_error_only(tmp_path: Path) -> None:
    done = run_apart(
        tmp_path, "trace", "-o", "t", "--", sys.executable, "-c", WRITER + "; print('hello')"
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "hello\n"
    assert (
        "1 rank(s), 1 file(s), 4 operations" in done.stderr
    )  # open, fstat (Python's), write, close
    index = TraceIndex.read(tmp_path / "t" / "index.json")
    assert index.exit_status == 0
    assert [Path(f.path).name for f in index.files] == ["out.bin"]
    assert index.files[0].file_system is not None


def test_the_program_s_status_is_passed_on_and_its_trace_kept(tmp_path: Path) -> None:
    done = run(
        tmp_path, "trace", "-o", "t", "--", sys.executable, "-c", WRITER + "; raise SystemExit(7)"
    )
    assert done.returncode == 7
    assert "the program failed (status 7)" in done.stderr
    assert len(read_trace(tmp_path / "t").folds) == 4


def test_a_signal_is_passed_on_as_shells_do(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        "trace",
        "-o",
        "t",
        "--",
        sys.executable,
        "-c",
        WRITER + "; import os; os.kill(os.getpid(), 9)",
    )
    assert done.returncode == 128 + 9
    assert "signal SIGKILL" in done.stderr
    assert len(read_trace(tmp_path / "t").folds) >= 2


def test_a_program_without_io_is_said_to_do_none(tmp_path: Path) -> None:
    done = run(tmp_path, "trace", "-o", "t", "--", "true")
    assert done.returncode == 0
    assert "did no I/O" in done.stderr
    assert len(read_trace(tmp_path / "t").folds) == 0


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["env", "-i"], "nothing that env started left a part: it clears the environment"),
        (["env", "-i", "PATH=/usr/bin:/bin", "mpirun", "-np", "2"], "and its 2 rank(s) left nothing"),
        (["chroot", "/"], ""),  # the same root: what it starts is recorded
        (["env", "A=1"], ""),
    ],
)  # fmt: skip
def test_a_command_that_drops_the_tracer_is_said_to(
    tmp_path: Path, command: list[str], said: str
) -> None:
    if command[0] == "chroot" and os.geteuid() != 0:
        pytest.skip("chroot takes root")
    if "mpirun" in command:
        if shutil.which("mpirun.openmpi") is None:
            pytest.skip("mpirun.openmpi is not installed")
        at = command.index("mpirun")
        options = ["--allow-run-as-root", "--oversubscribe"]
        command = [*command[:at], "mpirun.openmpi", *options, *command[at + 1 :]]
    writes = ["dd", "if=/dev/zero", f"of={tmp_path}/out", "bs=1", "count=3", "status=none"]
    done = run(tmp_path, "trace", "-o", "t", "--", *command, *writes)
    assert done.returncode == 0, done.stderr
    if said:
        assert said in done.stderr
        assert any(said in warning for warning in texts(read_trace(tmp_path / "t").notes))
    else:
        assert "left" not in done.stderr


def test_an_existing_trace_is_replaced_only_when_asked(tmp_path: Path) -> None:
    first = ("trace", "-o", "t", "--", sys.executable, "-c", WRITER)
    assert run(tmp_path, *first).returncode == 0
    again = run(tmp_path, *first)
    assert again.returncode == 2
    assert "--force" in again.stderr
    assert run(tmp_path, "trace", "--force", *first[1:]).returncode == 0
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("precious")
    done = run(tmp_path, "trace", "--force", "-o", "mine", "--", "true")
    assert done.returncode == 2
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "precious"


@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("./absent", "there is no program ./absent"),
        ("./plain", "not an executable file"),
        ("./broken", "cannot run"),
    ],
)
def test_a_program_that_cannot_run_is_an_error_and_leaves_nothing(
    tmp_path: Path, program: str, said: str
) -> None:
    (tmp_path / "plain").write_text("text")
    broken = tmp_path / "broken"
    broken.write_bytes(b"\x7fELF garbage")
    broken.chmod(broken.stat().st_mode | stat.S_IXUSR)
    done = run(tmp_path, "trace", "-o", "t", "--", program)
    assert done.returncode == 1
    assert said in done.stderr
    assert not (tmp_path / "t").exists()


def test_a_static_program_is_refused(tmp_path: Path) -> None:
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not installed")
    (tmp_path / "s.c").write_text("int main(void) { return 0; }\n")
    built = subprocess.run(
        ["gcc", "-static", "-o", "s", "s.c"], cwd=tmp_path, check=False, timeout=HANG_S
    )
    if built.returncode != 0:
        pytest.skip("no static C library")
    done = run(tmp_path, "trace", "-o", "t", "--", "./s")
    assert done.returncode == 1
    assert "statically linked" in done.stderr


def test_a_folder_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = run(tmp_path, "trace", "-o", "file/t", "--", "true")
    assert done.returncode == 1
    assert "cannot write the trace folder" in done.stderr


def test_folders_above_the_trace_are_not_made(tmp_path: Path) -> None:
    done = run(tmp_path, "trace", "-o", "no/such/x.trace", "--", "true")
    assert done.returncode == 1
    assert f"there is no folder {tmp_path / 'no/such'}" in done.stderr
    assert not (tmp_path / "no").exists()


@pytest.mark.parametrize(
    ("command", "files"),
    [
        (["./job"], {"out"}),
        (["sh", "-e", "./job"], {"out"}),
        (["./by-env"], {"out"}),
        (["./link"], {"out"}),
        (["cat", "job"], {"job"}),
        (["sh", "-c", "read line < job"], {"job"}),
    ],
)
def test_a_script_s_own_text_is_no_data(
    tmp_path: Path, command: list[str], files: set[str]
) -> None:
    for name, first in (("job", "#!/bin/sh"), ("by-env", "#!/usr/bin/env sh")):
        (tmp_path / name).write_text(f"{first}\necho text > out\n")
        (tmp_path / name).chmod(0o755)
    (tmp_path / "link").symlink_to("job")
    done = run(tmp_path, "trace", "-o", "t", "--", *command)
    assert done.returncode == 0, done.stderr
    trace = read_trace(tmp_path / "t")
    assert {Path(f.path).name for f in trace.files} == files


def test_a_virtual_environment_s_interpreter_is_no_data(tmp_path: Path) -> None:
    (tmp_path / "env" / "bin").mkdir(parents=True)
    python = tmp_path / "env" / "bin" / "python"
    shutil.copy(Path(sys.executable).resolve(), python)
    reader = f"import os; open({str(python)!r}, 'rb').read(10); os.stat({str(python)!r})"
    done = run(tmp_path, "trace", "-o", "t", "--", sys.executable, "-c", f"{WRITER}; {reader}")
    assert done.returncode == 0, done.stderr
    assert [Path(f.path).name for f in read_trace(tmp_path / "t").files] == ["out.bin"]


def test_a_launcher_that_starts_nothing_leaves_no_trace(tmp_path: Path) -> None:
    if shutil.which("mpirun.openmpi") is None:
        pytest.skip("Open MPI is not installed")
    done = run(
        tmp_path,
        "trace",
        "-o",
        "t",
        "--",
        "mpirun.openmpi",
        "--allow-run-as-root",
        "-np",
        "2",
        "./absent",
    )
    assert done.returncode == 1
    assert "started no rank" in done.stderr
    assert not (tmp_path / "t").exists()


def written(folder: Path) -> dict[str, int]:
    """Bytes written to each file of a trace, by base name."""
    trace = read_trace(folder)
    sums: dict[str, int] = {}
    for op, file, moved in zip(trace.folds.op, trace.folds.file, trace.folds.moved, strict=True):
        if OPS[int(op)].kind is OpKind.WRITE:
            name = Path(trace.files[file].path).name
            sums[name] = sums.get(name, 0) + int(moved)
    return sums


@pytest.mark.parametrize(
    "script",
    [
        "cat a > b",
        "cat a > b; true",
        "exec > b; cat a",
        "{ cat a; } > b",
        "sh -c 'exec sh -c \"cat a; true\"' > b",
        "cat a 2> b >&2",
    ],
)
def test_what_a_script_redirects_is_recorded(tmp_path: Path, script: str) -> None:
    (tmp_path / "a").write_bytes(b"x" * 5000)
    done = run(tmp_path, "trace", "-o", "t", "--", "sh", "-c", script)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "b").stat().st_size == 5000
    assert written(tmp_path / "t") == {"b": 5000}
    assert "not recorded" not in done.stderr


@pytest.mark.parametrize("asked", [False, True])
def test_what_the_users_shell_redirects_is_said_to_be_missing(tmp_path: Path, asked: bool) -> None:
    (tmp_path / "a").write_bytes(b"x" * 5000)
    options = ["--standard-streams"] if asked else []
    with (tmp_path / "mine.txt").open("wb") as out:
        done = subprocess.run(
            [*WAVETANK, "trace", *options, "-o", "t", "--", "cat", "a"],
            cwd=tmp_path, stdout=out, stderr=subprocess.PIPE, text=True, timeout=HANG_S, check=False,
        )  # fmt: skip
    assert done.returncode == 0
    assert (tmp_path / "mine.txt").stat().st_size == 5000
    assert written(tmp_path / "t") == ({"mine.txt": 5000} if asked else {})
    said = [line for line in done.stderr.splitlines() if "not recorded" in line]
    assert len(said) == (0 if asked else 1)
    assert asked or ("4.9 KiB" in said[0] and str(tmp_path / "mine.txt") in said[0])


def test_the_trace_of_a_replay_gives_back_the_model(tmp_path: Path) -> None:
    """The tool's own process, its plan and its notes are no part of it; the replay's ranks are."""
    if not native.available("bin/wavetank-replay-serial"):
        pytest.skip("bin/wavetank-replay-serial is not built (make setup)")
    tool = Path(sys.executable).parent / "wavetank"
    if not tool.exists():
        pytest.skip("wavetank is not installed as a program")
    (tmp_path / "root").mkdir()
    writer = "f = open('out.bin', 'wb', buffering=0)\nfor i in range(50): f.write(b'x' * 1000)"
    for arguments in (
        ("trace", "-o", "app.trace", "--", sys.executable, "-c", writer),
        ("model", "app.trace", "-o", "app.model"),
        ("kernel", "app.model", "-o", "app.kernel"),
        ("trace", "-o", "replay.trace", "--", str(tool), "replay", "app.kernel", "--root", "root"),
        ("model", "replay.trace", "-o", "replay.model"),
        ("diff", "app.model", "replay.model"),
    ):
        done = run(tmp_path, *arguments)
        assert done.returncode == 0, f"{arguments}: {done.stdout}\n{done.stderr}"
    again = read_trace(tmp_path / "replay.trace")
    assert [Path(f.path).name for f in again.files] == ["out.bin"]
    assert again.n_ranks == 1


def test_include_and_exclude_choose_the_files(tmp_path: Path) -> None:
    script = "open('a.bin','wb').write(b'1'); open('b.bin','wb').write(b'2'); open('/etc/hostname').read()"
    done = run(
        tmp_path, "trace", "-o", "t", "--exclude", "b.bin", "--include", "/etc/hostname", "--", sys.executable, "-c", script
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert {Path(f.path).name for f in read_trace(tmp_path / "t").files} == {"a.bin", "hostname"}


def test_event_times_give_every_operation_its_own_row(tmp_path: Path) -> None:
    script = "f = open('out.bin', 'wb', buffering=0)\nfor i in range(50): f.write(b'x' * 10)"
    for times, rows in (("fold", 1), ("event", 50)):
        assert (
            run(
                tmp_path, "trace", "-o", times, "--times", times, "--", sys.executable, "-c", script
            ).returncode
            == 0
        )
        folds = read_trace(tmp_path / times).folds
        assert int((folds.size == 10).sum()) == rows


def test_convert_writes_a_trace_that_reads_back_the_same(tmp_path: Path) -> None:
    lines = "".join(
        f'7 170000000{i}.5 pwrite64(3</data/x>, ""..., 100, {i * 100}) = 100 <0.000003>\n'
        for i in range(1, 6)
    )
    (tmp_path / "log").write_text(lines)
    done = run(tmp_path, "convert", "log", "-o", "t")
    assert done.returncode == 0, done.stderr
    assert "from strace: 1 rank(s), 1 file(s), 5 operations in 1 folds" in done.stderr
    direct, converted = open_trace(tmp_path / "log"), read_trace(tmp_path / "t")
    assert converted.files == direct.files
    assert texts(converted.notes) == texts(direct.notes)
    for name in COLUMNS:
        assert getattr(converted.folds, name).tolist() == getattr(direct.folds, name).tolist()
    assert run(tmp_path, "convert", "log", "-o", "t").returncode == 2


def test_convert_makes_no_folders_above_the_trace(tmp_path: Path) -> None:
    (tmp_path / "log").write_text(
        '7 1700000001.5 pwrite64(3</data/x>, ""..., 100, 0) = 100 <0.000003>\n'
    )
    done = run(tmp_path, "convert", "log", "-o", "no/such/t")
    assert done.returncode == 1
    assert "cannot make no/such/t" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["log"]


def test_convert_refuses_what_it_does_not_know(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(gzip.compress(b"nothing of the kind"))
    done = run(tmp_path, "convert", "log")
    assert done.returncode == 1
    assert "no kind that is known" in done.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to mount a small file system")
def test_a_disk_that_fills_is_said_to_have_cost_operations(tmp_path: Path) -> None:
    """Not that the program was killed: it went on to its end."""
    script = (
        "import os, random\nf = os.open('out.bin', os.O_CREAT | os.O_WRONLY)\n"
        "for _ in range(150000): os.pwrite(f, b'x' * random.randrange(1, 9), random.randrange(1 << 20))"
    )
    (tmp_path / "small").mkdir()
    (tmp_path / "app.py").write_text(script)
    (tmp_path / "tool.py").write_text("from wavetank.cli.main import main; main()")
    steps = (
        "mount -t tmpfs -o size=2900k tmpfs small && "
        f"{sys.executable} tool.py trace -o small/t -- {sys.executable} app.py; echo status $?; "
        f"{sys.executable} tool.py model small/t; echo status $?"
    )
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", steps],
        cwd=tmp_path, capture_output=True, text=True, timeout=HANG_S, check=False,
    )  # fmt: skip
    if "mount" in done.stderr and "status" not in done.stdout:
        pytest.skip(f"cannot mount: {done.stderr}")
    assert done.stdout.split() == ["status", "1", "status", "1"], done.stderr
    lost = re.search(
        r"No space left on device\): ([\d,]+) operation\(s\) after that are missing", done.stderr
    )
    kept = re.search(r"([\d,]+) operations in", done.stderr)
    assert lost, done.stderr
    assert kept, done.stderr
    n_lost, n_kept = (int(match[1].replace(",", "")) for match in (lost, kept))
    assert n_kept + n_lost == 1 + 150000  # the open, and every write
    assert n_lost > 0
    assert n_kept > 10000  # the disk holds some hundred KiB of 5 bytes an operation
    assert "killed" not in done.stderr


def test_a_killed_program_leaves_a_small_trace_with_all_it_did(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(
        "import os\nf = open('out.bin', 'wb', buffering=0)\nfor i in range(50): f.write(b'x' * (1 + i))\n"
        "os.kill(os.getpid(), 9)\n"
    )
    done = run(tmp_path, "trace", "-o", "t", "--", sys.executable, "app.py")
    assert done.returncode == 128 + 9
    assert "did not end in order" in done.stderr
    assert (
        sum(path.stat().st_size for path in (tmp_path / "t").iterdir()) < 100_000
    )  # a tail is 2.7 MB
    events = unfold(read_trace(tmp_path / "t").folds)
    writes = events.op == OPS_BY_NAME["write"].code
    assert events.moved[writes].tolist() == list(range(1, 51))
    again = run(tmp_path, "trace", "--force", "-o", "t", "--", "true")
    assert again.returncode == 0, again.stderr
    assert [path.name for path in (tmp_path / "t").iterdir()] == ["index.json"]


def test_ctrl_c_ends_the_program_and_leaves_what_was_recorded(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(
        "import os, time\nf = open('out.bin', 'wb', buffering=0)\nf.write(b'x' * 7)\n"
        "open('ready', 'w').close()\ntime.sleep(100000)\n"
    )
    command = [sys.executable, "-c", "from wavetank.cli.main import main; main()", "trace", "-o", "t", "--",
               sys.executable, "app.py"]  # fmt: skip
    with subprocess.Popen(
        command, cwd=tmp_path, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        until(lambda: (tmp_path / "ready").exists() or process.poll() is not None)
        assert process.poll() is None
        os.killpg(process.pid, signal.SIGINT)  # as the terminal does
        errors = process.communicate(timeout=HANG_S)[1]
    assert process.returncode == 130, errors
    assert "interrupted" in errors
    events = unfold(read_trace(tmp_path / "t").folds)
    assert 7 in events.moved.tolist()
