"""MooseFS: a master on the first metadata server, a chunk server on each data server, mounted through FUSE on compute nodes.

Developed with 3.0.117 (Debian 12). Its own programs say what is in force: mfscli of the servers, ``.params`` of each mount,
mfsfileinfo of each file.
"""

from __future__ import annotations

import contextlib
import re
import time
from collections import Counter
from collections.abc import Mapping

from wavetank.cluster.access import client_memory
from wavetank.cluster.devices import device_paths
from wavetank.cluster.filesystems.base import (
    FileSystemDriver,
    Site,
    end_by_pid_file,
    mount_line,
    mounts,
    start_with_pid_file,
    unmount_from,
    wait_until,
    write_content,
)
from wavetank.cluster.filesystems.facts import METHODS, Facts
from wavetank.cluster.filesystems.moosefs import options, servers
from wavetank.cluster.filesystems.moosefs.options import CHUNK_BYTES, STATE
from wavetank.cluster.filesystems.options import all_option_problems
from wavetank.cluster.host import Host, on_all
from wavetank.cluster.needs import Needs
from wavetank.cluster.spec import ClusterSpec
from wavetank.errors import ClusterError, FileSystemError, RemoteCommandError
from wavetank.units import format_size

SERVER_PROGRAMS = {
    "mfsmaster": "apt-get install moosefs-master",
    "mfschunkserver": "apt-get install moosefs-chunkserver",
    "mfscli": "apt-get install moosefs-cli",
}
CLIENT_PROGRAMS = dict.fromkeys(
    ("mfsmount", "mfsfileinfo", "mfssetgoal", "mfssettrashtime", "mfssetsclass", "mfsscadmin"),
    "apt-get install moosefs-client",
)
# Of a mount's parameters those that decide how reads and writes flow.
SHOWN = re.compile(
    r"mfs(writecache|readahead)\w+|mfs\w+cacheto|mfsfsyncmintime|mfserror\w+|mfsio\w+|mfstimeout|mfsno\w+|working_keep_cache_mode"
    r"|moosefs_\w+_version"
)
CLIENT_PID = f"{STATE}/mfsmount.pid"
MOST_SPACE_WAIT_S = (
    400.0  # the master comes to each chunk of a deleted file once a minute, and twice for some
)


