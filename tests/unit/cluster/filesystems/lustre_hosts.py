"""Hosts with Lustre that are none: they keep what commands leave on them, and refuse what Lustre and Linux refuse.

What they print is as Lustre 2.15.5 prints it; its source is named at each (lustre/lustre-release, tag v2_15_5). Commands
without an answer here are errors, so that a driver cannot call what nobody thought of.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from linux_commands import Failure, LinuxCommands

from wavetank.cluster.host import Finished, Host
from wavetank.errors import RemoteCommandError

HOME = "/srv/wavetank-lab-1a2b"
STORAGE = f"{HOME}/data"
LOOKS = ("stat", "cat", "test", "ip", "readlink")  # change nothing
LOOKS_OF = {
    "lctl": ("list_nids", "get_param", "ping", "pool_list"),
    "lfs": ("getstripe", "osts"),
    "losetup": ("--associated",),
    "zpool": ("list",),
    "wipefs": ("--noheadings",),
}


class World:
    """The hosts of a cluster, and what all of them do, in order.

    Attributes:
        ran: host and command, of commands that change something and began.
        fails: number of the command that fails, counted from 1; None: none does.
        late: whether it has done its work when it fails.
        old: whether lustre_rmmod leaves LNet up, as before 2.15.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.ran: list[tuple[str, list[str]]] = []
        self.fails: int | None = None
        self.late = False
        self.old = False
        self.lock = threading.RLock()
        self.osts: list[int] = []
        self.pools: dict[str, list[str]] = {}
        self.nodemap: dict[str, str] = {}  # parameters, as servers have them
        self.hosts = {
            name: LustreHost(self, name, f"10.77.0.{i + 1}") for i, name in enumerate(names)
        }

    def mounted(self, kind: str) -> list[LustreHost]:
        """Hosts that answer and run a target of a kind."""
        return [
            host
            for host in self.hosts.values()
            if host.answers
            and any(kind in host.formatted[source][0] for source in host.mounts.values() if source in host.formatted)
        ]  # fmt: skip

    def residue(self) -> dict[str, list[str]]:
        """What is on hosts and was not there before, by host."""
        return {name: left for name, host in self.hosts.items() if (left := host.residue())}


