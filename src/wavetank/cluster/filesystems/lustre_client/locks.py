"""Locks of a client of Lustre: what it caches, it caches under them. Given back, nothing is cached, and dirty pages are written."""

from __future__ import annotations

from wavetank.cluster.host import NOT_EMPTIED, Host
from wavetank.errors import RemoteCommandError

TIMEOUT_S = 120.0  # dirty pages are written first


def give_back(host: Host, fsname: str = "*") -> str:
    """Release the locks of a client; takes root. Says how it went.

    Namespaces of clients are ``FSNAME-OST0000-osc-ffff...`` and ``FSNAME-MDT0000-mdc-ffff...``; those of servers on the same host begin
    with ``filter-`` and ``mdt-`` (Lustre 2.15.5, ldlm/ldlm_resource.c), and are left alone.

    Args:
        host: the client.
        fsname: of one file system; "*" of all.
    """
    try:
        for kind in ("mdc", "osc"):
            name = f"ldlm.namespaces.{fsname}-*-{kind}-*.lru_size=clear"
            host.run(["lctl", "set_param", "-n", name], timeout_s=TIMEOUT_S)
    except RemoteCommandError as error:
        return f"{host.name}: caches of Lustre {NOT_EMPTIED} ({error.stderr_tail or error})"
    return f"{host.name}: locks of Lustre given back"
