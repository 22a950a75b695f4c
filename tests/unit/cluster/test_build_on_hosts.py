"""Where this machine's replay program does not run on hosts, it is built there from its sources: once, and kept for others alike."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from hosts_of_this_machine import make_ssh

from waiting import HANG_S
from wavetank import native
from wavetank.cluster.clouds.packages import compilers_of
from wavetank.cluster.host import Finished
from wavetank.cluster.remote import launch, launching
from wavetank.cluster.remote.host import SshHost
from wavetank.cluster.remote.launching import LACKS, Builds, built_part, read_builds
from wavetank.cluster.spec import ClusterSpec
from wavetank.cluster.state import ClusterDirectory
from wavetank.errors import ProviderError

# Builds a replay program that is a script, and notes each build.
PROJECT = """cmake_minimum_required(VERSION 3.20)
project(stand-in LANGUAGES NONE)
file(APPEND "{noted}" "built\\n")
configure_file(replay "${{CMAKE_BINARY_DIR}}/wavetank-replay-openmpi" COPYONLY)
install(PROGRAMS "${{CMAKE_BINARY_DIR}}/wavetank-replay-openmpi" DESTINATION bin)
"""
RUNS = (
    '#!/bin/sh\n[ "$1" != say ] || { echo "first sources"; exit 0; }\necho "needs --plan"\nexit 1\n'
)
DOES_NOT = "#!/bin/sh\necho \"libc.so.6: version 'GLIBC_2.38' not found\" >&2\nexit 1\n"

needs_programs = pytest.mark.skipif(
    any(shutil.which(each) is None for each in ("mpirun", *launching.TOOLS)),
    reason="mpirun, cmake or a compiler is not installed",
)


@pytest.fixture
def called_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Hosts c1 and c2 by a stand-in for ssh, on which the replay program of this machine does not run."""
    noted = make_ssh(tmp_path / "bin")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setenv("WAVETANK_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("WAVETANK_NATIVE_DIR", str(tmp_path / "native"))
    monkeypatch.setenv("WAVETANK_NATIVE_SOURCES", str(tmp_path / "sources"))
    here = tmp_path / "native" / launching.REPLAY
    here.parent.mkdir(parents=True)
    here.write_text(DOES_NOT)
    here.chmod(0o755)
    (tmp_path / "sources").mkdir()
    (tmp_path / "sources" / "CMakeLists.txt").write_text(PROJECT.format(noted=tmp_path / "builds"))
    (tmp_path / "sources" / "replay").write_text(RUNS)
    for name in ("key", "known-hosts"):
        (tmp_path / name).write_text("")
    return noted


def prepare(tmp_path: Path, name: str = "lab") -> tuple[ClusterDirectory, str | None]:
    """As a cloud's provider has it done, for hosts with one home."""
    spec = ClusterSpec.model_validate(
        {
            "name": name,
            "provider": "ssh",
            "instance": {"name": "host"},
            "nodes": {"compute": 2},
            "file_system": {"kind": "none"},
            "ssh": {
                "hosts": {"c1": "192.0.2.1", "c2": "192.0.2.2"}, "user": "me",
                "identity_file": str(tmp_path / "key"), "known_hosts": str(tmp_path / "known-hosts"),
            },
        }
    )  # fmt: skip
    directory = ClusterDirectory(tmp_path / "state" / "clusters" / name)
    directory.path.mkdir(parents=True)
    (directory.path / "ssh_config").write_text("")
    home = str(tmp_path / f"home-{name}")
    hosts = [
        SshHost(each, each, directory.path / "ssh_config", home, sudo=False)
        for each in ("c1", "c2")
    ]
    return directory, launching.prepare(directory, spec, hosts, tmp_path / "known-hosts")


def run_there(directory: ClusterDirectory, folder: Path) -> str:
    """What the replay program says where a launcher names that of this machine."""
    folder.mkdir(exist_ok=True)
    program = str(native.find(launching.REPLAY, "be a test's"))
    argv = [sys.executable, "-m", launch.__name__, str(directory.path), str(folder), program, "say"]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=HANG_S)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@needs_programs
