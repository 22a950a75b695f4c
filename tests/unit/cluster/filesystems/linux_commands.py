"""Commands of Linux on a host that is none: what they leave, print and refuse (coreutils 9.1, util-linux 2.38, iproute2 6.1)."""

from __future__ import annotations


class Failure(Exception):  # noqa: N818
    """A command that ends with a status and words."""

    def __init__(self, status: int | None, said: str) -> None:
        super().__init__(said)
        self.status, self.said = status, said


class LinuxCommands:
    """What such a host has.

    Attributes:
        address: in the cluster's network.
        modules: that are loaded.
        nids: of LNet.
        has_devices: signatures of each block device.
        paths: content, or what is said of it, of each file; directories are not kept.
        links: where paths lead.
        loops: file of each loop device.
        zpools: what each pool is on.
        formatted: kinds and index of each target of Lustre, by what is mounted to start it.
        mounts: what is mounted, by where it is.
        hangs_unforced: whether umount waits for a server that is gone.
    """

    def __init__(self, address: str) -> None:
        self.address = address
        self.modules: set[str] = set()
        self.nids: list[str] = []
        self.has_devices: dict[str, list[str]] = {}
        self.paths: dict[str, str] = {}
        self.links: dict[str, str] = {}
        self.loops: dict[str, str] = {}
        self.zpools: dict[str, str] = {}
        self.formatted: dict[str, tuple[list[str], str]] = {}
        self.mounts: dict[str, str] = {}
        self.hangs_unforced = False

    def _modprobe(self, words: list[str]) -> None:
        self.modules.add(words[0])
        if words[0] == "lustre" and not self.nids:  # ptlrpc brings LNet up on what it finds first
            self.nids = ["192.0.2.1@tcp"]

    def _ip(self, words: list[str]) -> str:
        assert words == ["-o", "addr", "show"]
        return (
            "1: lo    inet 127.0.0.1/8 scope host lo\\       valid_lft forever preferred_lft forever\n"
            f"2: eth0    inet 192.0.2.1/24 brd 192.0.2.255 scope global eth0\\       valid_lft forever\n"
            f"3: eth1@if7    inet {self.address}/24 brd 10.77.0.255 scope global eth1\\       valid_lft forever\n"
        )

    def _readlink(self, words: list[str]) -> str:
        return f"{self.links.get(words[-1], words[-1])}\n"

    def _mkdir(self, words: list[str]) -> None:
        pass

    def _touch(self, words: list[str]) -> None:
        self.paths[words[0]] = ""

    def _truncate(self, words: list[str]) -> None:
        self.paths[words[2]] = words[1]

    def _ln(self, words: list[str]) -> None:
        self.paths[words[3]] = words[2]

    def _stat(self, words: list[str]) -> str:
        if words[0] == "-f" and words[-1] in self.mounts:
            return "ok"
        if words[0] == "-c":
            return self.paths[words[2]]
        path = words[-1]
        if not any(
            each == path or each.startswith(f"{path}/") for each in (*self.paths, *self.mounts)
        ):
            raise Failure(1, f"stat: cannot statx '{path}': No such file or directory")
        return path

    def _dd(self, words: list[str]) -> None:
        said = dict(word.split("=", 1) for word in words)
        self.paths.setdefault(said["of"], "")
        self.paths[said["of"]] = said["count"]

    def _rm(self, words: list[str]) -> None:
        path = words[-1]
        if any(at == path or at.startswith(f"{path}/") for at in self.mounts):
            raise Failure(1, f"rm: skipping '{path}', since it's on a different device")
        for each in [each for each in self.paths if each == path or each.startswith(f"{path}/")]:
            del self.paths[each]

    def _test(self, words: list[str]) -> None:
        assert words[0] == "-b"
        if words[1] not in self.has_devices:
            raise Failure(1, "")

    def _wipefs(self, words: list[str]) -> str:
        device = words[-1]
        if words[0] == "--all":
            if device in self.mounts.values():
                raise Failure(
                    1,
                    f"wipefs: error: {device}: probing initialization failed: Device or resource busy",
                )
            self.has_devices[device] = []
            self.formatted.pop(device, None)
            return ""
        return "".join(f"{each}\n" for each in self.has_devices[device])

    def _losetup(self, words: list[str]) -> str:
        if words[0] == "--find":
            name = f"/dev/loop{len(self.loops)}"
            self.loops[name] = words[2]
            return f"{name}\n"
        if words[0] == "--detach":
            if words[1] in self.mounts.values():
                raise Failure(1, f"losetup: {words[1]}: detach failed: Device or resource busy")
            assert words[1] in self.loops
            del self.loops[words[1]]
            self.formatted.pop(words[1], None)
            return ""
        return "".join(f"{name}\n" for name, file in self.loops.items() if file == words[1])

    def _zpool(self, words: list[str]) -> str:
        if words[0] == "list":
            return "".join(f"{name}\n" for name in self.zpools)
        pool = words[-1]
        if any(source.startswith(f"{pool}/") for source in self.mounts.values()):
            raise Failure(1, f"cannot unmount '{pool}': pool or dataset is busy")
        vdev = self.zpools.pop(pool)
        if vdev in self.has_devices:
            self.has_devices[vdev] = []
        return ""

    def _cat(self, words: list[str]) -> str:
        if (
            words[-1] == "/proc/mounts"
        ):  # 2.15.5 shows targets so too (llite/super25.c: type lustre)
            return "".join(
                f"{source} {at} lustre rw,flock 0 0\n" for at, source in self.mounts.items()
            )
        return "name                            type data\nsize                            4    3512976\n"

    def _umount(self, words: list[str]) -> None:
        at = words[-1]
        if at not in self.mounts:
            raise Failure(32, f"umount: {at}: not mounted.")
        if self.hangs_unforced and not {"-f", "-l"} & set(words):
            raise Failure(None, "no end within its time")
        del self.mounts[at]
