"""The whole chain on a small input: made once, used by every test of this folder."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from book.browser import start
from slurm_cluster import SlurmCluster

from made_once import made_once
from waiting import HANG_S

ROOT = Path(__file__).resolve().parents[2]
WAVETANK = Path(sys.executable).parent / "wavetank"
ABYSS = Path("/usr/lib/abyss/ABYSS-P")
PAIRS = 4000  # 2 files of 4000 records of 226 bytes

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def wavetank() -> Run:
    """Run the command line as a user does; asserts the exit status that is expected."""

    def run(
        *arguments: str | Path, cwd: Path, status: int = 0, timeout: float = HANG_S
    ) -> subprocess.CompletedProcess[str]:
        finished = subprocess.run(
            [str(WAVETANK), *map(str, arguments)],
            cwd=cwd,
            check=False,
            capture_output=True,
            text=True,
            timeout=timeout,
        )
        assert finished.returncode == status, (
            f"{arguments}: {finished.returncode}\n{finished.stdout}\n{finished.stderr}"
        )
        assert "Traceback" not in finished.stderr
        return finished

    return run


@pytest.fixture(scope="session")
def assembled(tmp_path_factory: pytest.TempPathFactory, wavetank: Run) -> Path:
    """A folder with reads, abyss.trace, abyss.model.json and abyss.kernel.json."""
    if not ABYSS.exists():
        pytest.skip("ABYSS-P is not installed (Debian package abyss)")

    def make(folder: Path) -> None:
        generator = ROOT / "examples/abyss/generate_reads.py"
        subprocess.run(
            [sys.executable, generator, "--pairs", str(PAIRS), "--genome", "2000"],
            cwd=folder,
            check=True,
        )
        as_root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
        wavetank(
            "trace", "-o", "abyss.trace", "--",
            "mpirun.openmpi", "-np", "4", "--oversubscribe", *as_root, str(ABYSS), "-k", "25", "-q3",
            "--coverage-hist=coverage.hist", "-s", "bubbles.fa", "-o", "contigs.fa",
            "reads1.fastq", "reads2.fastq",
            cwd=folder,
        )  # fmt: skip
        wavetank("model", "abyss.trace", "-o", "abyss.model.json", cwd=folder)
        wavetank("kernel", "abyss.model.json", "-o", "abyss.kernel.json", cwd=folder)

    return made_once(tmp_path_factory, "abyss", make)


@pytest.fixture(scope="session")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of two applications on five clusters, HTML."""
    import campaign_examples
    import report_examples

    from wavetank.report.gather import read_folder
    from wavetank.report.page.html import render

    def make(folder: Path) -> None:
        models = [report_examples.abyss(report_examples.SCRIPT_NAME), report_examples.bt_io()]
        campaign_examples.make_campaign(folder, models)
        (folder / "report.html").write_text(render(read_folder(folder)), encoding="utf-8")

    return made_once(tmp_path_factory, "report", make) / "report.html"


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[object]:
    """A browser, for the tests of one file."""
    profile = tmp_path_factory.mktemp("profile")
    driver = start(profile, HANG_S)
    try:
        yield driver
    finally:
        driver.quit()
        shutil.rmtree(profile, ignore_errors=True)


@pytest.fixture(scope="module")
def slurm() -> Iterator[SlurmCluster]:
    """A batch system of one node, for the tests of one file."""
    with tempfile.TemporaryDirectory(prefix="wtslurm-", dir="/tmp") as folder:  # a short path
        cluster = SlurmCluster(Path(folder))
        try:
            yield cluster
        finally:
            cluster.stop()
