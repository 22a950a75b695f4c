"""OrangeFS (PVFS2): data and metadata servers on nodes, mounted through pvfs2fuse, or by the kernel's client over ssh.

Its programs are found on the PATH or below ``file_system.prefix``. What is in force is asked of its own programs
(pvfs2-statfs, pvfs2-viewdist). Three servers are up in 0.2 s (OrangeFS 2.10.0).
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from wavetank.cluster.components import MAKES_NODES
from wavetank.cluster.filesystems.base import (
    ANSWER_TIMEOUT_S,
    FileSystemDriver,
    Site,
    end_by_pid_file,
    mounts,
    start_with_pid_file,
    unmount_from,
    wait_until,
    write_content,
)
from wavetank.cluster.filesystems.facts import Facts, TriedLayout
from wavetank.cluster.filesystems.orangefs import config
from wavetank.cluster.host import Host, on_all
from wavetank.cluster.needs import Needs
from wavetank.cluster.spec import ClusterSpec
from wavetank.errors import ClusterError, FileSystemError, RemoteCommandError

INSTALL_TIMEOUT_S = 900.0

# $1: the package, $2: folder that notes what is to be taken away, $3: the prefix of an archive. dpkg installs nothing that a package
# depends on; apt-get does then.
INSTALL = """set -e
case $1 in
*.deb)
  name=$(dpkg-deb -f "$1" Package) version=$(dpkg-deb -f "$1" Version)
  there=$(dpkg-query -W -f '${db:Status-Status} ${Version}' "$name" 2>/dev/null) || there=
  case $there in
  "installed $version") exit 0 ;;
  installed*) echo "$name is installed already, as ${there#installed }, and not $version" >&2; exit 1 ;;
  esac
  echo "$name" >"$2/installed"
  dpkg -i "$1" >&2 || DEBIAN_FRONTEND=noninteractive apt-get install -f -y >&2
  ;;
*)
  [ ! -e "$3" ] || { echo "$3 is there already" >&2; exit 1; }
  echo "$3" >"$2/unpacked"
  mkdir -p -- "$3"
  tar -C "$3" -xzf "$1"
  ;;
