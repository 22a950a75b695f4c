"""A tenant: compute nodes as a nodemap of Lustre, which may see one directory alone (a fileset), and nobody else anything.

Order and commands: Lustre's operations manual, "Mapping UIDs and GIDs with Nodemap" (servers are in a nodemap that is trusted and has
root) and "Isolating clients to a sub-directory tree"; lctl-nodemap-modify(8). Servers get a change from the MGS within seconds.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

from wavetank.cluster.filesystems.base import Site
from wavetank.cluster.filesystems.lustre import clients, lnet, options, servers
from wavetank.cluster.filesystems.lustre.targets import option
from wavetank.cluster.host import Host, on_all
from wavetank.cluster.spec import ClusterSpec
from wavetank.errors import FileSystemError

OF_SERVERS = "wavetankservers"
SYNC_TIMEOUT_S = 120.0  # Lustre's own tests give it 100 s (wait_nm_sync in sanity-sec.sh)


def problems(spec: ClusterSpec) -> Iterator[str]:
    """What is wrong with the tenant of a specification."""
    name = option(spec, "tenant")
    if name is None:
        if option(spec, "fileset") is not None:
            yield "file_system.options.fileset is what a tenant sees: name the tenant, in option tenant"
        return
    if name in ("default", OF_SERVERS):
        yield f"file_system.options.tenant: {name} is the name of another nodemap: choose another"
    both = [each for each in spec.compute_names() if each in (*spec.server_names(), *spec.metadata_names())]  # fmt: skip
    if both:
        yield (
            f"file_system.options.tenant: {', '.join(both)} would be the tenant's and a server, and a server sees everything: keep servers "
            "off compute nodes"
        )


def enclose(site: Site) -> None:
    """Make the tenant's directory, and the nodemaps; every server knows them when this returns. Nothing without a tenant.

    Raises:
        FileSystemError: a server does not get to know them within the time.
        RemoteCommandError: they cannot be made.
    """
    name, fileset = option(site.spec, "tenant"), option(site.spec, "fileset")
    if name is None:
        return
    if fileset is not None:
        _make_directory(site, fileset)
    mgs = site.metadata_servers[0]
    for nodemap, hosts in ((OF_SERVERS, servers.hosts(site)), (name, site.clients)):
        _make(mgs, nodemap, [lnet.nid(host, options.network(site.spec)) for host in hosts])
    if fileset is not None:
        mgs.run(["lctl", "nodemap_set_fileset", "--name", name, "--fileset", fileset])
    _set(mgs, "default", "deny_unknown", 1)  # of root too: it is nobody there
    mgs.run(["lctl", "nodemap_activate", "1"])
    on_all(servers.hosts(site), lambda host: _await(host, name, fileset))


def settings(site: Site) -> dict[str, str]:
    """As the first metadata server has it; nothing without a tenant."""
    name = option(site.spec, "tenant")
    if name is None:
        return {}
    mgs = site.metadata_servers[0]
    asked = {"nodemap.active": "nodemaps are active", f"nodemap.{name}.fileset": f"{name} sees"}
    return {words: _get(mgs, key) or "everything" for key, words in asked.items()}


def _make_directory(site: Site, fileset: str) -> None:
    """By the first client, before it is enclosed."""
    client, at = site.clients[0], site.spec.file_system.mount
    clients.mount(client, site)
    try:
        client.run(["mkdir", "-p", "--", f"{at}{fileset}"])
    finally:
        clients.unmount(client, site)


def _make(mgs: Host, nodemap: str, nids: Sequence[str]) -> None:
    mgs.run(["lctl", "nodemap_add", nodemap])
    for key in ("admin", "trusted"):
        _set(mgs, nodemap, key, 1)
    for nid in nids:
        mgs.run(["lctl", "nodemap_add_range", "--name", nodemap, "--range", nid])


def _set(mgs: Host, nodemap: str, key: str, value: int) -> None:
    mgs.run(["lctl", "nodemap_modify", "--name", nodemap, "--property", key, "--value", str(value)])


def _get(host: Host, key: str) -> str:
    return host.run(["lctl", "get_param", "-n", key]).stdout.strip()


def _await(host: Host, name: str, fileset: str | None) -> None:
    """Raises FileSystemError: the server does not know the tenant within the time."""
    deadline = time.monotonic() + SYNC_TIMEOUT_S
    while _get(host, "nodemap.active") != "1" or _get(host, f"nodemap.{name}.fileset") != (
        fileset or ""
    ):
        if time.monotonic() > deadline:
            raise FileSystemError(
                f"{host.name} does not know the nodemap {name} after {SYNC_TIMEOUT_S:.0f} s: does it reach the MGS?"
            )
        time.sleep(0.1)
