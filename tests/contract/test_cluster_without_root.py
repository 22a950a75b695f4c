"""Local clusters of a user who is not root: nodes and a shaped network in a user namespace, and nothing left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from killed_commands import KILLED, MAIN

import wavetank
from waiting import HANG_S
from wavetank.cluster.namespaces.user import MARK
from wavetank.cluster.processes import marked

pytestmark = [pytest.mark.cluster]

NOBODY = 65534
SPEC = """
name: lab
instance: {name: x, vcpus: 1, memory: 384 MiB, network: 1 Gbit/s}
nodes: {compute: 2}
storage: {size: 320 MiB}
file_system: {kind: none}
"""


@pytest.fixture
def home(possible: None) -> Iterator[Path]:
    """A directory of another user, outside of pytest's, which is closed to others."""
    made = subprocess.run(
        ["mktemp", "-d", "/tmp/wavetank-test-XXXXXX"], capture_output=True, text=True, check=True
    )
    path = Path(made.stdout.strip())
    (path / "lab.yaml").write_text(SPEC)
    os.chown(path, NOBODY, NOBODY)
    yield path
    as_nobody(path, "-c", MAIN, "cluster", "down", "--all")
    subprocess.run(["rm", "-rf", path], check=True)


def as_nobody(home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run Python as user nobody: one that this user may run, with the same packages."""
    packages = [
        str(Path(wavetank.__file__).parents[1]),
        *(path for path in sys.path if path.endswith("-packages")),
    ]
    env = {
        "PATH": os.environ["PATH"], "HOME": str(home), "PYTHONPATH": ":".join(packages),
        "PYTHONDONTWRITEBYTECODE": "1", "WAVETANK_STATE_DIR": str(home / "state"),
    }  # fmt: skip
    return subprocess.run(
        [interpreter(), *words], user=NOBODY, group=NOBODY, extra_groups=[], env=env, cwd=home,
        capture_output=True, text=True, check=False, timeout=HANG_S,
    )  # fmt: skip


def works_for_nobody(*argv: str) -> bool:
    try:
        done = subprocess.run(
            argv,
            user=NOBODY,
            group=NOBODY,
            extra_groups=[],
            cwd="/",
            capture_output=True,
            check=False,
        )
    except PermissionError:
        return False
    return done.returncode == 0


def interpreter() -> str:
    version = f"python3.{sys.version_info.minor}"
    for path in (sys.executable, f"/usr/bin/{version}"):
        if Path(path).exists() and works_for_nobody(path, "-c", ""):
            return path
    pytest.skip(f"does not apply: no {version} that another user may run")


@pytest.fixture(autouse=True)
def possible() -> None:
    if os.geteuid() != 0:
        pytest.skip("does not apply: only root can become another user")
    if not works_for_nobody("unshare", "-Urn", "true"):
        pytest.skip("does not apply: users cannot make namespaces here")
    interpreter()


def test_a_user_has_nodes_and_a_shaped_network_and_is_told_what_is_missing(home: Path) -> None:
    up = as_nobody(home, "-c", MAIN, "cluster", "up", "lab.yaml")
    assert up.returncode == 0, up.stderr
    assert "memory, CPU and disk rates are not limited" in up.stderr
    assert "125.0 MB/s by tbf both ways" in up.stdout  # 1 Gbit/s
    assert "384.0 MiB asked for, limited by nothing" in up.stdout
    assert "in memory (tmpfs)" in up.stdout
    directory = home / "state/clusters/lab"
    seen = marked(f"{MARK}={directory}")
    assert len(seen) == 3  # process 1 of each node, and the switch's
    code = (
        "from wavetank.cluster import deploy; c = deploy.find('lab'); a, b = c.compute_hosts\n"
        "a.start(['sh', '-c', 'exec sleep 100000'], log='sleeper')\n"
        "print(a.run(['hostname']).stdout, b.run(['getent', 'hosts', 'c1']).stdout, c.place_files({'f': 10}))\n"
        "print(a.run(['sh', '-c', 'echo mine >/etc/mine; ls /sys/class/net']).stdout, c.health())"
    )
    used = as_nobody(home, "-c", code)
    assert used.returncode == 0, used.stderr
    assert used.stdout.split()[:3] == ["c1", "10.77.0.1", "c1"]
    assert "eth0" in used.stdout and used.stdout.endswith("[]\n")
    assert not Path("/etc/mine").exists()
    down = as_nobody(home, "-c", MAIN, "cluster", "down", "lab")
    assert down.returncode == 0, down.stderr
    assert not directory.exists()
    assert marked(f"{MARK}={directory}") == set()


@pytest.mark.parametrize("n_programs", [2, 4, 6, 9])
def test_a_user_whose_tool_was_killed_has_nothing_left_after_down(
    n_programs: int, home: Path
) -> None:
    up = as_nobody(home, "-c", KILLED, str(n_programs), "cluster", "up", "lab.yaml")
    assert up.returncode == -signal.SIGKILL, up.stderr
    down = as_nobody(home, "-c", MAIN, "cluster", "down", "--all")
    assert down.returncode == 0, down.stderr
    assert not any((home / "state/clusters").iterdir())
    assert marked(f"{MARK}={home}/state/clusters/lab") == set()


def test_a_file_system_that_needs_root_is_refused_with_the_reason(home: Path) -> None:
    (home / "lab.yaml").write_text(SPEC.replace("kind: none", "kind: nfs, placement: [c1]"))
    check = as_nobody(home, "-c", MAIN, "cluster", "check", "lab.yaml")
    assert check.returncode == 1
    assert (
        "file_system nfs needs root: without it, provider local has orangefs, none" in check.stderr
    )
