"""CephFS: a monitor and metadata servers, object stores on each data server, mounted by ceph-fuse or kernels (clients.py).

Developed with Ceph 16.2 (Debian 12). No manager runs: it only counts (``df`` shows no sizes). State is below /run,
objects on the servers' local file systems; no secrets, daemons on the cluster's network only.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections import Counter
from collections.abc import Collection, Mapping

from wavetank.cluster.filesystems.base import (
    FileSystemDriver,
    NativeExport,
    Site,
    mount_line,
    mounts,
    write_content,
)
from wavetank.cluster.filesystems.cephfs import clients, options
from wavetank.cluster.filesystems.cephfs.daemons import FILE_SYSTEM, Daemons
from wavetank.cluster.filesystems.cephfs.options import CONFIGURATION, STATE, Layout, client_of
from wavetank.cluster.filesystems.facts import METHODS, Facts, TriedLayout
from wavetank.cluster.host import Host, on_all
from wavetank.cluster.needs import Needs
from wavetank.cluster.spec import ClusterSpec
from wavetank.errors import ClusterError, FileSystemError, RemoteCommandError
from wavetank.units import MIB, format_size

PURGE_TIMEOUT_S = 10.0
PURGED_BYTES_PER_S = 32 * 2**20
SERVER_PROGRAMS = {
    "ceph-mon": "apt-get install ceph-mon",
    "ceph-osd": "apt-get install ceph-osd",
    "ceph-mds": "apt-get install ceph-mds",
    "monmaptool": "apt-get install ceph-common",
    "ceph": "apt-get install ceph-common",
}
CLIENT_PROGRAMS = {
    "ceph": "apt-get install ceph-common",
    "setfattr": "apt-get install attr",
}
# Of a daemon's settings those that differ from Ceph's defaults are shown, when they are about its own work.
OWN_WORK = {
    "mon": ("mon_", "osd_pool_"),
    "osd": ("osd_op", "osd_max", "osd_objectstore", "osd_memory", "bluestore_", "memstore_"),
    "mds": ("mds_",),
    "client": ("client_", "fuse_", "objecter_"),
}


class CephFS(FileSystemDriver):
    """Deploys Ceph on data and metadata servers, with one file system."""

    kind = "cephfs"
    facts = Facts(
        title="CephFS",
        own_metadata=True,
        serves_each_device=True,
        stripes=("distributed", "sharded", "replicated"),
        in_objects=True,
        layout_options=("layout",),
        tried=(TriedLayout(3, 4 * MIB), TriedLayout(3, MIB), TriedLayout(3)),
        free_memory_bytes=2048
        * MIB,  # three stores, a monitor, a metadata server, four clients with caches
        usable_share=0.5,  # stores count as full from 0.6 on where little storage is filled fast
        guest_methods=METHODS,
        # measured by benchmarks/cluster/shared_file.py: docs/reference/filesystems/cephfs.md
        of_shared_files=(
            "CephFS brings each write to a file that several nodes write to its object store, one at a time, before the call returns; "
            "on one node, or with a file for each, it buffers them."
        ),
    )
    gateway_package = "nfs-ganesha-ceph"

    def check(self, spec: ClusterSpec) -> list[str]:
        """Options, layouts and memory."""
        return [*options.check_stripe(spec), *options.check_options(spec)]

    def needs_of_servers(self, spec: ClusterSpec) -> Needs:
        """Programs of data and metadata servers."""
        del spec
        return Needs(programs=SERVER_PROGRAMS)

    def needs_of_clients(self, spec: ClusterSpec) -> Needs:
        """Programs of compute nodes."""
        if client_of(spec) == "kernel":
            return Needs(programs=CLIENT_PROGRAMS)
        fuse = Needs({"ceph-fuse": "apt-get install ceph-fuse"}, {"/dev/fuse": "modprobe fuse"})
        return Needs(programs=CLIENT_PROGRAMS) | fuse

    def install(self, site: Site) -> None:
        """Start monitor, object stores and metadata servers, and make the file system."""
        Daemons(site).start()

    def mount(self, site: Site) -> None:
        """Mount on all clients, and set the layouts of directories through the first."""
        path = self.mount_path(site)
        clients.mount(site, Daemons(site).monitor.address, path)
        first = site.clients[0]
        _set_layout(first, "dir", path, options.default_layout(site.spec).words())
        for name, layout in options.layouts(site.spec).items():
            if name.endswith("/"):
                first.run(["mkdir", "-p", "--", f"{path}/{name}"])
                _set_layout(first, "dir", f"{path}/{name}", layout.words())

    def unmount(self, site: Site) -> None:
        """Unmount from all clients, and wait until the client processes and their caches are gone."""
        clients.unmount(site, self.mount_path(site))

    def drop_server_caches(self, site: Site) -> str:
        """Empty the OSDs' own caches."""
        Daemons(site).drop_caches()
        return "OSD caches dropped"

    def settings(self, site: Site) -> dict[str, str]:
        """Version, pools and servers from the monitor; options from every daemon; layouts and mounts from the clients."""
        daemons, path = Daemons(site), self.mount_path(site)
        found = {
            "file system": f"cephfs, {options.objectstore(site.spec)}",
            "ceph": site.servers[0].run(["ceph-osd", "--version"]).stdout.strip(),
            "monitor": daemons.monitor.name,
            "metadata servers": ", ".join(host.name for host in daemons.metadata),
            "client": clients.client_name(site.clients[0], path),
        }
        for pool in daemons.ceph("osd", "dump")["pools"]:
            found[f"pool {pool['pool_name']}"] = f"{pool['size']} copies, {pool['pg_num']} placement groups"  # fmt: skip
        stores = [(host, f"osd.{number}") for number, host in daemons.osds]
        found["OSDs"] = ", ".join(f"{name} on {host.name}" for host, name in stores)
        named = [*stores, (daemons.monitor, "mon.a")]
        named += [(host, f"mds.{host.name}") for host in daemons.metadata]
        of_clients = [(host, "client.admin") for host in site.clients]
        named += [each for each in of_clients if clients.has_socket(each[0], path)]
        found |= _agreed(named, options.asked_names(site.spec))
        for name in ("", *(n for n in options.layouts(site.spec) if n.endswith("/"))):
            found[f"layout of /{name}"] = _layout_words(site.clients[0], "dir", f"{path}/{name}")
        return found | mounts(site, path)

    def place_files(self, site: Site, sizes: Mapping[str, int]) -> dict[str, str]:
        """Create files through the first client, each by its layout; says where their objects are."""
        client, path, daemons = site.clients[0], self.mount_path(site), Daemons(site)
        own = options.layouts(site.spec)
        places = {}
        # A layout is only set while a file is empty.
        client.run(["rm", "-f", "--", *(f"{path}/{name}" for name in sizes)])
        for position, (name, size) in enumerate(sizes.items()):
            file = f"{path}/{name}"
            target = site.servers[position % len(site.servers)].name
            whole = site.spec.layout == "one-server-per-file"
            _require_room(daemons, size * options.copies(site.spec), [target] if whole else None)
            client.run(["mkdir", "-p", "--", file.rpartition("/")[0]])
            client.run(["touch", "--", file])
            if name in own:
                _set_layout(client, "file", file, own[name].words())
            if whole:
                _set_layout(client, "file", file, f"on-{target}", ".pool")
            try:
                write_content(client, file, size, site.on_written)
            except FileSystemError:
                client.run(["rm", "-f", "--", file])
                raise
            places[name] = _describe(daemons, client, file, size)
        return places

    def health(self, site: Site) -> list[str]:
        """Servers that the monitor misses, and mounts that are gone or do not answer."""
        return [*Daemons(site).findings(), *clients.findings(site, self.mount_path(site))]

    def native_export(self, site: Site) -> NativeExport:
        """By libcephfs; the gateway has the configuration."""
        del site
        return NativeExport(
            {"Name": "CEPH", "Filesystem": FILE_SYSTEM}, {"CEPH": {"Ceph_Conf": CONFIGURATION}}
        )

    def remove(self, site: Site) -> None:
        """Unmount, stop everything and delete the objects; a mount that hangs goes with its client."""
        path = self.mount_path(site)
        with contextlib.suppress(ClusterError):
            self.unmount(site)
        Daemons(site).stop()
        for host in site.clients:
            if mount_line(host, path) is not None:
                host.run(["umount", "-l", "--", path])


