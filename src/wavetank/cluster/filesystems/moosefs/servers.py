"""Servers of MooseFS: the master and the chunk servers, how they start and end, and what the master says of them."""

from __future__ import annotations

import time
from dataclasses import dataclass

from wavetank.cluster.devices import device_paths
from wavetank.cluster.filesystems.base import (
    ANSWER_TIMEOUT_S,
    Site,
    end_by_pid_file,
    start_with_pid_file,
    wait_until,
)
from wavetank.cluster.filesystems.moosefs import options
from wavetank.cluster.filesystems.moosefs.options import STATE
from wavetank.cluster.host import Host, on_all
from wavetank.errors import FileSystemError, RemoteCommandError

START_TIMEOUT_S = 180.0
CHUNKS = "moosefs"  # directory on the local file system of each device
EMPTY_METADATA = "MFSM NEW"  # what a master of 3.0 takes for a file system without files

# Whether the master at $1 says what matches $2. mfscli ends with 0 also where nobody answers (3.0.117).
SAYS = 'mfscli -H "$1" -p -n -s "|" -SIG -SCS | grep -q -- "$2"'


@dataclass(frozen=True)
class Said:
    """What the master says of its servers.

    Attributes:
        version: of the master.
        total_bytes: that it counts on all of them.
        servers: address -> version and labels of each chunk server that is connected.
        space: address -> bytes of its disks.
        bad_disks: address -> what is wrong with disks of it.
    """

    version: str
    total_bytes: int
    servers: dict[str, str]
    space: dict[str, int]
    bad_disks: dict[str, str]


def start(site: Site) -> None:
    """Start the master, then all chunk servers at once; all are connected when this returns.

    Raises:
        FileSystemError: one does not come up, with its last words.
    """
    master = site.metadata_servers[0]
    data = f"{site.storage_path}/moosefs-master"
    master.run(["mkdir", "-p", STATE])
    master.run(["mkdir", data])
    clients = [host.address for host in site.clients]
    _write(master, f"{STATE}/mfsmaster.cfg", options.master_text(site.spec, master.address, data))
    _write(master, f"{STATE}/mfsexports.cfg", options.exports_text(clients))
    _write(master, f"{STATE}/mfstopology.cfg", "")
    _write(master, f"{data}/metadata.mfs", EMPTY_METADATA)
    _start(master, "mfsmaster")
    _await(master, master.address, "|master version|", "mfsmaster")

    def start_chunkserver(numbered: tuple[int, Host]) -> None:
        position, host = numbered
        own = f"{site.storage_path}/moosefs-chunkserver"
        host.run(["mkdir", "-p", STATE])
        folders = [f"{path}/{CHUNKS}" for path in device_paths(site.spec.storage, site.storage_path)]  # fmt: skip
        host.run(["mkdir", own, *folders])
        text = options.chunkserver_text(site.spec, position, host.address, master.address, own)
        _write(host, f"{STATE}/mfschunkserver.cfg", text)
        _write(host, f"{STATE}/mfshdd.cfg", "".join(f"{folder}\n" for folder in folders))
        _start(host, "mfschunkserver")
        _await(host, master.address, f"^chunk servers:|{host.address}|", "mfschunkserver")

    on_all(list(enumerate(site.servers)), start_chunkserver)
    _await_space(site)


def _await_space(site: Site) -> None:
    """Wait until the master counts the space of all disks: before, a write would find none.

    Raises:
        FileSystemError: it does not within the time.
    """
    deadline = time.monotonic() + START_TIMEOUT_S
    while True:
        said = ask(site)
        if all(said.space.values()) and said.total_bytes == sum(said.space.values()):
            return
        if time.monotonic() > deadline:
            raise FileSystemError(
                f"the master of moosefs counts {said.total_bytes} bytes after {START_TIMEOUT_S:g} s; its chunk servers "
                f"have {said.space}, with wrong disks: {said.bad_disks}"
            )
        time.sleep(0.05)


def _write(host: Host, path: str, text: str) -> None:
    host.run(["dd", f"of={path}", "status=none"], stdin=text)


def _start(host: Host, program: str) -> None:
    argv = [program, "-f", "-c", f"{STATE}/{program}.cfg", "start"]
    start_with_pid_file(host, argv, f"{STATE}/{program}.pid", program)


def _await(host: Host, master: str, pattern: str, program: str) -> None:
    wait_until(host, ["sh", "-c", SAYS, "sh", master, pattern], program, START_TIMEOUT_S, program)


def stop(site: Site) -> None:
    """End the servers, and delete what they kept."""

    def clean(host: Host) -> None:
        for program in ("mfschunkserver", "mfsmaster"):
            end_by_pid_file(host, f"{STATE}/{program}.pid", program)
        folders = [f"{path}/{CHUNKS}" for path in device_paths(site.spec.storage, site.storage_path)]  # fmt: skip
        own = [f"{site.storage_path}/moosefs-{of}" for of in ("master", "chunkserver")]
        host.run(["rm", "-rf", "--", *folders, *own, STATE])

    hosts = {host.name: host for host in (*site.servers, *site.metadata_servers)}
    on_all(list(hosts.values()), clean)


def ask(site: Site) -> Said:
    """Ask the master.

    Raises:
        FileSystemError: it does not answer.
    """
    master = site.metadata_servers[0]
    argv = ["mfscli", "-H", master.address, "-p", "-n", "-s", "|", "-SIG", "-SCS", "-SHD"]
    try:
        text = master.run(argv, timeout_s=ANSWER_TIMEOUT_S).stdout
    except RemoteCommandError as error:
        raise FileSystemError(f"mfsmaster on {master.name} does not answer: {error}") from error
    said = read_said(text)
    if said is None:
        raise FileSystemError(f"mfsmaster on {master.name} does not answer: {text.strip()}")
    return said


def read_said(text: str) -> Said | None:
    """Read what mfscli prints; None where no master answered.

    Sample (3.0.117)::

        master info:|master version|3.0.117
        master info:|total space|314572800
        chunk servers:|10.9.0.2|9422|1|A,I|3.0.117|0|maintenance_off|0|16789504|314572800|-|0|0|0
        disks:|10.9.0.2:9422:/storage/moosefs/|1|no errors|ok|-|-|-|-|-|-|-|-|54546432|314572800
    """
    version: str | None = None
    total = 0
    space: dict[str, int] = {}
    servers: dict[str, str] = {}
    bad: dict[str, str] = {}
    for line in text.splitlines():
        words = line.split("|")
        if line.startswith("master info:|master version|"):
            version = words[2]
        elif line.startswith("master info:|total space|"):
            total = int(words[2])
        elif words[0] == "chunk servers:" and len(words) > 10:
            space[words[1]] = int(words[10])
            servers[words[1]] = f"{words[5]}, labels {words[4]}"
        elif words[0] == "disks:" and len(words) > 4 and words[4] != "ok":
            address, _, path = words[1].partition(":")
            bad[address] = f"{path.partition(':')[2]} is {words[4]} ({words[3]})"
    return None if version is None else Said(version, total, servers, space, bad)


def findings(site: Site) -> list[str]:
    """A master that does not answer, chunk servers that it misses, disks that it does not use."""
    try:
        said = ask(site)
    except FileSystemError as error:
        return [str(error)]
    missing = [
        f"mfschunkserver on {host.name} died, or the master has no connection to it"
        for host in site.servers
        if host.address not in said.servers
    ]
    names = {host.address: host.name for host in site.servers}
    disks = [f"disk of {names.get(a, a)}: {what}" for a, what in said.bad_disks.items()]
    return missing + disks
