"""Names of packages: one table, of which every remedy that wavetank prints is made."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from wavetank.packages import as_here, how_to_install, table

ROOT = Path(__file__).parents[3]
ROCKY = {"ID": "rocky", "ID_LIKE": "rhel centos fedora"}
DEBIAN = {"ID": "debian"}
UBUNTU = {
    version: {"ID": "ubuntu", "ID_LIKE": "debian", "VERSION_ID": version}
    for version in ("22.04", "24.04")
}


def test_every_package_that_a_remedy_or_the_list_names_is_in_the_table() -> None:
    listed = {
        line.split("\t")[0]
        for line in (ROOT / "packaging/debian-packages.txt").read_text().splitlines()
        if line and not line.startswith("#")
    }
    assert len(listed) > 50
    named = {
        name
        for path in (ROOT / "src/wavetank").rglob("*.py")
        for found in re.findall(r'"apt-get install ([a-z0-9][a-z0-9 .+-]+)"', path.read_text())
        for name in found.split()
        if not name.startswith("-")
    }
    assert "glusterfs-server" in named
    assert sorted((listed | named) - table().keys()) == []


def test_a_remedy_names_the_packages_of_the_distribution() -> None:
    assert how_to_install("gcc", "libc6-dev", release=DEBIAN) == "apt-get install gcc libc6-dev"
    assert how_to_install("gcc", "libc6-dev", release=ROCKY) == "dnf install gcc glibc-devel"
    said = how_to_install("libnfs-dev", "user-mode-linux", release=ROCKY)
    assert said.startswith("dnf install libnfs-devel (of EPEL)")
    assert said.endswith("for Debian's user-mode-linux")
    remedy = "apt-get install libfuse3-dev pkg-config, then: make setup"
    assert as_here(remedy, DEBIAN) == remedy
    assert as_here(remedy, ROCKY) == "dnf install fuse3-devel pkgconf-pkg-config, then: make setup"
    assert as_here("modprobe nfs", ROCKY) == "modprobe nfs"


@pytest.mark.parametrize(
    ("debian", "old", "new"),
    [
        # Ubuntu 22.04's own Python is 3.10
        ("python3 python3-venv", "python3.11 python3.11-venv", "python3 python3-venv"),
        ("gcc libopenmpi-dev", "gcc libopenmpi-dev", "gcc libopenmpi-dev"),
        ("linux-image-amd64", "linux-image-generic", "linux-image-generic"),
        ("a-package-of-none", "a-package-of-none", "a-package-of-none"),
    ],
)
def test_ubuntu_has_names_of_its_own_where_they_differ(debian: str, old: str, new: str) -> None:
    for version, names in (("22.04", old), ("24.04", new)):
        said = f"apt-get install {names}"
        assert how_to_install(*debian.split(), release=UBUNTU[version]) == said
        assert as_here(f"apt-get install {debian}", UBUNTU[version]) == said