class LustreHost(LinuxCommands, Host):
    """A host."""

    def __init__(self, world: World, name: str, address: str) -> None:
        super().__init__(address)
        self.world, self.name = world, name
        self.answers = True
        self.given_nids: list[str] = []  # before the cluster
        self.given_devices: dict[str, list[str]] = {}
        self.health = "healthy"
        self.parameters: dict[str, str] = {}
        self.states: dict[str, str] = {}
        self.stripes: dict[str, int] = {}
        self.limits: list[float] = []

    def give(
        self, *, nids: Sequence[str] = (), devices: Mapping[str, list[str]] | None = None
    ) -> None:
        """What the host has before the cluster."""
        self.nids, self.given_nids = list(nids), list(nids)
        self.has_devices = {name: list(held) for name, held in (devices or {}).items()}
        self.given_devices = {name: list(held) for name, held in (devices or {}).items()}

    def residue(self) -> list[str]:
        """What is there and was not before; modules without an LNet that is ours."""
        left = [f"mount {at}" for at in self.mounts]
        left += [f"loop {name}" for name in self.loops]
        left += [f"pool {name}" for name in self.zpools]
        left += [f"file {path}" for path in self.paths]
        if self.nids != self.given_nids:
            left.append(f"LNet {self.nids}")
        elif not self.given_nids and self.modules & {"lustre"}:
            left.append("module lustre")
        if self.has_devices != self.given_devices:
            left.append(f"devices {self.has_devices}")
        return left

    def run(self, argv: Sequence[str], *, timeout_s: float = 60.0, env: Mapping[str, str] | None = None,
            stdin: str = "") -> Finished:  # fmt: skip
        del env, stdin
        with self.world.lock:
            self.limits.append(timeout_s)
            if not self.answers:
                raise RemoteCommandError(
                    self.name, argv, 255, "ssh: connect to host: Connection timed out"
                )
            looks = argv[0] in LOOKS or (len(argv) > 1 and argv[1] in LOOKS_OF.get(argv[0], ()))
            fails = False
            if not looks:
                self.world.ran.append((self.name, list(argv)))
                fails = len(self.world.ran) == self.world.fails
            if fails and not self.world.late:
                raise RemoteCommandError(self.name, argv, 1, "it was to fail")
            answer: Callable[[list[str]], str | None] | None
            answer = getattr(self, "_" + re.sub(r"[.-]", "_", argv[0]), None)
            if answer is None:
                raise AssertionError(f"nobody thought of {argv}")
            try:
                said = answer(list(argv[1:])) or ""
            except Failure as failure:
                raise RemoteCommandError(self.name, argv, failure.status, failure.said) from failure
            if fails:
                raise RemoteCommandError(self.name, argv, None, "no end within its time")
            return Finished(said, "", 0.0)

    def start(self, argv: Sequence[str], *, log: str, env: Mapping[str, str] | None = None) -> None:
        raise AssertionError("Lustre has no daemons")

    def put(self, source: Path, destination: str) -> None:
        raise NotImplementedError

    def get(self, source: str, destination: Path) -> None:
        raise NotImplementedError

    def _mount(self, words: list[str]) -> None:
        assert words[:2] == ["-t", "lustre"]
        source, at = words[-2:]
        if at in self.mounts:
            raise Failure(
                17, f"mount.lustre: according to /etc/mtab {source} is already mounted on {at}"
            )
        is_client = ":/" in source
        kinds = [] if is_client else self._formatted(source)[0]
        if is_client and "lustre" not in self.modules:
            raise Failure(19, f"mount.lustre: mount {source} at {at} failed: No such device")
        if "mgs" not in kinds and not self.world.mounted("mgs"):  # utils/mount_lustre.c, of EIO
            raise Failure(
                5,
                f"mount.lustre: mount {source} at {at} failed: Input/output error\nIs the MGS running?",
            )
        if is_client and not (self.world.mounted("mdt") and self.world.mounted("ost")):
            raise Failure(None, "no end within its time")
        self._modprobe(["lustre"])
        self.mounts[at] = source

    def _formatted(self, source: str) -> tuple[list[str], str]:
        if source not in self.formatted:  # utils/mount_lustre.c, of ENODEV
            raise Failure(19, f"mount.lustre: {source} has not been formatted with mkfs.lustre")
        return self.formatted[source]

    def _lnetctl(self, words: list[str]) -> None:
        if words[:2] == ["lnet", "configure"]:
            assert "lnet" in self.modules
        elif words[:2] == ["net", "add"]:
            assert words[2:5] == ["--net", "tcp", "--if"]
            self.nids = [f"{self.address}@tcp"] if words[5] == "eth1" else ["192.0.2.1@tcp"]
        else:
            self.nids = []

    def _lustre_rmmod(self, words: list[str]) -> None:
        if self.mounts:
            raise Failure(1, "rmmod: ERROR: Module lustre is in use")
        if self.nids and self.world.old:
            raise Failure(1, "rmmod: ERROR: Module lnet is in use")
        self.modules.clear()
        self.nids = []

    def _mkfs_lustre(self, words: list[str]) -> None:
        kinds = [word.lstrip("-") for word in words if word in ("--mgs", "--mdt", "--ost")]
        below = next(word.partition("=")[2] for word in words if word.startswith("--backfstype"))
        if below == "zfs":
            pool, vdev = words[-2].partition("/")[0], words[-1]
            source = words[-2]
            self.zpools[pool] = vdev
            held = ["0x3f000 zfs_member"]
        else:
            source = vdev = words[-1]
            assert source in self.has_devices or source in self.loops
            held = ["0x438 ext4"]
        if source in self.formatted:  # utils/mkfs_lustre.c
            raise Failure(
                1,
                f"mkfs.lustre FATAL: Device {source} was previously formatted for lustre. Use --reformat",
            )
        if vdev in self.has_devices:
            self.has_devices[vdev] = held
        index = next((word.partition("=")[2] for word in words if word.startswith("--index")), "")
        self.formatted[source] = (kinds, index)

    def _lctl(self, words: list[str]) -> str:
        return getattr(self, f"_lctl_{words[0]}")(words[1:]) or ""  # type: ignore[no-any-return]

    def _lctl_list_nids(self, words: list[str]) -> str:
        if not self.nids:  # utils/portals.c
            raise Failure(255, "IOC_LIBCFS_GET_NI error 100: Network is down")
        return "".join(f"{nid}\n" for nid in self.nids)

    def _lctl_ping(self, words: list[str]) -> str:
        there = [
            host for host in self.world.hosts.values() if words[0] in host.nids and host.answers
        ]
        if not there or not self.nids:  # utils/portals.c
            raise Failure(1, f"failed to ping {words[0]}: Input/output error")
        return f"12345-0@lo\n12345-{words[0]}\n"

    def _lctl_get_param(self, words: list[str]) -> str:
        name = words[-1]
        if name == "health_check":  # obdclass/obd_sysfs.c
            return f"{self.health}\n"
        if name.startswith("nodemap."):  # ptlrpc/nodemap_lproc.c
            return f"{self.world.nodemap.get(name, '')}\n"
        if name == "version":
            return "2.15.5\n"
        if name.endswith("_server_uuid"):  # obdclass/lprocfs_status.c
            kind = name.partition(".")[0]
            found = [
                f"{kind}.{target.replace('_', '-')}-{kind}-ffff8e1b.{name.rpartition('.')[2]}={target}_UUID\t"
                f"{self.states.get(target.rpartition('-')[2], 'FULL')}"
                for target in self._targets("ost" if kind == "osc" else "mdt")
            ]
            if not found:  # utils/lustre_cfg.c
                raise Failure(
                    2, f"error: get_param: param_path '{name}': No such file or directory"
                )
            return "\n".join(found) + "\n"
        return f"{name}={self.parameters[name]}\n"

    def _targets(self, kind: str) -> list[str]:
        found = []
        for host in self.world.hosts.values():
            for source in host.mounts.values():
                kinds, index = host.formatted.get(source, ([], ""))
                if kind in kinds:
                    found.append(f"lab-{kind.upper()}{int(index):04x}")
        return sorted(found)

    def _lctl_set_param(self, words: list[str]) -> None:
        name, value = words[-1].split("=", 1)
        self.parameters[name] = value

    def _lctl_nodemap_add(self, words: list[str]) -> None:
        self._see_mgs()
        self.world.nodemap[f"nodemap.{words[0]}.fileset"] = ""

    def _lctl_nodemap_add_range(self, words: list[str]) -> None:
        self._see_nodemap(words)

    def _lctl_nodemap_modify(self, words: list[str]) -> None:
        self._see_nodemap(words)

    def _lctl_nodemap_set_fileset(self, words: list[str]) -> None:
        self.world.nodemap[f"nodemap.{self._see_nodemap(words)}.fileset"] = words[3]

    def _lctl_nodemap_activate(self, words: list[str]) -> None:
        self._see_mgs()
        self.world.nodemap["nodemap.active"] = words[0]

    def _see_nodemap(self, words: list[str]) -> str:
        self._see_mgs()
        assert words[0] == "--name"
        if words[1] != "default" and f"nodemap.{words[1]}.fileset" not in self.world.nodemap:
            raise Failure(2, f"error: {words[1]}: No such file or directory")
        return words[1]

    def _see_mgs(self) -> None:
        if self not in self.world.mounted("mgs"):  # commands of nodemaps are the MGS's
            raise Failure(19, "error: nodemap: No such device")

    def _lctl_pool_new(self, words: list[str]) -> None:
        self.world.pools[words[0]] = []

    def _lctl_pool_add(self, words: list[str]) -> None:
        assert set(words[1:]) <= set(self._targets("ost"))
        self.world.pools[words[0]] += words[1:]

    def _lctl_pool_list(self, words: list[str]) -> str:
        return "".join(
            [f"Pool: {words[0]}\n", *(f"{ost}_UUID\n" for ost in self.world.pools[words[0]])]
        )

    def _lfs(self, words: list[str]) -> str:
        path = words[-1]
        if words[0] == "setstripe" and "-i" in words:
            self.stripes[path] = int(words[words.index("-i") + 1])
        elif words[0] == "osts":  # lov/lproc_lov.c
            return "OBDS:\n" + "".join(
                f"{i}: {name}_UUID ACTIVE\n" for i, name in enumerate(self._targets("ost"))
            )
        elif words[:2] == ["getstripe", "-d"]:  # utils/liblustreapi.c
            return (
                "stripe_count:  1 stripe_size:   1048576 pattern:       raid0 stripe_offset: -1\n\n"
            )
        elif words[0] == "getstripe":
            return (
                "lmm_stripe_count:  1\nlmm_stripe_size:   1048576\nlmm_pattern:       raid0\nlmm_layout_gen:    0\n"
                f"lmm_stripe_offset: {self.stripes[path]}\nlmm_objects:\n      - l_ost_idx: {self.stripes[path]}\n"
                "        l_fid:     0x100010000:0x2:0x0\n\n"
            )
        return ""
