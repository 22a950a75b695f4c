"""A plain installation reads Darshan logs: what brings libdarshan-util is a dependency of all, and none of it is imported."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

from waiting import HANG_S

ROOT = Path(__file__).parents[3]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
LOG = ROOT / "tests/data/darshan/ior_seq_fpp_posix_1m.darshan"


def name_of(requirement: str) -> str:
    """As indexes compare names."""
    return re.sub(r"[-_.]+", "-", re.split(r"[^\w.-]", requirement.strip())[0]).lower()


def needed_by(name: str) -> set[str]:
    """A package and all that it is installed with."""
    found, left = set(), [name]
    while left:
        if (one := left.pop()) in found:
            continue
        found.add(one)
        requirements = metadata.requires(one) or []
        left += [name_of(each) for each in requirements if ";" not in each]
    return found


def test_a_plain_installation_brings_what_reads_darshan_logs() -> None:
    assert "darshan" in map(name_of, PROJECT["dependencies"])
    assert PROJECT["optional-dependencies"]["darshan"] == []  # wavetank[darshan] still installs


def test_what_comes_with_it_is_pinned() -> None:
    pytest.importorskip("darshan")
    lines = (ROOT / "packaging/constraints.txt").read_text().splitlines()
    pinned = {name_of(line) for line in lines if "==" in line}
    assert needed_by("darshan") - pinned == set()


@pytest.mark.parametrize(
    "done",
    [
        "from wavetank.cli.main import cli; cli(['--help'], standalone_mode=False)",
        f"from pathlib import Path; from wavetank.trace.open import open_trace; assert open_trace(Path({str(LOG)!r})).n_ranks == 4",
    ],
    ids=["start", "a log"],
)
def test_nothing_of_it_is_imported(done: str) -> None:
    pytest.importorskip("darshan")
    program = (
        f"import sys; {done}; print(sorted({{'darshan', 'pandas', 'seaborn'}} & set(sys.modules)))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=HANG_S, check=False
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines()[-1] == "[]"
