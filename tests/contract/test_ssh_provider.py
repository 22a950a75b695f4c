"""The ssh provider against real sshd processes in nodes of a local cluster; the contract suite runs in their network."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from contract_clusters import spec_of
from leftovers import skip_unless_possible, up

from waiting import HANG_S, until
from wavetank.cluster import deploy
from wavetank.cluster.filesystems.base import wait_until
from wavetank.cluster.host import Host, on_all
from wavetank.cluster.remote import scripts
from wavetank.cluster.spec import ClusterSpec

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.skipif(
        shutil.which("sshd", path="/usr/sbin") is None, reason="sshd is not installed"
    ),
    pytest.mark.skipif("WAVETANK_TEST_SSH" in os.environ, reason="this suite starts itself once"),
]

PORT = "2222"
USER = "tank"
SECOND_ADDRESS = "10.77.0.101"  # of c1
NODES = {"c1": "10.77.0.1", "c2": "10.77.0.2", "io1": "10.77.0.3", "io2": "10.77.0.4"}

# A user who may do everything by sudo, and a key that both this user and root accept.
MAKE_USER = """
id "$1" >/dev/null 2>&1 || useradd -m -p '*' "$1"  # sshd refuses an account that is locked
printf '%s ALL=(ALL) NOPASSWD: ALL\\n' "$1" >/etc/sudoers.d/wavetank-test
mkdir -p /run/sshd /run/store
cat >/run/keys
chmod 644 /run/keys
ln -sfn /wavetank /tmp/shared
"""


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A host key, a user's key, and the known hosts."""
    folder = tmp_path_factory.mktemp("keys")
    for name in ("host", "user"):
        make_key(folder / name)
    write_known_hosts(folder / "known_hosts", folder / "host.pub")
    return folder


def make_key(path: Path) -> None:
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path], check=True)


def write_known_hosts(path: Path, public_key: Path) -> None:
    public = " ".join(public_key.read_text().split()[:2])
    path.write_text(
        "".join(f"[{address}]:{PORT} {public}\n" for address in (*NODES.values(), SECOND_ADDRESS))
    )


