"""What every host of a cluster must do, whatever file system is on it: on nodes of this machine, and on guests."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from contract_clusters import HOST_KINDS

from waiting import HANG_S, until
from wavetank.cluster import deploy
from wavetank.cluster.components import MAKES_NODES
from wavetank.cluster.counters import CPU_S, SENT_BYTES
from wavetank.cluster.host import EndsMarked, Host
from wavetank.cluster.moved import moved_on
from wavetank.errors import ClusterError, RemoteCommandError
from wavetank.job import Placement
from wavetank.launchers.base import prefix_of

pytestmark = [pytest.mark.cluster]

Cluster = deploy.DeployedCluster


@pytest.fixture(scope="module", params=HOST_KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_a_command_gets_its_arguments_environment_and_input_as_they_are(cluster: Cluster) -> None:
    host = cluster.compute_hosts[0]
    nasty = "a b;$(touch /tmp/x)'\"\\*"
    done = host.run(
        ["sh", "-c", 'printf "%s|%s|" "$1" "$V"; cat', "sh", nasty], env={"V": nasty}, stdin="in\n"
    )
    assert done.stdout == f"{nasty}|{nasty}|in\n"


def test_a_failing_command_names_node_command_status_and_last_words(cluster: Cluster) -> None:
    with pytest.raises(RemoteCommandError, match=r"on c2: sh -c .* status 3: oh no") as caught:
        cluster.compute_hosts[1].run(["sh", "-c", "echo oh no >&2; exit 3"])
    assert caught.value.status == 3


def test_a_missing_program_is_an_error_that_names_it(cluster: Cluster) -> None:
    with pytest.raises(RemoteCommandError, match="no-such-program"):
        cluster.compute_hosts[0].run(["no-such-program"])


def test_a_command_that_does_not_end_is_ended(cluster: Cluster, tmp_path: Path) -> None:
    mark = f"86{os.getpid()}"
    with pytest.raises(RemoteCommandError, match="timed out") as caught:
        cluster.compute_hosts[0].run(["sh", "-c", f"sleep {mark}; true"], timeout_s=0.3)
    assert caught.value.status is None

    def is_gone() -> bool:  # it would sleep for days; killed, it dies when it is its turn
        left = subprocess.run(["pgrep", "-f", f"^sleep {mark}"], capture_output=True, check=False)
        return left.stdout == b""

    until(is_gone, "the end of the command")


def test_files_go_to_a_node_and_come_back(cluster: Cluster, tmp_path: Path) -> None:
    there = f"{cluster.mount_path}/copied"
    source = tmp_path / "source"
    source.write_bytes(os.urandom(300_001))
    cluster.compute_hosts[0].put(source, there)
    cluster.compute_hosts[0].get(there, tmp_path / "back")
    assert (tmp_path / "back").read_bytes() == source.read_bytes()


@pytest.mark.parametrize("path", ["/etc/passwd", "../outside", "a/../../b", ""])
def test_a_path_outside_the_mount_is_refused(cluster: Cluster, path: str) -> None:
    with pytest.raises(ClusterError, match="relative to the mount"):
        cluster.place_files({path: 1})


# A program called as a rank is: writes 1000 times 100 bytes, and ends when somebody writes into its pipe.
RANK = """
mkdir "$1" && mkfifo "$1/end" && ln -s "$(command -v sh)" "$1/wavetank-replay-t"
exec "$1/wavetank-replay-t" -c '
i=0; while [ $i -lt 1000 ]; do printf %100s x >/dev/null; i=$((i+1)); done; read -r end <"$0/end"' "$1" "$2"
"""


def test_bytes_that_ranks_move_are_counted_on_hosts_whose_processes_this_machine_does_not_see(
    cluster: Cluster,
) -> None:
    """By which ``measure`` says how many per cent are done."""
    host = cluster.compute_hosts[0]
    folder, word = f"/tmp/wavetank-rank-{os.getpid()}", f"--plan=/of-{os.getpid()}"
    end = 'until [ -p "$1/end" ]; do sleep 0.1; done; echo end >"$1/end"; rm -r "$1"'
    with ThreadPoolExecutor(1) as pool, moved_on([host], word, every_s=0.1) as counted:
        rank = pool.submit(host.run, ["sh", "-ec", RANK, "sh", folder, word], timeout_s=HANG_S)
        try:
            if isinstance(host, EndsMarked):
                until(lambda: counted() >= 100_000, "the bytes of the rank")
                assert counted() < 200_000
        finally:
            host.run(["sh", "-c", end, "sh", folder], timeout_s=HANG_S)
        rank.result()
    assert isinstance(host, EndsMarked) or counted() == 0


# The loop that prints a host's counters, by a pattern that does not match itself.
NO_LOOP = "! grep -ls '/proc/diskst[a]ts && echo' /proc/[0-9]*/cmdline"


def test_what_nodes_use_is_recorded_and_the_recording_leaves_nothing(cluster: Cluster) -> None:
    host = cluster.compute_hosts[0]
    threads = threading.active_count()
    recording = cluster.record_counters(0.02)
    assert recording is not None
    assert cluster.on_this_machine == (cluster.spec.provider in MAKES_NODES)
    used_s = cluster.nodes_cpu_s()
    with recording as counters:
        host.run(["sh", "-c", "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done"])
        host.run(["sleep", "1"])  # readings over ssh come every 0.1 s
    assert counters.missing == []
    by_name = {node.node: node for node in counters.nodes}
    assert set(by_name) == set(cluster.spec.node_names())
    node = by_name[host.name]
    assert node.counted[CPU_S][-1] > node.counted[CPU_S][0]
    if cluster.on_this_machine:  # also of a guest: its hypervisor is in the node's group
        of_all = sum(each.counted[CPU_S][-1] - each.counted[CPU_S][0] for each in counters.nodes)
        now_s = cluster.nodes_cpu_s()
        assert used_s is not None and now_s is not None and now_s - used_s >= 0.9 * of_all > 0
    assert node.counted[SENT_BYTES][-1] >= node.counted[SENT_BYTES][0]
    assert node.at_s[-1] > node.at_s[0]
    assert threading.active_count() == threads
    assert until(lambda: all(_succeeds(each, NO_LOOP) for each in cluster.compute_hosts))


def _succeeds(host: Host, text: str) -> bool:
    try:
        host.run(["sh", "-c", text])
    except RemoteCommandError:
        return False
    return True


def test_a_second_cluster_of_the_name_is_refused(cluster: Cluster) -> None:
    with pytest.raises(ClusterError, match="exists already"):
        deploy.bring_up(cluster.spec)
    assert cluster.health() == []


def test_a_daemon_that_dies_is_noticed(cluster: Cluster) -> None:
    host = cluster.compute_hosts[1]
    host.start(["sh", "-c", "echo last words; exit 1"], log="short-lived")
    until(cluster.health, "a finding")
    assert any("c2" in finding and "last words" in finding for finding in cluster.health())
    host.start(["sleep", "100000"], log="short-lived")  # started again: well again
    assert cluster.health() == []


def test_the_remote_shell_reaches_every_node(cluster: Cluster, tmp_path: Path) -> None:
    if not cluster.remote_shell:
        pytest.skip("wavetank-node is not built")
    placement = Placement((), launcher_prefix=cluster.launcher_prefix)
    for host in cluster.compute_hosts:
        argv = [
            *prefix_of(placement, tmp_path),
            *cluster.remote_shell,
            "-x",
            "-o",
            "LogLevel=ERROR",
            host.name,
            "echo",
            "a   b;",
            "echo $((1 + 1))",
        ]
        out = subprocess.run(
            argv, capture_output=True, text=True, check=True, timeout=HANG_S
        ).stdout
        assert out == "a b\n2\n", "joined by blanks and given to a shell, as sshd does"


def test_a_node_has_the_memory_and_the_name_that_it_should(cluster: Cluster) -> None:
    if cluster.spec.provider not in MAKES_NODES:
        pytest.skip("does not apply: the hosts are not made of this machine")
    host = cluster.compute_hosts[1]
    assert host.run(["hostname"]).stdout == "c2\n"
    assert host.run(["getent", "hosts", "c1"]).stdout.split() == ["10.77.0.1", "c1"]
    # a process that takes more than the node's 384 MiB is ended; the node lives on
    with pytest.raises(RemoteCommandError):
        host.run([sys.executable, "-c", "x = b'x' * (500 << 20)"])
    assert cluster.health() == []


def test_nodes_do_not_see_each_others_files_or_the_state_directory(cluster: Cluster) -> None:
    if cluster.spec.provider not in MAKES_NODES:
        pytest.skip("does not apply: the hosts are not made of this machine")
    one, other = cluster.compute_hosts
    one.run(["touch", "/root/only-here", "/tmp/only-here", "/dev/shm/only-here"])
    assert "only-here" not in other.run(["ls", "/root", "/tmp", "/dev/shm"]).stdout
    assert not Path("/root/only-here").exists()
    assert one.run(["ls", "-A", os.environ["WAVETANK_STATE_DIR"]]).stdout == ""


def test_limits_in_force_are_those_of_the_instance_type(cluster: Cluster) -> None:
    if cluster.spec.provider not in MAKES_NODES:
        pytest.skip("does not apply: only providers of nodes on this machine limit them")
    limits = cluster.limits()
    # of INSTANCE: 1 Gbit/s = 125 MB/s; 384 MiB; what enforces them depends on the machine
    assert limits["compute vcpus"].startswith("1 by cgroup")
    by = "the guest's kernel" if cluster.spec.provider == "vm" else "cgroup"
    assert limits["compute memory"].startswith(f"384.0 MiB by {by}")
    assert limits["compute network"].startswith("125.0 MB/s by tbf")
    on = "io" if cluster.spec.nodes.io else "compute"
    assert limits[f"{on} disk read"].startswith("100.0 MB/s by cgroup")
    assert limits[f"{on} disk write"].startswith("80.0 MB/s by cgroup")
