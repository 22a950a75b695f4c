"""nfs-ganesha on a host: its configuration file, its start and its end. Used by drivers that serve NFS.

Ganesha 4.3 (Debian 12). It listens on the cluster's own network only; NLM is off, as nothing would answer its
callbacks, so locks are local to a node.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from wavetank.cluster.components import OptionValue
from wavetank.cluster.filesystems.base import ANSWER_TIMEOUT_S, end_by_pid_file, wait_until
from wavetank.cluster.filesystems.options import FLAG, NUMBER, Table, Value, one_of
from wavetank.cluster.host import Host
from wavetank.cluster.needs import Needs
from wavetank.errors import FileSystemError, RemoteCommandError

Level = Literal["RW", "RO"]


@dataclass(frozen=True)
class Client:
    """Who may mount an export.

    Attributes:
        subject: an address, or a network (10.0.0.0/24).
        level: RW or RO.
    """

    subject: str
    level: Level = "RW"


@dataclass(frozen=True)
class Export:
    """A directory that is served.

    Attributes:
        path: of the directory, on the server.
        fsal: the back end: its Name, and what it wants to know.
        number: of no other export of the server, 1 to 65535. It is part of all file handles.
        pseudo: its name, from the root on.
        clients: who may mount it; None: whoever reaches the server.
    """

    path: str
    fsal: Mapping[str, str]
    number: int = 1
    pseudo: str = "/export"
    clients: tuple[Client, ...] | None = None


def export_block(export: Export, options: Mapping[str, str]) -> str:
    """The block of one export.

    Args:
        export: what is served.
        options: settings of the block, which replace those that it has by itself.
    """
    settings = {
        "Export_Id": str(export.number),
        "Path": export.path,
        "Pseudo": export.pseudo,
        "Access_Type": "RW" if export.clients is None else "NONE",
        "Squash": "No_Root_Squash",
        "SecType": "sys",
        "Protocols": "3",
        "MaxRead": "1048576",
        "MaxWrite": "1048576",
        **options,
    }
    inner = f"  FSAL {{\n{lines(export.fsal, 4)}  }}\n"
    for client in most_specific_first(export.clients or ()):
        rights = {"Clients": client.subject, "Access_Type": client.level, "Protocols": "3"}
        inner += f"  CLIENT {{\n{lines(rights, 4)}  }}\n"
    return f"EXPORT {{\n{lines(settings, 2)}{inner}}}\n"


def most_specific_first(clients: Sequence[Client]) -> list[Client]:
    """Clients in the order of ganesha.conf, whose first block that fits counts: addresses before the networks around them."""
    return sorted(
        clients, key=lambda each: (-ipaddress.ip_network(each.subject).prefixlen, each.subject)
    )


def lines(settings: Mapping[str, str], indent: int) -> str:
    """Settings of a block, one a line."""
    return "".join(f"{' ' * indent}{key} = {value};\n" for key, value in settings.items())


NFS_PORT = 2049
MOUNT_PORT = 20048
START_TIMEOUT_S = 180.0
# Handles have the UUID of the file system. libblkid 2.38 gives that of a loop device's file system before, from its file, for two seconds.
NO_CACHE = {"BLKID_FILE": "/dev/null"}
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

# It says these at every start: no D-Bus, no Kerberos. Nothing here uses them.
NO_FAULTS = (":DBUS :", "krb5", "credentials for principal")


def needs(plugin: str) -> Needs:
    """Ganesha with a Debian package of a back end, and the port mapper."""
    rpcbind = "apt-get install rpcbind"
    ganesha = f"apt-get install nfs-ganesha {plugin}"
    return Needs({"ganesha.nfsd": ganesha, "rpcbind": rpcbind, "rpcinfo": rpcbind})


def configuration(
    address: str,
    exports: Sequence[Export],
    options: Mapping[str, OptionValue],
    *,
    port: int | str = NFS_PORT,
    core: Mapping[str, str] | None = None,
    more: Mapping[str, Mapping[str, str]] | None = None,
) -> str:
    """ganesha.conf.

    Args:
        address: to listen on.
        exports: that clients mount by their paths.
        options: of SERVER_OPTIONS; of all exports alike.
        port: of NFS.
        core: further settings of the server.
        more: further blocks.
    """
    blocks: dict[str, dict[str, str]] = {
        "NFS_CORE_PARAM": {
            "Protocols": "3",
            "Enable_NLM": "false",
            "Enable_RQUOTA": "false",
            "MNT_Port": str(MOUNT_PORT),
            "NFS_Port": str(port),
            "Bind_addr": address,
            **(core or {}),
        },
        "MDCACHE": {},
        "EXPORT": {},
    }
    for key, value in options.items():
        block, name = SERVER_OPTIONS[key]
        blocks[block][name] = str(value).lower() if isinstance(value, bool) else str(value)
    of_exports = blocks.pop("EXPORT")
    text = "".join(_block(name, settings) for name, settings in blocks.items())
    text += "".join(export_block(export, of_exports) for export in exports)
    return text + "".join(_block(name, settings) for name, settings in (more or {}).items())


def start(server: Host, text: str, address: str, name: str = "ganesha") -> None:
    """Start rpcbind, where none runs, and ganesha; it serves when this returns.

    Args:
        server: that serves.
        text: of ganesha.conf.
        address: to listen on.
        name: of its files and its log, where it is not a cluster's.

    Raises:
        FileSystemError: it does not.
    """
    server.run(["mkdir", "-p", "/var/lib/nfs/ganesha", "/run/ganesha", "/run/rpcbind"])
    server.run(["dd", f"of={configuration_file(name)}", "status=none"], stdin=text)
    probe = ["rpcinfo", "-T", "tcp", address, "100003", "3"]
    if not start_port_mapper(server, address) and answers(server, probe):  # on a host over ssh
        raise FileSystemError(
            f"{server.name} is an NFS server already, and ours needs its port: stop that one, or take another host"
        )
    argv = ["ganesha.nfsd", "-F", "-f", configuration_file(name), "-p", pid_file(name), "-L", "/dev/stdout", "-N", "NIV_WARN"]  # fmt: skip
    server.start(argv, log=name, env=NO_CACHE)
    wait_until(server, probe, "ganesha.nfsd", START_TIMEOUT_S, name)


def configuration_file(name: str) -> str:
    """Where ganesha reads what it serves, on its server."""
    return f"/run/wavetank-{name}.conf"


def pid_file(name: str) -> str:
    """Where ganesha leaves its number, on its server."""
    return f"/run/wavetank-{name}.pid"


def start_port_mapper(server: Host, address: str) -> bool:
    """Start rpcbind, where none runs; says whether it was started.

    Raises:
        FileSystemError: it does not answer.
    """
    if answers(server, PORT_MAPPER):
        return False
    server.run(["mkdir", "-p", "/run/rpcbind"])
    server.start(["rpcbind", "-f", "-h", address], log="rpcbind")
    wait_until(server, PORT_MAPPER, "rpcbind", START_TIMEOUT_S, "rpcbind")
    return True


def stop(server: Host, name: str = "ganesha") -> None:
    """End ganesha, with all that it has in memory."""
    end_by_pid_file(server, pid_file(name), "ganesha")


def settings(server: Host) -> dict[str, str]:
    """Version and configuration file, read back."""
    version = server.run(["ganesha.nfsd", "-v"]).stdout.splitlines()
    found = {"server": f"{version[0].strip() if version else 'nfs-ganesha'} on {server.name}"}
    for line in server.run(["cat", configuration_file("ganesha")]).stdout.splitlines():
        key, equals, value = line.strip().rstrip(";").partition(" = ")
        if equals:
            found[f"ganesha {key}"] = value
    return found


def nfs_options(names: Iterable[str]) -> Table:
    """A table of options of NFS servers and mounts: those that are no whole numbers are in VALUES."""
    return Table("nfs", {name: VALUES.get(name, NUMBER) for name in names})


def _addresses(text: str) -> None:
    for subject in text.split(","):
        try:
            ipaddress.ip_network(subject.strip())
        except ValueError as error:
            raise ValueError(
                f"{subject.strip()!r} is no address and no network: write 10.0.0.7 or 10.0.0.0/24, several with commas between"
            ) from error


VALUES = {
    "server": one_of("ganesha", "kernel"),
    "version": one_of("3", "4.1", "4.2"),
    "squash": Value("[A-Za-z0-9_]+", "letters, digits and _"),
    "clients": Value(".*", "addresses", parse=_addresses),
    "timeout": Value(r"\d+(\.\d+)?", "a number from 0 on"),
    **dict.fromkeys(("sync", "noac", "direct"), FLAG),
}


def complaints(server: Host) -> str:
    """What ganesha wrote that stops it from serving.

    Sample (4.3): ``... : nfs-ganesha-1[main] fsal_cfg_commit :CONFIG :CRIT :Could not create export for (/e) to (/p)``.
    """
    text = server.log_text("ganesha")
    severe = [
        line
        for line in text.splitlines()
        if any(word in line for word in (":CRIT :", ":MAJ :", ":FATAL :"))
        and not any(word in line for word in NO_FAULTS)
    ]
    return "".join(f"\n  {server.name}: {line}" for line in severe[-8:])


def answers(host: Host, argv: Sequence[str]) -> bool:
    """Whether a command ends well."""
    try:
        host.run(argv, timeout_s=ANSWER_TIMEOUT_S)
    except RemoteCommandError:
        return False
    return True


def _block(name: str, settings: Mapping[str, str]) -> str:
    return f"{name} {{\n{lines(settings, 2)}}}\n"
