"""LNet of a host: its address there (NID), brought up where nobody did, and then taken down again.

A host whose LNet is up already is used as it is. Else it gets one network on the interface with the cluster's address, before
the modules of Lustre bring up one of their own choice.
"""

from __future__ import annotations

from wavetank.cluster.host import Host
from wavetank.errors import FileSystemError, RemoteCommandError

STATE = "/run/wavetank-lustre"  # a host serves and mounts one cluster at a time
OURS = f"{STATE}/lnet"  # there: LNet was brought up by us
PING_TIMEOUT_S = 60.0
UNLOAD_TIMEOUT_S = 240.0  # lustre_rmmod waits 60 s for devices to go


def nid(host: Host, network: str) -> str:
    """Address of a host in LNet."""
    return f"{host.address}@{network}"


def nids(host: Host) -> list[str]:
    """Addresses that a host has in LNet; empty when that is not up.

    Sample (2.15.5, utils/portals.c): ``10.77.0.3@tcp``; while it is down ``IOC_LIBCFS_GET_NI error 100: Network is down``, and a status.
    """
    try:
        return host.run(["lctl", "list_nids"]).stdout.split()
    except RemoteCommandError:
        return []


def bring_up(host: Host, network: str) -> None:
    """See that a host has its address in LNet.

    Raises:
        FileSystemError: it has others, or gets another.
        RemoteCommandError: there is no LNet.
    """
    wanted = nid(host, network)
    host.run(["modprobe", "lnet"])
    found = nids(host)
    if wanted in found:
        return
    if found:
        raise FileSystemError(
            f"LNet of {host.name} is up as {', '.join(found)}, and the cluster needs {wanted}. Write 'options lnet "
            f'networks="{network}(INTERFACE)"\' into /etc/modprobe.d/lustre.conf there, or name its network in '
            "file_system.options.network"
        )
    interface = interface_of(host.address, host.run(["ip", "-o", "addr", "show"]).stdout)
    if interface is None:
        raise FileSystemError(
            f"no interface of {host.name} has the address {host.address}: name the network that hosts have in ssh.network"
        )
    host.run(["mkdir", "-p", STATE])
    host.run(["touch", OURS])  # before it is made, so that it is found
    host.run(["lnetctl", "lnet", "configure"])
    host.run(["lnetctl", "net", "add", "--net", network, "--if", interface])
    found = nids(host)
    if wanted not in found:
        raise FileSystemError(
            f"LNet of {host.name} came up as {', '.join(found) or 'nothing'} on {interface}, not as {wanted}"
        )


def interface_of(address: str, text: str) -> str | None:
    """The interface with an address, of what ``ip -o addr show`` says.

    Sample (iproute2 6.1): ``2: eth0    inet 10.77.0.3/24 brd 10.77.0.255 scope global eth0 ...``.
    """
    for line in text.splitlines():
        words = line.split()
        if len(words) > 3 and words[3].partition("/")[0] == address:
            return words[1].partition("@")[0]
    return None


def see(host: Host, other: str) -> None:
    """See that a host reaches an address in LNet: a mount would wait for minutes before it says so.

    Raises:
        FileSystemError: it does not.
    """
    try:
        host.run(["lctl", "ping", other, "10"], timeout_s=PING_TIMEOUT_S)
    except RemoteCommandError as error:
        raise FileSystemError(
            f"{host.name} does not reach {other} by LNet: {error.stderr_tail or error}. Is port 988 of TCP open between the hosts?"
        ) from error


def take_down(host: Host) -> None:
    """Take LNet down and the modules out, where we brought it up.

    Raises:
        RemoteCommandError: something still uses them.
    """
    if not is_there(host, OURS):
        return
    try:
        host.run(["lustre_rmmod"], timeout_s=UNLOAD_TIMEOUT_S)
    except RemoteCommandError:  # before 2.15 it leaves LNet up, and fails of that (lctl-network(8))
        host.run(["lnetctl", "lnet", "unconfigure"])
        host.run(["lustre_rmmod"], timeout_s=UNLOAD_TIMEOUT_S)
    host.run(["rm", "-rf", "--", STATE])


def is_there(host: Host, path: str) -> bool:
    """Whether a host has something of this name; a link counts wherever it leads.

    Raises:
        RemoteCommandError: the host does not say.
    """
    try:
        host.run(["stat", "--", path])
    except RemoteCommandError as error:
        if error.status == 1:  # GNU and busybox, of what is not there
            return False
        raise
    return True