def _require_room(daemons: Daemons, size: int, servers: list[str] | None) -> None:
    """See that servers have room: a write to a full one waits until somebody deletes something.

    Space of deleted files comes back after a few seconds.

    Raises:
        FileSystemError: they have not.
    """
    deadline = time.monotonic() + PURGE_TIMEOUT_S
    while True:
        free = daemons.free_bytes()
        room = sum(free[name] for name in servers or free)
        if size <= room:
            return
        if size > room + PURGED_BYTES_PER_S * (deadline - time.monotonic()):
            raise FileSystemError(
                f"input files of {format_size(size)} do not fit on {', '.join(servers or free)}, which have "
                f"{format_size(room)} free. Give the cluster a larger storage.size"
            )
        time.sleep(0.5)


def _set_layout(host: Host, what: str, path: str, value: str, field: str = "") -> None:
    try:
        host.run(["setfattr", "-n", f"ceph.{what}.layout{field}", "-v", value, "--", path])
    except RemoteCommandError as error:
        raise FileSystemError(f"cannot set the layout {value!r} of {path}: {error}") from error


def _layout_words(host: Host, what: str, path: str) -> str:
    """Sample (16.2): ``stripe_unit=4194304 stripe_count=1 object_size=4194304 pool=data``."""
    argv = ["getfattr", "--absolute-names", "--only-values", "-n", f"ceph.{what}.layout", "--", path]  # fmt: skip
    return host.run(argv).stdout.strip("\0\n ")