def test_it_is_built_on_the_first_host_once_and_launches_take_what_was_built(
    tmp_path: Path, called_for: Path
) -> None:
    directory, said = prepare(tmp_path)
    assert said  # by mpirun there
    assert set(called_for.read_text().split()) == {"c1", "c2"}
    (tree,) = (tmp_path / "state" / "native").iterdir()
    assert (tree / launching.REPLAY).read_text() == RUNS
    assert not list((tmp_path / "home-lab").glob("build-*"))  # nothing of the build stays there
    assert run_there(directory, tmp_path / "scratch") == "first sources"
    another, _ = prepare(tmp_path, "another")  # hosts alike, the same sources
    assert (tmp_path / "builds").read_text().split() == ["built"]
    # sources that changed since are built by the next launch
    (tmp_path / "sources" / "replay").write_text(RUNS.replace("first", "changed"))
    assert run_there(another, tmp_path / "scratch") == "changed sources"
    assert (tmp_path / "builds").read_text().split() == ["built"] * 2


@needs_programs
def test_what_the_compiler_says_is_told_where_it_cannot_be_built(
    tmp_path: Path, called_for: Path
) -> None:
    with (tmp_path / "sources" / "CMakeLists.txt").open("a") as project:
        project.write('message(FATAL_ERROR "error: no such header")\n')
    with pytest.raises(ProviderError) as raised:
        prepare(tmp_path)
    assert called_for.exists()
    said = str(raised.value)
    assert "does not run on c1: " in said and "GLIBC_2.38" in said, said
    assert "do not build on c1: " in str(raised.value) and "no such header" in str(raised.value)
    assert not list((tmp_path / "state" / "native").iterdir())
    assert not list((tmp_path / "home-lab").glob("build-*"))


@needs_programs
def test_without_sources_it_is_said_where_they_were_looked_for(
    tmp_path: Path, called_for: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sources" / "CMakeLists.txt").unlink()
    nowhere = tmp_path / "lib" / "wavetank" / "native.py"  # as in a site's packages
    monkeypatch.setattr(native, "__file__", str(nowhere))
    with pytest.raises(
        ProviderError, match=r"are not in this installation.*WAVETANK_NATIVE_SOURCES"
    ) as raised:
        prepare(tmp_path)
    assert called_for.exists()
    assert str(nowhere.parent / "_native" / "source") in str(raised.value)


class Bare:
    """A host that has compilers only once they are installed."""

    name = "c1"
    home = "/home"

    def __init__(self, helps: bool) -> None:
        self.helps = helps
        self.commands: list[tuple[str, ...]] = []

    def script(self, text: str, *words: str, **_: object) -> str:
        assert text == LACKS
        return "" if self.helps and self.commands else "cmake\nmpicc\n"

    def run(self, argv: Sequence[str], **_: object) -> Finished:
        self.commands.append(tuple(argv))
        return Finished("", "", 0.0)


@pytest.mark.parametrize(
    ("image", "packages"),
    [
        ("debian-12", {"cmake", "gcc", "make", "libopenmpi-dev"}),
        ("ubuntu-24.04", {"cmake", "gcc", "make", "libopenmpi-dev"}),
        ("amazon-linux-2023", {"cmake", "gcc", "make", "openmpi-devel"}),
        ("ami-0123456789abcdef0", set()),
    ],
)
def test_compilers_are_installed_by_the_distribution_and_their_lack_is_said(
    tmp_path: Path, called_for: Path, image: str, packages: set[str]
) -> None:
    del called_for
    asked = ClusterSpec.model_validate(
        {
            "name": "lab",
            "provider": "aws",
            "instance": {"name": "c5.large"},
            "nodes": {"compute": 2},
            "file_system": {"kind": "none"},
            "cloud": {"region": "us-east-1", "ttl": "2 h", "budget": "5 USD", "image": image},
        }
    )
    install = compilers_of(asked)
    assert packages <= {word for argv in install for word in argv}
    host = Bare(helps=False)
    with pytest.raises(ProviderError, match="c1 has no cmake, mpicc"):
        built_part(tmp_path, host, Builds("a-system", install))  # type: ignore[arg-type]
    assert tuple(host.commands) == install
    helped = Bare(helps=True)
    launching._see_tools(helped, install or [["get-them"]])  # type: ignore[arg-type]
    assert len(helped.commands) == 1


def test_hosts_that_run_this_machines_parts_have_no_builds(tmp_path: Path) -> None:
    assert read_builds(tmp_path) is None
    directory = ClusterDirectory(tmp_path)
    Builds("a-system", (("dnf", "install"),)).write(directory)
    assert read_builds(tmp_path) == Builds("a-system", (("dnf", "install"),))
