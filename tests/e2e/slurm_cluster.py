"""A Slurm cluster of two nodes for tests: munge, controller and node daemons in namespaces of their own.

Ports, processes and mounts end with the namespaces; two of them do not disturb each other.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from waiting import HANG_S, until

ADDRESS = "10.77.0.1"  # of an interface of the namespace's own
PROGRAMS = (
    "munged",
    "slurmctld",
    "slurmd",
    "sbatch",
    "squeue",
    "scancel",
    "nsenter",
    "unshare",
    "ip",
)

CONF = """\
ClusterName=wavetank
SlurmctldHost=wtslurm({address})
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket={folder}/munge/socket
StateSaveLocation={folder}/ctld
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/ctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/ctld.log
SlurmdLogFile={folder}/slurmd-%n.log
ProctrackType=proctrack/pgid
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=batch_sched_delay=0,sched_interval=1
# A busy machine is no dead node: the defaults are 10, 2, 10, 300 and 60 s.
MessageTimeout=100
TCPTimeout=100
BatchStartTimeout=600
SlurmdTimeout=3600
InactiveLimit=0
OverTimeLimit=0
KillWait=1
MailProg=/bin/true
ReturnToService=2
NodeName=n[1-2] NodeHostname=wtslurm NodeAddr={address} Port=[7001-7002] CPUs={cpus} State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=60 State=UP
PartitionName=down Nodes=ALL MaxTime=60 State=DOWN
"""

START = """\
set -e
mount -t proc proc /proc
hostname wtslurm
ip link set lo up
# Neither the resolver nor Open MPI takes a host with nothing but a loopback interface.
ip link add eth0 type veth peer name eth1
ip link set eth0 up
ip link set eth1 up
ip addr add {address}/24 dev eth0
mount --bind {folder}/hosts /etc/hosts
export SLURM_CONF={folder}/slurm.conf
munged --force --key-file={folder}/munge/key --socket={folder}/munge/socket \\
    --pid-file={folder}/munge/pid --log-file={folder}/munge/log --seed-file={folder}/munge/seed
slurmctld -c
slurmd -c -N n1
slurmd -c -N n2
touch {folder}/started
exec {python} -c "{reaper}"
"""


# Process 1 inherits what daemons leave; Slurm waits a minute for processes that nobody reaps.
REAPER = """\
import os, time
while True:
    try:
        os.wait()
    except ChildProcessError:
        time.sleep(0.1)
"""


def missing() -> str | None:
    """Why there can be no Slurm cluster here."""
    if os.geteuid() != 0:
        return "a Slurm cluster of its own needs root"
    lacking = [name for name in PROGRAMS if shutil.which(name) is None]
    return f"not installed: {', '.join(lacking)}" if lacking else None


def child_of(process: subprocess.Popen[str]) -> int:
    """The one process that nsenter or unshare started: signals must go to it."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")

    def started() -> list[str]:
        assert process.poll() is None, "it ended at once"
        return children.read_text().split()

    return int(until(started, f"what {process.args} starts")[0])


class SlurmCluster:
    """Two nodes that are up: n1 and n2, both of this machine."""

    def __init__(self, folder: Path) -> None:
        """Start all daemons.

        Args:
            folder: empty, with a short path (munge's socket lies in it).
        """
        self.folder = folder
        for name in ("munge", "ctld", "spool-n1", "spool-n2"):
            (folder / name).mkdir()
        folder.chmod(0o755)
        key = folder / "munge" / "key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o400)
        (folder / "hosts").write_text(f"127.0.0.1 localhost\n{ADDRESS} wtslurm\n")
        (folder / "slurm.conf").write_text(
            CONF.format(address=ADDRESS, folder=folder, cpus=os.cpu_count())
        )
        (folder / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")
        self._process = subprocess.Popen(
            ["unshare", "--net", "--mount", "--pid", "--uts", "--fork", "--kill-child", "sh", "-c",
             START.format(address=ADDRESS, folder=folder, python=sys.executable, reaper=REAPER)],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        try:
            self._wait_until_idle()
        except BaseException:
            self.stop()
            raise

    def argv(self, argv: Sequence[str]) -> list[str]:
        """What runs a command on the node."""
        inside = child_of(self._process)
        return ["nsenter", f"--target={inside}", "--net", "--mount", "--pid", "--uts", *argv]

    def environment(self, more: Mapping[str, str] | None = None) -> dict[str, str]:
        """For commands on the node."""
        return {**os.environ, "SLURM_CONF": str(self.folder / "slurm.conf"), **(more or {})}

    def run(self, *argv: str) -> str:
        """Standard output of a command on the node."""

        def answered() -> subprocess.CompletedProcess[str] | None:
            done = subprocess.run(
                self.argv(argv), env=self.environment(), capture_output=True, text=True,
                timeout=HANG_S, check=False,
            )  # fmt: skip
            # A controller on a busy machine closes connections in the middle.
            return None if done.returncode == -signal.SIGPIPE else done

        done = until(answered, f"an answer to {argv}")
        assert done.returncode == 0, (argv, done.stdout, done.stderr)
        return done.stdout

    def stop(self) -> None:
        """End every process of the cluster."""
        self._process.send_signal(signal.SIGKILL)  # its child, the first of its namespace, goes too
        self._process.communicate()

    def _wait_until_idle(self) -> None:
        state = ""

        def is_idle() -> bool:
            nonlocal state
            assert self._process.poll() is None, self._process.communicate()[0]
            if not (self.folder / "started").exists():
                return False
            done = subprocess.run(
                self.argv(["sinfo", "--noheader", "--partition=main", "--format=%t"]),
                env=self.environment(), capture_output=True, text=True, timeout=HANG_S, check=False,
            )  # fmt: skip
            state = done.stdout + done.stderr
            return done.stdout.strip() == "idle"

        try:
            until(is_idle, "idle nodes")
        except AssertionError as error:
            logs = [path.read_text()[-2000:] for path in sorted(self.folder.glob("*.log"))]
            raise AssertionError("\n".join([f"Slurm did not come up: {state}", *logs])) from error