@pytest.fixture(scope="module")
def hosts(keys: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[deploy.DeployedCluster]:
    """Four nodes with sshd, and a directory that all see (a mount of the last one's disk)."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WAVETANK_STATE_DIR", str(tmp_path_factory.mktemp("state")))
        base = spec_of("local-nfs", "sshd").model_dump(mode="json")
        base["nodes"] = {"compute": 4}
        base["file_system"] |= {"servers": 1, "placement": ["c4"]}
        spec = ClusterSpec.model_validate(base)
        skip_unless_possible(spec)
        with deploy.deployed(spec) as up:
            on_all(up.compute_hosts, lambda host: start_sshd(host, keys))
            yield up


def start_sshd(host: Host, keys: Path, port: str = PORT, *options: str) -> None:
    host.run(["sh", "-ec", MAKE_USER, "sh", USER], stdin=(keys / "user.pub").read_text())
    host.put(keys / "host", "/run/host_key")
    host.run(["chmod", "600", "/run/host_key"])
    host.start(
        ["/usr/sbin/sshd", "-D", "-e", "-f", "/dev/null", "-p", port, "-h", "/run/host_key",
         "-o", "AuthorizedKeysFile=/run/keys", "-o", "PermitRootLogin=prohibit-password", "-o", "StrictModes=no",
         "-o", "MaxStartups=100", "-o", "KexAlgorithms=curve25519-sha256",  # the quickest
         *(word for option in options for word in ("-o", option))],
        log=f"sshd-{port}",
    )  # fmt: skip
    listens = ["sh", "-c", f"ss -ltn | grep -q ':{port} '"]
    wait_until(host, listens, "sshd", HANG_S, f"sshd-{port}")


GATE_PORT = "2224"
BUSYBOX_PORT = "2223"
BUSYBOX = shutil.which("busybox")
# What comes over ssh is run by busybox's shell and finds its tools first, whatever else is installed.
BUSYBOX_SHELL = 'PATH=/run/busybox exec /run/busybox/sh -c "$SSH_ORIGINAL_COMMAND"'
BUSYBOX_CHOSEN = "arguments or does_not_end or come_back or dies or (ssh-nfs and placed)"


@pytest.fixture
def busybox_hosts(hosts: deploy.DeployedCluster, keys: Path, tmp_path: Path) -> dict[str, object]:
    """The hosts' inventory with a second sshd on each, whose commands see busybox."""
    if BUSYBOX is None:
        pytest.skip("busybox is not installed (Debian package busybox)")

    def serve(host: Host) -> None:
        host.run(["mkdir", "-p", "/run/busybox"])
        host.run([BUSYBOX, "--install", "-s", "/run/busybox"])
        host.run(
            ["rm", "-f", "/run/busybox/mount", "/run/busybox/umount"]
        )  # those of file systems have helpers
        start_sshd(host, keys, BUSYBOX_PORT, f"ForceCommand={BUSYBOX_SHELL}")

    on_all(hosts.compute_hosts, serve)
    known = tmp_path / "known_hosts"
    known.write_text((keys / "known_hosts").read_text().replace(f":{PORT} ", f":{BUSYBOX_PORT} "))
    return inventory(keys, port=int(BUSYBOX_PORT), user="root", sudo=False, known_hosts=str(known))


def inventory(keys: Path, **changes: object) -> dict[str, object]:
    return {
        "hosts": NODES,
        "user": USER,
        "sudo": True,
        "port": int(PORT),
        "directory": "/run/store",
        "identity_file": str(keys / "user"),
        "known_hosts": str(keys / "known_hosts"),
        "network": "10.77.0.0/24",
        **changes,
    }


def in_their_network(
    hosts: deploy.DeployedCluster,
    argv: list[str],
    ssh: dict[str, object],
    env: dict[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*hosts.launcher_prefix, *argv], env={**os.environ, "WAVETANK_TEST_SSH": json.dumps(ssh), **(env or {})},
        capture_output=True, text=True, check=False, timeout=1.9 * HANG_S,  # of a whole suite
    )  # fmt: skip


# What a host has: mounts, processes, and files where a file system or we could leave some.
STATE_OF_HOST = """
cut -d' ' -f2,3 /proc/mounts
ps -eo args --no-headers | grep -v '^sh -c\\|sshd\\|^ps \\|^grep '
find / /etc /root /home -maxdepth 1; find /run /var/tmp /var/lib/glusterd /var/lib/nfs -xdev
"""
# Left by the distribution's own programs, also when nobody but them runs.
NOT_OURS = (
    "/run/gluster",
    "/run/mount",
    "/run/rpcbind",
    "/run/sudo",
    "/run/ganesha",
    "/var/lib/nfs/ganesha",
)


def state_of(host: Host) -> set[str]:
    lines = host.run(["sh", "-c", STATE_OF_HOST], timeout_s=HANG_S).stdout.splitlines()
    return {line for line in lines if line.strip() and not line.startswith(NOT_OURS)}


def hosts_are_as(hosts: deploy.DeployedCluster, before: list[set[str]]) -> None:
    """Wait until hosts have what they had: processes of a connection that is closed end one after the other."""
    different: list[set[str]] = []

    def are_the_same() -> bool:
        after = on_all(hosts.compute_hosts, state_of)
        different[:] = [now ^ then for now, then in zip(after, before, strict=True)]
        return not any(different)

    try:
        until(are_the_same)
    except AssertionError as error:
        raise AssertionError(f"not as before: {different}") from error


# The contract of hosts; of that of file systems, with one of them all, of the others what differs from it. "ssh-" is all of it with each.
CHOSEN = os.environ.get(
    "WAVETANK_TEST_SSH_CHOSEN",
    "ssh-nfs or (ssh-glusterfs and (placed or global or other_process)) or (ssh-existing and placed) or (ssh-none and is_a_running)",
)
CONTRACTS = [
    str(Path(__file__).with_name(f"test_{name}_contract.py")) for name in ("host", "cluster")
]


def test_the_contract_holds_over_ssh_and_hosts_are_left_as_they_were(
    hosts: deploy.DeployedCluster, keys: Path
) -> None:
    before = on_all(hosts.compute_hosts, state_of)
    options = ["-q", "-x", "-p", "no:cacheprovider", "-k", CHOSEN]
    done = in_their_network(
        hosts, [sys.executable, "-m", "pytest", *options, *CONTRACTS], inventory(keys)
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "passed" in done.stdout
    hosts_are_as(hosts, before)


def test_a_service_of_spaces_has_servers_on_hosts_over_ssh_and_leaves_no_space(
    keys: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """The hosts have a disk each, on which nothing is."""
    program = str(Path(__file__).with_name("spaces_on_hosts.py"))
    options = ["-q", "-x", "-rs", "-p", "no:cacheprovider", "-k", "nfs"]
    with up(tmp_path_factory.mktemp("state"), spec_of("local-none", "disks")) as made:
        on_all(made.compute_hosts, lambda host: start_sshd(host, keys))
        argv = [sys.executable, "-m", "pytest", *options, program]
        done = in_their_network(made, argv, inventory(keys))
        assert done.returncode == 0, done.stdout + done.stderr
        assert "1 passed" in done.stdout
        left = ["find", "/storage/wavetank-spaces", "/run/wavetank-spaces", "-mindepth", "1"]
        # an empty folder in memory, over which each space's server mounts a root of its own
        assert made.compute_hosts[0].run([*left, "-not", "-name", ".root"]).stdout == ""


RUN_CHOSEN = os.environ.get(
    "WAVETANK_TEST_SSH_RUN_CHOSEN",
    "serial or exit_status or untraced and openmpi or signal_ends and openmpi-15",
)


def test_the_user_s_own_programs_run_and_are_traced_over_ssh(
    hosts: deploy.DeployedCluster, keys: Path
) -> None:
    before = on_all(hosts.compute_hosts, state_of)
    suite = str(Path(__file__).with_name("test_cluster_run_contract.py"))
    options = ["-q", "-x", "-p", "no:cacheprovider", "-k", RUN_CHOSEN]
    done = in_their_network(
        hosts, [sys.executable, "-m", "pytest", *options, suite], inventory(keys)
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "passed" in done.stdout
    hosts_are_as(hosts, before)


def test_hosts_with_busybox_s_shell_and_tools_do(
    hosts: deploy.DeployedCluster, busybox_hosts: dict[str, object]
) -> None:
    before = on_all(hosts.compute_hosts, state_of)
    options = ["-q", "-x", "-p", "no:cacheprovider", "-k", BUSYBOX_CHOSEN]
    done = in_their_network(
        hosts, [sys.executable, "-m", "pytest", *options, *CONTRACTS], busybox_hosts
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "passed" in done.stdout
    hosts_are_as(
        hosts, before
    )  # busybox's timeout looks once a second whether the command has ended


def test_tools_that_a_host_lacks_are_told_one_by_one(tmp_path: Path) -> None:
    (tmp_path / "sed").symlink_to("/bin/sed")
    words = [word for name in scripts.TOOLS for word in ("p", name)]
    done = subprocess.run(
        ["/bin/sh", "-c", scripts.EXAMINE, "sh", "/run", "", *words],
        env={"PATH": str(tmp_path)}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    missing = {line[2:] for line in done.stdout.splitlines() if line.startswith("p ")}
    assert missing == set(scripts.TOOLS) - {"sed", "kill"}  # the shell's own kill is there


FOLDERS = [str(Path(__file__).parent), str(Path(__file__).parent / "clouds")]
"""Where programs of their own find what tests share."""
UP = """
import os, sys
sys.path[:0] = {folders!r}
from contract_clusters import spec_of
from wavetank.cluster import deploy
try:
    deploy.bring_up(spec_of({kind!r}, "refused"))
except Exception as error:
    print(type(error).__name__, error)
"""


def up_in_their_network(
    hosts: deploy.DeployedCluster, ssh: dict[str, object], kind: str = "ssh-none"
) -> str:
    code = UP.format(folders=FOLDERS, kind=kind)
    done = in_their_network(hosts, [sys.executable, "-c", code], ssh)
    assert done.returncode == 0, done.stderr
    assert "PRIVATE KEY" not in done.stdout + done.stderr
    return done.stdout


def test_hosts_with_other_keys_are_refused_all_at_once(
    hosts: deploy.DeployedCluster, keys: Path, tmp_path: Path
) -> None:
    make_key(tmp_path / "other")
    write_known_hosts(tmp_path / "known_hosts", tmp_path / "other.pub")
    said = up_in_their_network(hosts, inventory(keys, known_hosts=str(tmp_path / "known_hosts")))
    for name in ("c1", "c2"):
        assert f"cannot use host {name}" in said
    assert said.count("verification failed") == 2


def test_a_user_without_the_key_is_refused(
    hosts: deploy.DeployedCluster, keys: Path, tmp_path: Path
) -> None:
    make_key(tmp_path / "stranger")
    said = up_in_their_network(hosts, inventory(keys, identity_file=str(tmp_path / "stranger")))
    assert "cannot use host c1" in said
    assert "Permission denied" in said


def test_what_hosts_lack_is_said_of_each_before_anything_starts(
    hosts: deploy.DeployedCluster, keys: Path
) -> None:
    hidden = {"c2": "/usr/bin/getfattr", "io1": "/usr/sbin/glusterd"}
    by_address = {host.address: host for host in hosts.compute_hosts}
    for name, program in hidden.items():
        by_address[NODES[name]].run(["mv", program, f"{program}.hidden"])
    try:
        said = up_in_their_network(hosts, inventory(keys, directory="/nowhere"), "ssh-glusterfs")
    finally:
        for name, program in hidden.items():
            by_address[NODES[name]].run(["mv", f"{program}.hidden", program])
    assert "c2: getfattr is missing: apt-get install attr" in said
    assert "io1: glusterd is missing: apt-get install glusterfs-server" in said
    assert said.count("is missing") == 2
    assert said.count("ssh.directory /nowhere") == 4


def test_what_went_wrong_first_is_said_and_nothing_is_left(
    hosts: deploy.DeployedCluster, keys: Path
) -> None:
    before = on_all(hosts.compute_hosts, state_of)
    said = up_in_their_network(hosts, inventory(keys, network="192.168.77.0/24"))
    assert "has no address in ssh.network 192.168.77.0/24" in said
    hosts_are_as(hosts, before)


TWO = """
import os, sys
sys.path[:0] = {folders!r}
from contract_clusters import spec_of
from wavetank.cluster import deploy
first, second = spec_of("ssh-nfs", "one"), spec_of("ssh-nfs", "two")
second = second.model_copy(update={{"file_system": second.file_system.model_copy(update={{"mount": "/other"}})}})
with deploy.deployed(first) as stays:
    try:
        deploy.bring_up(second)
    except Exception as error:
        print(error)
    print(stays.health())
"""


def test_a_host_of_another_cluster_is_refused_and_left_alone(
    hosts: deploy.DeployedCluster, keys: Path
) -> None:
    before = on_all(hosts.compute_hosts, state_of)
    code = TWO.format(folders=FOLDERS)
    done = in_their_network(hosts, [sys.executable, "-c", code], inventory(keys))
    assert done.returncode == 0, done.stderr
    assert "it serves or mounts another cluster, /run/store/wavetank-t" in done.stdout
    assert done.stdout.endswith("\n[]\n")
    hosts_are_as(hosts, before)


def test_two_names_of_one_machine_are_refused(hosts: deploy.DeployedCluster, keys: Path) -> None:
    hosts.compute_hosts[0].run(["ip", "address", "add", f"{SECOND_ADDRESS}/24", "dev", "eth0"])
    both = {**NODES, "c2": SECOND_ADDRESS}
    said = up_in_their_network(hosts, inventory(keys, hosts=both))
    assert "c1 and c2 are one machine" in said


def test_sudo_that_asks_for_a_password_is_refused(
    hosts: deploy.DeployedCluster, keys: Path
) -> None:
    host = hosts.compute_hosts[1]
    host.run(["mv", "/etc/sudoers.d/wavetank-test", "/etc/wavetank-test"])
    try:
        said = up_in_their_network(hosts, inventory(keys))
    finally:
        host.run(["mv", "/etc/wavetank-test", "/etc/sudoers.d/wavetank-test"])
    assert "cannot use host c2" in said
    assert "password is required" in said
    assert "host c1" not in said


def test_a_user_without_sudo_has_what_needs_no_root(
    hosts: deploy.DeployedCluster, keys: Path
) -> None:
    plain = inventory(keys, sudo=False, directory="/tmp")
    assert up_and_down(hosts, plain, "ssh-none") == "up\n"
    assert "is served and mounted as root" in up_in_their_network(hosts, plain, "ssh-nfs")


def test_hosts_are_reached_by_a_jump_host_and_what_keeps_it_from_that_is_said_once(
    hosts: deploy.DeployedCluster, keys: Path, tmp_path: Path
) -> None:
    gate, node = (
        next(each for each in hosts.compute_hosts if each.address == NODES[name])
        for name in ("io2", "c1")
    )
    start_sshd(gate, keys, GATE_PORT)  # of the same key; no node has this port
    public = " ".join((keys / "host.pub").read_text().split()[:2])
    known = tmp_path / "known_hosts"
    known.write_text(
        (keys / "known_hosts").read_text() + f"[{gate.address}]:{GATE_PORT} {public}\n"
    )
    jump = f"{USER}@{gate.address}:{GATE_PORT}"
    before = on_all(hosts.compute_hosts, state_of)
    n_before = node.log_text(f"sshd-{PORT}").count(
        f"Accepted publickey for {USER} from {gate.address}"
    )
    assert (
        up_and_down(hosts, inventory(keys, jump=jump, known_hosts=str(known)), "ssh-none") == "up\n"
    )
    log = node.log_text(f"sshd-{PORT}")
    assert log.count(f"Accepted publickey for {USER} from {gate.address}") > n_before
    # of the check, of 'up', and of 'down' where that of 'up' is closed by then: not one for each host and command
    assert gate.log_text(f"sshd-{GATE_PORT}").count("Accepted publickey") in (2, 3)
    hosts_are_as(hosts, before)

    said = up_in_their_network(hosts, inventory(keys, jump=jump))
    assert said.count("cannot use") == 1
    assert f"cannot use jump host {jump}: " in said and "verification failed" in said
    nobody = f"{USER}@{gate.address}:9"
    said = up_in_their_network(hosts, inventory(keys, jump=nobody, known_hosts=str(known)))
    assert f"cannot use jump host {nobody}: " in said and "refused" in said


KILLED = """
import os, signal, subprocess, sys
sys.path[:0] = {folders!r}
from contract_clusters import spec_of
from wavetank.cluster import deploy
spec = spec_of({kind!r}, "killed")
start, left = subprocess.Popen.__init__, {n_programs}
def counted(self, *args, **kwargs):
    global left
    left -= 1
    if left < 0:
        os._exit(9)
    start(self, *args, **kwargs)
if sys.argv[1] == "up":
    subprocess.Popen.__init__ = counted
    deploy.bring_up(spec)
    print("up")
else:
    deploy.take_down(spec.name)
"""


def up_and_down(
    hosts: deploy.DeployedCluster, ssh: dict[str, object], kind: str, n_programs: int = 10**6
) -> str:
    """Up, ended without any clean-up after so many programs, then down by another process."""
    code = KILLED.format(folders=FOLDERS, kind=kind, n_programs=n_programs)
    name = {"WAVETANK_TEST_NAME": f"t{os.getpid()}-k"}
    up = in_their_network(hosts, [sys.executable, "-c", code, "up"], ssh, name)
    assert up.returncode == (9 if n_programs < 10**6 else 0), up.stderr
    down = in_their_network(hosts, [sys.executable, "-c", code, "down"], ssh, name)
    assert down.returncode == 0, down.stderr
    return up.stdout


# Checks start 3 programs, one a host; NFS on three hosts then 25 or more.
@pytest.mark.parametrize("n_programs", [4, 8, 13, 18, 23])
def test_a_tool_killed_while_bringing_up_leaves_hosts_as_they_were_after_down(
    n_programs: int, hosts: deploy.DeployedCluster, keys: Path
) -> None:
    before = on_all(hosts.compute_hosts, state_of)
    up_and_down(hosts, inventory(keys), "ssh-nfs", n_programs)
    hosts_are_as(hosts, before)
