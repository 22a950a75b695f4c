"""A launcher of one MPI with a program of the other: refused, as its ranks would not meet."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from wavetank.launchers.registry import launcher

WAVETANK = [sys.executable, "-c", "from wavetank.cli.main import main; main()"]
PROGRAM = (
    "#include <mpi.h>\nint main(int c, char **v) { MPI_Init(&c, &v); return MPI_Finalize(); }\n"
)


@pytest.mark.parametrize(
    ("family", "other", "right"), [("openmpi", "mpiexec.mpich", "mpirun.openmpi"), ("mpich", "mpirun.openmpi", "mpiexec.mpich")]
)  # fmt: skip
def test_a_launcher_of_another_mpi_is_refused_with_the_right_one(
    family: str, other: str, right: str, tmp_path: Path
) -> None:
    if launcher("openmpi").available() is None or launcher("mpich").available() is None:
        pytest.skip("needs Open MPI and MPICH")
    (tmp_path / "program.c").write_text(PROGRAM)
    subprocess.run(["mpicc." + family, "-o", "program", "program.c"], cwd=tmp_path, check=True)
    done = subprocess.run(
        [*WAVETANK, "trace", "-o", "t", "--", other, "-np", "2", "./program"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    assert "would run alone" in done.stderr and right in done.stderr
    assert not (tmp_path / "t").exists()
