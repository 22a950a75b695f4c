"""NFS 3 with one server: nfs-ganesha, and our FUSE mount on kernels without an NFS client.

Which programs are used is a fact of the machine and is said in ``settings()``. Locks are local to a node.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from wavetank import native
from wavetank.cluster.filesystems.base import (
    Site,
    mount_line,
    on_all,
    program_on,
    wait_until,
    write_content,
)
from wavetank.cluster.host import Host, WatchesDaemons
from wavetank.cluster.needs import Needs
from wavetank.cluster.spec import ClusterSpec
from wavetank.errors import ClusterError, FileSystemError, RemoteCommandError
from wavetank.programs import find_program

MOUNT_PROGRAM = "bin/wavetank-nfs-mount"
NFS_PORT = 2049
MOUNT_PORT = 20048
START_TIMEOUT_S = 30.0
CONFIGURATION = "/run/wavetank-ganesha.conf"
PID_FILE = "/run/wavetank-ganesha.pid"
HAS_CLIENT = "grep -qw nfs /proc/filesystems && command -v mount.nfs >/dev/null"
# $1: ganesha's file of its number, which it leaves when it is killed.
STOP = """[ -f "$1" ] || exit 0
pid=$(cat "$1")
if grep -q ganesha "/proc/$pid/comm" 2>/dev/null; then kill -KILL "$pid"; fi
rm -f -- "$1"
"""
PORT_MAPPER = ["rpcinfo", "-T", "tcp", "127.0.0.1", "100000"]

# Expert mode: option -> (block of ganesha.conf, its name there). Others are refused, so that a slip is seen.
SERVER_OPTIONS = {
    "threads": ("NFS_CORE_PARAM", "Nb_Worker"),
    "read_size": ("EXPORT", "MaxRead"),
    "write_size": ("EXPORT", "MaxWrite"),
    "attr_expiration_s": ("EXPORT", "Attr_Expiration_Time"),
    "entries_high_water": ("MDCACHE", "Entries_HWMark"),
    "squash": ("EXPORT", "Squash"),
}
KERNEL_OPTIONS = frozenset({"rsize", "wsize", "sync", "noac", "actimeo"})
FUSE_OPTIONS = frozenset({"rsize", "wsize", "sync", "timeout", "direct", "read_ahead_kb"})
# One request of our mount; Linux's own default of 128 KiB would cut its 1 MiB reads in eight.
READ_AHEAD_KB = 1024


class NFS:
    """One NFS server."""

    kind = "nfs"
    is_global = True

    def check(self, spec: ClusterSpec) -> list[str]:
        """Options that nobody would read, and our mount program."""
        findings = _wrong_options(spec)
        if not native.available(MOUNT_PROGRAM) and (
            spec.ssh is not None or not has_kernel_client()
        ):
            return [
                *findings,
                f"file_system nfs needs {MOUNT_PROGRAM}: apt-get install libfuse3-dev libnfs-dev, then 'make setup'",
            ]
        return list(findings)

    def needs_of_servers(self, spec: ClusterSpec) -> Needs:
        """Ganesha and the port mapper."""
        del spec
        rpcbind = "apt-get install rpcbind"
        ganesha = "apt-get install nfs-ganesha nfs-ganesha-vfs"
        return Needs({"ganesha.nfsd": ganesha, "rpcbind": rpcbind, "rpcinfo": rpcbind})

    def needs_of_clients(self, spec: ClusterSpec) -> Needs:
        """FUSE, unless this kernel mounts NFS; hosts over ssh say at the mount which they have."""
        if spec.ssh is not None or has_kernel_client():
            return Needs()
        return Needs(files={"/dev/fuse": "'modprobe fuse', or give the container the device"})

    def install(self, site: Site) -> None:
        """Start rpcbind, where none runs, and ganesha on the server."""
        (server,) = site.servers
        export = f"{site.storage_path}/export"
        server.run(["mkdir", "-p", export, "/var/lib/nfs/ganesha", "/run/ganesha", "/run/rpcbind"])
        server.run(
            ["dd", f"of={CONFIGURATION}", "status=none"],
            stdin=configuration(site.spec, server.address, export),
        )
        if not _answers(server, PORT_MAPPER):
            server.start(["rpcbind", "-f", "-h", server.address], log="rpcbind")
            wait_until(server, PORT_MAPPER, "rpcbind", START_TIMEOUT_S, "rpcbind")
        server.start(
            [
                "ganesha.nfsd",
                "-F",
                "-f",
                CONFIGURATION,
                "-p",
                PID_FILE,
                "-L",
                "/dev/stdout",
                "-N",
                "NIV_WARN",
            ],
            log="ganesha",
        )
        wait_until(
            server,
            ["rpcinfo", "-T", "tcp", server.address, "100003", "3"],
            "ganesha.nfsd",
            START_TIMEOUT_S,
            "ganesha",
        )

    def mount_path(self, site: Site) -> str:
        """The same on all clients."""
        return site.spec.file_system.mount

    def mount(self, site: Site) -> None:
        """Mount on all clients."""
        (server,) = site.servers
        at = self.mount_path(site)
        source = f"{server.address}:{site.storage_path}/export"

        def mount_on(client: Host) -> None:
            by = self._mount_by_kernel if has_kernel_client(client) else self._mount_by_fuse
            by(client, source, at, site.spec)

        try:
            on_all(site.clients, mount_on)
        except ClusterError as error:
            raise FileSystemError(f"cannot mount {source}: {error}{_complaints(server)}") from error

    def _mount_by_kernel(self, client: Host, source: str, at: str, spec: ClusterSpec) -> None:
        options = ["vers=3", "proto=tcp", "nolock", f"port={NFS_PORT}", f"mountport={MOUNT_PORT}"]
        options += _named(spec.file_system.mount_options)
        client.run(["mkdir", "-p", at])
        client.run(["mount", "-t", "nfs", "-o", ",".join(options), source, at])

    def _mount_by_fuse(self, client: Host, source: str, at: str, spec: ClusterSpec) -> None:
        found = native.find(MOUNT_PROGRAM, "mount NFS on a kernel without a client")
        program = program_on(client, found)
        asked = dict(spec.file_system.mount_options)
        read_ahead_kb = int(asked.pop("read_ahead_kb", READ_AHEAD_KB))
        options = [f"port={NFS_PORT}", f"mountport={MOUNT_PORT}", *_named(asked)]
        client.run(["mkdir", "-p", at])
        client.start([program, source, at, "-o", ",".join(options)], log="nfs-mount")
        wait_until(
            client, ["mountpoint", "-q", at], f"the mount of {source}", START_TIMEOUT_S, "nfs-mount"
        )
        client.run(["stat", "-f", at])  # waits until it answers
        device = client.run(["mountpoint", "-d", at]).stdout.strip()
        control = f"/sys/class/bdi/{device}/read_ahead_kb"
        client.run(["dd", f"of={control}", "status=none"], stdin=str(read_ahead_kb))

    def unmount(self, site: Site) -> None:
        """Unmount from all clients."""
        at = self.mount_path(site)

        def unmount_from(client: Host) -> None:
            if mount_line(client, at) is not None:
                client.run(["umount", at])

        on_all(site.clients, unmount_from)

    def settings(self, site: Site) -> dict[str, str]:
        """The server's configuration file and the clients' mounts, read back."""
        (server,) = site.servers
        at = self.mount_path(site)
        version = server.run(["ganesha.nfsd", "-v"]).stdout.splitlines()
        found = {
            "file system": "nfs 3",
            "server": f"{version[0].strip() if version else 'nfs-ganesha'} on {server.name}",
            "server's file system": mount_line(server, site.storage_path) or "not a mount",
            "client": "Linux"
            if has_kernel_client(site.clients[0])
            else "wavetank-nfs-mount (FUSE)",
            "locks": "local to each node",
        }
        for line in server.run(["cat", CONFIGURATION]).stdout.splitlines():
            key, equals, value = line.strip().rstrip(";").partition(" = ")
            if equals:
                found[f"ganesha {key}"] = value
        for client in site.clients:
            mounted = mount_line(client, at)
            found[f"mount on {client.name}"] = mounted or "not mounted"
            if mounted is not None:
                found[f"read-ahead on {client.name}"] = _read_ahead(client, at)
        return found

    def place_files(self, site: Site, sizes: Mapping[str, int]) -> dict[str, str]:
        """Write through the first client; there is one server to be on."""
        (server,) = site.servers
        places = {}
        for path, size in sizes.items():
            write_content(site.clients[0], f"{self.mount_path(site)}/{path}", size)
            kept = server.run(
                ["stat", "-c", "%s", f"{site.storage_path}/export/{path}"]
            ).stdout.strip()
            places[path] = f"{server.name}: {kept} bytes"
        return places

    def health(self, site: Site) -> list[str]:
        """Mounts that are gone or do not answer."""
        at = self.mount_path(site)
        findings = []
        for client in site.clients:
            try:
                if mount_line(client, at) is None:
                    findings.append(f"{client.name}: {at} is not mounted")
                else:
                    client.run(["stat", "-f", at], timeout_s=10)
            except RemoteCommandError as error:
                findings.append(str(error))
        return findings

    def remove(self, site: Site) -> None:
        """Unmount, and delete what the server kept."""
        self.unmount(site)
        for server in site.servers:
            server.run(["sh", "-c", STOP, "sh", PID_FILE])
            server.run(["rm", "-rf", "--", f"{site.storage_path}/export", CONFIGURATION])


def _wrong_options(spec: ClusterSpec) -> Iterator[str]:
    fs = spec.file_system
    servers = len(spec.server_names())
    if servers > 1:
        yield f"file_system nfs has one data server, not {servers}: set file_system.servers to 1, or use glusterfs"
    if fs.stripe.kind != "distributed":
        yield f"file_system nfs cannot stripe: remove file_system.stripe (kind: {fs.stripe.kind})"
    known = KERNEL_OPTIONS if has_kernel_client() else FUSE_OPTIONS
    if spec.ssh is not None:  # the hosts decide which client it is
        known = KERNEL_OPTIONS | FUSE_OPTIONS
    for section, options, names in (
        ("options", fs.options, frozenset(SERVER_OPTIONS)),
        ("mount_options", fs.mount_options, known),
    ):
        for key, value in options.items():
            if key not in names:
                yield f"file_system.{section}.{key}: nfs has no such option here; it has {', '.join(sorted(names))}"
            elif not str(value).replace("_", "").replace(".", "").isalnum():
                yield f"file_system.{section}.{key}: {value!r} is no number or word"


def configuration(spec: ClusterSpec, address: str, export: str) -> str:
    """ganesha.conf: listens on the cluster's own network only; NLM off, as nothing would answer its callbacks."""
    blocks: dict[str, dict[str, str]] = {
        "NFS_CORE_PARAM": {
            "Protocols": "3",
            "Enable_NLM": "false",
            "Enable_RQUOTA": "false",
            "MNT_Port": str(MOUNT_PORT),
            "NFS_Port": str(NFS_PORT),
            "Bind_addr": address,
        },
        "MDCACHE": {},
        "EXPORT": {
            "Export_Id": "1",
            "Path": export,
            "Pseudo": "/export",
            "Access_Type": "RW",
            "Squash": "No_Root_Squash",
            "SecType": "sys",
            "Protocols": "3",
            "MaxRead": "1048576",
            "MaxWrite": "1048576",
        },
    }
    for key, value in spec.file_system.options.items():
        block, name = SERVER_OPTIONS[key]
        blocks[block][name] = str(value).lower() if isinstance(value, bool) else str(value)
    text = ""
    for block, settings in blocks.items():
        lines = "".join(f"  {key} = {value};\n" for key, value in settings.items())
        extra = "  FSAL {\n    Name = VFS;\n  }\n" if block == "EXPORT" else ""
        text += f"{block} {{\n{lines}{extra}}}\n"
    return text