class MooseFS(FileSystemDriver):
    """Deploys MooseFS."""

    kind = "moosefs"
    facts = Facts(
        title="MooseFS",
        own_metadata=True,
        serves_each_device=True,
        stripes=("distributed", "sharded", "replicated"),
        in_objects=True,
        fixed_objects=True,
        usable_share=0.7,  # chunk servers leave 64 MiB to 256 MiB free
        guest_methods=METHODS,
    )

    def check(self, spec: ClusterSpec) -> list[str]:
        """Options, stripes and memory."""
        return [
            *options.check_stripe(spec),
            *all_option_problems(spec.file_system, options.OPTIONS, options.MOUNT_OPTIONS),
        ]

    def unknown_options(self, spec: ClusterSpec) -> list[str]:
        """Options that the installed servers do not have."""
        return options.unknown_options(spec)

    def needs_of_servers(self, spec: ClusterSpec) -> Needs:
        """Master, chunk server, and what asks the master."""
        del spec
        return Needs(SERVER_PROGRAMS)

    def needs_of_clients(self, spec: ClusterSpec) -> Needs:
        """The FUSE client, and its tools."""
        del spec
        return Needs(CLIENT_PROGRAMS, {"/dev/fuse": "modprobe fuse"})

    def install(self, site: Site) -> None:
        """Start the master and the chunk servers."""
        servers.start(site)

    def mount(self, site: Site) -> None:
        """Mount on all clients, see that it answers, and set copies and trash time of all new files."""
        at = self.mount_path(site)
        on_all(site.clients, lambda host: _mount_on(host, site, at))
        first = site.clients[0]
        first.run(["mfssetgoal", str(options.copies(site.spec)), at])
        first.run(["mfssettrashtime", "0", at])  # else a deleted file keeps its space for a day

    def unmount(self, site: Site) -> None:
        """Unmount from all clients, and wait until the client processes and their caches are gone."""

        def unmount_and_wait(host: Host) -> None:
            unmount_from(host, self.mount_path(site), servers.START_TIMEOUT_S)
            end_by_pid_file(host, CLIENT_PID, "mfsmount", "0")

        on_all(site.clients, unmount_and_wait)

    def settings(self, site: Site) -> dict[str, str]:
        """Servers from the master, their files as they read them, parameters of each mount from the client itself."""
        said, at = servers.ask(site), self.mount_path(site)
        master = site.metadata_servers[0]
        found = {"file system": "moosefs", "moosefs": said.version, "master": master.name}
        for host in site.servers:
            found[f"chunk server {host.name}"] = said.servers.get(host.address, "not connected")
        asked = {name.partition(".")[2] for name in site.spec.file_system.options}
        for host, name in ((master, "mfsmaster"), (site.servers[0], "mfschunkserver")):
            text = host.run(["cat", f"{STATE}/{name}.cfg"]).stdout
            for line in text.splitlines():
                key, _, value = line.partition(" = ")
                if key in asked or key.startswith(("CHUNKS", "HDD", "REPLICATIONS")):
                    found[f"{name} {key}"] = value
        found["chunks"] = f"{format_size(CHUNK_BYTES)}, {options.copies(site.spec)} of each"
        found |= mounts(site, at)
        found |= _agreed({host.name: _parameters(host, at) for host in site.clients})
        return found

    def place_files(self, site: Site, sizes: Mapping[str, int]) -> dict[str, str]:
        """Write files through the first client, each on a server of its own when the layout asks for it."""
        client, at = site.clients[0], self.mount_path(site)
        whole = site.spec.layout == "one-server-per-file"
        if whole:
            _make_classes(site, at)
        freed = _delete(client, [f"{at}/{name}" for name in sizes])
        _await_room(client, at, sum(sizes.values()) * options.copies(site.spec), freed)
        places = {}
        for position, (name, size) in enumerate(sizes.items()):
            file = f"{at}/{name}"
            client.run(["mkdir", "-p", "--", file.rpartition("/")[0]])
            client.run(["touch", "--", file])
            target = site.servers[position % len(site.servers)]
            if whole:
                client.run(["mfssetsclass", f"on-{target.name}", file])
            try:
                write_content(client, file, size, site.on_written)
                places[name] = _describe(site, file, size, [target] if whole else None)
            except FileSystemError:
                client.run(["rm", "-f", "--", file])
                raise
        # A chunk server that was told to flush has the data in its memory (HDD_FSYNC_BEFORE_CLOSE is off by default).
        paths = device_paths(site.spec.storage, site.storage_path)
        on_all(site.servers, lambda host: host.run(["sync", "-f", "--", *paths], timeout_s=600))
        return places

    def health(self, site: Site) -> list[str]:
        """Servers that the master misses, and mounts that are gone or do not answer."""
        return servers.findings(site) or super().health(site)  # a mount would wait for a server

    def remove(self, site: Site) -> None:
        """Unmount, end the servers and delete what they kept; a mount that hangs goes with its client."""
        with contextlib.suppress(ClusterError):
            self.unmount(site)
        at = self.mount_path(site)
        for host in site.clients:
            end_by_pid_file(host, CLIENT_PID, "mfsmount")
            if mount_line(host, at) is not None:
                host.run(["umount", "-l", "--", at])
        servers.stop(site)
        on_all(site.clients, lambda host: host.run(["rm", "-rf", "--", STATE]))


def _mount_on(host: Host, site: Site, at: str) -> None:
    master = site.metadata_servers[0].address
    host.run(["mkdir", "-p", STATE, at])
    words = options.mount_words(site.spec, client_memory(site.spec, host.name))
    argv = ["mfsmount", "-f", "-H", master, at, "-o", ",".join(["subtype=moosefs", *words])]
    start_with_pid_file(host, argv, CLIENT_PID, "mfsmount")
    try:
        wait_until(host, ["mountpoint", "-q", at], f"the mount of {at}", servers.START_TIMEOUT_S, "mfsmount")  # fmt: skip
        host.run(["stat", "-f", "--", at], timeout_s=servers.START_TIMEOUT_S)
    except ClusterError as error:
        raise FileSystemError(f"cannot mount moosefs on {host.name}: {error}") from error


