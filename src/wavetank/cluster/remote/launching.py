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
from wavetank.cluster.remote.building import builds_for, built_part
from wavetank.cluster.remote.connection import configuration, write_remote_shell
from wavetank.cluster.remote.host import SshHost
from wavetank.cluster.remote.parts import LAUNCH_FILE, DoesNotRunError, bring, try_replay
from wavetank.cluster.spec import ClusterSpec
from wavetank.cluster.state import ClusterDirectory
from wavetank.document import write_whole
from wavetank.errors import ClusterError, ProviderError
from wavetank.job import SCRATCH
from wavetank.steps import steps

REPLAY = "bin/wavetank-replay-openmpi"
KEY, KNOWN_HOSTS, CONFIG = "key", "known-hosts", "ssh_config"


def prepare(
    directory: ClusterDirectory,
    spec: ClusterSpec,
    hosts: Sequence[SshHost],
    known_hosts: Path,
    compilers: Sequence[Sequence[str]] = (),
) -> str | None:
    """Give compute nodes a way to each other, and the replay program: that of this machine, or one that is built there.

    Args:
        directory: of the cluster.
        spec: of the cluster; its key ssh has the addresses by which nodes reach each other, and the private key here.
        hosts: the compute nodes, the first of which runs launchers.
        known_hosts: their host keys by those addresses.
        compilers: commands that install what compiles on a host.

    Returns:
        What the hosts' mpirun says of itself; None where no replay program is built here.

    Raises:
        ProviderError: the replay program neither runs there nor can be built there.
        RemoteCommandError: something cannot be copied.
    """
    if spec.ssh is None:
        raise ProviderError(f"cluster {spec.name} has no key ssh")
    home = hosts[0].home
    folder, sudo = f"{home}/launch", spec.ssh.sudo
    inside = spec.ssh.model_copy(
        update={"identity_file": f"{folder}/{KEY}", "known_hosts": f"{folder}/{KNOWN_HOSTS}"}
    )
    # In the folder of the cluster: it goes with it, should this process be killed.
    with TemporaryDirectory(prefix="launch-", dir=directory.path) as scratch:
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
    part = native.find(REPLAY, "perform a kernel")
    try:
        found = try_replay(hosts, bring(hosts, part), _this_machine())
    except DoesNotRunError as error:
        steps.info("%s: %s", spec.name, error)
        found = _build_replay(directory, part, hosts, compilers, error)
    return "; ".join(dict.fromkeys(found))


def _build_replay(
    directory: ClusterDirectory, part: Path, hosts: Sequence[SshHost], compilers: Sequence[Sequence[str]], why: DoesNotRunError
) -> list[str]:  # fmt: skip
    """Have the replay program of this machine's sources on all hosts; what mpirun says of itself there.

    Raises:
        ProviderError: it cannot be built, or does not run either.
    """
    try:
        builds = builds_for(hosts[0], compilers)
        program = bring(hosts, built_part(part, hosts[0], builds))
    except (native.NativeError, ClusterError) as error:
        raise ProviderError(f"{why}. It cannot be built there: {error}") from error
    builds.write(directory)  # from now on launches bring what is built there
    return try_replay(hosts, program, f"from its sources on {hosts[0].name}")


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