esac
"""
# $1: that folder, $2: the prefix. Only what was noted.
REMOVE = """if [ -f "$1/installed" ]; then dpkg -r "$(cat "$1/installed")" >&2; fi
if [ "$(cat "$1/unpacked" 2>/dev/null)" = "$2" ]; then rm -rf -- "$2"; fi
"""


def package_problems(spec: ClusterSpec) -> Iterator[str]:
    """Why the package cannot be used."""
    fs = spec.file_system
    if fs.package is None:
        return
    if spec.provider in MAKES_NODES:
        yield (
            f"file_system.package: nodes of provider {spec.provider} have this machine's programs: install {fs.package} here, "
            "and remove the key"
        )
    if not Path(fs.package).is_file():
        yield f"file_system.package {fs.package} is no file of this machine: name the package, or build one"
    if fs.prefix is None and not fs.package.endswith(".deb"):
        yield f"file_system.package {fs.package} is unpacked at file_system.prefix: name the prefix that it was built for"


def bring_package(host: Host, spec: ClusterSpec, state: str) -> None:
    """Have the package on a host.

    Args:
        host: to install it on.
        spec: of the cluster.
        state: folder of the cluster there.

    Raises:
        FileSystemError: it cannot be installed there; with what was said.
    """
    package = spec.file_system.package
    if package is None:
        return
    there = f"{state}/{Path(package).name}"
    try:
        host.run(["mkdir", "-p", "--", state])
        host.put(Path(package), there)
        argv = ["sh", "-c", INSTALL, "sh", there, state, spec.file_system.prefix or ""]
        host.run(argv, timeout_s=INSTALL_TIMEOUT_S)
        host.run(["rm", "-f", "--", there])
    except RemoteCommandError as error:
        raise FileSystemError(
            f"{package} cannot be installed on {host.name}: {error.stderr_tail or error}"
        ) from error


def remove_package(host: Host, spec: ClusterSpec, state: str) -> None:
    """Take away what ``bring_package`` installed; nothing that was there before."""
    if spec.file_system.package is not None:
        argv = ["sh", "-c", REMOVE, "sh", state, spec.file_system.prefix or ""]
        host.run(argv, timeout_s=INSTALL_TIMEOUT_S)


STATE = "/run/wavetank-orangefs"
CONFIGURATION = f"{STATE}/fs.conf"
TAB = f"{STATE}/pvfs2tab"
START_TIMEOUT_S = 180.0
PLACING_TRIES = 64
GET = "install OrangeFS and name its prefix in file_system.prefix (not in Debian; docs/how-to/install-orangefs.md)"


@dataclass(frozen=True)
class FileLayout:
    """How one file lies, as pvfs2-viewdist says it."""

    distribution: str
    params: str
    servers: tuple[str, ...]  # address of each datafile's server, in order

    def __str__(self) -> str:
        n = len(self.servers)
        return f"{self.distribution} {self.params}, {n} datafile{'s' if n > 1 else ''} on {', '.join(self.servers)}"


class OrangeFS(FileSystemDriver):
    """Deploys OrangeFS."""

    kind = "orangefs"
    facts = Facts(
        title="OrangeFS",
        keys=frozenset({"prefix", "package"}),
        own_metadata=True,
        without_root=True,
        stripes=("distributed", "sharded"),
        layout_options=("distribution", "distribution_params"),
        tried=(TriedLayout(3, config.STRIP_BYTES), TriedLayout(3)),
        lacking_on_images=(
            "has no OrangeFS, nor has its distribution: give a package of it (file_system.package), or take an image of your own "
            "(ami-...) that has it, below file_system.prefix (docs/tutorials/nfs-or-orangefs-on-aws.md)"
        ),
    )

    def check(self, spec: ClusterSpec) -> list[str]:
        """Stripes, options, and the package."""
        return [*config.problems(spec), *package_problems(spec)]

    def needs_of_servers(self, spec: ClusterSpec) -> Needs:
        """The server, and what asks it whether it answers."""
        return Needs(_programs(spec, "pvfs2-server", "pvfs2-check-server"))

    def needs_of_clients(self, spec: ClusterSpec) -> Needs:
        """The mount, and what asks for layouts."""
        names = ["pvfs2-viewdist", "pvfs2-statfs", "pvfs2-check-server"]
        files = {}
        if _by_kernel(spec):
            names.append("pvfs2-client-core")
            files = {"/dev/pvfs2-req": "modprobe orangefs"}
        else:
            names.append("pvfs2fuse")
            files = {"/dev/fuse": "modprobe fuse"}
        return Needs(_programs(spec, *names), files)

    def install(self, site: Site) -> None:
        """Make the storage of every server, and start them all at once."""
        text = configuration(site)
        on_all(_all_hosts(site), lambda host: bring_package(host, site.spec, STATE))

        def start(host: Host) -> None:
            host.run(["mkdir", "-p", STATE])
            host.run(["dd", f"of={CONFIGURATION}", "status=none"], stdin=text)
            program = _command(site.spec, "pvfs2-server")
            host.run([*program, "-f", CONFIGURATION, "-a", host.name])
            argv = [*program, "-d", "-p", f"{STATE}/server.pid", CONFIGURATION, "-a", host.name]
            host.start(argv, log="pvfs2-server")
            wait_until(host, _asking(site.spec, host), "pvfs2-server", START_TIMEOUT_S, "pvfs2-server")  # fmt: skip

        on_all(_servers(site), start)

    def mount(self, site: Site) -> None:
        """Mount on all clients, and see that it answers."""
        mount_on = _mount_by_kernel if _by_kernel(site.spec) else _mount_by_fuse
        try:
            on_all(site.clients, lambda client: mount_on(client, site))
        except ClusterError as error:
            raise FileSystemError(f"cannot mount orangefs: {error}") from error

    def unmount(self, site: Site) -> None:
        """Unmount from all clients, and wait for the end of their programs."""
        at = self.mount_path(site)

        def unmount_and_stop(client: Host) -> None:
            unmount_from(client, at, START_TIMEOUT_S)
            for name in ("pvfs2fuse", "pvfs2-client"):
                end_by_pid_file(client, f"{STATE}/{name}.pid", name)

        on_all(site.clients, unmount_and_stop)

    def settings(self, site: Site) -> dict[str, str]:
        """The servers' file as they read it, what they say of their space, and the layout of a new file."""
        client, at = site.clients[0], self.mount_path(site)
        version = site.servers[0].run([*_command(site.spec, "pvfs2-server"), "-v"])
        found = {
            "file system": "orangefs",
            "version": (version.stdout + version.stderr).strip().splitlines()[-1],
            "data servers": ", ".join(host.name for host in site.servers),
            "metadata servers": ", ".join(host.name for host in site.metadata_servers),
            "client": "Linux" if _by_kernel(site.spec) else "pvfs2fuse",
        }
        found |= mounts(site, at)
        for key, value in conf_values(site.servers[0].run(["cat", CONFIGURATION]).stdout).items():
            found[f"orangefs {key}"] = value
        found |= statfs_values(_ask(client, site, "pvfs2-statfs", "-m", at))
        probe = f"{at}/.wavetank-layout"
        client.run(["touch", probe])
        try:
            found["layout of a new file"] = str(self._layout(site, probe))
        finally:
            client.run(["rm", "-f", "--", probe])
        return found

    def place_files(self, site: Site, sizes: Mapping[str, int]) -> dict[str, str]:
        """Write files through the first client, each on a server of its own when the layout asks for it."""
        client, at = site.clients[0], self.mount_path(site)
        names = {host.address: host.name for host in site.servers}
        places = {}
        for position, (path, size) in enumerate(sizes.items()):
            file = f"{at}/{path}"
            if site.spec.layout == "one-server-per-file":
                client.run(["mkdir", "-p", "--", file.rpartition("/")[0]])
                self._make_on(site, file, site.servers[position % len(site.servers)])
            write_content(client, file, size, site.on_written)
            layout = self._layout(site, file)
            on = ", ".join(names.get(address, address) for address in layout.servers)
            places[path] = f"{layout.distribution} {layout.params} on {on}"
        return places

    def _make_on(self, site: Site, file: str, server: Host) -> None:
        """Make an empty file of one datafile on a server: others are made and deleted until one falls there."""
        client = site.clients[0]
        client.run(["rm", "-f", "--", file])
        tries = [f"{file}.wavetank-{number}" for number in range(PLACING_TRIES)]
        made = []
        try:
            for name in tries:
                made.append(name)
                client.run(["touch", name])
                if self._layout(site, name).servers == (server.address,):
                    client.run(["mv", "--", name, file])
                    return
        finally:
            client.run(["rm", "-f", "--", *made])
        raise FileSystemError(
            f"orangefs put none of {PLACING_TRIES} new files on {server.name} alone: is file_system.stripe.kind distributed?"
        )

    def _layout(self, site: Site, file: str) -> FileLayout:
        return file_layout(_ask(site.clients[0], site, "pvfs2-viewdist", "-f", file))

    def health(self, site: Site) -> list[str]:
        """Servers that do not answer, mounts that are gone."""

        def look(host: Host) -> list[str]:
            try:
                host.run(_asking(site.spec, host), timeout_s=ANSWER_TIMEOUT_S)
            except RemoteCommandError as error:
                return [f"{host.name}: pvfs2-server does not answer: {error.stderr_tail or error}"]
            return []

        findings = [finding for found in on_all(_servers(site), look) for finding in found]
        return findings or super().health(site)  # a mount would wait for a server

    def remove(self, site: Site) -> None:
        """Unmount, end the servers, and delete what they kept."""
        self.unmount(site)

        def clean(host: Host) -> None:
            end_by_pid_file(host, f"{STATE}/server.pid", "pvfs2-server")
            kept = [f"{site.storage_path}/orangefs-{part}" for part in ("data", "metadata")]
            host.run(["rm", "-rf", "--", *kept])

        on_all(_servers(site), clean)
        on_all(_all_hosts(site), lambda host: remove_package(host, site.spec, STATE))
        on_all(_all_hosts(site), lambda host: host.run(["rm", "-rf", "--", STATE]))


