"""A log of which DXT lost a part: every command says how much."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from commands_here import COMMANDS, run_here
from waiting import HANG_S
from wavetank.kernel.document.kernel import Kernel
from wavetank.model.document.model import Model
from wavetank.notes import carried, texts

WAVETANK = [sys.executable, "-c", "from wavetank.cli.main import main; main()"]
LOG = Path(__file__).parents[1] / "data/darshan/recorded/partial-own-posix.mpich.darshan"
# darshan-parser of the log: POSIX_WRITES 144 and POSIX_READS 144 of 10,000 bytes on each of four files. DXT had room
# for 144 segments of each rank: 576 of 1,152, the writes.
MISSING = (
    "Darshan counted 1,152 POSIX operations of 11,520,000 bytes, and its segments hold 576 of 5,760,000 bytes: "
    "576 operations (50.0 %) of 5,760,000 bytes on 4 files are missing"
)
PARTIAL = f"the trace is PARTIAL: {MISSING}"


def run(where: Path, *words: str) -> subprocess.CompletedProcess[str]:
    if words[0] in COMMANDS:
        return run_here(where, *words)
    return subprocess.run(
        [*WAVETANK, *words], cwd=where, capture_output=True, text=True, timeout=HANG_S, check=False
    )


@pytest.fixture
def log(tmp_path: Path) -> Path:
    pytest.importorskip("darshan", reason="PyDarshan is not installed (pip install darshan)")
    shutil.copy(LOG, tmp_path / "job.darshan")
    return tmp_path


@pytest.fixture
def model(log: Path) -> Path:
    done = run(log, "model", "job.darshan", "--allow-damaged", "-o", "m.json")
    assert done.returncode == 0, done.stderr
    assert PARTIAL in done.stderr
    assert PARTIAL in done.stdout  # the table of the application
    return log


@pytest.mark.parametrize("command", ["model", "try"])
def test_a_partial_log_is_refused_with_what_is_missing(log: Path, command: str) -> None:
    done = run(log, command, "job.darshan", "-o", "out")
    assert done.returncode == 1
    assert PARTIAL in done.stderr
    assert "DARSHAN_MODMEM" in done.stderr and "--allow-damaged" in done.stderr
    assert not (log / "out").exists()


def test_a_model_of_what_is_left_says_what_is_missing(model: Path) -> None:
    made = Model.read(model / "m.json")
    lost = texts(made.notes, "lost")
    assert lost and all(MISSING in text for text in lost)
    assert {phase.pattern[0].iop_type for phase in made.phases} == {"write"}
    shown = run(model, "summary", "m.json", "--format", "json")
    assert MISSING in shown.stdout


def test_its_kernel_is_not_exact_and_says_why(model: Path) -> None:
    done = run(model, "kernel", "m.json", "-o", "k.json")
    assert done.returncode == 0, done.stderr
    assert PARTIAL in done.stdout and "with the differences below" in done.stdout
    kernel = Kernel.read(model / "k.json")
    assert (
        [text for text in texts(carried(kernel.notes)) if PARTIAL in text]
        == list(texts(carried(kernel.notes)))
        != []
    )
    assert set(texts(carried(kernel.notes))) <= set(texts(kernel.notes))
    compared = run(model, "fidelity", "k.json", "m.json")
    assert compared.returncode == 0, compared.stderr
    assert PARTIAL in compared.stdout and "Exact." not in compared.stdout
    body = json.loads(run(model, "fidelity", "k.json", "m.json", "--format", "json").stdout)
    assert body["doubts"] == list(texts(carried(kernel.notes)))


def test_an_attempt_of_what_is_left_says_what_is_missing_before_it_starts(model: Path) -> None:
    done = run(model, "try", "m.json", "--dry-run", "-o", "folder")
    assert done.returncode == 0, done.stderr
    assert PARTIAL in done.stderr


def test_a_comparison_with_another_model_says_what_is_missing(model: Path) -> None:
    done = run(model, "diff", "m.json", "m.json")
    assert done.returncode == 0, done.stderr
    assert f"a: {PARTIAL}" in done.stdout + done.stderr


def test_a_converted_log_stays_partial(log: Path) -> None:
    done = run(log, "convert", "job.darshan", "-o", "job.trace")
    assert done.returncode == 0, done.stderr
    assert MISSING in done.stderr
    refused = run(log, "model", "job.trace", "-o", "m.json")
    assert refused.returncode == 1
    assert PARTIAL in refused.stderr
    shown = run(log, "summary", "--full", "job.trace")
    assert PARTIAL in shown.stderr
