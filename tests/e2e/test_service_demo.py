"""The demo of the service, from the daemon to mounts and kernels: it runs as it stands, and leaves nothing, also when it is ended."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from leftovers import Traces

from waiting import HANG_S
from wavetank.cluster import deploy
from wavetank.cluster.spec import ClusterSpec
from wavetank.service.makers.nfs import maker

DEMO = Path(__file__).parents[2] / "examples" / "service" / "demo"


def missing() -> str | None:
    spec = ClusterSpec.model_validate(
        {
            "name": "demo",
            "instance": {"name": "t.small", "vcpus": 1, "memory": "512 MiB"},
            "nodes": {"compute": 5},
            "file_system": {"kind": "none"},
            "storage": {"size": "1 GiB"},
        }
    )
    return "; ".join(map(str, [*deploy.check(spec), *maker.needs().missing_here()])) or None


pytestmark = [
    pytest.mark.cluster,
    pytest.mark.e2e,
    pytest.mark.skipif(missing() is not None, reason=str(missing())),
]


@pytest.fixture
def demo(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """The demo, which has its folder below one of ours."""
    with subprocess.Popen(
        [sys.executable, str(DEMO)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=os.environ | {"TMPDIR": str(tmp_path), "PYTHONUNBUFFERED": "1"},
    ) as process:
        try:
            yield process
        finally:
            process.terminate()


def left(tmp_path: Path, pid: int) -> list[str]:
    """What is left of its cluster, of its service, and of its folder."""
    found = Traces(tmp_path, f"demo{pid}").left()
    mounts = Path("/proc/self/mountinfo").read_text().splitlines()
    found += [line for line in mounts if f"{tmp_path}/" in line]
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                environment = (entry / "environ").read_bytes()
            except OSError:
                continue
            if f"={tmp_path}/".encode() in environment:
                found.append((entry / "cmdline").read_text())
    return [*found, *(path.name for path in tmp_path.iterdir())]


def test_the_demo_of_the_service_shows_two_tenants_apart_and_leaves_nothing(
    demo: subprocess.Popen[str], tmp_path: Path
) -> None:
    told, _ = demo.communicate(timeout=2 * HANG_S)
    assert demo.returncode == 0, told
    # Two tenants look at the other's two spaces each.
    assert len(re.findall(r"^refused: ", told, re.MULTILINE)) == 4
    exports = re.findall(r"UTC (\w+): ready: nfs://(\S+):\d+(/sp-\w+)$", told, re.MULTILINE)
    assert [mode for mode, _, _ in exports] == ["dedicated", "dedicated", "shared", "shared"]
    servers = [address for _, address, _ in exports]
    assert (servers[2], len(set(servers))) == (servers[3], 3)
    # 64 writes of 256 KiB each; one row for each space.
    assert len(re.findall(r"\b16\.0 MiB\b", told)) >= 4
    assert told.rstrip().endswith("Nothing is left.")
    assert left(tmp_path, demo.pid) == []


def test_the_demo_of_the_service_leaves_nothing_when_it_is_ended(
    demo: subprocess.Popen[str], tmp_path: Path
) -> None:
    assert demo.stdout is not None
    told = []
    for line in demo.stdout:
        told.append(line)
        if line.startswith("c1$ sh") and "/dedicated" in line:  # a space is mounted
            demo.send_signal(signal.SIGINT)
    assert demo.wait(HANG_S) == 130, told
    assert left(tmp_path, demo.pid) == []
