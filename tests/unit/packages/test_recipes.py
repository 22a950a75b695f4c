"""Recipes of packages: they name what pyproject.toml and the one table of names have, and what can be made here is made."""

from __future__ import annotations

import ast
import contextlib
import re
import shutil
import subprocess
import sys
import tomllib
import types
from email.parser import Parser
from pathlib import Path

import pytest

import wavetank
from waiting import HANG_S
from wavetank.packages import table

ROOT = Path(__file__).parents[3]
PACKAGING = ROOT / "packaging"
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
NOT_IN_DEBIAN = {"darshan"}  # its library reads Darshan logs; nothing of it is imported
DEBIAN_CALLS = {"pyyaml": "python3-yaml"}


def needed(*extras: str) -> dict[str, str]:
    """What a distribution of ours needs: Python's name -> the least version."""
    project = PYPROJECT["project"]
    lines = [*project["dependencies"]]
    for extra in extras:
        lines += project["optional-dependencies"][extra]
    return dict(re.fullmatch(r"([\w-]+)>=([\d.]+)", line).groups() for line in lines)


class Recipe:
    """Takes the words of a Spack recipe, as Spack does."""

    def __init__(self):
        self.depends = {}
        self.variants = set()
        self.versions = set()
        self.git = None

    def module(self):
        made = types.ModuleType("spack.package")
        made.PythonPackage = type("PythonPackage", (), {})
        made.license = lambda *_, **__: None
        made.version = lambda name, **_: self.versions.add(name)
        made.variant = lambda name, **_: self.variants.add(name)
        made.depends_on = lambda spec, when="", **_: self.depends.update({spec: when})
        made.default_args = lambda **_: contextlib.nullcontext()
        made.__all__ = [name for name in vars(made) if not name.startswith("_")]
        return made


def read(monkeypatch, name):
    """The recipe of a package in our own repository of Spack."""
    recipe = Recipe()
    monkeypatch.setitem(sys.modules, "spack", types.ModuleType("spack"))
    monkeypatch.setitem(sys.modules, "spack.package", recipe.module())
    path = PACKAGING / f"spack/packages/{name}/package.py"
    defined = {"__file__": str(path)}
    exec(compile(path.read_text(), path, "exec"), defined)
    recipe.git = getattr(defined.get("Wavetank"), "git", None)
    return recipe


def test_the_spack_recipe_needs_what_the_package_needs(monkeypatch):
    recipe = read(monkeypatch, "wavetank")
    assert recipe.git == ROOT.as_uri()  # without a source Spack refuses the recipe
    found = {
        name.removeprefix("py-"): version.rstrip(":")
        for name, _, version in (spec.partition("@") for spec in recipe.depends)
        if name.startswith("py-")
    }
    assert found.pop("hatchling") == PYPROJECT["build-system"]["requires"][0].partition(">=")[2]
    assert found == needed("aws", "tables")
    assert {when.lstrip("+") for when in recipe.depends.values() if when} == recipe.variants
    python = PYPROJECT["project"]["requires-python"].lstrip(">=")
    assert f"python@{python}:" in recipe.depends


def test_what_spack_has_too_old_comes_with_ours(monkeypatch):
    """Of isal Spack ends at 1.1.0; ours is the version that the tests run with, and new enough."""
    (version,) = read(monkeypatch, "py-isal").versions
    pinned = (PACKAGING / "constraints.txt").read_text().splitlines()
    assert f"isal=={version}" in pinned
    least = [int(part) for part in needed()["isal"].split(".")]
    assert [int(part) for part in version.split(".")] >= least


def control():
    """Paragraphs of debian/control."""
    text = (PACKAGING / "debian/control").read_text()
    return [Parser().parsestr(part) for part in text.strip().split("\n\n")]


def relations(field):
    """Names with the least versions that a field asks for."""
    words = [each.strip() for each in field.split(",") if each.strip() and "$" not in each]
    return {
        name: version.partition(":")[2] or version
        for name, version in (
            re.fullmatch(r"(\S+)(?: \(>?= (\S+)\))?", word).groups("") for word in words
        )
    }


def test_no_class_is_made_of_what_has_a_type_since_click_8_2_alone():
    """Debian 13 has click 8.1, and the package says that it is enough: ``click.Choice[str]`` ends it at the import."""
    found = [
        f"{path.name}: {ast.unparse(base)}"
        for path in (ROOT / "src/wavetank/cli").glob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ClassDef)
        for base in node.bases
        if isinstance(base, ast.Subscript) and ast.unparse(base.value).startswith("click.")
    ]
    assert found == []


def test_debians_package_needs_what_the_package_needs_by_the_names_of_the_table():
    source, binary = control()
    depends = relations(binary["Depends"])
    python = {
        DEBIAN_CALLS.get(name, f"python3-{name}"): least
        for name, least in needed().items()
        if name not in NOT_IN_DEBIAN
    }
    assert {name: least for name, least in depends.items() if name.startswith("python3-")} == python
    others = {
        name
        for field in (binary["Depends"], binary["Recommends"], binary["Suggests"])
        for name in relations(field)
        if not name.startswith("python3-")
    }
    assert len(others) > 10 and sorted(others - table().keys()) == []
    assert relations(source["Build-Depends"])["python3"] == PYPROJECT["project"][
        "requires-python"
    ].lstrip(">=")


def test_the_container_takes_its_packages_from_the_list():
    text = (PACKAGING / "container/Containerfile").read_text()
    (copied,) = re.findall(r"^COPY (packaging/.*) /tmp", text, re.MULTILINE)
    assert all((ROOT / name).is_file() for name in copied.split())
    (groups,) = re.findall(r'^ARG PACKAGES="(.*)"$', text, re.MULTILINE)
    assert groups == "build run file-systems"
    assert "install-debian-packages ${PACKAGES} " in text and "apt-get install" not in text
    assert "ARG BASE=docker.io/library/debian:12-slim\nFROM ${BASE}\n" in text
    ignored = (ROOT / ".containerignore").read_text().split()
    assert not {"native", "src", "packaging", "pyproject.toml", "README.md", "LICENSE"} & set(
        ignored
    )


@pytest.mark.skipif(
    not all(map(shutil.which, ("git", "dpkg-source", "dpkg-parsechangelog")))
    or not (ROOT / ".git").exists(),
    reason="Debian's dpkg-dev, and a checkout",
)
def test_the_debian_source_package_is_made_and_unpacks_to_a_tree_that_builds(tmp_path):
    def run(*argv):
        done = subprocess.run(
            argv, cwd=tmp_path, capture_output=True, text=True, timeout=HANG_S, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    described = Path(run(PACKAGING / "debian-source", tmp_path / "out"))
    assert sorted(each.suffix for each in described.parent.iterdir()) == [".dsc", ".gz"]
    run("dpkg-source", "--no-check", "-x", described, tmp_path / "tree")
    tree = tmp_path / "tree"
    for name in (
        "debian/control",
        "debian/rules",
        "pyproject.toml",
        "native/CMakeLists.txt",
        "src/wavetank/_commit.txt",
    ):
        assert (tree / name).is_file(), name
    assert not (tree / "packaging/debian").exists()
    licence = (
        (tree / "debian/copyright")
        .read_text()
        .partition("License: BSD-3-Clause\n\nLicense: BSD-3-Clause\n")[2]
    )
    assert licence.splitlines()[0] == " BSD 3-Clause License" and "\n\n" not in licence
    project = wavetank.__version__
    version = run("dpkg-parsechangelog", "-l", tree / "debian/changelog", "-S", "Version")
    assert version.replace("~", ".") == project
