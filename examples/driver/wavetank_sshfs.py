"""SSHFS as a file system of wavetank's clusters: one server, reached without ssh by its SFTP server's own port.

The example of docs/how-to/write-a-driver.md. A driver is a class with the methods of ``FileSystemDriver``. It keeps no
state: wavetank makes a new one for each command, and it asks the hosts for what it must know.
"""

from __future__ import annotations

from collections.abc import Mapping

from wavetank.cluster.filesystems.base import (
    FileSystemDriver,
    Site,
    mount_line,
    mounts,
    on_all,
    place_on_one_server,
    wait_until,
)
from wavetank.cluster.filesystems.facts import Facts, TriedLayout
from wavetank.cluster.filesystems.options import NUMBER, Table, all_option_problems
from wavetank.cluster.host import Host
from wavetank.cluster.needs import Needs
from wavetank.cluster.spec import ClusterSpec

PORT = 2222
SFTP_SERVER = "/usr/lib/openssh/sftp-server"
START_TIMEOUT_S = 60.0
# Clients of a parallel program must see what the others did: nothing is taken from caches of names and sizes.
COHERENT = ("dir_cache=no", "attr_timeout=0", "entry_timeout=0", "negative_timeout=0")
MOUNT_OPTIONS = Table("sshfs", {"max_conns": NUMBER, "max_read": NUMBER})


class SSHFS(FileSystemDriver):
    """An SFTP server in front of a directory, mounted by FUSE."""

    kind = "sshfs"  # what cluster files call it
    # What wavetank must know before any of it is up. Everything that is not said is as in ``Facts``.
    facts = Facts(title="SSHFS", most_servers=1, tried=(TriedLayout(servers=1),))

    def check(self, spec: ClusterSpec) -> list[str]:
        """What this file system cannot do. All findings at once; nothing is started where there is one."""
        # Options that nobody reads are slips of the pen. They are findings, never ignored.
        return list(all_option_problems(spec.file_system, Table("sshfs"), MOUNT_OPTIONS))

    # Programs of nodes are not looked for here: 'check' would look on this machine, and nodes may be others (provider ssh).

    def needs_of_servers(self, spec: ClusterSpec) -> Needs:
        """Programs on every server, each with the way to get it."""
        del spec
        return Needs(
            {"socat": "apt-get install socat", SFTP_SERVER: "apt-get install openssh-sftp-server"}
        )

    def needs_of_clients(self, spec: ClusterSpec) -> Needs:
        """Programs and devices on every compute node."""
        del spec
        return Needs(
            {"sshfs": "apt-get install sshfs"},
            {"/dev/fuse": "'modprobe fuse', or give the container the device"},
        )

    def install(self, site: Site) -> None:
        """Start the server on its cluster's own network. ``Host.start`` keeps it, and ends it with the node."""
        (server,) = site.servers
        server.run(["mkdir", "-p", _export(site)])
        listens = f"TCP-LISTEN:{PORT},bind={server.address},reuseaddr,fork"
        server.start(["socat", listens, f"EXEC:{SFTP_SERVER}"], log="sftp-server")
        # A driver waits for what it started. It gives up as soon as that is dead, with its last words.
        asks = ["socat", "-u", "OPEN:/dev/null", f"TCP:{server.address}:{PORT}"]
        wait_until(server, asks, "the SFTP server", START_TIMEOUT_S, "sftp-server")

    def mount(self, site: Site) -> None:
        """Mount it on all clients at once, and see that it is there."""
        (server,) = site.servers
        on_all(site.clients, lambda client: _mount(client, server, site))

    def settings(self, site: Site) -> dict[str, str]:
        """What is in force, read back from the nodes: it stands beside every measurement."""
        (server,) = site.servers
        at = self.mount_path(site)
        return {
            "file system": "sshfs",
            "client": site.clients[0].run(["sshfs", "--version"]).stdout.partition("\n")[0],
            "server's file system": mount_line(server, site.storage_path) or "not a mount",
            **mounts(site, at),
        }

    def place_files(self, site: Site, sizes: Mapping[str, int]) -> dict[str, str]:
        """Make the kernel's input files; of each, where its bytes are, as the server says."""
        return place_on_one_server(site, self.mount_path(site), _export(site), sizes)

    def remove(self, site: Site) -> None:
        """Stop and delete everything. Asked of hosts that outlive the cluster; other nodes take all with them."""
        self.unmount(site)
        for server in site.servers:
            listens = f"TCP-LISTEN:{PORT},bind={server.address}"
            server.run(["sh", "-c", 'pkill -f -- "$1" || [ $? = 1 ]', "sh", listens])
            server.run(["rm", "-rf", "--", _export(site)])


def _export(site: Site) -> str:
    return f"{site.storage_path}/export"


def _mount(client: Host, server: Host, site: Site) -> None:
    at = site.spec.file_system.mount
    asked = [f"{key}={value}" for key, value in site.spec.file_system.mount_options.items()]
    words = ",".join(
        (f"directport={PORT}", "allow_other", "default_permissions", *COHERENT, *asked)
    )
    client.run(["mkdir", "-p", at])
    # -f: it stays in the foreground, so that its node keeps it as a daemon and its log.
    client.start(["sshfs", "-f", f"{server.address}:{_export(site)}", at, "-o", words], log="sshfs")
    wait_until(
        client, ["mountpoint", "-q", at], f"the mount of {server.name}", START_TIMEOUT_S, "sshfs"
    )