def _parameters(host: Host, at: str) -> dict[str, str]:
    """Sample of a line of ``.params`` (3.0.117): ``mfswritecachesize: 48``."""
    try:
        lines = host.run(["cat", f"{at}/.params"]).stdout.splitlines()
    except RemoteCommandError:  # it is gone, which health says
        return {"answers": "no"}
    pairs = (line.partition(": ") for line in lines)
    return {name: value for name, _, value in pairs if SHOWN.fullmatch(name)}


def _agreed(said: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """One line where all clients agree, else one for each."""
    found: dict[str, str] = {}
    for name in dict.fromkeys(name for of_host in said.values() for name in of_host):
        values = {host: of_host.get(name, "not said") for host, of_host in said.items()}
        if len(set(values.values())) == 1:
            found[f"client {name}"] = next(iter(values.values()))
        else:
            found |= {f"client {name} on {host}": value for host, value in values.items()}
    return found


def _make_classes(site: Site, at: str) -> None:
    """A storage class for each data server, by its labels; "s": no other server is taken where it is full."""
    client = site.clients[0]
    there = client.run(["mfsscadmin", at, "list"]).stdout.split()
    for position, host in enumerate(site.servers):
        if f"on-{host.name}" not in there:
            labels = "".join(options.label_words(position))
            client.run(["mfsscadmin", at, "create", "-m", "s", labels, f"on-{host.name}"])


def _delete(client: Host, files: list[str]) -> int:
    """Delete files of an earlier call; says how many bytes they had."""
    script = 'for f; do [ ! -f "$f" ] || { stat -c %s -- "$f"; rm -f -- "$f"; }; done'
    return sum(int(line) for line in client.run(["sh", "-c", script, "sh", *files]).stdout.split())


def _await_room(client: Host, at: str, size: int, freed: int) -> None:
    """See that there is room; that of files just deleted comes back after a while.

    Raises:
        FileSystemError: there is not.
    """
    deadline = time.monotonic() + MOST_SPACE_WAIT_S
    while True:
        blocks, block_size = client.run(["stat", "-f", "-c", "%a %S", "--", at]).stdout.split()
        room = int(blocks) * int(block_size)
        if size <= room:
            return
        if size > room + freed or time.monotonic() > deadline:
            raise FileSystemError(
                f"input files of {format_size(size)} with their copies do not fit on the data servers, which have "
                f"{format_size(room)} free. Give the cluster a larger storage.size"
            )
        time.sleep(1)


def chunk_servers(text: str) -> list[list[str]]:
    """Addresses of the valid copies of each chunk of a file, in the order of the chunks; none of one without content.

    Sample (mfsfileinfo 3.0.117)::

        /wavetank/in/one:
            chunk 0: 0000000000000001_00000001 / (id:1 ver:1)
                copy 1: 10.9.0.3:9422 (status:VALID)
            chunk 1: empty
    """
    found: list[list[str]] = []
    for line in text.splitlines():
        if re.match(r"\s+chunk \d+:", line):
            found.append([])
        elif match := re.match(r"\s+copy \d+: ([^ ]+):\d+ \(status:VALID\)", line):
            found[-1].append(match[1])
    return found


def _describe(site: Site, file: str, size: int, only: list[Host] | None) -> str:
    """Bytes on each server, of where the master says that each chunk is.

    Raises:
        FileSystemError: a chunk has not as many copies as asked, or lies elsewhere.
    """
    chunks = chunk_servers(site.clients[0].run(["mfsfileinfo", file]).stdout)
    names = {host.address: host.name for host in site.servers}
    held: Counter[str] = Counter()
    wanted = options.copies(site.spec)
    for number in range(-(-size // CHUNK_BYTES)):
        on = chunks[number] if number < len(chunks) else []
        where = ", ".join(names.get(address, address) for address in on) or "no server"
        if len(on) != wanted or (only and on != [host.address for host in only]):
            asked = " ".join(host.name for host in only) if only else f"{wanted} servers"
            raise FileSystemError(f"chunk {number} of {file} is on {where}, and not on {asked}")
        for address in on:
            held[names.get(address, address)] += min(CHUNK_BYTES, size - number * CHUNK_BYTES)
    if only:
        return f"whole on {only[0].name}"
    parts = ", ".join(f"{host.name} {format_size(held[host.name])}" for host in site.servers)
    return f"chunks of {format_size(CHUNK_BYTES)}: {parts}"
