"""What nodes lack: programs, files and modules of their kernel, with what their distribution calls them."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from wavetank.cluster.filesystems.lustre.driver import Lustre
from wavetank.cluster.needs import Needs, distribution_of, has_module
from wavetank.cluster.remote import hosts, scripts
from wavetank.cluster.spec import ClusterSpec

ROCKY = 'NAME="Rocky Linux"\nVERSION="9.4 (Blue Onyx)"\nID="rocky"\nID_LIKE="rhel centos fedora"\nVERSION_ID="9.4"\n'
MODULES_DEP = (
    "extra/lustre/fs/lustre.ko.xz: extra/lustre/net/lnet.ko.xz\nextra/lustre/net/lnet.ko.xz:\n"
)


def test_a_distribution_is_itself_first_and_then_what_it_is_like() -> None:
    assert distribution_of(ROCKY) == ("rocky", "rhel", "centos", "fedora")
    assert distribution_of("ID=debian\n") == ("debian",)
    assert distribution_of("") == ()


def test_a_kernel_has_what_modprobe_finds_in_its_directory(tmp_path: Path) -> None:
    (tmp_path / "modules.dep").write_text(MODULES_DEP)
    (tmp_path / "modules.builtin").write_text("kernel/fs/ext4/ext4.ko\n")
    assert has_module("lustre", tmp_path)
    assert has_module("lnet", tmp_path)
    assert has_module("ext4", tmp_path)
    assert not has_module("net", tmp_path)  # not a part of another's name
    assert not has_module("osd_ldiskfs", tmp_path)


def test_what_is_missing_is_named_as_the_nodes_distribution_calls_it() -> None:
    needs = Needs({"lctl": "anywhere"}, elsewhere={"rhel": {"lctl": "dnf"}, "rocky": {"x": "y"}})
    assert needs.how("lctl", ("rocky", "rhel")) == "dnf"
    assert needs.how("lctl", ("debian",)) == "anywhere"
    both = needs | Needs(modules={"lustre": "somehow"}, elsewhere={"rhel": {"lustre": "dnf too"}})
    assert both.how("lustre", ("rhel",)) == "dnf too"
    assert both.how("lctl", ("rhel",)) == "dnf"


def test_modules_are_looked_for_in_the_kernel_of_guests(tmp_path: Path) -> None:
    (tmp_path / "modules.dep").write_text(MODULES_DEP)
    needs = Needs(modules={"lustre": "build it", "no_such_module": "build that"})
    assert list(map(str, needs.missing_here(tmp_path))) == ["no_such_module is missing: build that"]


def test_a_host_says_which_modules_it_lacks_and_what_it_is(tmp_path: Path) -> None:
    loaded = sorted(path.name for path in Path("/sys/module").iterdir())[0]
    argv = ["sh", "-c", scripts.EXAMINE, "sh", str(tmp_path), "", "k", loaded, "k", "no_such_module"]  # fmt: skip
    said = subprocess.run(argv, capture_output=True, text=True, check=True).stdout.splitlines()
    assert "k no_such_module" in said
    assert f"k {loaded}" not in said
    (distribution,) = [line.partition(" ")[2] for line in said if line.startswith("o ")]
    assert distribution_of(distribution.replace(";", "\n")) == distribution_of(
        Path("/etc/os-release").read_text()
    )


class Rocky:
    """A host that lacks all modules, and has all programs."""

    address, home, config = "h", "/home", Path("/ssh_config")

    def __init__(self, name: str) -> None:
        self.name = name

    def script(self, text: str, *words: str, timeout_s: float) -> str:
        missing = "".join(f"k {name}\n" for kind, name in zip(words[2::2], words[3::2], strict=True) if kind == "k")  # fmt: skip
        return f'i {self.name} 1\no ID="rocky";ID_LIKE="rhel centos fedora";\n{missing}'


def test_hosts_are_told_the_packages_of_their_role(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = ClusterSpec.model_validate({
        "name": "lab", "provider": "ssh", "instance": {"name": "x"}, "nodes": {"compute": 1, "io": 1},
        "ssh": {"hosts": {"c1": "a", "io1": "b"}, "user": "root", "identity_file": "/k", "known_hosts": "/h"},
        "file_system": {"kind": "lustre"},
    })  # fmt: skip

    @contextlib.contextmanager
    def reaching(_: ClusterSpec) -> Iterator[dict[str, Any]]:
        yield {name: Rocky(name) for name in spec.node_names()}

    monkeypatch.setattr(hosts, "reaching", reaching)
    driver = Lustre()
    needs = {"c1": driver.needs_of_clients(spec), "io1": driver.needs_of_servers(spec)}
    of_c1, of_io1 = hosts.examine(spec, needs)
    assert of_c1.startswith("c1: lnet, lustre are missing: dnf install lustre-client kmod-lustre-client, ")  # fmt: skip
    assert of_io1.startswith(
        "io1: lnet, lustre, osd_ldiskfs are missing: dnf install lustre kmod-lustre kmod-lustre-osd-ldiskfs "
        "lustre-osd-ldiskfs-mount e2fsprogs, "
    )
