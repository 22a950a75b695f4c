"""Daemons of Ceph on hosts: monitor, object stores, metadata servers, and the ``ceph`` command.

Everything runs as shell text that is written here once; values only reach it as arguments.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import Any

from wavetank.cluster.devices import device_paths
from wavetank.cluster.filesystems.base import ANSWER_TIMEOUT_S, Site
from wavetank.cluster.filesystems.cephfs.options import (
    CONFIGURATION,
    STATE,
    asked_names,
    configuration,
    copies,
    full_ratio,
    objectstore,
    osds_per_device,
    osds_per_server,
)
from wavetank.cluster.host import Host, on_all
from wavetank.errors import FileSystemError, RemoteCommandError

FILE_SYSTEM = "wavetank"
START_TIMEOUT_S = 300.0
STORE_SHARE = 0.95  # of the local disk's free space: the rest is for its own bookkeeping
BLOCK_BYTES = 4 * 2**20

# Daemons of this directory's pid files end, each waited for; a kill after 5 s. Then all that they kept goes.
STOP = r"""
for file in "$1"/*.pid; do
  pid=$(cat "$file" 2>/dev/null)
  [ -n "$pid" ] && kill "$pid" 2>/dev/null || continue
  tenths=0
  while kill -0 "$pid" 2>/dev/null; do
    tenths=$((tenths + 1))
    [ "$tenths" -le 50 ] || kill -9 "$pid" 2>/dev/null
    grep -q '^State:[[:space:]]*Z' "/proc/$pid/status" 2>/dev/null && break
    sleep 0.1
  done
done
rm -rf -- "$1" "$2"
"""


def osd_data(storage_path: str) -> str:
    """Directory of the object stores on a data server."""
    return f"{storage_path}/ceph"


class Daemons:
    """The daemons of a site."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.metadata = site.metadata_servers or site.servers[:1]
        self.monitor = self.metadata[0]

    @cached_property
    def osds(self) -> list[tuple[int, Host]]:
        """Number and host of each object store: all of a server in a row."""
        each = osds_per_server(self.site.spec)
        return [
            (position * each + i, host)
            for position, host in enumerate(self.site.servers)
            for i in range(each)
        ]

    @property
    def hosts(self) -> list[Host]:
        """All nodes of the file system, once."""
        everywhere = (*self.metadata, *self.site.servers, *self.site.clients)
        return list({host.name: host for host in everywhere}.values())

    def start(self) -> None:
        """Configure all nodes, start everything, and wait until all of it serves.

        Raises:
            FileSystemError: a daemon does not start, or an option is unknown.
        """
        self._check_options()
        fsid = str(uuid.uuid4())
        on_all(self.hosts, lambda host: self._configure(host, fsid))
        self.monitor.run(["mkdir", "-p", "--", f"{STATE}/mon"])
        self.monitor.run(
            ["ceph-mon", "--mkfs", "-i", "a", "-c", CONFIGURATION, "--monmap", f"{STATE}/monmap"]
        )
        self.monitor.start(["ceph-mon", "-f", "-i", "a", "-c", CONFIGURATION], log="ceph-mon")
        identities = [str(uuid.uuid4()) for _ in self.osds]
        with ThreadPoolExecutor(8) as pool:
            made = [
                pool.submit(self._make_store, osd, identity)
                for osd, identity in zip(self.osds, identities, strict=True)
            ]
            self._make_file_system(identities)
            for each in made:
                each.result()
        for number, host in self.osds:
            argv = ["ceph-osd", "-f", "-i", str(number), "-c", CONFIGURATION]
            host.start(argv, log=f"ceph-osd-{number}")
        for host in self.metadata:
            host.run(["mkdir", "-p", "--", f"{STATE}/mds.{host.name}"])
            host.start(
                ["ceph-mds", "-f", "-i", host.name, "-c", CONFIGURATION], log=f"ceph-mds-{host.name}"
            )  # fmt: skip
        self._await_service()

    def _check_options(self) -> None:
        """See that Ceph knows the options: it ignores others in ceph.conf without a word."""
        asked = asked_names(self.site.spec)
        if not asked:
            return
        out = self.monitor.run(["ceph-conf", "-c", "/dev/null", "--show-config"]).stdout
        known = {line.partition(" = ")[0].strip() for line in out.splitlines()}
        if unknown := sorted(asked - known):
            raise FileSystemError(
                f"Ceph on {self.monitor.name} has no option {', '.join(unknown)}. "
                "'ceph-conf --show-config' lists those that it has"
            )

    def _configure(self, host: Host, fsid: str) -> None:
        is_server = host in self.site.servers
        text = configuration(
            self.site.spec, host.name, host.address, fsid, self.monitor.address,
            self._store_bytes(host) if is_server else BLOCK_BYTES, osd_data(self.site.storage_path),
        )  # fmt: skip
        host.run(["mkdir", "-p", "--", STATE])
        host.run(["dd", f"of={CONFIGURATION}", "status=none"], stdin=text)
        if is_server or host is self.monitor:
            address = f"[v2:{self.monitor.address}:3300,v1:{self.monitor.address}:6789]"
            host.run(
                ["monmaptool", "--create", "--clobber", "--fsid", fsid, "--addv", "a", address, f"{STATE}/monmap"]
            )  # fmt: skip

    def _store_bytes(self, host: Host) -> int:
        """Size of each object store: the disk's free space, or half of the memory."""
        path = self.site.storage_path
        blocks, block = host.run(["stat", "-f", "-c", "%a %S", "--", path]).stdout.split()
        room = int(int(blocks) * int(block) * STORE_SHARE)
        if objectstore(self.site.spec) == "memstore":
            room = min(room, self.site.spec.instance_of(host.name).memory // 2)
        each = room // osds_per_device(self.site.spec)
        return each // BLOCK_BYTES * BLOCK_BYTES

    def _make_store(self, osd: tuple[int, Host], identity: str) -> None:
        number, host = osd
        first = osd_data(self.site.storage_path)
        paths = device_paths(self.site.spec.storage, self.site.storage_path)
        own = osd_data(paths[number % len(paths)])
        try:
            host.run(["mkdir", "-p", "--", first, own])
            host.run(["mkdir", "--", f"{own}/osd.{number}"])
            if own != first:
                host.run(["ln", "-s", "--", f"{own}/osd.{number}", f"{first}/osd.{number}"])
            host.run(
                ["ceph-osd", "--mkfs", "-i", str(number), "-c", CONFIGURATION, "--osd-uuid", identity,
                 "--monmap", f"{STATE}/monmap"],
                timeout_s=START_TIMEOUT_S,
            )  # fmt: skip
        except RemoteCommandError as error:
            raise FileSystemError(f"cannot make an object store on {host.name}: {error}") from error

    def _make_file_system(self, identities: Sequence[str]) -> None:
        spec = self.site.spec
        n_groups = int(spec.file_system.options.get("pg_num", _groups(len(self.osds))))
        commands = [
            *(f"osd new {identity} {number}" for number, identity in enumerate(identities)),
            f"osd pool create metadata {min(8, n_groups)}",
            f"osd pool create data {n_groups}",
            f"fs new {FILE_SYSTEM} metadata data",
        ]
        if copies(spec) == 1 and spec.layout == "one-server-per-file":
            for host in self.site.servers:
                commands += [
                    f"osd crush add-bucket {host.name} host root=default",
                    f"osd crush rule create-replicated on-{host.name} {host.name} osd",
                    f"osd pool create on-{host.name} 8 8 replicated on-{host.name}",
                    f"fs add_data_pool {FILE_SYSTEM} on-{host.name}",
                ]
        if len(self.metadata) > 1:
            commands.append(f"fs set {FILE_SYSTEM} max_mds {len(self.metadata)}")
        self.ceph_batch(commands)

    def ceph_batch(self, commands: Sequence[str]) -> list[str]:
        """Give many commands to one ``ceph``, which takes 0.4 s to start; an answer in JSON, or a line, for each.

        Raises:
            FileSystemError: one is refused, with Ceph's own words.
        """
        try:
            done = self.monitor.run(
                ["ceph", "-c", CONFIGURATION, "--connect-timeout", "60", "-f", "json"],
                stdin="".join(f"{command}\n" for command in commands),
                timeout_s=START_TIMEOUT_S,
            )
        except RemoteCommandError as error:
            raise FileSystemError(
                f"the monitor on {self.monitor.name} does not answer: {error}{self._last_words()}"
            ) from error
        # Sample of a refusal (16.2): "Error EINVAL: pool 'x' not found"
        refused = [line for line in (done.stdout + done.stderr).splitlines() if line.startswith("Error ")]  # fmt: skip
        if refused:
            raise FileSystemError(f"ceph refuses: {'; '.join(refused)}")
        return [line for line in done.stdout.splitlines() if line.strip()]

    def ceph(self, *words: str, timeout_s: float = 120.0) -> dict[str, Any]:
        """Answer of one command, read as JSON.

        Raises:
            RemoteCommandError: it fails.
        """
        limit = str(max(1, int(timeout_s) - 2))
        argv = ["ceph", "-c", CONFIGURATION, "--connect-timeout", limit, "-f", "json", *words]
        answer: dict[str, Any] = json.loads(self.monitor.run(argv, timeout_s=timeout_s).stdout)
        return answer

    def _last_words(self) -> str:
        death = self.monitor.death_of("ceph-mon")
        return "" if death is None else f". It died: {death}"

    def _await_service(self) -> None:
        """All metadata servers active, and all object stores known."""
        deadline = time.monotonic() + START_TIMEOUT_S
        while True:
            state = self.ceph("status")
            active = state["fsmap"].get("up", 0) - sum(
                not rank["status"].startswith("up:active") for rank in state["fsmap"]["by_rank"]
            )
            if active >= len(self.metadata) and state["osdmap"]["num_up_osds"] >= len(self.osds):
                return
            self._raise_for_the_dead()
            if time.monotonic() > deadline:
                raise FileSystemError(
                    f"Ceph does not serve after {START_TIMEOUT_S:g} s: {_summary(state)}"
                )
            time.sleep(0.1)

    def _raise_for_the_dead(self) -> None:
        logs = [(host, f"ceph-osd-{number}") for number, host in self.osds]
        logs += [(host, f"ceph-mds-{host.name}") for host in self.metadata]
        for host, log in logs:
            death = host.death_of(log)
            if death is not None:
                raise FileSystemError(f"{log} on {host.name} died: {death}")

    def findings(self) -> list[str]:
        """Servers that are down, as the monitor sees it."""
        try:
            state = self.ceph("status", timeout_s=ANSWER_TIMEOUT_S)
        except RemoteCommandError as error:
            return [f"the monitor on {self.monitor.name} does not answer: {error.stderr_tail}"]
        osds = state["osdmap"]
        found = []
        if osds["num_up_osds"] < len(self.osds):
            found.append(
                f"cephfs: {len(self.osds) - osds['num_up_osds']} of {len(self.osds)} OSDs are down"
            )
        if state["fsmap"].get("up", 0) < len(self.metadata):
            found.append(f"cephfs: a metadata server is down: {_summary(state)}")
        checks = state["health"]["checks"]
        found += [
            f"cephfs: {check['summary']['message']}"
            for name, check in checks.items()
            if name in ("OSD_FULL", "OSD_NEARFULL", "POOL_FULL", "OSD_BACKFILLFULL")
        ]
        return found

    def free_bytes(self) -> dict[str, int]:
        """Bytes that each server's object stores take before they count as full.

        Sample (16.2): ``{"bluefs": {"db_used_bytes": 4259840, ...}, "bluestore": {"bluestore_allocated": 0, ...}}``.
        """

        def of(osd: tuple[int, Host]) -> tuple[str, int]:
            number, host = osd
            socket = f"{STATE}/osd.{number}.asok"
            out = host.run(["ceph", "--admin-daemon", socket, "perf", "dump"]).stdout
            counters = json.loads(out)
            used = counters.get("bluestore", {}).get("bluestore_allocated", 0)
            used += counters.get("bluefs", {}).get("db_used_bytes", 0)
            return host.name, max(
                0, int(full_ratio(self.site.spec) * self._written_store_bytes(host)) - used
            )

        found: dict[str, int] = {}
        for name, room in on_all(self.osds, of):
            found[name] = found.get(name, 0) + room
        return found

    def _written_store_bytes(self, host: Host) -> int:
        """Size of each of a server's object stores, of its configuration."""
        text = host.run(["cat", CONFIGURATION]).stdout
        return next(
            int(line.partition("=")[2])
            for line in text.splitlines()
            if line.startswith("bluestore_block_size ")
        )

    def drop_caches(self) -> None:
        """Empty the OSDs' own caches of objects; page caches are the nodes'."""
        self.ceph_batch([f"tell osd.{number} cache drop" for number, _ in self.osds])

    def stop(self) -> None:
        """End all daemons and delete what they kept."""
        data = osd_data(self.site.storage_path)
        on_all(self.hosts, lambda host: host.run(["sh", "-c", STOP, "sh", STATE, data]))


def _groups(n_osds: int) -> int:
    """Placement groups: 32 an OSD spread objects within about a fifth; a power of two."""
    return 1 << (32 * n_osds - 1).bit_length()


def _summary(state: Mapping[str, Any]) -> str:
    ranks = ", ".join(f"{rank['name']} {rank['status']}" for rank in state["fsmap"]["by_rank"])
    return f"{state['osdmap']['num_up_osds']} OSDs up; metadata servers: {ranks or 'none'}"