def configuration(site: Site) -> str:
    """The servers' file for a site."""
    addresses = {host.name: host.address for host in _servers(site)}
    fs_id = 1 + zlib.crc32(site.spec.name.encode()) % (2**31 - 2)
    return config.fs_conf(site.spec, addresses, site.storage_path, f"{STATE}/server.log", fs_id)


def _servers(site: Site) -> tuple[Host, ...]:
    """Data and metadata servers, each once."""
    return tuple({host.name: host for host in (*site.servers, *site.metadata_servers)}.values())


def _all_hosts(site: Site) -> tuple[Host, ...]:
    """Servers and clients, each once."""
    return tuple({host.name: host for host in (*_servers(site), *site.clients)}.values())


def _programs(spec: ClusterSpec, *names: str) -> dict[str, str]:
    """Programs that hosts must have before; none where a package brings them."""
    if spec.file_system.package is not None:
        return {}
    return {_program(spec, name): GET for name in names}


def _program(spec: ClusterSpec, name: str) -> str:
    prefix = spec.file_system.prefix
    directory = "sbin" if name in ("pvfs2-server", "pvfs2-client", "pvfs2-client-core") else "bin"
    return name if prefix is None else f"{prefix}/{directory}/{name}"


def _command(spec: ClusterSpec, name: str) -> list[str]:
    """A program's first words; below a prefix it finds the libraries of its own build."""
    prefix = spec.file_system.prefix
    libraries = [] if prefix is None else ["env", f"LD_LIBRARY_PATH={prefix}/lib:{prefix}/lib64"]
    return [*libraries, _program(spec, name)]


