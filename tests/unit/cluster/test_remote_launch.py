"""A launcher that runs on a host: it has its files there, its paths are those of the host, and nothing of it stays."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hosts_of_this_machine import make_cluster, make_ssh

from waiting import HANG_S, until
from wavetank.cluster.remote import launch
from wavetank.cluster.remote.launching import launcher_prefix, remote_shell
from wavetank.cluster.state import ClusterDirectory
from wavetank.job import SCRATCH, Job, Placement
from wavetank.launchers.none import NoLauncher


@pytest.fixture
def called_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Hosts c1 and c2 by a stand-in for ssh; a C part that is built here."""
    noted = make_ssh(tmp_path / "bin")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    make_cluster(tmp_path / "lab", tmp_path / "home", ["c1", "c2"])
    part = tmp_path / "native" / "bin" / "a-part"
    part.parent.mkdir(parents=True)
    part.write_text('#!/bin/sh\necho "part $0 $*"\n')
    part.chmod(0o755)
    monkeypatch.setenv("WAVETANK_NATIVE_DIR", str(tmp_path / "native"))
    return noted


def command(tmp_path: Path, *words: str) -> list[str]:
    """As the null launcher starts it on the cluster, with a folder that has a file ``plan``."""
    scratch = tmp_path / "scratch"
    scratch.mkdir(exist_ok=True)
    (scratch / "plan").write_text("what to do\n")
    prefix = launcher_prefix(ClusterDirectory(tmp_path / "lab"))
    assert prefix[-1] == SCRATCH
    placement = Placement(hosts=(("c1", 1),), launcher_prefix=prefix)
    return NoLauncher().command(Job(words, 1, {"COLOUR": "blue"}, placement), scratch)


def run(argv: list[str], stdin: str = "") -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        argv, input=stdin, capture_output=True, text=True, check=False, timeout=HANG_S
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done


@pytest.mark.usefixtures("called_for")
def test_a_command_has_its_folder_on_the_host_and_its_streams_and_status_are_its_own(
    tmp_path: Path,
) -> None:
    script = 'cat "$1"; echo "$1"; echo "$COLOUR"; cat; echo to-stderr >&2; exit 7'
    plan = f"--plan={tmp_path / 'scratch' / 'plan'}"
    argv = command(tmp_path, "sh", "-c", script.replace("$1", "${1#--plan=}"), "sh", plan)
    done = run(argv, "an order\n")
    text, there, colour, order = done.stdout.splitlines()
    assert (text, colour, order) == ("what to do", "blue", "an order")
    assert there.startswith(f"{tmp_path / 'home' / 'launch' / 'scratch'}-")
    assert "to-stderr" in done.stderr
    assert done.returncode == 7
    assert list((tmp_path / "home" / "launch").iterdir()) == []  # the folder is gone again


def test_a_part_is_brought_to_all_hosts_once_and_again_when_it_was_built_anew(
    tmp_path: Path, called_for: Path
) -> None:
    part = tmp_path / "native" / "bin" / "a-part"
    first = run(command(tmp_path, str(part), "x y")).stdout.split()
    assert first[1].startswith(f"{tmp_path / 'home' / 'programs'}/") and first[2:] == ["x", "y"]
    assert set(called_for.read_text().split()) == {"c1", "c2"}
    (brought,) = (tmp_path / "home" / "programs").glob("*/a-part")
    inode = brought.stat().st_ino
    run(command(tmp_path, str(part)))
    assert brought.stat().st_ino == inode
    part.write_text("#!/bin/sh\necho anew\n")
    assert run(command(tmp_path, str(part))).stdout == "anew\n"


@pytest.mark.usefixtures("called_for")
def test_a_program_that_is_elsewhere_on_the_host_is_found_by_its_name(tmp_path: Path) -> None:
    placement = Placement(
        hosts=(("c1", 1),), launcher_prefix=launcher_prefix(ClusterDirectory(tmp_path / "lab"))
    )
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    argv = NoLauncher().command(Job(("/nowhere/bin/echo", "found"), 1, {}, placement), scratch)
    assert run(argv).stdout == "found\n"
    missing = NoLauncher().command(Job(("/nowhere/no-such-mpirun",), 1, {}, placement), scratch)
    done = run(missing)
    assert done.returncode == 127
    assert "/nowhere/no-such-mpirun is not on this host" in done.stderr


@pytest.mark.usefixtures("called_for")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_asked_to_end_it_ends_what_runs_on_the_host(tmp_path: Path, number: int) -> None:
    pid_file = tmp_path / "pid"
    argv = command(tmp_path, "sh", "-c", 'echo $$ >"$1.new"; mv "$1.new" "$1"; exec sleep 3600', "sh", str(pid_file))  # fmt: skip
    process = subprocess.Popen(argv, start_new_session=True)
    until(pid_file.exists, "the program's start")
    process.send_signal(number)
    assert process.wait(HANG_S) == 128 + number
    assert not Path(f"/proc/{int(pid_file.read_text())}").exists()
    assert list((tmp_path / "home" / "launch").iterdir()) == []


def test_a_cluster_that_cannot_launch_says_what_to_do(tmp_path: Path) -> None:
    done = run([sys.executable, "-m", launch.__name__, str(tmp_path), str(tmp_path), "true"])
    assert done.returncode == 1
    assert "take it down, and bring it up again" in done.stderr


def test_hosts_reach_each_other_by_sudo_where_all_commands_go_by_it() -> None:
    assert remote_shell("/h", sudo=True) == ("/h/launch/remote-shell",)
    assert remote_shell("/h", sudo=False) == ("ssh", "-F", "/h/launch/ssh_config")
