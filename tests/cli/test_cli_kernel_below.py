"""Darshan's logs of Open MPI have no places at MPI-IO level: kernels are made of the POSIX calls below."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from waiting import HANG_S
from wavetank.kernel.below import SENTENCE
from wavetank.kernel.plan import Kernel
from wavetank.model.application import Model

WAVETANK = [sys.executable, "-c", "from wavetank.cli.main import main; main()"]
DATA = Path(__file__).parents[1] / "data" / "darshan"
LOG = DATA / "s3dio_np4_40c_method0_openmpi_ompio.darshan"
# darshan-parser of the log: each of the five files, POSIX_BYTES_WRITTEN 8192588 in 5 POSIX_WRITES by rank 0
N_FILES, BYTES, WRITES = 5, 8_192_588, 5


def run(where: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*WAVETANK, *words], cwd=where, capture_output=True, text=True, timeout=HANG_S, check=False
    )


@pytest.fixture
def model(tmp_path: Path) -> Path:
    pytest.importorskip(
        "darshan", reason="PyDarshan is not installed (pip install 'wavetank[darshan]')"
    )
    shutil.copy(LOG, tmp_path / "job.darshan")
    done = run(tmp_path, "model", "job.darshan", "-o", "m.json")
    assert done.returncode == 0, done.stderr
    return tmp_path / "m.json"


def test_a_kernel_is_made_of_the_posix_calls_and_says_so(model: Path) -> None:
    done = run(model.parent, "kernel", "m.json", "-o", "k.json")
    assert done.returncode == 0, done.stderr
    assert SENTENCE in done.stderr
    kernel = Kernel.read(model.parent / "k.json")
    assert SENTENCE in kernel.not_reproduced
    assert "with the differences below" in done.stdout
    assert len(kernel.phases) == N_FILES
    for phase in kernel.phases:
        assert (phase.level, phase.ph_processid) == ("posix", (0,))
        assert phase.ph_weight == BYTES
        assert phase.ph_nrep * len(phase.pattern) == WRITES
    below = Model.read(model.parent / "k.posix.model.json")
    assert [phase.ph_weight for phase in below.phases] == [BYTES] * N_FILES


def test_without_its_log_a_model_says_what_to_do(model: Path) -> None:
    (model.parent / "job.darshan").unlink()
    done = run(model.parent, "kernel", "m.json", "-o", "k.json")
    assert done.returncode == 1
    assert "job.darshan is not there any more" in done.stderr
    assert "--levels posix" in done.stderr
    assert not (model.parent / "k.json").exists()


def test_a_log_is_tried_by_its_posix_calls(model: Path) -> None:
    done = run(model.parent, "try", "job.darshan", "--dry-run", "-o", "folder")
    assert done.returncode == 0, done.stderr
    assert SENTENCE in done.stderr
    tried = Model.read(model.parent / "folder" / "model.json")
    assert [phase.ph_weight for phase in tried.phases] == [BYTES] * N_FILES
