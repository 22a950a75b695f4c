"""The package of Manila's driver: what is in its wheel, and whom its modules know."""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
import zipfile
from email.parser import Parser
from pathlib import Path

from waiting import HANG_S

PACKAGE = Path(__file__).parents[3] / "packaging" / "manila"
MODULES = sorted((PACKAGE / "src" / "wavetank_manila").glob("*.py"))


def imported(module: Path) -> set[str]:
    """Top names of what a module imports."""
    found = set()
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.Import):
            found |= {each.name.partition(".")[0] for each in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.partition(".")[0])
    return found


def test_the_driver_alone_knows_manila_and_nothing_knows_wavetank() -> None:
    known = {module.stem: imported(module) - sys.stdlib_module_names for module in MODULES}
    assert known == {
        "__init__": set(),
        "driver": {"manila", "oslo_config", "oslo_log", "wavetank_manila"},
        "service": {"requests"},
        "shares": {"wavetank_manila"},
        "spaces": {"wavetank_manila"},
    }


def test_a_wheel_of_it_has_all_modules_and_needs_no_more_than_manila_has(tmp_path: Path) -> None:
    copy = tmp_path / "manila"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    argv = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(argv, cwd=copy, check=True, capture_output=True, timeout=HANG_S)
    (wheel,) = tmp_path.glob("wavetank_manila-*.whl")
    with zipfile.ZipFile(wheel) as packed:
        names = packed.namelist()
        (metadata,) = (name for name in names if name.endswith("/METADATA"))
        told = Parser().parsestr(packed.read(metadata).decode())
    assert {f"wavetank_manila/{module.name}" for module in MODULES} <= set(names)
    assert told.get_all("Requires-Dist") == ["requests>=2.31"]