def _by_kernel(spec: ClusterSpec) -> bool:
    return spec.file_system.mount_options.get("client") == "kernel"


def _asking(spec: ClusterSpec, host: Host) -> list[str]:
    """Whether the server on a host answers."""
    program = _command(spec, "pvfs2-check-server")
    return [*program, "-h", host.address, "-f", config.NAME, "-n", "tcp", "-p", str(config.PORT)]


def _ask(client: Host, site: Site, program: str, *words: str) -> str:
    """One of OrangeFS's own programs, which finds the file system by a table of mounts."""
    return client.run([*_command(site.spec, program), *words], env={"PVFS2TAB_FILE": TAB}).stdout


def _source(site: Site) -> str:
    """Where clients get the configuration from."""
    return f"tcp://{site.metadata_servers[0].address}:{config.PORT}/{config.NAME}"


def _prepare(client: Host, site: Site) -> list[str]:
    """The mount point and the table; words of the options."""
    at = site.spec.file_system.mount
    client.run(["mkdir", "-p", STATE, at])
    client.run(
        ["dd", f"of={TAB}", "status=none"],
        stdin=f"{_source(site)} {at} pvfs2 defaults,noauto 0 0\n",
    )
    words = []
    for key, value in site.spec.file_system.mount_options.items():
        if key == "client" or value in (False, "no"):
            continue
        words.append(key if value in (True, "yes") else f"{key}={value}")
    return words


def _mount_by_fuse(client: Host, site: Site) -> None:
    at = site.spec.file_system.mount
    options = [f"fs_spec={_source(site)}", "allow_other", *_prepare(client, site)]
    program = _command(site.spec, "pvfs2fuse")
    argv = [*program, at, "-f", "-o", ",".join(options)]
    start_with_pid_file(client, argv, f"{STATE}/pvfs2fuse.pid", "pvfs2fuse")
    wait_until(client, ["mountpoint", "-q", at], f"the mount of {at}", START_TIMEOUT_S, "pvfs2fuse")
    client.run(["stat", "-f", at], timeout_s=START_TIMEOUT_S)


def _mount_by_kernel(client: Host, site: Site) -> None:
    options = _prepare(client, site)
    core = _command(site.spec, "pvfs2-client-core")
    argv = [*core, "-L", f"{STATE}/client.log"]
    start_with_pid_file(client, argv, f"{STATE}/pvfs2-client.pid", "pvfs2-client")
    with_options = ["-o", ",".join(options)] if options else []
    mount = ["mount", "-t", "pvfs2", *with_options, _source(site), site.spec.file_system.mount]
    wait_until(client, mount, "the kernel's client", START_TIMEOUT_S, "pvfs2-client")


def file_layout(text: str) -> FileLayout:
    """Read what pvfs2-viewdist says.

    Sample (2.10.0): ``dist_name = simple_stripe``, ``dist_params:``, ``strip_size:65536``, an empty line,
    ``Metadataserver: tcp://10.77.0.3:3334``, ``Number of datafiles/servers = 2``,
    ``Datafile 0 - tcp://10.77.0.3:3334, handle: 4611686018427387904 (4000000000000000.bstream)``.

    Raises:
        FileSystemError: it is something else.
    """
    name = re.search(r"^dist_name = (\S+)", text, re.MULTILINE)
    params = re.search(r"^dist_params:\n(.*?)\nMetadataserver", text, re.MULTILINE | re.DOTALL)
    servers = re.findall(r"^Datafile \d+ - tcp://([^:,]+):", text, re.MULTILINE)
    if name is None or not servers:
        raise FileSystemError(f"pvfs2-viewdist says nothing of a layout: {text.strip()!r}")
    said = " ".join(params[1].split()) if params else ""
    return FileLayout(name[1], said, tuple(servers))


def statfs_values(text: str) -> dict[str, str]:
    """Lines ``name: value`` of pvfs2-statfs that are of the whole file system.

    Sample (2.10.0): ``num_io_servers: 2``, ``bytes available : 536870912``.
    """
    wanted = ("num_meta_servers", "num_io_servers", "bytes available", "bytes total")
    pairs = (line.partition(":") for line in text.splitlines())
    found: dict[str, str] = {}
    for key, colon, value in pairs:
        if colon and key.strip() in wanted:
            found.setdefault(f"statfs {key.strip()}", value.strip())
    return found


def conf_values(text: str) -> dict[str, str]:
    """Keys and values of a configuration file, without its blocks; of keys that come twice, all values."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        key, _, value = line.strip().partition(" ")
        if key and not key.startswith("<"):
            found[key] = f"{found[key]}; {value}" if key in found else value
    return found
