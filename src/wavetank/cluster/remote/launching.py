"""Hosts that start ranks by themselves, for those that this machine's files and network do not reach.

Open MPI's daemons call the launcher back, and hosts of a cloud cannot call this machine. So the launcher runs on the first
compute node (``launch``), and reaches the others by the cluster's own key. All of it lies below the hosts' home.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import platform
import re
import secrets
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from wavetank import native, native_build
from wavetank.cluster.host import on_all
from wavetank.cluster.remote.connection import configuration, write_remote_shell
from wavetank.cluster.remote.host import SshHost
from wavetank.cluster.remote.parts import FIND_MPI, LAUNCH_FILE, DoesNotRunError, bring, try_replay
from wavetank.cluster.spec import ClusterSpec
from wavetank.cluster.state import ClusterDirectory, state_root
from wavetank.document import write_whole
from wavetank.errors import ClusterError, ProviderError, RemoteCommandError
from wavetank.job import SCRATCH
from wavetank.native_build import COMPILE, digest_of, source_files
from wavetank.steps import steps

BUILDS_FILE = (
    "builds.json"  # in the cluster's directory on this machine, where parts are built on a host
)
INSTALL_TIMEOUT_S = 1800.0
BUILD_TIMEOUT_S = 1800.0
TOOLS = (*native_build.TOOLS, "mpicc")

# A line: distribution, its version, architecture, MPI library, apart by ";".
SYSTEM = (
    FIND_MPI
    + """. /etc/os-release
printf '%s;%s;%s;%s\\n' "$ID" "$VERSION_ID" "$(uname -m)" "$(mpirun --version 2>/dev/null | head -n 1)"
"""
)
# The words: programs. A line for each that is missing.
LACKS = FIND_MPI + 'for each; do command -v "$each" >/dev/null || echo "$each"; done'
# $1: a folder of its own, which has sources.tar.gz. What is said if it fails: native_build.COMPILE.
BUILD = (
    FIND_MPI
    + """cd -- "$1" && mkdir native && tar -C native -xzf sources.tar.gz || exit 1
set -- native build "$1/install"
"""
    + COMPILE
    + "tar -C install -czf install.tar.gz .\n"
)


@dataclass(frozen=True)
class Builds:
    """How parts are built for the hosts of a cluster.

    Attributes:
        system: what they are built for, as it is in names of files.
        install: commands that install what compiles, on a host that lacks it.
    """

    system: str
    install: tuple[tuple[str, ...], ...]

    def write(self, directory: ClusterDirectory) -> None:
        """Have later launches build too, where the sources changed meanwhile."""
        said = {"system": self.system, "install": self.install}
        (directory.path / BUILDS_FILE).write_text(json.dumps(said))


def read_builds(directory: Path) -> Builds | None:
    """As it was written; None where hosts run the parts of this machine."""
    try:
        said = json.loads((directory / BUILDS_FILE).read_text())
    except FileNotFoundError:
        return None
    return Builds(said["system"], tuple(tuple(argv) for argv in said["install"]))


def builds_for(host: SshHost, install: Sequence[Sequence[str]]) -> Builds:
    """How parts are built for hosts like this one.

    Raises:
        RemoteCommandError: it does not say what it is.
    """
    said = host.script(SYSTEM).strip()
    name, version, machine, *mpi = (*said.split(";"), "", "", "")
    digest = hashlib.sha256("".join(mpi).encode()).hexdigest()[:8]
    plain = re.sub(r"[^a-z0-9._-]", "_", f"{name or 'linux'}-{version}-{machine}".lower())
    return Builds(f"{plain}-{digest}", tuple(tuple(argv) for argv in install))


def built_part(part: Path, host: SshHost, builds: Builds) -> Path:
    """A part as it runs on hosts: built on one of them, unless it was before.

    Args:
        part: of this machine.
        host: to build on.
        builds: how.

    Raises:
        NativeError: this installation has no sources.
        ProviderError: they do not build there; with what was said there.
        RemoteCommandError: something cannot be copied.
    """
    name = native.name_of(part)
    tree = _built_tree(host, builds)
    if name is None or not (tree / name).is_file():
        raise ProviderError(f"the build on {host.name} has no {name or part.name}: {tree}")
    return tree / name


def _built_tree(host: SshHost, builds: Builds) -> Path:
    """The folder with bin and lib."""
    sources = native.sources("build the C parts on a host")
    files = source_files(sources)
    tree = state_root() / "native" / f"{builds.system}-{digest_of(sources, files)}"
    if not tree.is_dir():
        _see_tools(host, builds.install)
        steps.info("building wavetank's parts on %s, which takes minutes", host.name)
        _build(host, sources, files, tree)
        steps.info("built on %s, and kept in %s", host.name, tree)
    return tree


def _see_tools(host: SshHost, install: Sequence[Sequence[str]]) -> None:
    """Have what compiles on a host; installed where it is missing.

    Raises:
        ProviderError: it is missing.
    """
    missing = host.script(LACKS, *TOOLS).split()
    if missing and install:
        steps.info("installing %s on %s", ", ".join(missing), host.name)
        for argv in install:
            host.run(argv, timeout_s=INSTALL_TIMEOUT_S)
        missing = host.script(LACKS, *TOOLS).split()
    if missing:
        raise ProviderError(
            f"{host.name} has no {', '.join(missing)}, so wavetank's parts cannot be built there"
        )


def _build(host: SshHost, sources: Path, files: Sequence[Path], tree: Path) -> None:
    folder = f"{host.home}/build-{secrets.token_hex(4)}"
    tree.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix=".build-", dir=tree.parent) as scratch:
        packed = Path(scratch) / "sources.tar.gz"
        with tarfile.open(packed, "w:gz") as archive:
            for file in files:
                archive.add(file, arcname=str(file.relative_to(sources)))
        came = Path(scratch) / "install.tar.gz"
        host.run(["mkdir", "-p", "--", folder])
        try:
            host.put(packed, f"{folder}/{packed.name}")
            host.script(BUILD, folder, timeout_s=BUILD_TIMEOUT_S)
            host.get(f"{folder}/{came.name}", came)
        except RemoteCommandError as error:
            raise ProviderError(
                f"wavetank's parts do not build on {host.name}: {error.stderr_tail.strip() or error}"
            ) from error
        finally:
            with contextlib.suppress(RemoteCommandError):
                host.run(["rm", "-rf", "--", folder])
        _keep(came, tree)


def _keep(came: Path, tree: Path) -> None:
    """Unpack what was built; whole or not at all, also where another process does the same."""
    coming = tree.with_name(f".{tree.name}-{secrets.token_hex(4)}")
    try:
        coming.mkdir()
        # tar leaves out of the names what leads outside; tarfile does so since Python 3.11.4, and Debian 12 has 3.11.2
        command = ["tar", "-xzf", str(came), "-C", str(coming), "--no-same-owner"]
        subprocess.run(command, check=True, capture_output=True)
        with contextlib.suppress(OSError):  # it is there by now
            coming.rename(tree)
    finally:
        shutil.rmtree(coming, ignore_errors=True)


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
