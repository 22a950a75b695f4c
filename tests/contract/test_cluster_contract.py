"""What every provider with every file system must do."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from test_cluster_run_contract import ok
from tracer_run import FAMILIES, calls, compile_c

from wavetank.cluster import deploy
from wavetank.cluster.components import MAKES_NODES
from wavetank.notes import texts
from wavetank.trace.capture import CaptureOptions, trace
from wavetank.trace.reader import read_trace
from wavetank.trace.schema import Level, Trace

pytestmark = [pytest.mark.cluster]

Cluster = deploy.DeployedCluster


def test_it_is_a_running_cluster(cluster: Cluster) -> None:
    assert cluster.n_instances == len(cluster.spec.node_names())
    assert [host.name for host in cluster.compute_hosts] == ["c1", "c2"]
    assert cluster.spec_sha256 == cluster.spec.sha256()


def test_every_compute_node_sees_a_global_file(cluster: Cluster) -> None:
    if not cluster.is_global:
        pytest.skip("does not apply: file system none has no shared files")
    one, other = cluster.compute_hosts
    one.run(["dd", f"of={cluster.mount_path}/seen", "status=none"], stdin="by all")
    assert other.run(["cat", f"{cluster.mount_path}/seen"]).stdout == "by all"


def test_placed_files_have_their_size_and_survive_an_emptied_cache(cluster: Cluster) -> None:
    sizes = {"in/one": 3_000_001, "in/two": 1_048_576}
    places = cluster.place_files(sizes)
    assert set(places) == set(sizes)
    path = f"{cluster.mount_path}/in/one"
    before = cluster.compute_hosts[0].run(["sha256sum", path]).stdout
    blocks = int(cluster.compute_hosts[0].run(["stat", "-c", "%b", path]).stdout)
    assert blocks * 512 >= 3_000_001 - 4096, "content is written, not sparse"
    if cluster.spec.provider in MAKES_NODES:  # others can only empty the cache of the whole machine
        assert "left" in cluster.drop_caches()
    assert cluster.compute_hosts[0].run(["sha256sum", path]).stdout == before


def test_settings_and_limits_say_what_is_in_force(cluster: Cluster) -> None:
    assert cluster.spec.file_system.kind in cluster.settings()["file system"]
    assert cluster.limits()


def test_a_cluster_that_is_up_is_healthy(cluster: Cluster) -> None:
    assert cluster.health() == []


def test_another_process_finds_the_cluster(cluster: Cluster) -> None:
    code = (
        "import sys; from wavetank.cluster import deploy; c = deploy.find(sys.argv[1]);"
        "print(c.compute_hosts[1].run(['cat', c.mount_path + '/left-here']).stdout, c.health())"
    )
    for host in cluster.compute_hosts:
        host.run(["dd", f"of={cluster.mount_path}/left-here", "status=none"], stdin="hello")
    done = subprocess.run(
        [sys.executable, "-c", code, cluster.name], capture_output=True, text=True, check=True
    )
    assert done.stdout == "hello []\n"


NO_LOCK_FILE = "OMPI_MCA_sharedfp=^lockedfile"
"""BT-IO opens its file again at once: ranks on another node may not find the lock file that Open MPI made anew."""


@pytest.mark.parametrize("program", ["bt_io.c", "ior_like.c"])
def test_every_rank_s_operations_are_those_of_a_traced_run_on_this_machine(
    cluster: Cluster, program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """BT-IO on NFS and through gateways: what was written through one is seen through the other a little later."""
    if not cluster.is_global:
        pytest.skip("does not apply: its nodes share no file")
    kind, n = cluster.spec.file_system.kind, 4
    if program == "ior_like.c" if kind == "gateway" else program == "bt_io.c" and kind != "nfs":
        pytest.skip("does not apply: the other program is run on this file system")
    if shutil.which("mpirun.openmpi") is None or not cluster.remote_shell:
        pytest.skip("mpirun.openmpi is not installed, or wavetank-node is not built")
    binary = compile_c(program, tmp_path / "app", "-lm", compiler="mpicc.openmpi")
    arguments = {
        "bt_io.c": ["out", "12", "3"],
        "ior_like.c": ["POSIX", "shared", "out", "3", "65536", "16384"],
    }[program]
    monkeypatch.chdir(tmp_path)
    plain = [*FAMILIES["openmpi"][2], "-np", str(n), str(binary), *arguments]
    trace(plain, tmp_path / "here.trace", CaptureOptions())
    ok(cluster, "--launcher", "none", "--", "rm", "-f", "out")
    if kind == "moosefs":  # of two nodes that create a file at once one fails there
        ok(cluster, "--launcher", "none", "--", "touch", "out")
    copied = ["sh", "-c", "cat > app && chmod +x app"]
    ok(cluster, "--launcher", "none", "--", *copied, stdin=binary.read_bytes())
    folder = tmp_path / "there.trace"
    traced = ["--mapping", "2PxCN", "--trace", str(folder), "-x", NO_LOCK_FILE]
    ok(cluster, *traced, "--", "./app", *arguments)
    here, there = read_trace(tmp_path / "here.trace"), read_trace(folder)
    assert there.n_ranks == n
    assert [facts.rank for facts in there.ranks] == list(range(n))
    for level in (Level.MPIIO,) if program == "bt_io.c" else (Level.POSIX,):
        assert own_calls(there, n, level) == own_calls(here, n, level)
    assert not texts(there.notes, "lost")
    if cluster.spec.provider == "local":  # no part is left on the nodes
        for host in cluster.compute_hosts:
            assert ".trace-" not in host.run(["ls", "-a", "/"]).stdout


def own_calls(recorded: Trace, n: int, level: int) -> list[Counter[tuple[str, int, int, int]]]:
    """The calls of each rank on the program's own file. MPI libraries open files as each file system wants it."""
    return [
        Counter(
            (call.op, call.offset, call.size, call.moved)
            for call in calls(recorded, rank, level)
            if call.file == "out"
        )
        for rank in range(n)
    ]
