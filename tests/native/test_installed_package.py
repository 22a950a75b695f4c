"""The wheel in an environment of its own: an ordinary user's first command builds the C parts, and the whole chain works."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import first_page
from waiting import HANG_S
from wavetank import native_build

ROOT = Path(__file__).parents[2]
NOBODY = 65534


def built_wheel(folder: Path, source: Path = ROOT) -> Path:
    """As pip builds it, without an environment to build it in: what it takes is installed for the tests."""
    argv = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-build-isolation", "--no-deps", "--no-index",
            "--disable-pip-version-check", "--wheel-dir", str(folder), str(source)]  # fmt: skip
    done = subprocess.run(argv, capture_output=True, text=True, timeout=HANG_S, check=False)
    assert done.returncode == 0, done.stderr
    (wheel,) = folder.glob("*.whl")
    return wheel


@dataclass(frozen=True)
class Installed:
    """The wheel in a virtual environment, which takes wavetank's dependencies from that of the tests."""

    folder: Path
    wheel: Path
    user: int | None

    @property
    def home(self) -> Path:
        return self.folder / "home"

    def run(self, *words: str, path: str = "/usr/bin:/bin") -> subprocess.CompletedProcess[str]:
        """Run wavetank as a user whose environment says nothing of this checkout."""
        return self._started([str(self.folder / "venv/bin/wavetank"), *words], path)

    def shell(self, text: str) -> subprocess.CompletedProcess[str]:
        """Run lines of shell as that user, with the environment's programs on the path; the first that fails ends them."""
        return self._started(["sh", "-e", "-c", text], f"{self.folder}/venv/bin:/usr/bin:/bin")

    def _started(self, argv: list[str], path: str) -> subprocess.CompletedProcess[str]:
        who = (
            {} if self.user is None else {"user": self.user, "group": self.user, "extra_groups": []}
        )
        return subprocess.run(
            argv, cwd=self.home, capture_output=True, text=True, timeout=HANG_S, check=False,
            # without optimisation, which takes more than half of the time
            env={"HOME": str(self.home), "PATH": path, "CMAKE_BUILD_TYPE": "Debug"}, **who,
        )  # type: ignore[call-overload]  # fmt: skip


def runs_for_nobody(*argv: str) -> bool:
    try:
        done = subprocess.run(argv, user=NOBODY, group=NOBODY, extra_groups=[], cwd="/",
                              capture_output=True, check=False)  # fmt: skip
    except PermissionError:
        return False
    return done.returncode == 0


@pytest.fixture(scope="module")
def installed() -> Iterator[Installed]:
    packages = next(path for path in sys.path if path.endswith("site-packages"))
    version = f"python3.{sys.version_info.minor}"
    pythons = [path for path in (sys.executable, f"/usr/bin/{version}") if Path(path).exists()]
    reads = f"import os; os.listdir({packages!r})"
    ordinary = [
        path for path in pythons if os.geteuid() == 0 and runs_for_nobody(path, "-c", reads)
    ]
    folder = Path(tempfile.mkdtemp(prefix="wavetank-test-"))  # pytest's own are closed to others
    folder.chmod(0o755)
    try:
        subprocess.run(
            [*(ordinary or pythons)[:1], "-m", "venv", "--without-pip", folder / "venv"], check=True
        )
        wheel = built_wheel(folder)
        argv = [sys.executable, "-m", "pip", "--python", folder / "venv/bin/python", "install", "--quiet", "--no-deps",
                "--no-index", "--disable-pip-version-check", wheel]  # fmt: skip
        subprocess.run(argv, check=True, timeout=HANG_S)
        (folder / f"venv/lib/{version}/site-packages/dependencies.pth").write_text(packages + "\n")
        (folder / "home").mkdir()
        if ordinary:
            os.chown(folder / "home", NOBODY, NOBODY)
        yield Installed(folder, wheel, NOBODY if ordinary else None)
    finally:
        shutil.rmtree(folder)


def test_the_wheel_holds_all_sources_of_the_c_parts_a_page_a_command_and_what_completes_them(
    installed: Installed,
) -> None:
    names = set(zipfile.ZipFile(installed.wheel).namelist())
    sources = {
        f"wavetank/_native/source/{path.relative_to(ROOT / 'native')}"
        for path in native_build.source_files(ROOT / "native")
    }
    assert len(sources) > 100
    assert sources - names == set()
    share = installed.folder / "venv/share"
    page = (share / "man/man1/wavetank-cluster-up.1").read_text()
    assert ".SH OPTIONS" in page
    for place in ("bash-completion/completions/wavetank", "zsh/site-functions/_wavetank",
                  "fish/vendor_completions.d/wavetank.fish"):  # fmt: skip
        assert "_WAVETANK_COMPLETE" in (share / place).read_text()


def test_a_source_package_builds_a_wheel_of_the_same_files(
    installed: Installed, tmp_path: Path
) -> None:
    argv = [sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", str(tmp_path)]
    subprocess.run(argv, cwd=ROOT, check=True, capture_output=True, timeout=HANG_S)
    (source,) = tmp_path.glob("*.tar.gz")
    wheels = [zipfile.ZipFile(path) for path in (installed.wheel, built_wheel(tmp_path, source))]
    checksums = [
        {
            each.filename: each.CRC
            for each in wheel.infolist()
            if not each.filename.endswith("RECORD")
        }
        for wheel in wheels
    ]
    assert checksums[0] == checksums[1]


def test_without_what_builds_the_first_command_says_what_to_install(installed: Installed) -> None:
    """PATH has the interpreter's folder alone: no cmake, no compiler."""
    said = installed.run("trace", "--", "/usr/bin/true", path=str(installed.folder / "venv/bin"))
    assert said.returncode == 1
    assert "this machine has no cmake, cc, make" in said.stderr
    assert "install cmake gcc make libc6-dev" in said.stderr.replace("glibc-devel", "libc6-dev")
    assert list(installed.home.iterdir()) == []


def test_the_first_page_runs_as_it_stands_and_its_first_trace_builds_the_c_parts(
    installed: Installed,
) -> None:
    """Its first block of shell, by an ordinary user, in a clean shell; but for the installation, which was made."""
    commands = first_page.commands()
    assert "C parts: none yet; they are built at first use" in installed.run("--version").stdout
    done = installed.shell(commands)
    assert done.returncode == 0, done.stderr + done.stdout
    assert done.stderr.count("building the C parts") == 1
    (record,) = (installed.home / ".cache/wavetank/native").glob("*/*/built.json")
    found: dict[str, str] = json.loads(record.read_text())["mpi"]  # family -> compiler wrapper
    assert all(wrapper in done.stderr for wrapper in found.values())
    assert {name for name in ("openmpi", "mpich") if shutil.which(f"mpicc.{name}")} <= set(found)
    assert str(record.parent) in installed.run("--version").stdout
    size = 20_000 * 8 * 1024  # of what dd writes there, and cat copies
    replayed = [path for path in (installed.home / "here").rglob("*") if path.is_file()]
    assert [path.stat().st_size for path in replayed].count(size) == 2
    assert (installed.home / "try/report.html").exists()
