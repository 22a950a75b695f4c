"""Hosts that start ranks by themselves, for those that this machine's files and network do not reach.

Open MPI's daemons call the launcher back, and hosts of a cloud cannot call this machine. So the launcher runs on the first
compute node (``launch``), and reaches the others by the cluster's own key. All of it lies below the hosts' home.
"""

from __future__ import annotations

import json
import platform
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from wavetank import native
from wavetank.cluster.host import on_all
from wavetank.cluster.remote.connection import configuration, write_remote_shell
from wavetank.cluster.remote.host import SshHost
from wavetank.cluster.remote.parts import LAUNCH_FILE, bring, try_replay
from wavetank.cluster.spec import ClusterSpec
from wavetank.cluster.state import ClusterDirectory
from wavetank.document import write_whole
from wavetank.errors import ProviderError
from wavetank.job import SCRATCH

REPLAY = "bin/wavetank-replay-openmpi"
KEY, KNOWN_HOSTS, CONFIG = "key", "known-hosts", "ssh_config"


def prepare(
    directory: ClusterDirectory, spec: ClusterSpec, hosts: Sequence[SshHost], known_hosts: Path
) -> str | None:
    """Give compute nodes a way to each other, and the replay program where it is built here.

    Args:
        directory: of the cluster.
        spec: of the cluster; its key ssh has the addresses by which nodes reach each other, and the private key here.
        hosts: the compute nodes, the first of which runs launchers.
        known_hosts: their host keys by those addresses.

    Returns:
        What the hosts' mpirun says of itself; None where no replay program is built here.

    Raises:
        ProviderError: the replay program does not run there.
        RemoteCommandError: something cannot be copied.
    """
    if spec.ssh is None:
        raise ProviderError(f"cluster {spec.name} has no key ssh")
    home = hosts[0].home
    folder, sudo = f"{home}/launch", spec.ssh.sudo
    inside = spec.ssh.model_copy(
        update={"identity_file": f"{folder}/{KEY}", "known_hosts": f"{folder}/{KNOWN_HOSTS}"}
    )
    with TemporaryDirectory(prefix="wavetank-") as scratch:
        config = Path(scratch) / CONFIG
        config.write_text(configuration(spec.model_copy(update={"ssh": inside})))
        write_remote_shell(Path(scratch))
        files = {
            KEY: Path(spec.ssh.identity_file),
            KNOWN_HOSTS: known_hosts,
            CONFIG: config,
            "remote-shell": Path(scratch) / "remote-shell",
        }

        def copy(host: SshHost) -> None:
            host.run(["mkdir", "-p", "-m", "700", "--", folder])
            for name, source in files.items():
                host.put(source, f"{folder}/{name}")
            host.run(["chmod", "600", "--", f"{folder}/{KEY}"])

        on_all(hosts, copy)
    said = {"home": home, "sudo": sudo, "nodes": [host.name for host in hosts]}
    write_whole(directory.path / LAUNCH_FILE, json.dumps(said))
    if not native.available(REPLAY):
        return None
    program = bring(hosts, native.find(REPLAY, "perform a kernel"))
    return "; ".join(dict.fromkeys(try_replay(hosts, program, _this_machine())))


def launcher_prefix(directory: ClusterDirectory) -> tuple[str, ...]:
    """See job.Placement: what brings the launcher's files to the first compute node, and runs it there."""
    module = "wavetank.cluster.remote.launch"
    return (sys.executable, "-m", module, str(directory.path), SCRATCH)


def remote_shell(home: str, *, sudo: bool) -> tuple[str, ...]:
    """See job.Placement: as the launcher on a host calls it."""
    folder = f"{home}/launch"
    return (f"{folder}/remote-shell",) if sudo else ("ssh", "-F", f"{folder}/{CONFIG}")


def _this_machine() -> str:
    try:
        name = platform.freedesktop_os_release().get("PRETTY_NAME", platform.system())
    except OSError:
        name = platform.system()
    return f"on this machine ({name}, {platform.machine()})"