def has_kernel_client(host: Host | None = None) -> bool:
    """Whether a host's (None: this machine's) kernel mounts NFS 3 now, with its mount program there.

    Sample of /proc/filesystems: ``nodev<TAB>nfs``.
    """
    if host is not None:
        return _answers(host, ["sh", "-c", HAS_CLIENT])
    kinds = {line.split()[-1] for line in Path("/proc/filesystems").read_text().splitlines()}
    return "nfs" in kinds and find_program("mount.nfs") is not None


def _answers(host: Host, argv: Sequence[str]) -> bool:
    """Whether a command ends well."""
    try:
        host.run(argv, timeout_s=20)
    except RemoteCommandError:
        return False
    return True


def _complaints(server: Host) -> str:
    """What ganesha wrote that stops it from serving.

    Sample (4.3): ``... : nfs-ganesha-1[main] fsal_cfg_commit :CONFIG :CRIT :Could not create export for (/e) to (/p)``.
    """
    text = server.log_text("ganesha") if isinstance(server, WatchesDaemons) else ""
    severe = [
        line
        for line in text.splitlines()
        if any(word in line for word in (":CRIT :", ":MAJ :", ":FATAL :"))
    ]
    return "".join(f"\n  {server.name}: {line}" for line in severe[-8:])


def _read_ahead(client: Host, at: str) -> str:
    """As in force. The device number is asked from mountinfo: the mount itself may be dead."""
    for line in client.run(["cat", "/proc/self/mountinfo"]).stdout.splitlines():
        fields = line.split()
        if fields[4] == at:  # "61 50 0:48 / /wavetank rw ...": the third field is major:minor
            control = f"/sys/class/bdi/{fields[2]}/read_ahead_kb"
            return client.run(["cat", control]).stdout.strip() + " KiB"
    return "unknown"


def _named(options: Mapping[str, object]) -> list[str]:
    words = []
    for key, value in options.items():
        if value is True:
            words.append(key)
        elif value is not False:
            words.append(f"{key}={value}")
    return words
