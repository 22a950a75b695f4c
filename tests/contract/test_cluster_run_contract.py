"""The user's own program on nodes of this machine and on guests: streams, status, ranks, traces; nothing of it stays."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from contract_clusters import HOST_KINDS
from leftovers import sleepers
from tracer_run import FAMILIES, calls

from waiting import HANG_S, until
from wavetank.cli.main import cli
from wavetank.cluster import deploy
from wavetank.trace.reader import read_trace

pytestmark = [pytest.mark.cluster]

Cluster = deploy.DeployedCluster
DOES_NOT_APPLY = "does not apply: "
COMMAND = [sys.executable, "-m", "wavetank", "cluster", "run"]
# A program that does not end when it is asked is killed after a tenth of a second in place of ten.
HASTY = "from wavetank.application import running; running.GRACE_S = 0.1; from wavetank.cli.main import main; main()"


@pytest.fixture(scope="module", params=HOST_KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def run(
    cluster: Cluster, *words: str, stdin: bytes = b"", env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    """``wavetank cluster run NAME WORDS``, as a user has it."""
    return subprocess.run(
        [*COMMAND, cluster.name, *words], input=stdin, capture_output=True, check=False, timeout=HANG_S,
        env={**os.environ, **(env or {})},
    )  # fmt: skip


def ok(cluster: Cluster, *words: str, stdin: bytes = b"") -> bytes:
    done = run(cluster, *words, stdin=stdin)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def start(cluster: Cluster, *words: str, hasty: bool) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", HASTY, "cluster", "run"] if hasty else COMMAND
    return subprocess.Popen(
        [*command, cluster.name, *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def on_nodes_and_hosts(cluster: Cluster) -> None:
    """Skip what nodes of this machine and hosts over ssh show: guests are slow."""
    if cluster.spec.provider == "vm":
        pytest.skip(f"{DOES_NOT_APPLY}no matter of the provider {cluster.spec.provider}")


def test_a_serial_program_has_the_streams_the_directory_and_the_arguments(cluster: Cluster) -> None:
    bytes_in = bytes(range(256)) * 1000
    assert ok(cluster, "--launcher", "none", "--", "cat", stdin=bytes_in) == bytes_in
    nasty = "a b;$(touch /tmp/x)'\"\\*"
    script = 'pwd; printf "%s|%s|%s|%s" "$WAVETANK_MOUNT" "$V" "$1" "$2"'
    words = ["--launcher", "none", "-x", f"V={nasty}", "--", "sh", "-c", script, "sh"]
    said = ok(cluster, *words, nasty, "{mount}/in")
    mount = cluster.mount_path
    assert said.decode() == f"{mount}\n{mount}|{nasty}|{nasty}|{mount}/in"


def test_the_exit_status_is_the_program_s(cluster: Cluster) -> None:
    done = run(cluster, "--launcher", "none", "--", "sh", "-c", "echo oh no >&2; exit 7")
    assert (done.returncode, done.stdout) == (7, b"")
    assert b"oh no\n" in done.stderr
    assert run(cluster, "--launcher", "none", "--", "sh", "-c", "kill -9 $$").returncode == 137


def test_what_is_written_to_the_mount_is_there_for_the_next_program(cluster: Cluster) -> None:
    ok(cluster, "--launcher", "none", "--", "sh", "-c", "echo kept > file")
    assert ok(cluster, "--launcher", "none", "--", "cat", "{mount}/file") == b"kept\n"


def test_a_program_that_was_built_anew_is_the_one_that_runs(
    cluster: Cluster, tmp_path: Path
) -> None:
    if cluster.spec.provider == "ssh":
        pytest.skip(f"{DOES_NOT_APPLY}hosts have files of their own")
    on_nodes_and_hosts(cluster)
    program = tmp_path / "program"
    words = ["--launcher", "none", "--", str(program)]
    assert run(cluster, *words).returncode == 1  # not built yet: nodes have looked for it
    for said in ("first", "second"):
        new = tmp_path / "new"
        new.write_text(f"#!/bin/sh\necho {said}\n")
        new.chmod(0o755)
        new.replace(program)
        assert ok(cluster, *words) == f"{said}\n".encode()


@pytest.mark.parametrize("family", FAMILIES)
def test_ranks_are_started_on_the_nodes_of_the_mapping(cluster: Cluster, family: str) -> None:
    if family == "mpich":
        on_nodes_and_hosts(cluster)
    need_launcher(cluster, family)
    script = "echo ${OMPI_COMM_WORLD_RANK:-$PMI_RANK} $(hostname) $WAVETANK_MOUNT"
    said = ok(cluster, "--launcher", family, "--mapping", "2PxCN", "--", "sh", "-c", script)
    lines = sorted(line.split() for line in said.decode().splitlines())
    assert [line[0] for line in lines] == ["0", "1", "2", "3"]
    assert {line[2] for line in lines} == {cluster.mount_path}
    own = [host.run(["hostname"]).stdout.strip() for host in cluster.compute_hosts]
    assert own[0] != own[1]
    assert [line[1] for line in lines] == [own[0], own[0], own[1], own[1]]


LOOK = """
umask; pwd; cat /proc/self/limits
grep -E "^(Sig(Blk|Ign)|Umask|Cap|NoNewPrivs|Seccomp:|Cpus_allowed:)" /proc/self/status
for f in /proc/$$/fd/*; do echo ${f##*/} $(readlink $f); done
env -0 | tr "\\n" " " | tr "\\0" "\\n" | cut -d= -f1 | sort
"""
# What tracing adds to the environment.
OURS = ("LD_PRELOAD", "WAVETANK_TRACE_", "UCX_MEM_MMAP_HOOK_MODE")


@pytest.mark.parametrize("name", ["none", *FAMILIES])
def test_a_traced_program_and_its_child_see_what_they_see_untraced(
    cluster: Cluster, tmp_path: Path, name: str
) -> None:
    if name != "openmpi":
        on_nodes_and_hosts(cluster)
    need_launcher(cluster, name)
    number = [] if name == "none" else ["-n", "1"]

    def facts(*options: str) -> list[str]:
        program = ["sh", "-c", f'{LOOK}\nsh -c "$1"; exit $?', "sh", LOOK]
        words = ["--launcher", name, *number, *options, "--", *program]
        lines = ok(cluster, *words).decode().splitlines()
        # Pipes and terminals of a run have numbers of their own.
        return [re.sub(r"\[\d+\]|/\d+$", "", line) for line in lines if not line.startswith(OURS)]

    untraced = facts()
    assert cluster.mount_path in untraced
    assert any(line.startswith("SigIgn") for line in untraced)
    assert facts("--trace", str(tmp_path / "t")) == untraced


def test_a_rank_that_fails_ends_all_and_its_status_is_passed_on(cluster: Cluster) -> None:
    on_nodes_and_hosts(cluster)
    need_launcher(cluster, "openmpi")
    seconds = f"95{os.getpid()}"
    script = f"[ $OMPI_COMM_WORLD_RANK = 1 ] && exit 5; sleep {seconds}"
    done = run(cluster, "--launcher", "openmpi", "-n", "2", "--", "sh", "-c", script)
    assert done.returncode == 5, done.stderr.decode()
    assert sleepers(seconds, cluster) == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("name", ["none", "openmpi"])
def test_a_signal_ends_the_program_on_all_nodes(
    cluster: Cluster, name: str, number: signal.Signals
) -> None:
    if (name, number) != ("openmpi", signal.SIGTERM):
        on_nodes_and_hosts(cluster)
    need_launcher(cluster, name)
    seconds = f"{number}{os.getpid()}"
    script = f"trap '' HUP; sleep {seconds} & sleep {seconds}"  # one that nobody waits for, too
    # A shell passes SIGINT on to nobody, and goes on waiting.
    hasty = name == "none" and number == signal.SIGINT
    with start(cluster, "--launcher", name, "--", "sh", "-c", script, hasty=hasty) as process:
        n = 2 if name == "none" else 4
        until(lambda: sleepers(seconds, cluster) == n)
        process.send_signal(number)
        _, said = process.communicate(timeout=HANG_S)
    assert process.returncode == 128 + number, said.decode()
    assert b"ended on all nodes" in said
    assert sleepers(seconds, cluster) == 0


def test_a_program_that_takes_too_long_is_ended_everywhere(cluster: Cluster) -> None:
    need_launcher(cluster, "openmpi")
    seconds = f"96{os.getpid()}"
    done = run(cluster, "--launcher", "openmpi", "--timeout", "2", "--", "sleep", seconds)
    assert done.returncode == 124
    assert b"time limit of 2 s" in done.stderr
    assert sleepers(seconds, cluster) == 0


def test_what_is_wrong_is_said_before_anything_starts(cluster: Cluster) -> None:
    for words, said in (
        (["--", "./no-such-program"], "there is no program ./no-such-program, neither in"),
        (["--", "no-such-program"], "on the PATH of c1"),
        (["--directory", "/no/such/place", "--", "true"], "there is no directory /no/such/place on c1"),
        (["--node", "c9", "--", "true"], "no compute node c9; its compute nodes are c1, c2"),
        (["-n", "9", "--mapping", "2PxCN", "--", "true"], "9 ranks by 2PxCN need 5 compute nodes, and there are 2"),
        (["--launcher", "none", "-n", "2", "--", "true"], "one process"),
        (["--", "mpirun.openmpi", "-np", "2", "true"], "leave mpirun.openmpi and its options out"),
    ):  # fmt: skip
        # in this process: seven starts of the command line would say no more
        refused = CliRunner().invoke(cli, ["cluster", "run", cluster.name, *words])
        assert refused.exit_code in (1, 2)
        assert said in f"{refused.output} {refused.exception}"


def test_a_serial_program_is_traced_where_it_runs(cluster: Cluster, tmp_path: Path) -> None:
    folder = tmp_path / "run.trace"
    words = ["dd", "if=/dev/zero", "of=five", "bs=4096", "count=5", "status=none"]
    ok(cluster, "--launcher", "none", "--trace", str(folder), "--", *words)
    recorded = read_trace(folder)
    written = [call for call in calls(recorded) if call.op == "write"]
    assert [(call.file, call.size) for call in written] == [("five", 4096)] * 5
    assert recorded.files[0].path.endswith(cluster.mount_path.rpartition("/")[2] + "/five")


def test_ranks_that_left_no_trace_are_counted_and_make_the_status_1(
    cluster: Cluster, tmp_path: Path
) -> None:
    need_launcher(cluster, "openmpi")
    # Rank 1 leaves nothing: its tracer's folder is gone before it ends.
    hide = "if [ $OMPI_COMM_WORLD_RANK = 1 ]; then rm -rf $WAVETANK_TRACE_DIR; fi; echo x > f$OMPI_COMM_WORLD_RANK"
    folder = tmp_path / "run.trace"
    words = ["--launcher", "openmpi", "-n", "2", "--mapping", "1PxCN", "--trace", str(folder)]
    done = run(cluster, *words, "--", "sh", "-c", hide)
    assert done.returncode == 1, done.stderr.decode()
    assert b"1 of 2 rank(s) left no trace: 1." in done.stderr


def need_launcher(cluster: Cluster, name: str) -> None:
    """Skip where ranks cannot be started."""
    if name == "none":
        return
    if shutil.which(f"mpirun.{name}") is None:
        pytest.skip(f"mpirun.{name} is not installed")
    if not cluster.remote_shell:
        pytest.skip("wavetank-node is not built (make setup)")