def _describe(daemons: Daemons, client: Host, file: str, size: int) -> str:
    """Layout of a file and bytes on each server, of where the monitor maps each object."""
    said = dict(word.split("=", 1) for word in _layout_words(client, "file", file).split())
    layout = Layout(*(int(said[key]) for key in ("stripe_unit", "stripe_count", "object_size")))
    inode = int(client.run(["stat", "-c", "%i", "--", file]).stdout)
    held = layout.object_bytes(size)
    host_of = {number: host.name for number, host in daemons.osds}
    total: Counter[str] = Counter()
    commands = [f"osd map {said['pool']} {inode:x}.{i:08x}" for i in range(len(held))]
    for count, answer in zip(held, daemons.ceph_batch(commands), strict=True):
        for osd in json.loads(answer)["acting"]:
            total[host_of[osd]] += count
    where = ", ".join(f"{host.name} {format_size(total[host.name])}" for host in daemons.site.servers)  # fmt: skip
    return f"pool {said['pool']}, objects of {format_size(layout.object_size)}: {where}"


def _agreed(named: list[tuple[Host, str]], always: Collection[str]) -> dict[str, str]:
    """Options that differ from Ceph's defaults, as each daemon says; one line where all of a kind agree."""

    def asked(host_name: tuple[Host, str]) -> dict[str, str]:
        host, name = host_name
        argv = ["ceph", "--admin-daemon", f"{STATE}/{name}.asok", "config", "diff"]
        try:
            diff = json.loads(host.run(argv).stdout)["diff"]
        except RemoteCommandError:  # it died, which health says
            return {"answers": "no"}
        shown = OWN_WORK[name.partition(".")[0]]
        return {
            option: str(values["final"])
            for option, values in diff.items()
            if "final" in values
            and (option.startswith(shown) or option in always)
            and not option.endswith(("_data", "_dir", "_path"))
        }

    answers = on_all(named, asked)
    found: dict[str, str] = {}
    for kind in ("mon", "osd", "mds", "client"):
        of_kind = [
            (f"{name} on {host.name}", answer)
            for (host, name), answer in zip(named, answers, strict=True)
            if name.startswith(f"{kind}.")
        ]
        for option in sorted({option for _, answer in of_kind for option in answer}):
            values = {
                who: answer.get(option, "as by default")
                for who, answer in of_kind
                if option == "answers" or "answers" not in answer
            }
            if option == "answers":
                found |= {f"{who} answers": value for who, value in values.items() if value == "no"}
            elif len(set(values.values())) == 1:
                found[f"{kind} {option}"] = next(iter(values.values()))
            else:
                found |= {f"{who} {option}": value for who, value in values.items()}
    return found
