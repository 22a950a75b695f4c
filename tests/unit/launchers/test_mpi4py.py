"""Which MPI a Python program's mpi4py is built with, and launchers of the other one."""

from __future__ import annotations

import stat
from collections.abc import Sequence
from pathlib import Path

import pytest

from wavetank.errors import TraceError
from wavetank.launchers.family import mpi4py_family, run_here
from wavetank.launchers.registry import launcher
from wavetank.trace.program import check_program

VERSIONS = {"openmpi": "Open MPI v4.1.4, package: Debian", "mpich": "MPICH Version:  4.0.2"}
OTHER = {"openmpi": "mpich", "mpich": "openmpi"}


def python(folder: Path, version: str) -> Path:
    """An interpreter that says which MPI its mpi4py has, whatever it is asked."""
    path = folder / "python3"
    path.write_text(f"#!/bin/sh\necho '{version}'\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


@pytest.mark.parametrize("family", VERSIONS)
def test_the_library_itself_tells_its_family(family: str, tmp_path: Path) -> None:
    script = tmp_path / "run.py"
    script.write_text("from mpi4py import MPI\n")
    interpreter = python(tmp_path, VERSIONS[family])
    for words in (["python3", str(script)], ["python3", "-c", "import mpi4py"], ["python3", "-m", "mpi4py.bench"]):  # fmt: skip
        assert mpi4py_family(interpreter, words, run_here) == family


def test_only_programs_that_name_mpi4py_are_asked(tmp_path: Path) -> None:
    def run(words: Sequence[str]) -> str:
        raise AssertionError(words)

    plain = tmp_path / "plain.py"
    plain.write_text("print(1)\n")
    assert mpi4py_family(Path("/usr/bin/python3"), ["python3", str(plain)], run) is None
    assert mpi4py_family(Path("/bin/sh"), ["sh", "-c", "mpi4py"], run) is None


def test_an_interpreter_without_mpi4py_tells_none(tmp_path: Path) -> None:
    interpreter = python(tmp_path, "")
    interpreter.write_text("#!/bin/sh\nexit 1\n")
    assert mpi4py_family(interpreter, ["python3", "-c", "import mpi4py"], run_here) is None


@pytest.mark.parametrize("family", VERSIONS)
def test_the_launcher_of_the_other_mpi_is_refused(
    family: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wavetank.trace.program.run_here", lambda words: VERSIONS[family])
    monkeypatch.setattr("wavetank.trace.program.interpreter_of", lambda path: Path("/x/python3"))
    python(tmp_path, "")
    argv = ["mpiexec", "-n", "2", str(tmp_path / "python3"), "-c", "import mpi4py"]
    with pytest.raises(TraceError, match="mpi4py"):
        check_program(argv, launcher(OTHER[family]))
    check_program(argv, launcher(family))
