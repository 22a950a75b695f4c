"""Darshan's logs of Open MPI have no places at MPI-IO level: kernels are made of the POSIX calls below."""

import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from commands_here import COMMANDS, run_here
from waiting import HANG_S
from wavetank.kernel.construction.places import BELOW
from wavetank.kernel.document.kernel import Kernel
from wavetank.kernel.lowering.collectives import require_agreement
from wavetank.model.document.model import Model
from wavetank.notes import carried, texts

WAVETANK = [sys.executable, "-c", "from wavetank.cli.main import main; main()"]
DATA = Path(__file__).parents[1] / "data" / "darshan"
LOG = DATA / "s3dio_np4_40c_method0_openmpi_ompio.darshan"
# darshan-parser of the log: each of the five files, POSIX_BYTES_WRITTEN 8192588 in 5 POSIX_WRITES by rank 0
N_FILES, BYTES, WRITES = 5, 8_192_588, 5


def run(where: Path, *words: str) -> subprocess.CompletedProcess[str]:
    if words[0] in COMMANDS:
        return run_here(where, *words)
    return subprocess.run(
        [*WAVETANK, *words], cwd=where, capture_output=True, text=True, timeout=HANG_S, check=False
    )


@pytest.fixture
def model(tmp_path: Path) -> Path:
    pytest.importorskip("darshan", reason="PyDarshan is not installed (pip install darshan)")
    shutil.copy(LOG, tmp_path / "job.darshan")
    done = run(tmp_path, "model", "job.darshan", "-o", "m.json")
    assert done.returncode == 0, done.stderr
    return tmp_path / "m.json"


def test_a_kernel_is_made_of_the_posix_calls_and_says_so(model: Path) -> None:
    done = run(model.parent, "kernel", "m.json", "-o", "k.json")
    assert done.returncode == 0, done.stderr
    assert str(BELOW) in done.stderr
    kernel = Kernel.read(model.parent / "k.json")
    assert str(BELOW) in texts(kernel.notes)
    assert "with the differences below" in done.stdout
    assert len(kernel.phases) == N_FILES
    for phase in kernel.phases:
        assert (phase.level, phase.ph_processid) == ("posix", (0,))
        assert phase.ph_weight == BYTES
        assert phase.ph_nrep * len(phase.pattern) == WRITES
    # The sizes of a phase are told from the least to the most, and a reason of refusal once.
    sizes = [line.split()[5:8] for line in done.stdout.splitlines() if "  write  " in line]
    assert sizes == [["588", "to", "5,632,000"]] * N_FILES
    refused = [line.split()[0] for line in done.stdout.splitlines() if "are irregular" in line]
    assert refused == [f"1\N{EN DASH}{N_FILES}"]
    below = Model.read(model.parent / "k.posix.model.json")
    assert [phase.ph_weight for phase in below.phases] == [BYTES] * N_FILES


def test_a_log_with_offsets_keeps_the_level_and_what_was_collective(tmp_path: Path) -> None:
    # S3D-IO under MPICH: counters of each file MPIIO_COLL_WRITES 16 and MPIIO_INDEP_WRITES 1, the header.
    pytest.importorskip("darshan", reason="PyDarshan is not installed (pip install darshan)")
    shutil.copy(DATA / "recorded/s3d_io_pnetcdf.mpich.darshan", tmp_path / "job.darshan")
    assert run(tmp_path, "model", "job.darshan", "-o", "m.json").returncode == 0
    done = run(tmp_path, "kernel", "m.json", "-o", "k.json")
    assert done.returncode == 0, done.stderr
    kernel = Kernel.read(tmp_path / "k.json")
    assert texts(carried(kernel.notes)) == ()
    require_agreement(kernel)  # all ranks make the same collective calls in the same order
    calls: Counter[tuple[str, tuple[int, ...]]] = Counter()
    for phase in kernel.phases:
        calls[phase.pattern[0].iop_type, phase.ph_processid] += phase.ph_np * phase.ph_niop
    assert calls == {
        ("MPI_File_write_at", (0,)): N_FILES,
        ("MPI_File_write_at_all", (0, 1, 2, 3)): 16 * N_FILES,
    }
    assert len(kernel.phases) == 5 * N_FILES
    # The log has no file views: what is told apart is who calls what, not where each byte lies.
    assert any("overlap between ranks" in sentence for sentence in texts(kernel.notes))


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
    assert str(BELOW) in done.stderr
    tried = Model.read(model.parent / "folder" / "model.json")
    assert [phase.ph_weight for phase in tried.phases] == [BYTES] * N_FILES
