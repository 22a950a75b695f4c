"""How each rank starts the user's program."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from wavetank.application.program import Wanted, starting
from wavetank.errors import UsageError
from wavetank.launchers.registry import launcher


def test_the_mount_is_put_into_arguments_the_directory_and_the_environment() -> None:
    wanted = Wanted(("cp", "a", "{mount}/b"), "{mount}/run1", {"OUT": "{mount}/out"}).at("/tank")
    assert wanted.argv == ("cp", "a", "/tank/b")
    assert wanted.directory == "/tank/run1"
    assert wanted.environment == {"WAVETANK_MOUNT": "/tank", "OUT": "/tank/out"}
    assert Wanted(("x",), None, {}).at("/tank").directory == "/tank"


def test_a_relative_directory_is_refused() -> None:
    with pytest.raises(UsageError, match="absolute"):
        Wanted(("x",), "here", {}).at("/tank")


def test_a_rank_gets_directory_environment_and_arguments_as_they_are(tmp_path: Path) -> None:
    nasty = "a b;$(touch x)'\"\\*"
    wanted = Wanted(("sh", "-c", 'pwd; printf "%s|%s" "$V" "$1"', "sh", nasty), str(tmp_path), {})
    for waits in (True, False):
        argv = starting(wanted, "/bin/sh", {"V": nasty}, launcher("none"), waits=waits)
        done = subprocess.run(argv, capture_output=True, text=True, check=True)
        assert done.stdout == f"{tmp_path}\n{nasty}|{nasty}"
    assert list(tmp_path.iterdir()) == []


def test_only_the_program_has_the_environment_not_the_shell_before_it() -> None:
    # a tracer that the shell had would record the shell
    argv = starting(Wanted(("true",), "/", {}), "/bin/true", {"V": "1"}, launcher("openmpi"))
    assert argv[0] == "sh"
    assert argv.index("V=1") > argv.index("sh", 1)


def test_a_shell_that_waits_tells_the_signal_that_ended_the_program() -> None:
    wanted = Wanted(("sh", "-c", "kill -9 $$"), "/", {})
    argv = starting(wanted, "/bin/sh", {}, launcher("none"), waits=True)
    assert subprocess.run(argv, check=False).returncode == 128 + 9


def test_arguments_that_launchers_take_for_their_own_are_refused() -> None:
    wanted = Wanted(("app", ":", "b"), "/", {})
    with pytest.raises(UsageError, match="lone ':'"):
        starting(wanted, "/bin/app", {}, launcher("openmpi"))
    assert ":" in starting(wanted, "/bin/app", {}, launcher("none"))
    with pytest.raises(UsageError, match="'='"):
        starting(Wanted(("a=b",), "/", {}), "/bin/a=b", {}, launcher("none"))
